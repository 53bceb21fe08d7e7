"""Datasets: rows that can be reached by number. Their verbs are arithmetic; nothing is read before a batch is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gristmill import _gristmill
from gristmill.recipe import Recipe, verb
from gristmill.values import Balance, Shuffle, expected

if TYPE_CHECKING:
    import numpy

    from gristmill.columns import Path
    from gristmill.items import Batch, Row
    from gristmill.stream import Stream

Columns = dict[str, tuple[Any, tuple[int, ...]]]


class Dataset(Recipe, native=_gristmill.Dataset):
    """A source of rows, and the order in which they come.

    A recipe: cheap, holds no position, reads nothing. Pickling it pickles the recipe, not the rows of files.
    """

    __slots__ = ()
    _native_class = _gristmill.Dataset

    @classmethod
    @verb
    def from_slices(cls, *columns: Any, **named: Any) -> Dataset:
        """The rows of columns of equal length: :class:`Npy` and :class:`Raw` files, NumPy arrays, or what NumPy makes an array of.

        Columns given by position are called ``"0"``, ``"1"``, …. Files are mapped; arrays are kept, not copied, in any layout and byte
        order, and must not be written to or resized while they are in use (one layout is copied: with steps backwards, as ``a[::-1]``).
        """
        return (
            [
                *((str(i), column._native if isinstance(column, Recipe) else column) for i, column in enumerate(columns)),
                *((name, column._native if isinstance(column, Recipe) else column) for name, column in named.items()),
            ],
        ), {}

    @classmethod
    def from_generator(cls, factory: Callable[..., Iterable], spec: Columns | None = None, *, length: int | None = None) -> Stream:
        """A stream of the rows that the iterator which ``factory(epoch)`` makes yields, anew for every epoch.

        A row is a dict of cells, a tuple of them (columns ``"0"``, ``"1"``, …), or one cell. With ``spec``, rows are checked against it;
        otherwise the first row of an epoch says what the others must be like, once they are batched. A Python call for each row is
        slow: prefer :meth:`from_batches`.

        With ``length``, items of an epoch, the iterator can start anywhere: ``factory(epoch, start)`` makes one whose first item is that
        of place ``start``. The stream has a length then, and resuming jumps instead of replaying.
        """
        from gristmill.stream import Stream

        return Stream._sourced("from_generator", factory, spec, length)

    @classmethod
    def from_batches(cls, factory: Callable[..., Iterable], spec: Columns | None = None, *, length: int | None = None) -> Stream:
        """A stream of the batches, dicts of arrays, that the iterator which ``factory(epoch)`` makes yields, anew for every epoch.

        ``length`` as for :meth:`from_generator`.
        """
        from gristmill.stream import Stream

        return Stream._sourced("from_batches", factory, spec, length)

    @classmethod
    @verb
    def range(cls, rows: int) -> Dataset:
        """The numbers from 0 to ``rows``, in a column ``"0"``."""

    @classmethod
    @verb
    def range_by(cls, start: int, stop: int, step: int) -> Dataset:
        """The numbers from ``start`` to ``stop``, exclusive, in steps."""

    @classmethod
    @verb
    def load(cls, path: Path) -> Dataset:
        """The rows of a folder that :meth:`Stream.save` or :meth:`Stream.cache_file` wrote."""

    @classmethod
    @verb
    def mix(cls, datasets: Sequence[Dataset], weights: Sequence[int]) -> Dataset:
        """The rows of several datasets in turn, in exact proportion to integer weights; ends with the first that ends."""

    @classmethod
    @verb
    def choose(cls, datasets: Sequence[Dataset], choices: Sequence[int]) -> Dataset:
        """For each of the ``choices`` the next row of the dataset of that number."""
        return (datasets, _list(choices)), {}

    def __len__(self) -> int:
        return len(self._native)

    @property
    def spec(self) -> Columns:
        """The columns: name to (dtype, shape of a row)."""
        return self._native.spec()

    def order(self, epoch: int, start: int = 0, rows: int | None = None) -> numpy.ndarray:
        """The rows of an epoch from a position on, as row numbers of the source. Reads no rows."""
        return self._native.order(epoch, start, rows)

    @verb
    def shuffle(self, how: Shuffle) -> Dataset:
        """The same rows in another order in each epoch: ``Shuffle.blocks(seed=42)``."""
        expected(Shuffle, how, "Shuffle.blocks(seed=42)")

    @verb
    def take(self, rows: int) -> Dataset:
        """The first rows."""

    @verb
    def skip(self, rows: int) -> Dataset:
        """All rows but the first."""

    @verb
    def shard(self, count: int, index: int) -> Dataset:
        """Every ``count``-th row, from the ``index``-th on."""

    @verb
    def reverse(self) -> Dataset:
        """The last row first."""

    @verb
    def select(self, rows: Sequence[int]) -> Dataset:
        """The rows of these numbers, in this order."""
        return (_list(rows),), {}

    @verb
    def split(self, ratio: float, seed: int) -> tuple[Dataset, Dataset]:
        """Two parts without a row in common, the same in every epoch: of each 64 neighbouring rows the right share, at random."""

    @verb
    def concat(self, other: Dataset) -> Dataset:
        """These rows, then those of another dataset of the same columns."""

    @verb
    def repeat(self, times: int) -> Dataset:
        """Several epochs as one."""

    @verb
    def sample(self, rows: int, seed: int) -> Dataset:
        """Rows drawn with replacement, others in each epoch."""

    @verb
    def sample_weighted(self, rows: int, weights: Sequence[float], seed: int) -> Dataset:
        """Rows drawn with replacement, by a weight for each row."""
        return (rows, _list(weights), seed), {}

    @verb
    def balance(self, label: str, how: Balance) -> Dataset:
        """Every class of a label column equally often. Reads that column once."""
        expected(Balance, how, "Balance.over(seed=42)")

    @verb
    def keep_where(
        self, columns: Sequence[str], keep: Callable[[Row], bool], progress: Callable[[int, int], None] | None = None
    ) -> Dataset:
        """The rows that ``keep`` approves, given these columns. Reads them once; the length is exact, and seeking a jump."""

    @verb
    def keep_where_batched(
        self,
        columns: Sequence[str],
        keep: Callable[[Batch], Sequence[bool]],
        progress: Callable[[int, int], None] | None = None,
    ) -> Dataset:
        """As :meth:`keep_where`, by a function that judges a batch of rows at once: an array of bools. Much faster."""

    @verb
    def group_by_length(self, column: str, rows: int, seed: int) -> Dataset:
        """An order in which batches of ``rows`` rows hold rows of like length; ``column`` holds the lengths."""

    @verb
    def windows(self, context: int, stride: int = 1) -> Dataset:
        """Overlapping runs of ``context`` rows as rows, one every ``stride`` rows; copies nothing."""

    @verb
    def batch(self, rows: int) -> Stream:
        """Batches of ``rows`` rows; the last one of an epoch has what remains."""

    @verb
    def batch_exact(self, rows: int) -> Stream:
        """Batches of exactly ``rows`` rows; a remainder is left out."""

    @verb
    def batch_masked(self, rows: int) -> Stream:
        """Batches of exactly ``rows`` rows, the last one filled up with zeros; a bool column ``mask`` says which rows are real."""

    @verb
    def distribute(self, rank: int, world: int, rows: int) -> Stream:
        """This rank's part of each global batch of ``rows`` rows, as many on every rank; the last one filled by repeating rows."""

    @verb
    def distribute_exact(self, rank: int, world: int, rows: int) -> Stream:
        """As :meth:`distribute`; a global batch that is not full is left out."""

    @verb
    def distribute_masked(self, rank: int, world: int, rows: int) -> Stream:
        """As :meth:`distribute`; the last one filled with zeros under a column ``mask``."""

    @verb
    def rows(self) -> Stream:
        """A stream of single rows."""


def _list(values):
    return values.tolist() if hasattr(values, "tolist") else list(values)
