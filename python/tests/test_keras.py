"""Keras: which batches `fit`, `evaluate` and `predict` see, on whatever backend is set."""

import json

import numpy as np
import pytest

import gristmill as gm

keras = pytest.importorskip("keras")

ROWS, BATCH = 22, 4


def rows(n=ROWS, **more):
    ids = np.arange(n, dtype="f4")
    return gm.Dataset.from_slices(x=np.ones((n, 3), "f4"), y=ids, **more)


def train(n=ROWS):
    return rows(n).shuffle(gm.Shuffle.full(5)).batch(BATCH)


class Watched:
    """A model that notes the targets it is given, batch by batch."""

    def __init__(self, build=True, steps=1):
        self.seen = []
        self.model = keras.Sequential([keras.Input((3,))] if build else [])
        self.model.add(keras.layers.Dense(1))
        self.model.compile(optimizer="sgd", loss=self.note, run_eagerly=True, steps_per_execution=steps)

    def note(self, y, predicted):
        if getattr(y, "dtype", None) is not None and not is_symbolic(y):
            self.seen.append(keras.ops.convert_to_numpy(y).ravel().tolist())
        return keras.ops.mean(keras.ops.square(predicted) * 0 + keras.ops.reshape(y, (-1, 1)) * 0, axis=-1)


def is_symbolic(y):
    try:
        keras.ops.convert_to_numpy(y)
    except Exception:
        return True
    return False


def epoch(k, stream=None, name="y"):
    return [b[name].tolist() for b in (stream or train()).epoch(k)]


@pytest.mark.parametrize("build", [True, False])
def test_fit_sees_every_batch_of_every_epoch_in_order(build):
    watched = Watched(build)
    history = watched.model.fit(gm.keras(train()), epochs=3, verbose=0)
    assert watched.seen[-18:] == epoch(0) + epoch(1) + epoch(2)
    assert len(watched.seen) == 18 and len(history.history["loss"]) == 3


def test_fit_shows_the_exact_number_of_steps():
    data = gm.keras(train())
    assert data.num_batches == 6

    class Steps(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.steps = self.params["steps"]

    steps = Steps()
    Watched().model.fit(data, epochs=1, verbose=0, callbacks=[steps])
    assert steps.steps == 6


def test_fit_called_twice_goes_on_with_the_next_epoch():
    watched, data = Watched(), gm.keras(train())
    watched.model.fit(data, epochs=1, verbose=0)
    watched.model.fit(data, epochs=2, verbose=0)
    assert watched.seen == epoch(0) + epoch(1) + epoch(2) and data.epoch == 3


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="it makes its iterators where nobody sees it")
def test_an_epoch_of_one_batch_is_not_lost_in_building_the_model():
    watched, data = Watched(build=False), gm.keras(train(3))
    watched.model.fit(data, epochs=2, verbose=0)
    assert watched.seen[-2:] == epoch(0, train(3)) + epoch(1, train(3)) and data.epoch == 2


def test_validation_is_whole_in_each_epoch():
    watched = Watched()
    valid = rows(10).batch(4)
    history = watched.model.fit(gm.keras(train()), validation_data=gm.keras(valid), epochs=2, verbose=0)
    assert watched.seen == epoch(0) + epoch(0, valid) + epoch(1) + epoch(0, valid)
    assert len(history.history["val_loss"]) == 2


def test_one_epoch_may_be_kept():
    watched = Watched()
    watched.model.fit(gm.keras(train(), epoch=4), epochs=2, verbose=0)
    assert watched.seen == epoch(4) * 2


def test_evaluate_and_predict():
    watched = Watched()
    watched.model.evaluate(gm.keras(train()), verbose=0)
    assert watched.seen == epoch(0)
    predicted = watched.model.predict(gm.keras(rows().batch(BATCH), y=None), verbose=0)
    assert predicted.shape == (ROWS, 1)


