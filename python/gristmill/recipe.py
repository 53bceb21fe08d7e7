"""Recipes: every source, dataset and stream remembers the call that made it, so that it can be shown and pickled."""

import functools
import os
from collections.abc import Callable
from typing import TypeVar

Declared = TypeVar("Declared", bound=Callable)


class Recipe:
    """What was made by a call: of a class, or of a verb of another recipe."""

    __slots__ = ("__weakref__", "_call", "_native")

    _classes: dict = {}  # noqa: RUF012  (the classes of natives, by their own)

    def __init_subclass__(cls, native=None):
        if native is not None:
            Recipe._classes[native] = cls

    @staticmethod
    def _of(native, call):
        recipe = object.__new__(Recipe._classes[type(native)])
        recipe._native, recipe._call = native, call
        recipe._made()
        return recipe

    def _made(self):
        """Sets what a new object of the class has beside the call."""

    def __reduce__(self):
        return _called, self._call

    def __repr__(self):
        owner, verb, args, kwargs, part = self._call
        owner = owner.__name__ if isinstance(owner, type) else repr(owner)
        shown = [_shown(a) for a in args] + [f"{name}={_shown(a)}" for name, a in kwargs.items()]
        return f"{owner}{f'.{verb}' if verb else ''}({', '.join(shown)}){'' if part is None else f'[{part}]'}"


def _called(owner, verb, args, kwargs, part):
    """Makes again what a call made."""
    made = getattr(owner, verb)(*args, **kwargs) if verb else owner(*args, **kwargs)
    return made if part is None else made[part]


def _native(value):
    if isinstance(value, Recipe):
        return value._native
    if isinstance(value, list | tuple) and any(isinstance(v, Recipe) for v in value):
        return [_native(v) for v in value]
    return value


def _shown(value):
    if hasattr(value, "__array_interface__") and getattr(value, "shape", ()):
        return f"<{value.dtype}{list(value.shape)}>"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {_shown(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        shown = [_shown(v) for v in value[:8]] + (["..."] if len(value) > 8 else [])
        return f"[{', '.join(shown)}]"
    return getattr(value, "__qualname__", None) or repr(os.fspath(value) if isinstance(value, os.PathLike) else value)


def made(owner, verb, args, kwargs, arguments=None):
    """Calls a verb of the native object, or of the native class, and wraps what it gives."""
    native = owner._native_class if isinstance(owner, type) else owner._native
    args_given, kwargs_given = (args, kwargs) if arguments is None else arguments
    result = getattr(native, verb)(*map(_native, args_given), **{k: _native(v) for k, v in kwargs_given.items()})
    if isinstance(result, tuple):
        return tuple(Recipe._of(part, (owner, verb, args, kwargs, i)) for i, part in enumerate(result))
    return Recipe._of(result, (owner, verb, args, kwargs, None))


def verb(declared: Declared) -> Declared:
    """A method that hands its arguments on to the native verb of its name; what is declared is its signature and documentation.

    A body that returns something gives the arguments to hand on: ``(args, kwargs)``.
    """

    @functools.wraps(declared)
    def call(owner, *args, **kwargs):
        return made(owner, declared.__name__, args, kwargs, declared(owner, *args, **kwargs))

    return call
