"""Verbs: their outcome on small inputs, and that every one of the crate is there."""

import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import column, lists

import gristmill as gm
from gristmill import _gristmill

Dataset, Shuffle = gm.Dataset, gm.Shuffle


def numbers(n):
    return Dataset.range(n)


ORDERS = [
    (lambda: numbers(5).take(2), [0, 1]),
    (lambda: numbers(5).take(9), [0, 1, 2, 3, 4]),
    (lambda: numbers(5).skip(3), [3, 4]),
    (lambda: numbers(10).shard(3, 1), [1, 4, 7]),
    (lambda: numbers(1).shard(5, 2), []),
    (lambda: numbers(3).reverse(), [2, 1, 0]),
    (lambda: numbers(5).select([4, 0, 0]), [4, 0, 0]),
    (lambda: numbers(5).select(np.array([1, 2])), [1, 2]),
    (lambda: numbers(2).concat(numbers(3)), [0, 1, 0, 1, 2]),
    (lambda: numbers(2).repeat(3), [0, 1, 0, 1, 0, 1]),
    (lambda: Dataset.range_by(5, 1, -2), [5, 3]),
    (lambda: Dataset.range_by(5, 1, 1), []),
    (lambda: Dataset.mix([Dataset.range_by(0, 4, 1), Dataset.range_by(10, 12, 1)], [2, 1]), [0, 10, 1, 2, 11, 3]),
    (lambda: Dataset.choose([numbers(3), numbers(3)], [1, 0, 1]), [0, 0, 1]),
    (lambda: numbers(4).keep_where(["0"], lambda row: row["0"] % 2 == 1), [1, 3]),
    (lambda: numbers(4).keep_where_batched(["0"], lambda batch: batch["0"] > 1), [2, 3]),
]


@pytest.mark.parametrize("make, expected", ORDERS)
def test_orders(make, expected):
    rows = make()
    assert len(rows) == len(expected)
    assert [int(v) for batch in rows.batch(2).epoch(0) for v in batch["0"]] == expected


def batches(n=8, rows=3):
    return numbers(n).batch(rows)


def batch(*values):
    return {"0": np.array(values, "u8")}


