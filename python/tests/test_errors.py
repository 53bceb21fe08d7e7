"""Every kind of error: its class, its text, its place; and that it is never taken for the end."""

import numpy as np
import pytest
from conftest import lists

import gristmill as gm
from gristmill import errors


def numbers(n=6):
    return gm.Dataset.range(n).batch(1)


def value(batch):
    return int(batch["0"][0])


def failing(at, error):
    def f(batch):
        if value(batch) == at:
            raise error
        return batch

    return f


def outcome(iterator):
    """Items and exceptions, until the end."""
    seen = []
    while True:
        try:
            seen.append(value(next(iterator)))
        except StopIteration:
            return seen
        except Exception as error:
            seen.append(error)


def test_all_errors_have_one_base_and_a_builtin():
    classes = [c for c in vars(errors).values() if isinstance(c, type) and c is not gm.Error]
    for cls in classes:
        assert issubclass(cls, gm.Error) and getattr(gm, cls.__name__) is cls and cls.__doc__
        assert any(issubclass(cls, b) for b in (ValueError, OSError, IndexError, MemoryError, RuntimeError))


def test_files_that_are_not_there_or_not_readable(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot open") as caught:
        gm.Npy(tmp_path / "nothing.npy")
    assert isinstance(caught.value, gm.FileError) and caught.value.errno == 2
    assert caught.value.filename == caught.value.path == str(tmp_path / "nothing.npy")
    with pytest.raises(gm.FormatError, match="is a directory"):
        gm.Npy(tmp_path)


@pytest.mark.parametrize(
    "content, says",
    [
        (b"", "empty"),
        (b"PK\3\4" + bytes(40), "zip|npz|archive"),
        (b"\x93NUMPY\x01\x00\x06\x00{oops}", "header"),
        (b"hello" * 9, "expected"),
    ],
)
def test_files_of_another_kind(content, says, tmp_path):
    path = tmp_path / "some.npy"
    path.write_bytes(content)
    with pytest.raises(gm.FormatError, match=says) as caught:
        gm.Npy(path)
    assert caught.value.path == str(path)


def test_files_of_another_length(saved):
    path = saved(np.arange(10))
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(gm.FormatError, match="expected 208 bytes, found 212"):
        gm.Npy(path)
    assert len(gm.Dataset.from_slices(gm.Npy(path, extra=True))) == 10


def test_files_that_change(saved):
    path = saved(np.arange(100_000.0))
    stream = gm.Dataset.from_slices(gm.Npy(path)).batch(1000)
    iterator = stream.epoch(0)
    next(iterator)
    with path.open("r+b") as file:
        file.truncate(4096)
    with pytest.raises(gm.ChangedError, match="changed while it was read") as caught:
        for _ in iterator:
            pass
    assert caught.value.path == str(path)
    assert list(iterator) == []


def test_arguments():
    with pytest.raises(gm.RowsError, match='"x" has 3 rows but column "y" has 2'):
        gm.Dataset.from_slices(x=np.zeros(3), y=np.zeros(2))
    with pytest.raises(gm.RowError) as caught:
        gm.Dataset.range(3).select([7])
    assert isinstance(caught.value, IndexError)
    for make in [
        lambda: gm.Dataset.range(3).batch(0).plan(),
        lambda: gm.Dataset.range(3).shard(0, 0),
        lambda: gm.Dataset.range(3).split(2.0, seed=1),
        lambda: gm.Dataset.range(3).batch(1).threads("many"),
        lambda: gm.Dataset.from_slices(),
        lambda: gm.Stream.mix([numbers()], [1, 2]),
    ]:
        with pytest.raises(gm.ArgumentError) as caught:
            make()
        assert isinstance(caught.value, ValueError)
    for make in [
        lambda: gm.Dataset.range(3).batch(1).select("x").spec,
        lambda: gm.Dataset.range(3).batch(1).batch(2),
        lambda: gm.Dataset.range(3).rows().cast("0", "f4"),
        lambda: gm.Dataset.range(3).batch(1).concat(gm.Dataset.range(3).rows()),
        lambda: gm.Dataset.range(3).batch(1).cast("0", "S3").spec,
        lambda: gm.Dataset.range(3).concat(gm.Dataset.from_slices(np.zeros(3))),
    ]:
        with pytest.raises(gm.SpecError):
            make()
    for make in [
        lambda: gm.Dataset.range(3).batch(),
        lambda: gm.Dataset.range("3"),
        lambda: gm.Dataset.range(3).batch(1).map(7),
    ]:
        with pytest.raises(TypeError):
            make()
    for make, wanted in [
        (lambda: gm.Dataset.range(3).shuffle(7), "Shuffle.blocks"),
        (lambda: gm.Dataset.range(3).balance("0", "over"), "Balance.over"),
        (lambda: gm.Dataset.range(3).batch(1).on_error("skip"), "OnError.skip"),
        (lambda: gm.Dataset.range(3).rows().padded_batch(2, 0), "Pad"),
    ]:
        with pytest.raises(TypeError, match=rf"expected a gristmill\.\w+, such as {wanted}.*, found"):
            make()


def test_memory():
    with pytest.raises(MemoryError, match="budget") as caught:
        gm.Dataset.from_slices(np.zeros((100, 1000))).batch(100).budget(1000).epoch(0)
    assert isinstance(caught.value, gm.OutOfMemoryError)


def test_states_of_other_streams():
    state = numbers().epoch(0).state()
    with pytest.raises(gm.ResumeError, match="stages"):
        gm.Dataset.range(6).batch(2).resume(state)
    for wrong in [{}, {**state, "item": "x"}, {"epoch": 0}]:
        with pytest.raises(gm.ResumeError, match="no state"):
            numbers().resume(wrong)


@pytest.mark.parametrize("workers", [None, 1, 3])
@pytest.mark.parametrize("ahead", [0, 2])
def test_an_exception_of_a_function_comes_as_itself_at_its_place(workers, ahead):
    own = KeyError("mine")
    stream = numbers().map(failing(3, own), workers=workers)
    if ahead:
        stream = stream.prefetch(ahead)
    seen = outcome(stream.epoch(0))
    assert seen == [0, 1, 2, own, 4, 5] and seen[3] is own
    assert any("item 3" in note for note in own.__notes__)
    assert own.__traceback__ is not None


@pytest.mark.parametrize(
    "verb",
    [
        lambda s, f: s.filter(f),
        lambda s, f: s.inspect(f),
        lambda s, f: s.flat_map(lambda b: [f(b)]),
        lambda s, f: s.map_seeded(lambda b, random: f(b), seed=1),
        lambda s, f: s.flat_map_stream(lambda b: (f(b), gm.Dataset.range_by(value(b), value(b) + 1, 1).batch(1))[1]),
        lambda s, f: s.unique_by(lambda b: value(f(b))),
        lambda s, f: s.take_while(lambda b: f(b) is not None),
    ],
)
def test_exceptions_of_all_functions_come_as_themselves(verb):
    own = ZeroDivisionError("mine")
    seen = outcome(verb(numbers(), failing(3, own)).epoch(0))
    assert seen[:4] == [0, 1, 2, own] and seen[3] is own


def test_exceptions_of_one_time_functions_come_as_themselves():
    own = ZeroDivisionError("mine")

    def fail(_):
        raise own

    for verb in [gm.Dataset.keep_where, gm.Dataset.keep_where_batched]:
        with pytest.raises(ZeroDivisionError) as caught:
            verb(gm.Dataset.range(3), ["0"], fail)
        assert caught.value is own


def test_an_exception_of_a_generator_comes_as_itself():
    def rows(epoch):
        yield 1
        raise KeyError("mine")

    iterator = gm.Dataset.from_generator(rows).batch(1).epoch(0)
    assert next(iterator)["0"].tolist() == [1]
    with pytest.raises(KeyError, match="mine"):
        next(iterator)
    assert list(iterator) == []
    with pytest.raises(TypeError):
        next(gm.Dataset.from_batches(lambda: []).epoch(0))
    with pytest.raises(TypeError, match="not iterable"):
        next(gm.Dataset.from_batches(lambda epoch: 7).epoch(0))


def test_stop_iteration_of_a_function_is_not_the_end():
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        list(numbers().map(failing(3, StopIteration())).epoch(0))
    assert isinstance(caught.value.__cause__, StopIteration)


def test_items_of_another_form():
    for wrong, says in [(7, "dict of arrays"), ({"0": np.array(["a", None])}, "element type"), ({"0": [1], "1": [1, 2]}, "rows")]:
        with pytest.raises(gm.Error, match=says):
            list(numbers().map(lambda b, wrong=wrong: wrong).epoch(0))
    spec = {"n": ("i8", (2,)), "m": "f4"}
    good = {"n": np.zeros(2, "i8"), "m": np.float32(1)}
    assert len(list(gm.Dataset.from_generator(lambda epoch: [good], spec=spec).epoch(0))) == 1
    for wrong in [{**good, "n": np.zeros(3, "i8")}, {**good, "m": 1.0}, {"n": good["n"]}]:
        rows = gm.Dataset.from_generator(lambda epoch, wrong=wrong: [good, wrong, good], spec=spec)
        iterator = rows.epoch(0)
        next(iterator)
        with pytest.raises(gm.ItemError, match="expected") as caught:
            next(iterator)
        assert caught.value.position == 1 and isinstance(caught.value, ValueError)
        assert len(list(iterator)) == 1
    with pytest.raises(gm.ItemError):
        list(gm.Dataset.from_generator(lambda epoch: [1, 2.0]).batch(2).epoch(0))


def test_policies():
    failures = gm.Failures()
    own = KeyError("mine")
    stream = numbers().map(failing(3, own))
    assert lists(stream.on_error(gm.OnError.skip(1, failures))) == [[0], [1], [2], [4], [5]]
    assert len(failures) == 1 and failures.list()[0][:2] == (0, 3) and "mine" in failures.list()[0][2]
    for policy in [gm.OnError.stop(), gm.OnError.skip(0)]:
        seen = outcome(stream.on_error(policy).epoch(0))
        assert seen[:3] == [0, 1, 2] and isinstance(seen[3], gm.StoppedError) and len(seen) == 4
        assert seen[3].__cause__ is own and seen[3].position == 3
