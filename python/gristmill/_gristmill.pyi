"""The extension module. What users call is `Dataset`, `Stream`, `Npy` and `Raw` of the package, which hand on to those here."""

from types import TracebackType
from typing import Any, Self

class Iter:
    """An iterator over one epoch of a stream. Any number of threads may take items from it; each item comes once."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...
    def __length_hint__(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
    def state(self) -> dict[str, Any]:
        """Where the next item stands, and of which stream it is one."""

    def stats(self) -> dict[str, Any]:
        """Epoch, items delivered, and seconds that the loop waited for them."""

    def close(self) -> None:
        """Stops the threads and waits for their end."""

    def leave(self) -> None:
        """Lets go of the iterator as dropping it does."""

class Failures:
    """Which items failed, and how."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def list(self) -> list[tuple[int, int, str]]:
        """The failed items as (epoch, item, text)."""

class Block:
    """The memory of one array."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

class Dataset:
    def __getattr__(self, verb: str) -> Any: ...

class Stream:
    def __getattr__(self, verb: str) -> Any: ...

class Npy:
    def __init__(self, paths: list[Any], field: str | None, bf16: bool, extra: bool) -> None: ...
    @staticmethod
    def glob(pattern: str, field: str | None, bf16: bool) -> Npy: ...
    def fields(self) -> list[str]: ...
    def unmapped(self) -> Npy: ...

class Raw:
    def __init__(self, paths: list[Any], dtype: Any, shape: list[int], offset: int, rows: int | None, forced: bool) -> None: ...
    @staticmethod
    def glob(pattern: str, dtype: Any, shape: list[int], offset: int, forced: bool) -> Raw: ...
    def unmapped(self) -> Raw: ...
