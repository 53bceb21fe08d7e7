"""Files as columns: :class:`Npy` and :class:`Raw`."""

import os
from collections.abc import Iterable
from typing import Any

from gristmill import _gristmill
from gristmill.recipe import Recipe, verb

Path = str | os.PathLike


def _paths(paths):
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)


class Npy(Recipe, native=_gristmill.Npy):
    """One ``.npy`` file, or many end to end: a column for :meth:`Dataset.from_slices`.

    Opening reads the header and maps the file; rows are read when a batch is made. Of a structured type, ``field`` names one field
    (``outer.inner`` for nested ones). ``bf16`` takes opaque elements of two bytes as bfloat16, which is how ml_dtypes saves them.
    ``extra`` allows more bytes after the array. Pickled objects, archives and compressed files are refused.
    """

    __slots__ = ()

    def __init__(self, path: Path | Iterable[Path], *, field: str | None = None, bf16: bool = False, extra: bool = False):
        paths = _paths(path)
        self._native = _gristmill.Npy(paths, field, bf16, extra)
        given = {name: value for name, value in [("field", field), ("bf16", bf16), ("extra", extra)] if value}
        self._call = (Npy, None, (paths[0] if len(paths) == 1 else paths,), given, None)

    @classmethod
    def glob(cls, pattern: str, *, field: str | None = None, bf16: bool = False) -> "Npy":
        """All files that match a pattern such as ``data/part-*.npy``, in the order of their names."""
        npy = object.__new__(cls)
        npy._native = _gristmill.Npy.glob(pattern, field, bf16)
        given = {name: value for name, value in [("field", field), ("bf16", bf16)] if value}
        npy._call = (Npy, "glob", (pattern,), given, None)
        return npy

    @property
    def fields(self) -> list[str]:
        """Names of the fields of a structured type; none for a plain one."""
        return self._native.fields()

    @verb
    def unmapped(self) -> "Npy":
        """The same rows, read by calls instead of through a map: for network file systems. A call for each run of neighbouring rows."""


class Raw(Recipe, native=_gristmill.Raw):
    """One headerless binary file, or many end to end: rows of ``shape`` elements of ``dtype``, as of ``numpy.memmap``.

    ``dtype`` is anything that ``numpy.dtype`` takes (``">f4"`` for the other byte order), or ``"bfloat16"``. Rows fill the file from
    the byte ``offset`` to its end, and a remainder is an error, unless ``rows`` says how many there are. ``forced`` reads files that
    look like another kind.
    """

    __slots__ = ()

    def __init__(
        self,
        path: Path | Iterable[Path],
        dtype: Any,
        shape: tuple[int, ...] = (),
        *,
        offset: int = 0,
        rows: int | None = None,
        forced: bool = False,
    ):
        paths = _paths(path)
        self._native = _gristmill.Raw(paths, dtype, list(shape), offset, rows, forced)
        given = {name: value for name, value in [("offset", offset), ("rows", rows), ("forced", forced)] if value}
        self._call = (Raw, None, (paths[0] if len(paths) == 1 else paths, dtype, tuple(shape)), given, None)

    @classmethod
    def glob(cls, pattern: str, dtype: Any, shape: tuple[int, ...] = (), *, offset: int = 0, forced: bool = False) -> "Raw":
        """All files that match a pattern, in the order of their names."""
        raw = object.__new__(cls)
        raw._native = _gristmill.Raw.glob(pattern, dtype, list(shape), offset, forced)
        given = {name: value for name, value in [("offset", offset), ("forced", forced)] if value}
        raw._call = (Raw, "glob", (pattern, dtype, tuple(shape)), given, None)
        return raw

    @verb
    def unmapped(self) -> "Raw":
        """As :meth:`Npy.unmapped`."""
