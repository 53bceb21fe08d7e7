"""Processes: signals, the end of the interpreter, forks, and threads that stand in one another's way."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import FOLDERS, python

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
