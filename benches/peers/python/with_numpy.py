"""NumPy by itself: what a hand-written loop over a mapped or loaded file does. One thread, no read-ahead.

A permutation is drawn for each epoch and the rows of a batch are gathered by fancy indexing, or by `take` into an array that is
used again. NumPy's documentation of `take` says that `out` is copied through a buffer unless `mode` is "clip" or "wrap".
In file order a slice is a view: no byte is copied, and none is touched here. `copyto` is the same with the copy that
makes a batch independent of the file.
"""

import numpy as np

from common import CASES, ROWS, loaded, mapped, measure


def starts(batch):
    return range(0, ROWS, batch)


def shuffled(x, y, batch):
    rng = np.random.default_rng(1)
    xs, ys = np.empty((batch, x.shape[1]), x.dtype), np.empty(batch, y.dtype)

    def fancy():
        order = rng.permutation(ROWS)
        for at in starts(batch):
            rows = order[at : at + batch]
            yield x[rows], y[rows]

    def take():
        order = rng.permutation(ROWS)
        for at in starts(batch):
            rows = order[at : at + batch]
            yield np.take(x, rows, axis=0, out=xs, mode="clip"), np.take(y, rows, out=ys, mode="clip")

    return {"x[rows]": fancy, "take(out=)": take}


def in_order(x, y, batch):
    xs, ys = np.empty((batch, x.shape[1]), x.dtype), np.empty(batch, y.dtype)

    def views():
        for at in starts(batch):
            yield x[at : at + batch], y[at : at + batch]

    def copies():
        for at in starts(batch):
            np.copyto(xs, x[at : at + batch])
            np.copyto(ys, y[at : at + batch])
            yield xs, ys

    return {"slices: views, no copy": views, "copyto": copies}


for source, read in [("mapped", mapped), ("in memory", loaded)]:
    arrays = read()
    for case, batch, shuffle in CASES:
        for way, batches in (shuffled if shuffle else in_order)(*arrays, batch).items():
            measure("NumPy", np.__version__, case, f"{way}, {source}", batches)
