"""Streams for ``fit``, ``evaluate`` and ``predict`` of Keras 3.

Keras takes an instance of its own ``DataAdapter`` as it is: with an exact number of batches, nothing looked at in advance, and no
order of its own. What it does that an adapter must bear: it makes more iterators than it uses, draws one batch before the first epoch
to build a model, and ends epochs by counting. So an epoch is counted as done when its last batch was taken and Keras went on from
there, by asking for more or for the next iterator; otherwise it is begun again.
"""

import json
import os
from pathlib import Path

import keras as _keras
from keras.src.trainers.data_adapters.data_adapter import DataAdapter

from gristmill.adapters import chosen


class KerasData(DataAdapter):
    """A stream as Keras takes it; made by :func:`gristmill.keras`."""

    def __init__(self, stream, x, y, sample_weight, epoch, state):
        self.stream = stream
        self.epoch = 0 if epoch is None else epoch
        self._fixed = epoch is not None
        self._state = None
        self._all_taken = False
        names = stream.spec
        self._x = x
        self._y = y if names is None or not isinstance(y, str) or y != "y" or y in names else None
        self._weight = sample_weight
        if sample_weight is None and names is not None and "sample_weight" in names:
            self._weight = "sample_weight"
        length = stream.length
        self._length = None if length == float("inf") else length
        if state is not None:
            self._state = state if isinstance(state, dict) else json.loads(Path(state).read_text())
            stream.resume(self._state).close()  # another stream is refused now
            self.epoch = self._state["epoch"]

    def _batches(self, counts_at_once=False):
        # A state holds until its epoch is done: what draws a batch only to build the model begins there, and so does training.
        state = self._state
        taken = 0 if state is None else state["item"]
        with self.stream.epoch(self.epoch) if state is None else self.stream.resume(state) as batches:
            for batch in batches:
                taken += 1
                self._all_taken = taken == self._length
                if counts_at_once:
                    self._go_on()
                yield self._unpacked(batch)
                self._go_on()
        if self._length is None:
            self._all_taken = True
            self._go_on()

    def _go_on(self):
        if self._all_taken:
            self._all_taken, self._state = False, None
            self.epoch += not self._fixed

    def on_epoch_end(self):
        # After a real epoch Keras has gone on before it calls this.
        self._all_taken = False

    def _unpacked(self, batch):
        parts = [chosen(batch, self._x)]
        if self._y is not None:
            parts.append(chosen(batch, self._y))
        if self._weight is not None:
            weight = batch[self._weight]
            parts += [None] * (2 - len(parts))
            parts.append(weight.astype("float32") if weight.dtype == bool else weight)
        return tuple(parts)

    def get_numpy_iterator(self):
        self._go_on()
        return self._batches()

    get_jax_iterator = get_numpy_iterator

    def get_torch_dataloader(self):
        from gristmill.adapters.torch import tensor

        self._go_on()
        return (_keras.tree.map_structure(lambda a: None if a is None else tensor(a), batch) for batch in self._batches())

    def get_tf_dataset(self):
        from gristmill.adapters import tf

        # TensorFlow makes its iterators where nobody sees it.
        names = [self._x] + ([self._y] if self._y is not None or self._weight else []) + ([self._weight] if self._weight else [])
        if None in names:
            raise ValueError("on TensorFlow a column for sample weights needs one for targets beside it")
        return tf.dataset(lambda: self._batches(counts_at_once=True), self.stream, names, lambda batch: batch)

    @property
    def num_batches(self):
        return self._length

    @property
    def batch_size(self):
        return None

    @property
    def has_partial_batch(self):
        return None

    @property
    def partial_batch_size(self):
        return None

    def state(self, epoch=None, batches=0):
        """Where training stands after ``batches`` batches of an epoch: a dict, for ``gristmill.keras(stream, state=...)``."""
        epoch = self.epoch if epoch is None else epoch
        if self._length:
            epoch, batches = epoch + batches // self._length, batches % self._length
        with self.stream.epoch(epoch) as batch_iterator:
            return {**batch_iterator.state(), "item": batches}

    def saver(self, path, *, every=None):
        """A Keras callback that saves the state to the file ``path`` at the end of every epoch, and every so many batches.

        Put it behind the callback that saves the model, so that both stand at the same batch.
        """
        return StateSaver(self, path, every)


class StateSaver(_keras.callbacks.Callback):
    """Saves where training stands in its data; made by :meth:`KerasData.saver`."""

    def __init__(self, data, path, every):
        super().__init__()
        self._data, self._path, self._every = data, Path(path), every

    def on_train_begin(self, logs=None):
        # Steps are counted from where the fit begins: `steps_per_epoch` cuts its epochs otherwise than the data's.
        state = self._data._state
        self._from = (self._data.epoch, 0 if state is None else state["item"])
        self._before = self._now = 0

    def on_epoch_begin(self, epoch, logs=None):
        self._before = self._now
        if self._data._length is None:
            self._from, self._before, self._now = (self._data.epoch, 0), 0, 0

    def on_train_batch_end(self, batch, logs=None):
        saved = self._now // self._every if self._every else 0
        self._now = self._before + batch + 1
        if self._every and self._now // self._every > saved:
            self._save(self._data.state(self._from[0], self._from[1] + self._now))

    def on_epoch_end(self, epoch, logs=None):
        if self._data._length is None:
            self._save(self._data.state())
        else:
            self._save(self._data.state(self._from[0], self._from[1] + self._now))

    def _save(self, state):
        beside = self._path.with_name(self._path.name + ".part")
        beside.write_text(json.dumps(state))
        os.replace(beside, self._path)
