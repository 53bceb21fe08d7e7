"""What a batch costs in a loop of Python, in microseconds: the time of the loop over the number of batches, the least of several runs.

    python benches/per_batch.py [rows in a batch ...]

The columns are 256 bytes and 8 bytes a row, in memory, shuffled; `numpy` gathers the same rows by hand.
"""

import sys
import time

import numpy as np

import gristmill as gm

ROWS = 1 << 17


def least(loop, runs=7):
    """The least time of a batch, in microseconds of the wall and of all processors."""
    times = []
    for k in range(runs):
        wall, busy = time.perf_counter(), time.process_time()
        batches = loop(k)
        times.append(((time.perf_counter() - wall) / batches * 1e6, (time.process_time() - busy) / batches * 1e6))
    return min(times)


def main(sizes):
    x, y = np.ones((ROWS, 64), "f4"), np.arange(ROWS)
    rows = gm.Dataset.from_slices(x=x, y=y).shuffle(gm.Shuffle.full(seed=1))

    def by_hand(k, size):
        order = np.random.default_rng(k).permutation(ROWS)
        return sum(1 for i in range(0, ROWS, size) if len((x[order[i : i + size]], y[order[i : i + size]])))

    for size in sizes:
        loops = {
            "gristmill": lambda k, size=size: sum(1 for _ in rows.batch(size).epoch(k)),
            "gristmill, no threads": lambda k, size=size: sum(1 for _ in rows.batch(size).threads("none").epoch(k)),
            "gristmill, mapped": lambda k, size=size: sum(1 for _ in rows.batch(size).map(lambda b: b).epoch(k)),
            "numpy": lambda k, size=size: by_hand(k, size),
        }
        for name, loop in loops.items():
            wall, busy = least(loop)
            print(f"batch {size:5}  {name:22} {wall:8.2f} us  {busy:8.2f} us of processors")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [32, 128, 1024])
