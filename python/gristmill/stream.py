"""Streams: items in motion, batches in the first place. Their verbs are stages."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gristmill import _gristmill, live
from gristmill.recipe import Recipe, verb
from gristmill.values import OnError, Pad, expected

if TYPE_CHECKING:
    from numpy.random import Generator

    from gristmill._gristmill import Iter
    from gristmill.columns import Path
    from gristmill.dataset import Columns, Dataset

Item = Any


class Plan(NamedTuple):
    """What a run will do: stages, threads, links and bytes, as a text, and some of it as numbers."""

    text: str
    threads: int
    peak_bytes: int
    warnings: list[str]

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


class Stream(Recipe, native=_gristmill.Stream):
    """A chain of stages over items: batches (:class:`Batch`), rows, or what a stage makes of them.

    A recipe: cheap, holds no position of a run, reads nothing, starts no thread. Pickling it pickles the recipe. Every
    ``for item in stream`` takes the next epoch, from 0 on, as this object counts them; :meth:`epoch` takes a given one.
    """

    __slots__ = ("_epochs",)
    _native_class = _gristmill.Stream

    def _made(self):
        self._epochs = itertools.count()

    def __iter__(self) -> Iterator[Item]:
        return self.epoch(next(self._epochs))

    def epoch(self, epoch: int) -> Iter:
        """An iterator over one epoch. Its items depend on the epoch's number alone."""
        return live.kept(self._native.epoch(epoch))

    def resume(self, state: dict) -> Iter:
        """An iterator that goes on where the one stood whose ``state()`` this is, in another process or on another machine too.

        The stream must be the same; :class:`ResumeError` says what differs. Where the order is computed, it jumps there. The next
        ``for item in stream`` takes the epoch after it.
        """
        resumed = live.kept(self._native.resume(state))
        self._epochs = itertools.count(resumed.stats()["epoch"] + 1)
        return resumed

    def __len__(self) -> int:
        length, infinite = self._native.length()
        if length is None:
            raise TypeError(f"the length of this stream is {'infinite' if infinite else 'not known before it ends'}")
        return length

    @property
    def length(self) -> int | float | None:
        """Items of an epoch: a number, infinity, or None where that is known only by counting."""
        length, infinite = self._native.length()
        return float("inf") if infinite else length

    @property
    def spec(self) -> Columns | None:
        """The columns of batches or rows, name to (dtype, shape of a row), where they are known without running."""
        return self._native.spec()

    def plan(self) -> Plan:
        """Stages, threads, links and bytes of a run, and warnings about what is likely not meant. Reads nothing."""
        return Plan(*self._native.plan())

    def save(
        self,
        to: Path,
        *,
        epoch: int = 0,
        shard_rows: int | None = None,
        afresh: bool = False,
        progress: Callable[[int, int | None, int], None] | None = None,
    ) -> Dataset:
        """Writes the batches of an epoch to a folder of ``.npy`` shards, and gives the dataset of its rows.

        A run that was killed is gone on with after its finished shards, unless ``afresh``. ``progress(batches, of, rows)`` is called
        as it comes along.
        """
        from gristmill.dataset import Dataset

        self._native.save(to, epoch=epoch, shard_rows=shard_rows, afresh=afresh, progress=progress)
        return Dataset.load(to)

    def reduce(self, start: Any, f: Callable[[Any, Item], Any], *, epoch: int = 0) -> Any:
        """One value of all items of an epoch: ``f(value, item)`` is the next value."""
        with self.epoch(epoch) as items:
            for item in items:
                start = f(start, item)
        return start

    def to_tf(self, *, columns: Sequence[str] | None = None):
        """As :func:`gristmill.to_tf`."""
        import gristmill

        return gristmill.to_tf(self, columns=columns)

    @classmethod
    def _sourced(cls, name, factory, spec, length):
        from gristmill.dataset import Dataset

        given = {name: value for name, value in [("spec", spec), ("length", length)] if value is not None}
        return cls._of(getattr(_gristmill.Stream, name)(factory, spec, length), (Dataset, name, (factory,), given, None))

    @verb
    def threads(self, which: str) -> Stream:
        """Which stages get threads: ``"auto"``, ``"each_stage"`` or ``"none"``. The items are the same for all choices."""

    @verb
    def workers(self, workers: int) -> Stream:
        """The number of workers of gathers, and of parallel maps that do not say."""

    @verb
    def budget(self, nbytes: int) -> Stream:
        """The most bytes one iterator may hold; a plan that needs more is refused."""

    @verb
    def select(self, names: Sequence[str]) -> Stream:
        """These columns of batches, in this order."""
        return ([names] if isinstance(names, str) else list(names),), {}

    @verb
    def rename(self, name: str, to: str) -> Stream:
        """A column of batches under another name."""

    @verb
    def cast(self, name: str, dtype: Any) -> Stream:
        """A column of batches as numbers of another type; done while rows are gathered, where it follows a batch.

        Floats become integers by leaving out the fraction and clipping, NaN becomes 0; wide integers wrap into narrow ones; to bool, all
        but zero is true.
        """

    @verb
    def map(self, f: Callable[[Item], Any], workers: int | None = None) -> Stream:
        """Each item passed through ``f``: a batch, whose arrays may be written to, to a dict of arrays.

        With ``workers``, that many threads call it at once (0: as many as there are cores to spare); the order is kept. An exception
        is raised at the item's place as it is, and iteration may go on after it.
        """

    @verb
    def map_seeded(self, f: Callable[[Item, Generator], Any], seed: int, workers: int | None = None) -> Stream:
        """As :meth:`map`, of a function that is given a ``numpy.random.Generator`` of the item's own.

        Its numbers are a function of the seed, the epoch and the place, the same for any number of workers.
        """

    @verb
    def flat_map(self, f: Callable[[Item], Iterable]) -> Stream:
        """Each item becomes the items that the iterable ``f`` makes of it yields."""

    @verb
    def flat_map_stream(self, f: Callable[[Item], Stream]) -> Stream:
        """Each item becomes the batches of a stream that ``f`` makes of it, one stream after the other."""

    @verb
    def interleave(self, f: Callable[[Item], Stream], cycle: int, block: int = 1) -> Stream:
        """The batches of streams that ``f`` makes of items: ``cycle`` of them at a time, ``block`` batches of each in turn."""
        return (f, cycle, block), {}

    @verb
    def par_interleave(self, f: Callable[[Item], Stream], cycle: int, block: int = 1) -> Stream:
        """As :meth:`interleave`, each open stream on a thread of its own; the order is kept."""
        return (f, cycle, block), {}

    @verb
    def par_interleave_unordered(self, f: Callable[[Item], Stream], workers: int) -> Stream:
        """The batches of streams that ``f`` makes of items, as they are ready: the one verb whose order depends on timing."""

    @verb
    def scan(self, start: Callable[[int], Any], f: Callable[[Any, Item], tuple[Any, Any]]) -> Stream:
        """A map with a memory: ``f(state, item)`` gives the next state and an item; ``start(epoch)`` makes the first state."""

    @verb
    def filter(self, keep: Callable[[Item], bool]) -> Stream:
        """The items for which ``keep`` returns true. The arrays it is given can be read only."""

    @verb
    def take_while(self, go_on: Callable[[Item], bool]) -> Stream:
        """The items before the first for which ``go_on`` returns false."""

    @verb
    def inspect(self, look: Callable[[Item], Any]) -> Stream:
        """The same items, each shown to ``look``."""

    @verb
    def unique_by(self, by: Callable[[Item], int | str | bytes]) -> Stream:
        """The first item of each key."""

    @verb
    def resample(self, classes: Callable[[Item], int], shares: Sequence[tuple[float, float]], seed: int) -> Stream:
        """Items to another mix of classes: for each class, its share now and the share wanted."""

    @verb
    def group_by_window(self, by: Callable[[Item], int | str | bytes], size: int) -> Stream:
        """Lists of ``size`` items of one key; those of an unfinished one come at the end."""

    @verb
    def on_error(self, policy: OnError) -> Stream:
        """What becomes of items that failed: ``OnError.skip(3)``."""
        expected(OnError, policy, "OnError.skip(3)")

    @verb
    def declare(self, spec: Columns) -> Stream:
        """Says what the columns are, and checks each item: name to (dtype, shape of a row)."""

    @verb
    def assert_len(self, n: int) -> Stream:
        """Says how many items an epoch has, and checks it."""

    @verb
    def take(self, n: int) -> Stream:
        """The first items."""

    @verb
    def skip(self, n: int) -> Stream:
        """All items but the first."""

    @verb
    def repeat(self, times: int) -> Stream:
        """Several epochs as one, each with its own order."""

    @verb
    def repeat_forever(self) -> Stream:
        """Epoch after epoch without end."""

    @verb
    def concat(self, other: Stream) -> Stream:
        """These items, then those of another stream."""

    @verb
    def zip(self, other: Stream) -> Stream:
        """Pairs of items of two streams, until one ends."""

    @verb
    def enumerate(self, start: int = 0) -> Stream:
        """Pairs of consecutive numbers and items."""

    @verb
    def window(self, size: int, shift: int, stride: int = 1) -> Stream:
        """Lists of ``size`` items, every ``stride``-th, each list ``shift`` items after the one before; short ones at the end, too."""

    @verb
    def window_exact(self, size: int, shift: int, stride: int = 1) -> Stream:
        """As :meth:`window`, without short ones."""

    @classmethod
    @verb
    def mix(cls, streams: Sequence[Stream], weights: Sequence[int], to_end: bool = False) -> Stream:
        """Items of several streams in exact proportion to weights, until one ends, or all have."""

    @classmethod
    @verb
    def choose(cls, streams: Sequence[Stream], choices: Sequence[int], to_end: bool = False) -> Stream:
        """For each of the ``choices`` the next item of the stream of that number, until one chosen has ended, or all have."""

    @verb
    def shuffle_buffer(self, items: int, seed: int) -> Stream:
        """The shuffle buffer of tf.data, for items that cannot be reached by number. Shuffle a dataset's rows instead."""

    @verb
    def cache(self) -> Stream:
        """The items of epoch 0, kept in memory by the first whole pass."""

    @verb
    def cache_bytes(self, nbytes: int) -> Stream:
        """As :meth:`cache`, refused when they are more than so many bytes."""

    @verb
    def cache_file(self, to: Path) -> Stream:
        """Batches of epoch 0, kept in a folder: whole or not at all, and checked against the stream that wrote it."""

    @verb
    def prefetch(self, items: int) -> Stream:
        """Up to so many items made ready ahead, on a thread."""

    @verb
    def prefetch_bytes(self, nbytes: int) -> Stream:
        """As :meth:`prefetch`, as many items as make so many bytes."""

    @verb
    def prefetch_auto(self) -> Stream:
        """As :meth:`prefetch`, with a depth that is chosen."""

    @verb
    def unbatch(self) -> Stream:
        """The rows of batches."""

    @verb
    def rebatch(self, sizes: int | Sequence[int]) -> Stream:
        """The same rows in batches of another size, or of a cycle of sizes."""
        return ([sizes] if isinstance(sizes, int) else list(sizes),), {}

    @verb
    def rebatch_exact(self, sizes: int | Sequence[int]) -> Stream:
        """As :meth:`rebatch`; a remainder is left out."""
        return ([sizes] if isinstance(sizes, int) else list(sizes),), {}

    @verb
    def pad_to(self, n: int) -> Stream:
        """Zeros under a column ``mask`` until there are ``n`` batches, or rows."""

    @verb
    def batch(self, rows: int) -> Stream:
        """Batches of ``rows`` rows of a stream of rows; the last one of an epoch has what remains."""

    @verb
    def batch_exact(self, rows: int) -> Stream:
        """Batches of exactly ``rows`` rows; a remainder is left out."""

    @verb
    def batch_masked(self, rows: int) -> Stream:
        """Batches of exactly ``rows`` rows, the last one filled up with zeros under a column ``mask``."""

    @verb
    def padded_batch(self, rows: int, pad: Pad | None = None) -> Stream:
        """Batches of rows of different shapes, padded to the longest or as ``pad`` says."""
        return (rows, _pad(pad)), {}

    @verb
    def padded_batch_exact(self, rows: int, pad: Pad | None = None) -> Stream:
        """As :meth:`padded_batch`; a remainder is left out."""
        return (rows, _pad(pad)), {}

    @verb
    def ragged_batch(self, rows: int) -> Stream:
        """Batches of rows of different shapes, as values end to end and offsets: :class:`Ragged`."""

    @verb
    def ragged_batch_exact(self, rows: int) -> Stream:
        """As :meth:`ragged_batch`; a remainder is left out."""

    @verb
    def bucket_by_length(
        self,
        column: str,
        boundaries: Sequence[int],
        rows: Sequence[int],
        pad: Pad | None = None,
        *,
        exact: bool = False,
        to_boundary: Sequence[str] = (),
    ) -> Stream:
        """Padded batches of rows of like length of ``column``: below the first boundary, below the second, …, and the others.

        ``rows`` are the sizes of batches, one more than there are boundaries. ``exact`` leaves out what fills none; columns in
        ``to_boundary`` are padded to the bucket's longest.
        """
        named = {"exact": exact, "to_boundary": list(to_boundary)}
        return (column, list(boundaries), list(rows), _pad(pad)), named

    @verb
    def pack(self, tokens: int, open: int) -> Stream:
        """Rows of tokens side by side in rows of ``tokens``, ``open`` of them being filled at a time, with segments and positions."""


def _pad(pad):
    return Pad() if pad is None else expected(Pad, pad, 'Pad(lengths=("tokens",))')