def test_steps_per_epoch_over_a_stream_without_end():
    watched = Watched()
    watched.model.fit(gm.keras(train().repeat_forever()), steps_per_epoch=4, epochs=3, verbose=0)
    assert watched.seen == (epoch(0) + epoch(1))[:12]


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="Keras refuses it there")
def test_several_steps_an_execution():
    watched = Watched(steps=3)
    watched.model.fit(gm.keras(train()), epochs=2, verbose=0)
    assert [v for batch in watched.seen for v in batch] == [v for k in (0, 1) for batch in epoch(k) for v in batch]


@pytest.mark.parametrize("weighted", ["own column", "mask"])
def test_weights(weighted):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile(optimizer="sgd", loss="mse")
    if weighted == "mask":
        data = gm.keras(rows(5).batch_masked(4), sample_weight="mask")
        y, weight = np.array([0, 1, 2, 3, 4, 0, 0, 0]), np.array([1, 1, 1, 1, 1, 0, 0, 0])
    else:
        weight = np.array([0, 2, 0, 1], "f4")
        data, y = gm.keras(rows(4, sample_weight=weight).batch(4)), np.arange(4)
    loss = model.evaluate(data, verbose=0)
    assert loss == pytest.approx((y**2 * weight).sum() / len(y), rel=1e-5) or loss == pytest.approx(
        (y**2 * weight).sum() / weight.sum(), rel=1e-5
    )


def test_several_inputs_and_outputs():
    table = gm.Dataset.from_slices(a=np.ones((8, 2), "f4"), b=np.ones((8, 3), "f4"), y=np.zeros(8, "f4"), z=np.zeros(8, "f4"))
    a, b = keras.Input((2,), name="a"), keras.Input((3,), name="b")
    both = keras.layers.concatenate([a, b])
    outputs = {"y": keras.layers.Dense(1, name="y")(both), "z": keras.layers.Dense(1, name="z")(both)}
    model = keras.Model({"a": a, "b": b}, outputs)
    model.compile(optimizer="sgd", loss={"y": "mse", "z": "mse"})
    data = gm.keras(table.batch(4), x={"a": "a", "b": "b"}, y={"y": "y", "z": "z"})
    assert len(model.fit(data, epochs=2, verbose=0).history["loss"]) == 2


def test_training_goes_on_where_it_stopped(tmp_path):
    class StopAfter(keras.callbacks.Callback):
        def __init__(self, batches):
            super().__init__()
            self.left = batches

        def on_train_batch_end(self, batch, logs=None):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    expected = epoch(0) + epoch(1) + epoch(2)
    tensorflow = keras.backend.backend() == "tensorflow"
    for stop in [1, 4, 6, 7, 12] if tensorflow else [1, 4, 6, 7, 11, 12]:
        first, data = Watched(), gm.keras(train())
        with pytest.raises(KeyboardInterrupt):
            first.model.fit(data, epochs=3, verbose=0, callbacks=[data.saver(tmp_path / "state", every=1), StopAfter(stop)])
        state = json.loads((tmp_path / "state").read_text())
        assert (state["epoch"], state["item"]) == divmod(stop, 6)
        second, data = Watched(build=False), gm.keras(train(), state=tmp_path / "state")
        second.model.fit(data, initial_epoch=data.epoch, epochs=3, verbose=0, callbacks=[data.saver(tmp_path / "state")])
        assert first.seen[:stop] + second.seen == expected
        state = json.loads((tmp_path / "state").read_text())
        assert (state["epoch"], state["item"]) == (3, 0)
    with pytest.raises(gm.ResumeError):
        gm.keras(rows().batch(5), state=tmp_path / "state")


def test_an_exception_in_a_function_reaches_the_caller():
    def fails(batch):
        raise KeyError("mine")

    stream = train().map(fails).declare(train().spec).assert_len(6)
    with pytest.raises(Exception, match="mine"):
        Watched().model.fit(gm.keras(stream), verbose=0)
