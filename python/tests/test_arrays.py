"""Bits, layouts and lifetimes of arrays, against NumPy."""

import gc

import ml_dtypes
import numpy as np
import pytest
from conftest import column

import gristmill as gm

PLAIN = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "S3", "U2", "V5"]
DTYPES = PLAIN + [f">{code}" for code in PLAIN if code[0] in "iufcU" and code not in ("i1", "u1")]


def some(dtype, shape):
    """An array of arbitrary bits, those of NaNs too; of bools and characters only what there is."""
    dtype, n = np.dtype(dtype), int(np.prod(shape))
    if dtype.kind == "U":
        return np.array([chr(0x4E00 + i) + "é" * (i % 2) for i in range(n)], dtype).reshape(shape)
    if dtype.kind == "b":
        return (np.arange(n) % 3 == 0).reshape(shape)
    raw = np.random.default_rng(1).integers(1, 255, n * dtype.itemsize, dtype="u1")
    return np.frombuffer(raw.tobytes(), dtype).reshape(shape)


LAYOUTS = {
    "c": lambda a: np.ascontiguousarray(a),
    "fortran": lambda a: np.asfortranarray(a),
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "some columns": lambda a: np.concatenate([a, a], axis=1)[:, 1 : 1 + a.shape[1]],
    "backwards": lambda a: a[::-1],
    "read only": lambda a: (a.setflags(write=False), a)[1],
    "no rows": lambda a: a[:0],
    "no columns": lambda a: a[:, :0],
    "three axes": lambda a: a.reshape(3, 2, -1),
    "one axis": lambda a: a[:, 0],
    "one row for all": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_of_every_dtype_and_layout_comes_back_bit_by_bit(dtype, layout):
    array = LAYOUTS[layout](some(dtype, (6, 4)))
    got = column(gm.Dataset.from_slices(array).batch(4)) if len(array) else None
    if got is None:
        assert list(gm.Dataset.from_slices(array).batch(4).epoch(0)) == []
        return
    assert (got.shape, got.dtype) == (array.shape, array.dtype.newbyteorder("="))
    assert got.tobytes() == array.astype(got.dtype).tobytes()


@pytest.mark.parametrize("layout", ["c", "fortran", "no rows", "one axis", "three axes"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_files_of_every_dtype_come_back_bit_by_bit(dtype, layout, saved):
    array = LAYOUTS[layout](some(dtype, (6, 4)))
    batches = list(gm.Dataset.from_slices(x=gm.Npy(saved(array))).batch(4).epoch(0))
    got = np.concatenate([batch.x for batch in batches]) if batches else array[:0].astype(array.dtype.newbyteorder("="))
    assert (got.shape, got.dtype) == (array.shape, array.dtype.newbyteorder("="))
    assert got.tobytes() == array.astype(got.dtype).tobytes()


def test_bf16_is_that_of_ml_dtypes(saved, tmp_path):
    array = np.arange(8, dtype="f4").astype(ml_dtypes.bfloat16).reshape(4, 2)
    raw = tmp_path / "raw.bin"
    raw.write_bytes(array.tobytes())
    for source in [array, gm.Npy(saved(array), bf16=True), gm.Raw(raw, "bfloat16", (2,)), gm.Raw(raw, ml_dtypes.bfloat16, (2,))]:
        rows = gm.Dataset.from_slices(x=source)
        assert rows.spec == {"x": (np.dtype(ml_dtypes.bfloat16), (2,))}
        got = column(rows.batch(3), "x")
        assert got.dtype == array.dtype
        assert got.tobytes() == array.tobytes()
    assert gm.Dataset.from_slices(x=array).batch(4).cast("x", "float32").epoch(0).__next__().x.tolist() == array.astype("f4").tolist()


def test_raw_files_are_read_as_memmap_reads_them(tmp_path):
    array = np.arange(24, dtype=">f4").reshape(8, 3)
    path = tmp_path / "raw.bin"
    path.write_bytes(b"12345678" + array.tobytes())
    assert np.array_equal(column(gm.Dataset.from_slices(gm.Raw(path, ">f4", (3,), offset=8)).batch(3)), array)
    assert np.array_equal(column(gm.Dataset.from_slices(gm.Raw(path, ">f4", (3,), offset=8, rows=2)).batch(3)), array[:2])
    with pytest.raises(gm.FormatError, match="bytes"):
        gm.Dataset.from_slices(gm.Raw(path, "f8", (3,)))


def test_fields_of_records_are_columns(saved):
    table = np.zeros(4, [("a", "<i4"), ("b", ">f8", (2,)), ("c", "S2")])
    table["a"], table["b"], table["c"] = range(4), np.arange(8).reshape(4, 2), [b"p", b"q", b"r", b"s"]
    path = saved(table)
    assert gm.Npy(path, field="a").fields == ["a", "b", "c"]
    file = {name: gm.Npy(path, field=name) for name in "abc"}
    for rows in [gm.Dataset.from_slices(**file), gm.Dataset.from_slices(**{name: table[name] for name in "abc"})]:
        for name in "abc":
            assert np.array_equal(column(rows.batch(3), name), table[name])
    with pytest.raises(gm.SpecError, match="columns of their own"):
        gm.Dataset.from_slices(table)


def test_many_files_are_one_column(saved, tmp_path):
    paths = [saved(np.arange(i, i + 3), f"part-{i}.npy") for i in range(4)]
    expected = np.concatenate([np.load(path) for path in paths])
    for npy in [gm.Npy(paths), gm.Npy.glob(str(tmp_path / "part-*.npy"))]:
        assert np.array_equal(column(gm.Dataset.from_slices(npy).batch(5)), expected)


def test_memory_is_kept_and_not_copied():
    array = np.zeros((1000, 8))
    rows = gm.Dataset.from_slices(x=array)
    array[:] = 7
    assert (column(rows.batch(100), "x") == 7).all()


def test_arrays_belong_to_their_holder(digits):
    stream = digits.take(256).batch(64)
    for batch in stream.epoch(0):
        for array in batch.values():
            assert array.flags.writeable and array.flags.c_contiguous and array.ctypes.data % 64 == 0
    first = [dict(batch) for batch in stream.epoch(0)]
    for batch in first:
        batch["x"][:] = 255
    again = list(stream.epoch(0))
    assert all((batch["x"] == 255).all() for batch in first)
    assert not any((batch.x == 255).all() for batch in again)


@pytest.mark.parametrize("shared", ["cache", "window", "rows", "unbatch", "rebatch"])
def test_writing_into_an_array_changes_no_other(shared):
    numbers = gm.Dataset.range(8).batch(4)
    stream = {
        "cache": lambda: numbers.cache(),
        "window": lambda: numbers.window(2, 1),
        "rows": lambda: gm.Dataset.from_slices(np.arange(16).reshape(8, 2)).rows(),
        "unbatch": lambda: gm.Dataset.from_slices(np.arange(16).reshape(8, 2)).batch(8).unbatch(),
        "rebatch": lambda: gm.Dataset.range(8).batch(8).rebatch(3),
    }[shared]()
    flat = lambda item: item if isinstance(item, list) else [item]
    expected = [batch["0"].tolist() for item in stream.epoch(0) for batch in flat(item)]
    for _ in range(2):
        seen = []
        for item in stream.epoch(0):
            for batch in flat(item):
                seen.append(batch["0"].tolist())
                batch["0"][...] = 99
        assert seen == expected


def test_arrays_outlive_iterator_stream_and_dataset():
    def arrays():
        stream = gm.Dataset.from_slices(np.arange(6000.0)).batch(1000).prefetch(2)
        return [batch["0"] for batch in stream.epoch(0)]

    held = arrays()
    gc.collect()
    for _ in range(5):  # other batches, for which memory let go would be used again
        column(gm.Dataset.from_slices(np.zeros(6000)).batch(1000))
    assert np.array_equal(np.concatenate(held), np.arange(6000.0))


def test_other_libraries_take_arrays_without_a_copy(digits):
    x = next(digits.batch(32).epoch(0)).x
    assert np.from_dlpack(x).ctypes.data == x.ctypes.data
    assert memoryview(x).nbytes == x.nbytes
    assert np.asarray(x) is x


def test_batches_are_dicts_with_attributes(digits):
    batch = next(digits.batch(32).epoch(0))
    assert list(batch) == ["x", "y"] and batch.x is batch["x"] and batch.rows == 32
    assert repr(batch) == "Batch(x: uint8[32, 64], y: uint8[32])"
    with pytest.raises(AttributeError, match="no column 'z'; there are 'x', 'y'"):
        batch.z  # noqa: B018
    row = next(digits.rows().epoch(0))
    assert row.x.shape == (64,) and row.y.shape == () and repr(row) == "Row(x: uint8[64], y: uint8[])"


@pytest.mark.parametrize("array", [np.array(["a", None]), np.zeros(2, "M8[s]"), np.zeros(2, "f16"), np.float32(1)])
def test_arrays_that_are_no_column_are_refused(array):
    with pytest.raises(gm.SpecError):
        gm.Dataset.from_slices(x=array)
