"""Streams for PyTorch: a dataset of whole batches for ``DataLoader(dataset, batch_size=None)``."""

import torch as _torch
from torch.utils.data import IterableDataset, get_worker_info

from gristmill.adapters import chosen


class TorchData(IterableDataset):
    """A stream as a dataset of tensors; made by :func:`gristmill.torch`.

    Every pass takes the next epoch. ``state_dict`` and ``load_state_dict`` are what torchdata's ``StatefulDataLoader`` asks for.
    """

    def __init__(self, stream, columns):
        self.stream = stream
        self.epoch = 0
        self._columns = columns
        self._state = None

    def __iter__(self):
        worker = get_worker_info()
        if worker is not None and worker.num_workers > 1:
            raise ValueError(
                "gristmill.torch: expected num_workers=0, its threads being its own, or 1 with multiprocessing_context='spawn', found "
                f"{worker.num_workers}; every worker would yield all batches"
            )
        return TorchBatches(self)

    def __len__(self):
        return len(self.stream)

    def _tensors(self, batch):
        tensors = {name: tensor(array) for name, array in batch.items()}
        return tensors if self._columns is None else chosen(tensors, self._columns)

    def state_dict(self):
        """Where the next pass begins."""
        if self._state is not None:
            return self._state
        with self.stream.epoch(self.epoch) as batches:
            return batches.state()

    def load_state_dict(self, state):
        """The next pass goes on where the state was taken."""
        self._state = dict(state)


class TorchBatches:
    """One pass over a :class:`TorchData`."""

    def __init__(self, data):
        self._data = data
        state, data._state = data._state, None
        self._batches = data.stream.epoch(data.epoch) if state is None else data.stream.resume(state)
        data.epoch = self._batches.stats()["epoch"] + 1

    def __iter__(self):
        return self

    def __next__(self):
        return self._data._tensors(next(self._batches))

    def state_dict(self):
        return self._batches.state()

    def load_state_dict(self, state):
        self._batches = self._data.stream.resume(state)
        self._data.epoch = self._batches.stats()["epoch"] + 1


def tensor(array):
    """A tensor over the array's own memory."""
    if array.dtype.name == "bfloat16":
        return _torch.from_numpy(array.view("uint16")).view(_torch.bfloat16)
    return _torch.from_numpy(array)
