"""Rows in, minibatches out: shuffled minibatches for training loops, straight out of feature and label files.

>>> import gristmill as gm
>>> rows = gm.Dataset.from_slices(x=gm.Npy("features.npy"), y=gm.Npy("labels.npy"))
>>> train, valid = rows.split(0.9, seed=7)
>>> train = train.shuffle(gm.Shuffle.blocks(seed=42)).batch(128).prefetch(4)
>>> for batch in train.epoch(0):
...     step(batch["x"], batch["y"])

A :class:`Dataset` is rows in an order, a :class:`Stream` is items in motion; both are recipes. Importing imports neither NumPy nor a
framework; :func:`keras`, :func:`torch`, :func:`jax` and :func:`to_tf` import theirs when they are called.
"""

from gristmill._gristmill import Failures, Iter
from gristmill.columns import Npy, Raw
from gristmill.dataset import Dataset
from gristmill.errors import (
    ArgumentError,
    ChangedError,
    ClosedError,
    DeniedError,
    Error,
    FileError,
    ForkError,
    FormatError,
    ItemError,
    NotFoundError,
    OutOfMemoryError,
    PanicError,
    ResumeError,
    RowError,
    RowsError,
    SpecError,
    StoppedError,
    ThreadError,
)
from gristmill.items import Batch, Ragged, Row
from gristmill.stream import Plan, Stream
from gristmill.values import Balance, OnError, Pad, Shuffle


def keras(stream, *, x="x", y="y", sample_weight=None, epoch=None, state=None):
    """A stream for ``fit``, ``evaluate`` and ``predict`` of Keras 3, on every backend: ``model.fit(gm.keras(train), epochs=3)``.

    ``x``, ``y`` and ``sample_weight`` name columns: a name, a tuple of names, or a dict to names. ``y=None`` is for ``predict``; a column
    ``sample_weight`` is taken by itself; ``sample_weight="mask"`` gives rows that fill up a batch no weight. Every pass takes the next
    epoch, or always ``epoch``. ``state``, a dict or the file that :meth:`saver` wrote, goes on there; ``initial_epoch=data.epoch`` is then
    for ``fit``.
    """
    from gristmill.adapters.keras import KerasData

    return KerasData(stream, x, y, sample_weight, epoch, state)


def torch(stream, *, columns=None):
    """A stream as a dataset of PyTorch: ``DataLoader(gm.torch(train), batch_size=None)``.

    Tensors share memory with their batch: nothing is copied. They come in dicts, or as ``columns`` says: a name, a tuple of names, or a
    dict to names.
    """
    from gristmill.adapters.torch import TorchData

    return TorchData(stream, columns)


def jax(stream, *, device=None):
    """A stream as dicts of JAX arrays, one batch ahead on the device: ``for batch in gm.jax(train)``.

    ``device`` is what ``jax.device_put`` takes: a device, or a sharding.
    """
    from gristmill.adapters.jax import JaxData

    return JaxData(stream, device)


def to_tf(stream, *, columns=None):
    """A stream as a ``tf.data.Dataset`` with its exact signature and cardinality; every pass takes the next epoch.

    Elements are dicts of all columns, or as ``columns`` says: a name, a tuple of names, or a dict to names.
    """
    from gristmill.adapters.tf import to_tf

    return to_tf(stream, columns)


__all__ = [
    "ArgumentError",
    "Balance",
    "Batch",
    "ChangedError",
    "ClosedError",
    "Dataset",
    "DeniedError",
    "Error",
    "Failures",
    "FileError",
    "ForkError",
    "FormatError",
    "ItemError",
    "Iter",
    "NotFoundError",
    "Npy",
    "OnError",
    "OutOfMemoryError",
    "Pad",
    "PanicError",
    "Plan",
    "Ragged",
    "Raw",
    "ResumeError",
    "Row",
    "RowError",
    "RowsError",
    "Shuffle",
    "SpecError",
    "StoppedError",
    "Stream",
    "ThreadError",
    "jax",
    "keras",
    "to_tf",
    "torch",
]
