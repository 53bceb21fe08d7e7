"""Runs: where they stand, what they leave behind, and what happens when they are left, interrupted, forked or shared."""

import contextlib
import gc
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import lists

import gristmill as gm


def threads():
    """The threads of the engine in this process."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if (task / "comm").read_text().startswith("grist"):
                found.add(task.name)
    return found


@pytest.fixture
def without_threads():
    """Whether the engine's threads of a test are gone; one that was joined may be listed for a moment longer."""
    before = threads()

    def gone():
        deadline = time.monotonic() + 10
        while threads() - before and time.monotonic() < deadline:
            time.sleep(0.001)
        return not threads() - before

    return gone


def numbers(n=100, rows=7):
    return gm.Dataset.range(n).shuffle(gm.Shuffle.full(3)).batch(rows)


def add(batch):
    batch["0"] += np.uint64(1)
    return batch


def generated(epoch):
    return ({"0": np.array([i + epoch], "u8")} for i in range(20))


def by_chance(batch, random):
    return {"0": batch["0"] + random.integers(1000, size=len(batch["0"]), dtype="u8")}


STREAMS = {
    "batches": lambda: numbers(),
    "prefetched": lambda: numbers().prefetch(3),
    "mapped": lambda: numbers().map(add),
    "on workers": lambda: numbers().map(add, workers=3).prefetch(2),
    "seeded": lambda: numbers().map_seeded(by_chance, seed=5, workers=2),
    "generated": lambda: gm.Dataset.from_batches(generated),
    "repeated": lambda: numbers(20).repeat(3),
    "filtered": lambda: numbers().filter(lambda b: b["0"][0] % 2),
    "cached": lambda: numbers().cache(),
    "rebatched": lambda: numbers().rebatch(4),
    "buffered": lambda: numbers().shuffle_buffer(5, 7),
}


@pytest.mark.parametrize("name", STREAMS)
def test_from_every_place_the_rest_is_the_same(name):
    make = STREAMS[name]
    expected = lists(make(), epoch=2)
    for at in range(len(expected) + 1):
        iterator = make().epoch(2)
        for _ in range(at):
            next(iterator)
        state = json.loads(json.dumps(iterator.state()))
        assert (state["epoch"], state["item"]) == (2, at) and len(json.dumps(state)) < 1024
        again = [b["0"].tolist() for b in make().resume(state)]
        assert again == expected[at:] == [b["0"].tolist() for b in iterator]


def test_a_state_goes_on_in_another_process(tmp_path):
    stream = numbers().map(add).prefetch(2)
    iterator = stream.epoch(4)
    next(iterator)
    (tmp_path / "run").write_bytes(pickle.dumps((stream, iterator.state())))
    code = """
        import pickle, sys
        stream, state = pickle.load(open(sys.argv[1], "rb"))
        print([b["0"].tolist() for b in stream.resume(state)])
    """
    assert python(code, tmp_path / "run") == str([b["0"].tolist() for b in iterator])


def test_after_a_resumed_epoch_the_loop_takes_the_next():
    stream = numbers()
    resumed = stream.resume(stream.epoch(5).state())
    assert lists(stream, epoch=5) == [b["0"].tolist() for b in resumed]
    assert [b["0"].tolist() for b in stream] == lists(stream, epoch=6)


def test_statistics():
    iterator = numbers().epoch(1)
    next(iterator)
    stats = iterator.stats()
    assert stats.pop("waited_seconds") > 0 and stats == {"epoch": 1, "items": 1, "length": 15}
    assert iterator.__length_hint__() == 14 and repr(iterator) == "Iter(epoch=1, item=1, length=15)"


def test_the_same_items_for_all_choices_of_threads():
    for name in ["mapped", "seeded", "generated", "rebatched"]:
        expected = lists(STREAMS[name]())
        for which in ["none", "auto", "each_stage"]:
            assert lists(STREAMS[name]().threads(which).workers(3)) == expected


def test_a_function_is_called_for_the_items_that_are_asked_for():
    seen = []
    iterator = gm.Dataset.range(9).batch(1).map(lambda b: (seen.append(int(b["0"][0])), b)[1]).epoch(0)
    assert seen == []
    for n in range(1, 4):
        next(iterator)
        assert seen == list(range(n))
    iterator.close()
    assert seen == [0, 1, 2]


def endless(epoch):
    i = 0
    while True:
        yield {"0": np.array([i])}
        i += 1


