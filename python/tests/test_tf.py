"""TensorFlow: a dataset of exact signature and cardinality."""

import numpy as np
import pytest

import gristmill as gm

tf = pytest.importorskip("tensorflow")


def stream():
    columns = {"x": np.arange(40, dtype="f4").reshape(20, 2), "y": np.arange(20), "s": np.array([b"a", b"bc"] * 10)}
    return gm.Dataset.from_slices(**columns).shuffle(gm.Shuffle.full(1)).batch(6)


def test_signature_and_cardinality():
    made = stream().to_tf()
    assert made.element_spec == {
        "x": tf.TensorSpec((None, 2), tf.float32),
        "y": tf.TensorSpec((None,), tf.int64),
        "s": tf.TensorSpec((None,), tf.string),
    }
    assert made.cardinality() == 4
    assert gm.to_tf(stream().repeat_forever()).cardinality() == tf.data.INFINITE_CARDINALITY
    counted = stream().filter(lambda b: True)
    assert gm.to_tf(counted).cardinality() == tf.data.UNKNOWN_CARDINALITY


def test_every_pass_is_the_next_epoch():
    made = gm.to_tf(stream(), columns=("x", "y"))
    for epoch in range(2):
        assert [y.numpy().tolist() for _, y in made] == [b.y.tolist() for b in stream().epoch(epoch)]
    assert [b["s"].numpy().tolist() for b in stream().to_tf().take(1)] == [next(stream().epoch(0)).s.tolist()]


def test_unknown_columns_are_asked_for():
    mapped = stream().map(lambda b: b)
    with pytest.raises(ValueError, match="declare"):
        mapped.to_tf()
    assert len(list(mapped.declare(stream().spec).to_tf())) == 4
