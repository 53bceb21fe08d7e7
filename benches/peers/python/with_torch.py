"""PyTorch's DataLoader over the mapped file.

Its documentation advises against one `__getitem__` a row where rows are cheap: "disable automatic batching" (`batch_size=None`) and give
a BatchSampler as `sampler`, so that the dataset is asked for a whole batch. Every case is run so without workers and with two.
"own order" goes further than the documentation: the sampler hands out slices of one `torch.randperm` instead of lists of Python integers.
In file order it hands out slices of the file; without workers nothing is copied then.
Without workers, torch gathers on all cores, unless told to use one thread: both are measured.
"""

import warnings

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, SequentialSampler

from common import CASES, ROWS, mapped, measure

# The mapped file is read-only, and nothing writes to it.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable")


class Rows(Dataset):
    def __init__(self):
        self.x, self.y = (torch.from_numpy(array) for array in mapped())

    def __len__(self):
        return ROWS

    def __getitem__(self, rows):
        return self.x[rows], self.y[rows]


class Permutation:
    def __init__(self, batch):
        self.batch = batch

    def __iter__(self):
        return iter(torch.randperm(ROWS).split(self.batch))


class Runs:
    """Slices in file order."""

    def __init__(self, batch):
        self.batch = batch

    def __iter__(self):
        return (slice(at, at + self.batch) for at in range(0, ROWS, self.batch))


def measure_all():
    rows = Rows()
    for case, batch, shuffle in CASES:
        order = (RandomSampler if shuffle else SequentialSampler)(rows)
        book = BatchSampler(order, batch, drop_last=False)
        own = (Permutation if shuffle else Runs)(batch)
        for workers, threads in [(0, 1), (0, 2), (2, 1)]:
            torch.set_num_threads(threads)
            more = "" if threads == 1 else f", {threads} threads"
            whole = "own order" if shuffle or workers else "slices: views, no copy"
            for way, sampler in [("BatchSampler", book), (whole, own)]:
                loader = DataLoader(
                    rows, sampler=sampler, batch_size=None, num_workers=workers, persistent_workers=workers > 0
                )
                measure("torch DataLoader", torch.__version__, case, way + more, lambda: loader, workers, max(workers, threads))


if __name__ == "__main__":
    measure_all()