@pytest.mark.parametrize("asked", [0, 1, 50])
@pytest.mark.parametrize("leave", ["close", "del", "with", "break"])
def test_left_at_any_moment_it_leaves_no_thread(leave, asked, without_threads):
    stream = gm.Dataset.from_batches(endless).map(lambda b: b, workers=2).prefetch(8)
    iterator = stream.epoch(0)
    if leave == "with":
        with iterator:
            for _ in range(asked):
                next(iterator)
    elif leave == "break":
        for i, _ in enumerate(iterator):
            if i >= asked:
                break
    else:
        for _ in range(asked):
            next(iterator)
    if leave in ("close", "with"):
        iterator.close()
        with pytest.raises(gm.ClosedError):
            next(iterator)
    del iterator
    assert without_threads()


def test_a_filter_that_finds_nothing_can_be_left(without_threads):
    found = threading.Event()
    stream = gm.Dataset.range(4).batch(1).repeat_forever().filter(lambda b: found.set())
    iterator = stream.epoch(0)
    waited = []

    def wait():
        try:
            next(iterator)
        except gm.ClosedError as error:
            waited.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    found.wait()
    iterator.close()
    waiting.join()
    assert len(waited) == 1 and without_threads()


def test_a_generator_is_let_go_with_its_iterator():
    closed = []

    class Held:
        pass

    held = Held()
    alive = weakref.ref(held)

    def rows(epoch, held=held):
        try:
            for i in range(1000):
                yield {"0": np.array([i])}
                assert held
        finally:
            closed.append(epoch)

    stream = gm.Dataset.from_batches(rows)
    iterator = stream.epoch(3)
    next(iterator)
    iterator.close()
    assert closed == [3]
    assert len(list(stream.take(2).epoch(4))) == 2 and closed == [3, 4]
    assert len(list(stream.epoch(5))) == 1000 and closed == [3, 4, 5]
    del rows, stream, iterator, held
    next(gm.Dataset.range(1).batch(1).epoch(0))  # what was let go without the interpreter is let go now
    gc.collect()
    assert alive() is None


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_thousand_epochs_leave_nothing_behind(digits, without_threads):
    mapped = digits.shuffle(gm.Shuffle.full(1)).batch(256).map(lambda b: {"x": b.x * 2}, workers=2)
    plain = digits.batch(256).prefetch(2)
    fails = digits.batch(256).map(lambda b: b.z)

    def epochs(n):
        for k in range(n):
            list(plain.epoch(k))
            if k % 10 == 0:
                list(mapped.epoch(k))
            with pytest.raises(AttributeError):
                next(fails.epoch(k))
            next(plain.epoch(k))
        gc.collect()
        return len(gc.get_objects()), len(os.listdir("/proc/self/fd")), resident()

    first = epochs(100)
    second = epochs(1000)
    assert second[0] - first[0] < 100 and second[1] == first[1] and without_threads()
    assert second[2] - first[2] < 32 << 20


def test_many_threads_share_one_iterator():
    stream = gm.Dataset.range(2000).batch(1).map(add)
    for make in [gm.Dataset.range(2000).batch(1).epoch, stream.epoch]:
        iterator = make(0)
        with ThreadPoolExecutor(8) as pool:
            parts = list(pool.map(lambda _, it=iterator: [int(b["0"][0]) for b in it], range(8)))
        seen = sorted(v for part in parts for v in part)
        assert seen in (list(range(2000)), list(range(1, 2001)))
        assert iterator.state()["item"] == 2000


def test_iterators_live_side_by_side():
    stream = gm.Dataset.from_batches(generated)
    assert [(a["0"][0], b["0"][0]) for a, b in zip(stream.epoch(0), stream.epoch(1), strict=True)] == [(i, i + 1) for i in range(20)]
    outer = [int(a["0"][0] + b["0"][0]) for a in numbers(4, 1).epoch(0) for b in numbers(4, 1).map(add).epoch(0)]
    assert len(outer) == 16


def test_waiting_lets_other_threads_go_on():
    went_on = threading.Event()
    stream = gm.Dataset.from_batches(lambda epoch: iter([went_on.wait(60) and {"0": np.zeros(1)}]))
    threading.Thread(target=went_on.set).start()
    assert len(list(stream.epoch(0))) == 1


# Other processes ------------------------------------------------------------------------------------------------------------------


# Where children find the package, and this module, by whose name its functions are pickled.
FOLDERS = os.pathsep.join([str(Path(gm.__file__).parents[1]), str(Path(__file__).parent)])


