"""Gristmill from Python: batches as NumPy arrays, to see what the interpreter costs beside the rows of Rust."""

from importlib.metadata import version

import gristmill as gm

from common import CASES, FEATURES, LABELS, measure

rows = gm.Dataset.from_slices(x=gm.Npy(FEATURES), y=gm.Npy(LABELS))
# Every page touched once: shuffled rows and rows in file order have maps of their own.
for touch in [rows.shuffle(gm.Shuffle.full(seed=1)), rows]:
    for _ in touch.batch(1024).epoch(0):
        pass

for case, batch, shuffle in CASES:
    orders = {"file order": rows}
    if shuffle:
        shuffles = {"Shuffle::full": gm.Shuffle.full(seed=1), "Shuffle::blocks": gm.Shuffle.blocks(seed=1)}
        orders = {way: rows.shuffle(how) for way, how in shuffles.items()}
    for workers in [1, 2]:
        for way, order in orders.items():
            stream = order.batch(batch).prefetch(4).workers(workers)

            def batches(stream=stream):
                # Each pass takes the next epoch.
                return ((b["x"], b["y"]) for b in stream)

            measure("Gristmill, Python", version("gristmill"), case, way, batches, workers, workers)