STAGES = {
    "batch": (lambda: batches(), [[0, 1, 2], [3, 4, 5], [6, 7]]),
    "batch_exact": (lambda: numbers(8).batch_exact(3), [[0, 1, 2], [3, 4, 5]]),
    "batch_masked": (lambda: numbers(4).batch_masked(3), [[0, 1, 2], [3, 0, 0]]),
    "larger than all": (lambda: numbers(3).batch(10), [[0, 1, 2]]),
    "nothing": (lambda: numbers(0).batch(2), []),
    "take": (lambda: batches().take(1), [[0, 1, 2]]),
    "skip": (lambda: batches().skip(2), [[6, 7]]),
    "repeat": (lambda: batches(4, 3).repeat(2), [[0, 1, 2], [3]] * 2),
    "repeat 0": (lambda: batches().repeat(0), []),
    "repeat_forever": (lambda: batches(2, 2).repeat_forever().take(3), [[0, 1]] * 3),
    "concat": (lambda: batches(2).concat(batches(1)), [[0, 1], [0]]),
    "map": (lambda: batches(4).map(lambda b: {"0": b["0"] * 2}), [[0, 2, 4], [6]]),
    "map in place": (lambda: batches(4).map(add), [[1, 2, 3], [4]]),
    "map on workers": (lambda: batches(40, 2).map(add, workers=3), [[2 * i + 1, 2 * i + 2] for i in range(20)]),
    "flat_map": (lambda: batches(4).flat_map(lambda b: [b, b]), [[0, 1, 2]] * 2 + [[3]] * 2),
    "flat_map_stream": (lambda: batches(2, 1).flat_map_stream(upto), [[0], [0, 1]]),
    "interleave": (lambda: batches(3, 1).interleave(times, 2), [[0], [1], [1], [2], [2], [2]]),
    "par_interleave": (lambda: batches(3, 1).par_interleave(times, cycle=2, block=1), [[0], [1], [1], [2], [2], [2]]),
    "par_interleave_unordered": (lambda: batches(1, 1).par_interleave_unordered(upto, 2), [[0]]),
    "scan": (lambda: batches(4, 1).scan(lambda epoch: 0, total), [[0], [1], [3], [6]]),
    "filter": (lambda: batches().filter(lambda b: 4 in b["0"]), [[3, 4, 5]]),
    "take_while": (lambda: batches().take_while(lambda b: b["0"][0] < 5), [[0, 1, 2], [3, 4, 5]]),
    "inspect": (lambda: batches(2).inspect(lambda b: None), [[0, 1]]),
    "unique_by": (lambda: batches(6, 1).unique_by(lambda b: b["0"][0] % 2), [[0], [1]]),
    "prefetch": (lambda: batches(4).prefetch(2), [[0, 1, 2], [3]]),
    "prefetch_bytes": (lambda: batches(4).prefetch_bytes(100), [[0, 1, 2], [3]]),
    "prefetch_auto": (lambda: batches(4).prefetch_auto(), [[0, 1, 2], [3]]),
    "cache": (lambda: batches(4).cache(), [[0, 1, 2], [3]]),
    "cache_bytes": (lambda: batches(4).cache_bytes(1000), [[0, 1, 2], [3]]),
    "rebatch": (lambda: numbers(8).batch(4).rebatch(2), [[0, 1], [2, 3], [4, 5], [6, 7]]),
    "rebatch in a cycle": (lambda: numbers(6).batch(4).rebatch([1, 2]), [[0], [1, 2], [3], [4, 5]]),
    "rebatch_exact": (lambda: numbers(5).batch(4).rebatch_exact(2), [[0, 1], [2, 3]]),
    "unbatch": (lambda: batches(4).unbatch().batch(2), [[0, 1], [2, 3]]),
    "rows": (lambda: numbers(3).rows().batch_exact(3), [[0, 1, 2]]),
    "pad_to": (lambda: batches(2, 2).pad_to(2), [[0, 1], [0, 0]]),
    "mix": (lambda: gm.Stream.mix([batches(2, 1), batches(9, 1).skip(5)], [1, 1]), [[0], [5], [1], [6]]),
    "choose": (lambda: gm.Stream.choose([batches(2, 1), batches(2, 1)], [1, 1, 0]), [[0], [1], [0]]),
    "assert_len": (lambda: batches(4).assert_len(2), [[0, 1, 2], [3]]),
    "declare": (lambda: batches(4).declare({"0": "u8"}), [[0, 1, 2], [3]]),
    "distribute": (lambda: numbers(6).distribute(1, 2, 4), [[2, 3], [0, 1]]),
    "distribute_exact": (lambda: numbers(6).distribute_exact(1, 2, 4), [[2, 3]]),
    "distribute_masked": (lambda: numbers(5).distribute_masked(1, 2, 4), [[2, 3], [4, 0]]),
    "rename": (lambda: batches(2).rename("0", "n").rename("n", "0"), [[0, 1]]),
    "select": (lambda: batches(2).select("0"), [[0, 1]]),
    "cast": (lambda: batches(2).cast("0", "float32"), [[0.0, 1.0]]),
    "workers": (lambda: batches(2).workers(2).threads("none").budget(1 << 20), [[0, 1]]),
    "resample": (lambda: batches(3, 1).resample(lambda b: 0, [(1.0, 1.0)], 7), [[0], [1], [2]]),
    "shuffle_buffer": (lambda: batches(3).shuffle_buffer(1, 7), [[0, 1, 2]]),
    "on_error": (lambda: batches(3, 1).map(fails_at_1).on_error(gm.OnError.skip(1)), [[0], [2]]),
}


def add(b):
    b["0"] += np.uint64(1)
    return b


def upto(b):
    return numbers(int(b["0"][0]) + 1).batch(9)


def times(b):
    n = int(b["0"][0])
    return Dataset.from_slices(np.full(n + 1, n, "u8")).batch(1)


def total(state, b):
    state += int(b["0"][0])
    return state, batch(state)