def python(code, *arguments, check=True):
    command = [sys.executable, "-P", "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=os.environ | {"PYTHONPATH": FOLDERS})
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.strip() if check else done


SLOW = """
    import time, sys, signal, threading
    import numpy as np
    import gristmill as gm

    def forever(*_):
        time.sleep(1000)

    waits = {
        "generator": lambda: next(gm.Dataset.from_batches(forever).epoch(0)),
        "map": lambda: next(gm.Dataset.range(9).batch(1).map(forever).epoch(0)),
        "workers": lambda: next(gm.Dataset.range(9).batch(1).map(forever, workers=2).prefetch(2).epoch(0)),
        "filter": lambda: next(gm.Dataset.range(9).batch(1).repeat_forever().filter(lambda b: False).epoch(0)),
        "keep_where": lambda: gm.Dataset.range(9).keep_where(["0"], forever),
        "save": lambda: gm.Dataset.from_batches(forever).save(sys.argv[2]),
        "close": lambda: (lambda it: (next(it), it.close()))(gm.Dataset.range(9).batch(1).map(first).prefetch(1).epoch(0)),
    }

    def first(batch):
        if batch["0"][0] > 0:
            forever()
        return batch

    print("ready", flush=True)
    try:
        waits[sys.argv[1]]()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("where", ["generator", "map", "workers", "filter", "keep_where", "save", "close"])
def test_ctrl_c_is_answered_at_once(where, tmp_path):
    command = [sys.executable, "-P", "-c", textwrap.dedent(SLOW), where, str(tmp_path / "saved")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": FOLDERS}
    ) as child:
        assert child.stdout.readline() == "ready\n"
        took = []
        # Sent until it is heard: it may come before the wait has begun, or after.
        time.sleep(0.3)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n", child.stderr.read()
        took.append(time.monotonic() - began)
        child.wait(timeout=60)
    assert took[0] < 5  # 50 ms, were the machine idle


def test_after_an_interrupt_the_iterator_goes_on():
    code = """
        import os, signal, threading
        import numpy as np
        import gristmill as gm

        go_on = threading.Event()

        def slow(batch):
            if batch["0"][0] == 2:
                # The main thread waits for this very item.
                os.kill(os.getpid(), signal.SIGINT)
                go_on.wait()
            return batch

        iterator = gm.Dataset.range(5).batch(1).map(slow).epoch(0)
        seen = []
        try:
            for batch in iterator:
                seen.append(int(batch["0"][0]))
        except KeyboardInterrupt:
            seen.append("interrupted")
        assert iterator.state()["item"] == 2
        go_on.set()
        seen += [int(batch["0"][0]) for batch in iterator]
        print(seen)
    """
    assert python(code) == "[0, 1, 'interrupted', 2, 3, 4]"


def test_handlers_of_signals_run_while_waiting():
    code = """
        import os, signal, threading
        import numpy as np
        import gristmill as gm

        heard = threading.Event()
        signal.signal(signal.SIGUSR1, lambda *_: heard.set())

        def rows(epoch):
            os.kill(os.getpid(), signal.SIGUSR1)
            assert heard.wait(60)
            yield {"0": np.zeros(1)}

        print(len(list(gm.Dataset.from_batches(rows).epoch(0))))
    """
    assert python(code) == "1"


@pytest.mark.parametrize("end", ["", "raise SystemExit(0)", "sys.exit(0)", "del it"])
def test_the_interpreter_ends_with_iterators_alive(end):
    code = f"""
        import sys
        import numpy as np
        import gristmill as gm

        def endless(epoch):
            try:
                while True:
                    yield {{"0": np.zeros(1)}}
            finally:
                print("closed", epoch, flush=True)

        stream = gm.Dataset.from_batches(endless).map(lambda b: b, workers=3).prefetch(4)
        it, other = stream.epoch(0), stream.epoch(1)
        next(it), next(it), next(other)
        cycle = [it]
        cycle.append(cycle)
        {end}
    """
    done = python(code, check=False)
    assert (done.returncode, sorted(done.stdout.splitlines()), done.stderr) == (0, ["closed 0", "closed 1"], "")


FORKED = """
    import os, sys
    import gristmill as gm

    def in_child(work):
        child = os.fork()
        if child == 0:
            try:
                work()
            except gm.ForkError as error:
                print("refused:", str(error).split(" of process")[0], flush=True)
            except BaseException as error:
                print("other:", repr(error), flush=True)
            else:
                print("went through", flush=True)
            os._exit(0) if not sys.argv[1:] else sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0

    stream = gm.Dataset.range(1000).batch(1).prefetch(2)
    it = stream.epoch(0)
    next(it)
    in_child(lambda: next(it))
    in_child(lambda: stream.epoch(0))
    in_child(lambda: stream.take(3).epoch(0))
    in_child(lambda: it.close())
    in_child(lambda: print(len(list(gm.Dataset.range(10).batch(2).map(lambda b: b, workers=2)))))
    rows = gm.Dataset.range(20)
    in_child(lambda: print(len(rows.keep_where(["0"], lambda row: int(row["0"]) % 2))))
    print(len(list(it)))
"""


@pytest.mark.parametrize("end", [[], ["exit"]])
def test_what_was_made_before_a_fork_is_refused_in_the_child(end):
    said = [line for line in python(FORKED, *end).splitlines() if line]
    refused = [f"refused: {what}" for what in ("an iterator", "a stream", "a stream", "an iterator")]
    expected = [*refused, "5", "went through", "10", "went through", "999"]
    assert said == expected


def test_processes_that_are_spawned_get_recipes(tmp_path):
    code = """
        import multiprocessing, sys
        import gristmill as gm

        def rows(stream):
            return [batch["0"].tolist() for batch in stream.epoch(1)]

        if __name__ == "__main__":
            stream = gm.Dataset.range(10).shuffle(gm.Shuffle.full(1)).batch(4)
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                assert pool.map(rows, [stream, stream]) == [rows(stream)] * 2
            print("equal")
    """
    # Spawned processes import the main module, so it must be a file.
    main = tmp_path / "main.py"
    main.write_text(textwrap.dedent(code))
    environment = os.environ | {"PYTHONPATH": FOLDERS}
    done = subprocess.run([sys.executable, main], capture_output=True, text=True, timeout=100, env=environment)
    assert done.stdout.strip() == "equal", done.stderr


def test_importing_is_quick_and_imports_no_framework():
    code = """
        import sys, time
        start = time.process_time()
        import gristmill
        took = time.process_time() - start
        names = ["numpy", "torch", "jax", "keras", "tensorflow", "ml_dtypes"]
        print([n for n in names if n in sys.modules], took)
    """
    found, took = re.fullmatch(r"(\[.*\]) (\S+)", python(code)).groups()
    assert found == "[]" and float(took) < 0.1


def test_save_and_load(tmp_path):
    told = []
    rows = numbers(100).save(tmp_path / "set", epoch=1, shard_rows=30, progress=lambda *at: told.append(at))
    assert len(rows) == 100 and told[-1][0] == 15
    for loaded in [rows, gm.Dataset.load(tmp_path / "set")]:
        assert lists(loaded.batch(7)) == lists(numbers(100), epoch=1)
    calls = []
    cached = numbers(100).map(lambda b: (calls.append(1), b)[1]).declare({"0": "u8"}).cache_file(tmp_path / "cache")
    assert lists(cached) == lists(cached) == lists(numbers(100)) and len(calls) == 15


def test_a_resumed_run_is_left_before_its_first_item():
    code = """
        import sys, time
        import gristmill as gm

        def slow(batch):
            time.sleep(0.001)
            return batch

        rows = gm.Dataset.range(2000).batch(1).map(slow, workers=2).filter(lambda batch: int(batch["0"][0]) % 2).prefetch(3)
        first = rows.epoch(0)
        for _ in range(20):
            next(first)
        state = first.state()
        first.close()
        for _ in range(5):
            rows.resume(state).close()
            del first
            first = rows.resume(state)
        print("left")
    """
    assert python(code).strip() == "left"


def test_the_collector_may_end_an_iterator_on_one_of_its_own_threads():
    code = """
        import gc, time
        from pathlib import Path
        import numpy  # whose own threads are named after the one that imports it
        import gristmill as gm

        gc.disable()

        class Held:
            pass

        def collecting(batch):
            gc.collect()
            return batch

        def threads():
            left = 0
            for task in Path("/proc/self/task").iterdir():
                try:
                    left += "grist" in task.joinpath("comm").read_text()
                except OSError:
                    pass  # it has just ended
            return left

        for workers in (None, 2):
            held = Held()
            held.iterator = gm.Dataset.range(1000).batch(1).map(collecting, workers=workers).prefetch(900).epoch(0)
            held.itself = held
            next(held.iterator)
            del held
            while threads():
                time.sleep(0.01)
        print("collected")
    """
    assert python(code).strip() == "collected"
