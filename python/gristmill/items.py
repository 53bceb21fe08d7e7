"""What streams yield: :class:`Batch`, :class:`Row` and :class:`Ragged`."""


class _Columns(dict):
    """Columns by name, as keys and as attributes."""

    __slots__ = ()

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no column {name!r}; there are {', '.join(map(repr, self))}") from None

    def __dir__(self):
        return [*super().__dir__(), *self]


def _told(array):
    return f"{array.dtype}{list(array.shape)}"


class Batch(_Columns):
    """Some rows of every column: a dict from names to NumPy arrays, whose first axis counts rows.

    ``batch["x"]`` and ``batch.x`` are the same; a column that is called as a method of dict is reached by its key only. The arrays
    are yours: aligned to 64 bytes, writable, seen by nobody else, and valid for as long as they are held.
    """

    __slots__ = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return next((len(array) for array in self.values()), 0)

    def __repr__(self):
        return f"Batch({', '.join(f'{name}: {_told(array)}' for name, array in self.items())})"


class Row(_Columns):
    """One row of every column: a dict from names to NumPy arrays, or numbers where a row has one."""

    __slots__ = ()

    def __repr__(self):
        return f"Row({', '.join(f'{name}: {_told(value)}' for name, value in self.items())})"


class Ragged(_Columns):
    """Rows of different lengths: a dict from names to ``(values, offsets)``.

    Row ``i`` of a column is ``values[offsets[i]:offsets[i + 1]]``.
    """

    __slots__ = ()

    def row(self, name: str, i: int):
        """The values of row ``i`` of column ``name``, a view."""
        values, offsets = self[name]
        if not 0 <= i < len(offsets) - 1:
            raise IndexError(f"row {i} of {len(offsets) - 1}")
        return values[offsets[i] : offsets[i + 1]]

    def __repr__(self):
        return f"Ragged({', '.join(f'{name}: {_told(values)}' for name, (values, _) in self.items())})"
