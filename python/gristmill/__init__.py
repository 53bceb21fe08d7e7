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
]
