"""Makes the data files, unless they are there, and reads them once so that they are in the page cache."""

import numpy as np

from common import FEATURES, FOLDER, LABELS, ROWS, WIDTH


def write(path, dtype, shape, values):
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    rows = 1 << 16
    size = np.dtype(dtype).itemsize * int(np.prod(shape))
    # The header of either file is 128 bytes long.
    if path.exists() and path.stat().st_size == 128 + size:
        return
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for _ in range(0, shape[0], rows):
            file.write(values((rows, *shape[1:])).tobytes())


FOLDER.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(1)
write(FEATURES, "<f4", (ROWS, WIDTH), lambda shape: rng.random(shape, dtype="f4"))
write(LABELS, "<i4", (ROWS,), lambda shape: rng.integers(8, size=shape, dtype="i4"))
for path in (FEATURES, LABELS):
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass
