"""Iterators that live, so that their threads end before the interpreter does."""

import atexit
import weakref

_live: weakref.WeakSet = weakref.WeakSet()


def kept(iterator):
    _live.add(iterator)
    return iterator


@atexit.register
def _close_all():
    for iterator in list(_live):
        iterator.leave()
