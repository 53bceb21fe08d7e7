"""JAX: batches as arrays of the device."""

import numpy as np
import pytest

import gristmill as gm

jax = pytest.importorskip("jax")


def stream():
    return gm.Dataset.from_slices(x=np.arange(40, dtype="f4").reshape(20, 2), y=np.arange(20)).shuffle(gm.Shuffle.full(1)).batch(6)


def test_every_loop_is_the_next_epoch():
    data = gm.jax(stream())
    assert len(data) == 4
    for epoch in range(3):
        batches = list(data)
        assert [b["y"].tolist() for b in batches] == [b.y.tolist() for b in stream().epoch(epoch)]
        assert all(type(b) is dict and isinstance(b["x"], jax.Array) for b in batches)
    assert [b["y"].tolist() for b in data.epoch(0)] == [b.y.tolist() for b in stream().epoch(0)]


def test_it_goes_on_from_a_state():
    iterator = stream().epoch(2)
    next(iterator)
    again = list(gm.jax(stream()).resume(iterator.state()))
    assert [b["y"].tolist() for b in again] == [b.y.tolist() for b in iterator]


def test_arrays_stay_as_they_are():
    held = list(gm.jax(stream()))
    for _ in range(20):
        list(gm.jax(stream()).epoch(1))
    assert [b["x"].tolist() for b in held] == [b.x.tolist() for b in stream().epoch(0)]
    assert jax.dlpack.from_dlpack(next(stream().epoch(0)).x).shape == (6, 2)


def test_what_is_on_its_way_is_not_delivered():
    def batches():
        return gm.Dataset.range(12).batch(2).map(fail_at_6)

    def fail_at_6(batch):
        if 6 in batch["0"]:
            raise KeyError("six")
        return batch

    data = gm.jax(batches())
    iterator = data.epoch(1)
    for taken in range(3):
        assert iterator.state()["item"] == taken
        assert next(iterator)["0"][0] == 2 * taken
    assert iterator.state()["item"] == 3
    resumed = data.resume(iterator.state())
    for rest in (iterator, resumed):
        with pytest.raises(KeyError):
            next(rest)
        assert [int(batch["0"][0]) for batch in rest] == [8, 10]
    assert [batches.state()["epoch"] for batches in [iter(data)]] == [2]