def fails_at_1(b):
    if b["0"][0] == 1:
        raise ValueError("one")
    return b


@pytest.mark.parametrize("stage", STAGES)
def test_stages(stage):
    make, expected = STAGES[stage]
    stream = make()
    assert lists(stream) == expected
    assert lists(stream) == lists(make()), "an epoch depends on nothing but its number"


@pytest.mark.parametrize("stage", STAGES)
def test_after_the_end_comes_the_end(stage):
    iterator = STAGES[stage][0]().epoch(0)
    for _ in iterator:
        pass
    assert next(iterator, "end") == "end" and next(iterator, "end") == "end"


def test_pairs_lists_and_numbers():
    zipped = list(batches(4).zip(numbers(9).batch(1)).epoch(0))
    assert [(a["0"].tolist(), b["0"].tolist()) for a, b in zipped] == [([0, 1, 2], [0]), ([3], [1])]
    assert [(i, b["0"].tolist()) for i, b in batches(2, 1).enumerate(5).epoch(0)] == [(5, [0]), (6, [1])]
    windows = lambda s: [[b["0"][0] for b in w] for w in s.epoch(0)]
    assert windows(batches(3, 1).window(2, 1)) == [[0, 1], [1, 2], [2]]
    assert windows(batches(3, 1).window_exact(2, 1)) == [[0, 1], [1, 2]]
    groups = batches(10, 1).group_by_window(lambda b: int(b["0"][0]) % 2, 5)
    assert windows(groups) == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    joined = batches(4, 1).window(2, 2).map(lambda w: {"0": np.concatenate([b["0"] for b in w])})
    assert lists(joined) == [[0, 1], [2, 3]]
    assert batches(5, 1).reduce(0, lambda sum, b: sum + int(b["0"][0])) == 10


def lengths(*sizes, dtype="i8"):
    return Dataset.from_generator(lambda epoch: ({"t": np.full(n, n, dtype)} for n in sizes))


def test_rows_of_different_lengths():
    padded = lengths(1, 2, 3, 4).padded_batch(2)
    assert lists(padded, "t") == [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]]]
    pad = gm.Pad(axes={"t": {0: 5}}, values={"t": np.int64(-1)}, lengths=["t"])
    b = next(lengths(1, 3).padded_batch(2, pad).epoch(0))
    assert b.t.tolist() == [[1, -1, -1, -1, -1], [3, 3, 3, -1, -1]] and b.t_length.tolist() == [1, 3]
    with pytest.raises(gm.ItemError):
        list(lengths(6).padded_batch(1, pad).epoch(0))
    assert lists(lengths(1, 2, 3).padded_batch_exact(2), "t") == [[[1, 0], [2, 2]]]
    ragged = next(lengths(0, 1, 2).ragged_batch(3).epoch(0))
    assert (ragged["t"][0].tolist(), ragged["t"][1].tolist()) == ([1, 2, 2], [0, 0, 1, 3])
    assert ragged.row("t", 2).tolist() == [2, 2] and len(list(lengths(1, 2, 3).ragged_batch_exact(2).epoch(0))) == 1
    buckets = lengths(1, 4, 3, 5, 6, 2).bucket_by_length("t", [3, 5], [2, 2, 2])
    assert [len(rows[0]) for rows in lists(buckets, "t")] == [4, 6, 2]
    packed = next(lengths(2, 3, 3).pack(5, 1).epoch(0))
    assert packed.t.tolist() == [2, 2, 3, 3, 3]


def test_shuffles_are_permutations_by_seed_and_epoch():
    for how in [Shuffle.full(7), Shuffle.blocks(7), Shuffle.blocks_of(4, 3, 7), Shuffle.buffer(10, 7)]:
        stream = numbers(1000).shuffle(how).batch(64)
        first, second = column(stream, epoch=0), column(stream, epoch=1)
        assert sorted(first) == list(range(1000)) and first.tolist() != list(range(1000))
        assert first.tolist() != second.tolist()
        assert (
            column(numbers(1000).shuffle(how.fixed()).batch(64), epoch=1).tolist()
            == column(numbers(1000).shuffle(how.fixed()).batch(64), epoch=0).tolist()
        )
    assert np.array_equal(numbers(10).shuffle(Shuffle.full(7)).order(3), column(numbers(10).shuffle(Shuffle.full(7)).batch(3), epoch=3))


