"""Values that verbs take: how rows are shuffled and balanced, how cells are padded, what becomes of items that failed."""

from typing import Any, NamedTuple

from gristmill._gristmill import Failures


def expected(kind: type, value: Any, example: str) -> Any:
    """The value, which must be of the kind."""
    if not isinstance(value, kind):
        raise TypeError(f"expected a gristmill.{kind.__name__}, such as {example}, found {value!r}")
    return value


class Shuffle(NamedTuple):
    """How rows are shuffled: another order in each epoch, fixed by the seed. Make one with a class method."""

    kind: str
    seed: int
    rows: int = 0
    group: int = 0
    is_fixed: bool = False

    @classmethod
    def full(cls, seed: int) -> "Shuffle":
        """Every order of all rows; computed, in no memory. Reads rows from everywhere."""
        return cls("full", seed)

    @classmethod
    def blocks(cls, seed: int) -> "Shuffle":
        """Blocks of neighbouring rows from everywhere, shuffled together: as good on sorted files, and reads whole blocks."""
        return cls("blocks", seed)

    @classmethod
    def blocks_of(cls, rows: int, group: int, seed: int) -> "Shuffle":
        """As :meth:`blocks`, with blocks of ``rows`` rows, ``group`` of them shuffled together."""
        return cls("blocks_of", seed, rows, group)

    @classmethod
    def buffer(cls, rows: int, seed: int) -> "Shuffle":
        """The shuffle buffer of tf.data, of ``rows`` rows; it holds row numbers only."""
        return cls("buffer", seed, rows)

    def fixed(self) -> "Shuffle":
        """The same order in every epoch."""
        return self._replace(is_fixed=True)

    def __repr__(self):
        numbers = {"blocks_of": f"{self.rows}, {self.group}, ", "buffer": f"{self.rows}, "}.get(self.kind, "")
        return f"Shuffle.{self.kind}({numbers}seed={self.seed}){'.fixed()' if self.is_fixed else ''}"


class Balance(NamedTuple):
    """How classes are made equally frequent. Make one with a class method."""

    kind: str
    seed: int

    @classmethod
    def over(cls, seed: int) -> "Balance":
        """Rows of rare classes come several times, until all classes are as frequent as the most frequent one."""
        return cls("over", seed)

    @classmethod
    def under(cls, seed: int) -> "Balance":
        """Rows of frequent classes are left out, others in each epoch, until all are as rare as the rarest one."""
        return cls("under", seed)

    def __repr__(self):
        return f"Balance.{self.kind}(seed={self.seed})"


class Pad(NamedTuple):
    """How cells of different shapes are padded: each axis to the longest of its batch and with zeros, unless said otherwise.

    ``axes``: column to ``{axis: size}``. ``values``: column to a NumPy number of the column's dtype. ``lengths``: columns for which a
    column ``<name>_length`` with the lengths before padding is added.
    """

    axes: dict[str, dict[int, int]] = {}  # noqa: RUF012  (never changed)
    values: dict[str, Any] = {}  # noqa: RUF012
    lengths: tuple[str, ...] = ()


class OnError(NamedTuple):
    """What becomes of items that failed. Make one with a class method.

    ``failures``, a :class:`Failures`, lists what failed.
    """

    kind: str
    most: int = 0
    items: int = 0
    failures: Failures | None = None

    @classmethod
    def stop(cls, failures: Failures | None = None) -> "OnError":
        """The first error ends the epoch."""
        return cls("stop", failures=failures)

    @classmethod
    def skip(cls, most: int, failures: Failures | None = None) -> "OnError":
        """Up to ``most`` items of an epoch are passed over; the next error ends it."""
        return cls("skip", most, failures=failures)

    @classmethod
    def skip_rate(cls, most: int, items: int, failures: Failures | None = None) -> "OnError":
        """Up to ``most`` of any ``items`` items in a row are passed over; one more ends the epoch."""
        return cls("skip_rate", most, items, failures)

    def __repr__(self):
        numbers = {"skip": str(self.most), "skip_rate": f"{self.most}, {self.items}"}.get(self.kind, "")
        return f"OnError.{self.kind}({numbers})"
