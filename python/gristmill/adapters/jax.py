"""Streams for JAX: batches on their way to the device before they are asked for."""

import jax as _jax


class JaxData:
    """A stream as dicts of JAX arrays, one batch ahead on the device; made by :func:`gristmill.jax`.

    Every ``for batch in data`` takes the next epoch; :meth:`epoch` a given one.
    """

    def __init__(self, stream, device):
        self.stream = stream
        self._device = device
        self._next = 0

    def __iter__(self):
        epoch, self._next = self._next, self._next + 1
        return self.epoch(epoch)

    def __len__(self):
        return len(self.stream)

    def epoch(self, epoch):
        """An iterator over one epoch."""
        return self._moved(lambda: self.stream.epoch(epoch))

    def resume(self, state):
        """An iterator that goes on where the one stood whose ``state()`` this is."""
        return self._moved(lambda: self.stream.resume(state))

    def _moved(self, start):
        with start() as batches:
            ahead = None
            for batch in batches:
                moved = _jax.device_put(dict(batch), self._device)
                if ahead is not None:
                    yield ahead
                ahead = moved
            if ahead is not None:
                yield ahead