def test_parts_are_disjoint_and_classes_balanced(digits):
    parts = digits.split(0.9, seed=7)
    assert not set(parts[0].order(0)) & set(parts[1].order(0)) and sum(map(len, parts)) == len(digits)
    balanced = digits.take(500).balance("y", gm.Balance.over(seed=1))
    assert len(set(np.bincount(column(balanced.batch(100), "y")))) == 1
    assert len(digits.sample(50, seed=1)) == 50
    assert set(numbers(3).sample_weighted(50, [0, 1, 0], seed=1).order(0)) == {1}
    assert lists(numbers(4).windows(2).batch(3)) == [[[0, 1], [1, 2], [2, 3]]]
    grouped = Dataset.from_slices(n=np.arange(4000, dtype="u8") * 7 % 100).group_by_length("n", 10, 7)
    assert all(max(ns) - min(ns) < 10 for ns in lists(grouped.batch(10), "n"))


def test_loops_count_epochs_and_lengths_are_exact():
    stream = numbers(100).shuffle(Shuffle.full(7)).batch(30)
    loops = [[b["0"].tolist() for b in stream] for _ in range(3)]
    assert loops == [lists(stream, epoch=k) for k in range(3)]
    assert len(stream) == 4 and stream.length == 4
    assert stream.repeat_forever().length == float("inf") and stream.filter(lambda b: True).length is None
    with pytest.raises(TypeError, match="not known"):
        len(stream.filter(lambda b: True))
    with pytest.raises(TypeError, match="infinite"):
        len(stream.repeat_forever())
    assert stream.spec == {"0": (np.dtype("u8"), ())} and stream.map(add).spec is None


def test_a_recipe_shows_itself_and_its_plan(digits):
    stream = digits.split(0.5, seed=1)[1].shuffle(Shuffle.blocks(seed=2)).batch(8).map(add, workers=2).prefetch(items=3)
    shown = repr(stream)
    assert re.fullmatch(
        r"Dataset\.from_slices\(x=Npy\('.*digits-features\.npy'\), y=Npy\('.*'\)\)\.split\(0\.5, seed=1\)\[1\]"
        r"\.shuffle\(Shuffle\.blocks\(seed=2\)\)\.batch\(8\)\.map\(add, workers=2\)\.prefetch\(items=3\)",
        shown,
    ), shown
    assert repr(Dataset.from_slices(np.zeros((3, 2), "f4"))) == "Dataset.from_slices(<float32[3, 2]>)"
    plan = stream.plan()
    assert "par_try_map" in str(plan) and plan.threads > 0 and plan.warnings == []
    assert numbers(9).shuffle(Shuffle.full(1)).batch(3).cache().plan().warnings
    iterator = stream.epoch(2)
    assert repr(iterator) == f"Iter(epoch=2, item=0, length={len(stream)})"


def test_a_recipe_is_pickled_as_such(digits, tmp_path):
    table = np.arange(20.0).reshape(10, 2)
    made = [
        digits.split(0.5, seed=1)[1].shuffle(Shuffle.blocks(seed=2)).batch(64).cast("x", "f4").prefetch(2),
        Dataset.from_slices(x=table, y=table[:, 0]).batch(3).map(double, workers=2),
        Dataset.from_generator(squares, spec={"n": ("i8", ())}).batch(2),
        Dataset.from_slices(n=table[:, 0]).batch(2).zip(numbers(4).batch(1)).window(2, 1),
        gm.Stream.mix([batches(4), batches(5)], [2, 1]).on_error(gm.OnError.skip(2, gm.Failures())),
    ]
    for stream in made:
        again = pickle.loads(pickle.dumps(stream))
        assert repr(again) == repr(stream)
        assert str(list(again.epoch(1))) == str(list(stream.epoch(1)))
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(batches().map(lambda b: b))


