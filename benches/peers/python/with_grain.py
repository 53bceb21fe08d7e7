"""Grain: a MapDataset, shuffled and batched, read as an IterDataset.

- "rows": the source gives a row at a time, as the documentation has it: with no threads, which ReadOptions recommends for data in
  memory, with the default of 16, and with two worker processes (`mp_prefetch`).
- "numbers": goes further than the documentation. Row numbers are shuffled and batched, and a `map` gathers the batch.
- "own order": Grain shuffles nothing. An element is one slice of a permutation drawn by NumPy, and a `map` gathers the batch. In file order
  that is a slice of the file, and nothing is copied.
"""

import importlib.metadata

import grain
import numpy as np
from absl import app

from common import CASES, ROWS, mapped, measure


class Rows:
    """Opens the files where it is used: a worker process maps them and is not sent them."""

    def __len__(self):
        return ROWS

    def __getitem__(self, row):
        x, y = mapped()
        return x[row], y[row]


class Slices:
    def __init__(self, batch, shuffle):
        self.batch = batch
        self.order = np.random.default_rng(1).permutation(ROWS) if shuffle else None

    def __len__(self):
        return ROWS // self.batch

    def __getitem__(self, step):
        rows = slice(step * self.batch, (step + 1) * self.batch)
        return rows if self.order is None else self.order[rows]


def gather(rows):
    x, y = mapped()
    return x[rows], y[rows]


def by_row(batch, shuffle):
    data = grain.MapDataset.source(Rows())
    return (data.shuffle(seed=1) if shuffle else data).batch(batch)


def by_number(batch, shuffle):
    data = grain.MapDataset.range(ROWS)
    return (data.shuffle(seed=1) if shuffle else data).batch(batch).map(gather)


def own_order(batch, shuffle):
    return grain.MapDataset.source(Slices(batch, shuffle)).map(gather)


def main(_):
    version = importlib.metadata.version("grain")
    for case, batch, shuffle in CASES:

        def run(way, make, threads, processes=0):
            def epoch():
                options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=threads)
                data = make(batch, shuffle).to_iter_dataset(options)
                return data.mp_prefetch(grain.MultiprocessingOptions(processes)) if processes else data

            cores = 2 if threads or processes else 1
            measure("Grain", version, case, way, epoch, processes or threads, cores)

        run("rows", by_row, 0)
        run("rows, threads", by_row, 16)
        run("rows, processes", by_row, 0, 2)
        run("numbers", by_number, 0)
        run("own order" if shuffle else "slices: views, no copy", own_order, 2)


if __name__ == "__main__":
    app.run(main)
