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
        return JaxBatches(self.stream.epoch(epoch), self._device)

    def resume(self, state):
        """An iterator that goes on where the one stood whose ``state()`` this is. The next ``for`` takes the epoch after it."""
        batches = JaxBatches(self.stream.resume(state), self._device)
        self._next = state["epoch"] + 1
        return batches


class JaxBatches:
    """One pass over a :class:`JaxData`."""

    def __init__(self, batches, device):
        self._batches = batches
        self._device = device
        # Places, and what is on its way there; and what comes behind it.
        self._ahead = []
        self._end = None

    def __iter__(self):
        return self

    def __next__(self):
        while self._end is None and len(self._ahead) < 2:
            place = self._batches.stats()["items"]
            try:
                self._ahead.append((place, _jax.device_put(dict(next(self._batches)), self._device)))
            except (Exception, KeyboardInterrupt) as end:
                self._end = place, end
        if self._ahead:
            return self._ahead.pop(0)[1]
        # An error has its place behind the batches before it, and iteration may go on after it.
        (_, end), self._end = self._end, None
        raise end

    def state(self):
        """Where the next batch stands, as ``state()`` of a stream's iterator; what is on its way does not count as delivered."""
        state = self._batches.state()
        for place, _ in [*self._ahead, self._end or (state["item"], None)][:1]:
            state["item"] = place
        return state