def double(b):
    return {"x": b.x * 2}


def squares(epoch):
    return ({"n": np.int64(i * i + epoch)} for i in range(5))


def test_every_verb_of_the_crate_is_here_and_documented():
    source = Path(__file__).resolve().parents[2] / "src"
    verbs = set()
    for folder in ["stage", "order"]:
        for file in (source / folder).glob("*.rs"):
            for block in re.findall(r"^impl(?:<[^{]*>)? (?:Stream<\w+>|Dataset) \{(.*?)^\}", file.read_text(), re.M | re.S):
                verbs |= set(re.findall(r"^    pub fn (\w+)", block, re.M))
    # Of the forms of one verb, Python has one; `typed` is for types.
    other = {"typed", "project", "reordered", "unique", "enumerate_from", "reduce_epoch", "group_by_window_sized"}
    other |= {"mix_to_end", "choose_to_end"}
    other |= {v for v in verbs if v.startswith(("try_", "par_")) and v.removeprefix("par_").removeprefix("try_") in verbs}
    here = {name for cls in (gm.Dataset, gm.Stream) for name in dir(cls)}
    assert verbs - other - here == set()
    for cls in (gm.Dataset, gm.Stream, gm.Iter):
        for name, member in inspect.getmembers(cls):
            if not name.startswith("_") and callable(member):
                assert member.__doc__, f"{cls.__name__}.{name}"


def test_signatures_are_those_of_the_native_verbs():
    own = {"from_generator", "from_batches", "epoch", "resume", "save", "plan", "reduce", "to_tf", "length", "spec", "order"}
    converted = {"from_slices", "mix", "choose", "padded_batch", "padded_batch_exact"}
    for cls in (gm.Dataset, gm.Stream):
        for name, _member in vars(cls).items():
            if name.startswith("_") or name in own | converted:
                continue
            declared = list(inspect.signature(getattr(cls, name)).parameters)
            native = list(inspect.signature(getattr(cls._native_class, name)).parameters)
            strip = lambda names: [n for n in names if n not in ("self", "cls")]
            assert strip(declared) == strip(native), f"{cls.__name__}.{name}"
    assert _gristmill.Stream is gm.Stream._native_class


def test_a_generator_that_can_start_anywhere_is_resumed_without_a_replay():
    starts = []

    def numbers(epoch, start):
        starts.append((epoch, start))
        return ({"n": 100 * epoch + i} for i in range(start, 10))

    stream = gm.Dataset.from_generator(numbers, length=10)
    assert (len(stream), repr(stream)) == (10, f"Dataset.from_generator({numbers.__qualname__}, length=10)")
    first = stream.epoch(2)
    for _ in range(7):
        next(first)
    assert [int(row["n"]) for row in stream.resume(first.state())] == [207, 208, 209] == [int(row["n"]) for row in first]
    assert starts == [(2, 0), (2, 7)]
    batches = gm.Dataset.from_batches(lambda epoch, start: ({"n": np.arange(i)} for i in range(start, 5)), length=4)
    with pytest.raises(gm.SpecError, match="expected 4 items an epoch, found more"):
        list(batches)


def test_files_that_are_not_mapped_give_the_same(tmp_path):
    x = np.arange(600, dtype="f4").reshape(200, 3)
    np.save(tmp_path / "x.npy", x)
    x.tofile(tmp_path / "x.bin")
    for file in [gm.Npy(tmp_path / "x.npy"), gm.Raw(tmp_path / "x.bin", "f4", (3,))]:
        read = pickle.loads(pickle.dumps(file.unmapped()))
        assert repr(read) == f"{file!r}.unmapped()"
        stream = gm.Dataset.from_slices(x=read).shuffle(gm.Shuffle.full(seed=1)).batch(16)
        mapped = gm.Dataset.from_slices(x=file).shuffle(gm.Shuffle.full(seed=1)).batch(16)
        assert "not mapped but read by calls" in str(stream.plan())
        for one, other in zip(stream.epoch(0), mapped.epoch(0), strict=True):
            assert np.array_equal(one.x, other.x)
