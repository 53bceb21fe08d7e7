"""The same Keras fit fed in several ways: seconds for an epoch, and the most memory that the process held.

    python benches/keras_fit.py [rows]

A file of features (256 bytes a row) and one of labels, shuffled, in batches of 1024; each way in a process of its own. Memory is what
the process has of its own (RssAnon), less what it had before the data came; the epoch is the second one, the first compiles. "bare" takes
the batches without training.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

WIDTH, BATCH, CLASSES = 64, 1024, 10


def files(folder, rows):
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / f"x-{rows}.npy", folder / f"y-{rows}.npy"
    if not paths[1].exists():
        random = np.random.default_rng(0)
        x = np.lib.format.open_memmap(paths[0], "w+", "f4", (rows, WIDTH))
        for at in range(0, rows, 1 << 16):
            x[at : at + (1 << 16)] = random.standard_normal(x[at : at + (1 << 16)].shape, "f4")
        x.flush()
        np.save(paths[1], random.integers(0, CLASSES, rows))
    return paths


def gristmill_full(paths):
    import gristmill as gm

    rows = gm.Dataset.from_slices(x=gm.Npy(paths[0]), y=gm.Npy(paths[1]))
    return gm.keras(rows.shuffle(gm.Shuffle.full(seed=1)).batch(BATCH).prefetch(4)), {}


def gristmill_blocks(paths):
    import gristmill as gm

    rows = gm.Dataset.from_slices(x=gm.Npy(paths[0]), y=gm.Npy(paths[1]))
    return gm.keras(rows.shuffle(gm.Shuffle.blocks(seed=1)).batch(BATCH).prefetch(4)), {}


def arrays(paths):
    x, y = map(np.load, paths)
    return x, {"y": y, "batch_size": BATCH, "shuffle": True}


def pydataset(paths):
    import keras

    class Mapped(keras.utils.PyDataset):
        def __init__(self):
            super().__init__()
            self.x, self.y = (np.load(path, mmap_mode="r") for path in paths)
            self.epoch = 0
            self.on_epoch_end()

        def __len__(self):
            return -(-len(self.x) // BATCH)

        def __getitem__(self, i):
            rows = self.order[i * BATCH : (i + 1) * BATCH]
            return self.x[rows], self.y[rows]

        def on_epoch_end(self):
            self.order = np.random.default_rng(self.epoch).permutation(len(self.x))
            self.epoch += 1

    return Mapped(), {}


def generator(paths):
    x, y = (np.load(path, mmap_mode="r") for path in paths)

    def batches():
        for epoch in range(10):
            order = np.random.default_rng(epoch).permutation(len(x))
            for at in range(0, len(x), BATCH):
                rows = order[at : at + BATCH]
                yield x[rows], y[rows]

    return batches(), {"steps_per_epoch": -(-len(x) // BATCH)}


WAYS = {
    "Gristmill, Shuffle.full": gristmill_full,
    "Gristmill, Shuffle.blocks": gristmill_blocks,
    "arrays in memory": arrays,
    "PyDataset over np.load(mmap_mode='r')": pydataset,
    "generator over np.load(mmap_mode='r')": generator,
}


def own_memory():
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) * 1024


class Peak(threading.Thread):
    """Watches the process's own memory."""

    def __init__(self):
        super().__init__(daemon=True)
        self.before = self.most = own_memory()

    def run(self):
        while True:
            self.most = max(self.most, own_memory())
            time.sleep(0.01)


def bare(data):
    """Seconds to take every batch of an epoch, as Keras' JAX trainer does."""
    if not hasattr(data, "get_jax_iterator"):
        return None
    start = time.perf_counter()
    for _ in data.get_jax_iterator():
        pass
    return time.perf_counter() - start


def one(way, paths):
    import keras

    model = keras.Sequential([keras.Input((WIDTH,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(CLASSES)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    warm = np.zeros((BATCH, WIDTH), "f4"), np.zeros(BATCH, "i8")
    model.fit(*warm, verbose=0)
    peak = Peak()
    peak.start()
    data, options = WAYS[way](paths)
    seconds = []

    class Clock(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.start = time.perf_counter()

        def on_epoch_end(self, epoch, logs=None):
            seconds.append(time.perf_counter() - self.start)

    model.fit(data, epochs=3, verbose=0, callbacks=[Clock()], **options)
    most = peak.most - peak.before
    print(json.dumps({"way": way, "seconds": min(seconds[1:]), "mib": most / 2**20, "bare": bare(data)}))


def main(rows):
    paths = files(Path(__file__).resolve().parents[2] / "target" / "keras-fit", rows)
    print(f"{rows} rows, {rows * (WIDTH * 4 + 8) / 2**20:.0f} MiB of data\n")
    print("| fed by | s an epoch | s, bare | MiB |\n|---|---|---|---|")
    for way in WAYS:
        for path in paths:
            path.read_bytes()  # into the page cache
        command = [sys.executable, __file__, way, *map(str, paths)]
        told = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=os.environ | {"KERAS_BACKEND": "jax"})
        result = json.loads(told.stdout.splitlines()[-1])
        shown = "" if result["bare"] is None else f"{result['bare']:.2f}"
        print(f"| {way} | {result['seconds']:.2f} | {shown} | {result['mib']:.0f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        one(sys.argv[1], [Path(path) for path in sys.argv[2:]])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 21)
