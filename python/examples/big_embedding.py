"""Fills a large parameter of PyTorch from a file, chunk by chunk: the table never lies in memory twice.

    python big_embedding.py [file.npy] [--gib 2.25]

Without a file, it writes one of so many GiB beside it first, and removes it at the end.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import gristmill as gm

WIDTH = 512


def write(path, rows):
    """A table whose every row tells its number."""
    table = np.lib.format.open_memmap(path, "w+", "f4", (rows, WIDTH))
    for start in range(0, rows, 1 << 16):
        stop = min(start + (1 << 16), rows)
        table[start:stop] = np.arange(start, stop, dtype="f4")[:, None] + np.linspace(0, 0.5, WIDTH, dtype="f4")
    table.flush()


def fill(parameter, path):
    """Copies the file's rows into the parameter, with a progress bar."""
    chunks = gm.Dataset.from_slices(table=gm.Npy(path)).batch(1 << 14).prefetch(2)
    at, start = 0, time.perf_counter()
    with torch.no_grad():
        for i, chunk in enumerate(chunks.epoch(0), 1):
            parameter[at : at + chunk.rows] = torch.from_numpy(chunk.table)
            at += chunk.rows
            speed = at * WIDTH * 4 / 1e9 / (time.perf_counter() - start)
            done = 30 * i // len(chunks)
            print(f"\r[{'#' * done}{'.' * (30 - done)}] {at} rows, {speed:.2f} GB/s", end="", file=sys.stderr)
    print(file=sys.stderr)
    return at


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", nargs="?", type=Path)
    arguments.add_argument("--gib", type=float, default=2.25)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = given.file or Path(folder) / "table.npy"
        if given.file is None:
            write(path, int(given.gib * 2**30) // (WIDTH * 4))
        rows, (_, shape) = len(gm.Dataset.from_slices(table=gm.Npy(path))), gm.Dataset.from_slices(table=gm.Npy(path)).spec["table"]
        embedding = torch.nn.Embedding(rows, shape[0], _weight=torch.empty(rows, shape[0]))
        filled = fill(embedding.weight, path)
        last = embedding(torch.tensor([rows - 1]))[0]
        same = bool(np.array_equal(last.detach().numpy(), np.load(path, mmap_mode="r")[-1]))
    print(f"result rows={filled} last_row_equal={same}")


if __name__ == "__main__":
    main()
