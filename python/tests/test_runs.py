"""Runs: where they stand, what they leave behind, and what happens when they are left or shared."""

import contextlib
import gc
import json
import os
import pickle
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import lists, python

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


def test_save_and_load(tmp_path):
    told = []
    rows = numbers(100).save(tmp_path / "set", epoch=1, shard_rows=30, progress=lambda *at: told.append(at))
    assert len(rows) == 100 and told[-1][0] == 15
    for loaded in [rows, gm.Dataset.load(tmp_path / "set")]:
        assert lists(loaded.batch(7)) == lists(numbers(100), epoch=1)
    calls = []
    cached = numbers(100).map(lambda b: (calls.append(1), b)[1]).declare({"0": "u8"}).cache_file(tmp_path / "cache")
    assert lists(cached) == lists(cached) == lists(numbers(100)) and len(calls) == 15
