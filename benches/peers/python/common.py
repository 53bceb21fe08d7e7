"""What the Python peers share: the data files, the clock, and the line they print."""

import functools
import json
import statistics
import time
from pathlib import Path

import numpy as np

ROWS, WIDTH = 1 << 22, 128
ROW_BYTES = WIDTH * 4 + 4
ROUNDS = 3
# A round is an epoch, or its first batches for so many seconds.
SECONDS = 0.5
# No further round is begun after so many seconds: some fill a shuffle buffer for longer than all the rest takes.
ENOUGH = 10.0
# (name, rows in a batch, shuffled)
CASES = [("shuffled-1024", 1024, True), ("shuffled-128", 128, True), ("in-order-1024", 1024, False)]

# The files of the throughput bench, under its names.
FOLDER = Path(__file__).resolve().parents[3] / "target" / "bench"
FEATURES = FOLDER / f"f32-{WIDTH}-{ROWS * WIDTH * 4}.npy"
LABELS = FOLDER / f"i32-{ROWS}.npy"


@functools.cache
def mapped():
    """Features and labels as they lie in the page cache, every page touched once, so that no round pays for that."""
    x, y = np.load(FEATURES, mmap_mode="r"), np.load(LABELS, mmap_mode="r")
    x[:: 4096 // (WIDTH * 4), 0].sum()
    # Plain arrays: np.memmap does bookkeeping of its own for every slice.
    return np.asarray(x), np.asarray(y)


def loaded():
    """Features and labels read into the process's own memory."""
    return np.load(FEATURES), np.load(LABELS)


def one_round(batches):
    """Rows a second of an epoch, or of its first batches: what is left is taken to go on as it did after the first batch."""
    rows, first, took, start = 0, None, 0.0, time.perf_counter()
    for batch in batches():
        rows += len(batch[1])
        took = time.perf_counter() - start
        if first is None:
            first = took, rows
        elif took - first[0] > SECONDS:
            break
    left = (ROWS - rows) / (rows - first[1]) * (took - first[0])
    return ROWS / (took + left)


def measure(peer, version, case, way, batches, workers=0, cores=1):
    """Prints the median rate of some rounds after one that warms up.

    `batches` starts an epoch and gives its (features, labels). The clock runs from that call, so drawing the order counts.
    `cores` is how many cores the peer is free to keep busy.
    """
    start, rates = time.perf_counter(), [one_round(batches)]
    while len(rates) <= ROUNDS and time.perf_counter() - start < ENOUGH:
        rates.append(one_round(batches))
    rate = statistics.median(rates[1:] or rates)
    line = {
        "peer": peer, "way": way, "case": case, "workers": workers, "cores": cores,
        "gb_per_s": round(rate * ROW_BYTES / 1e9, 4), "rows_per_s": round(rate), "version": version,
    }
    print(json.dumps(line), flush=True)
