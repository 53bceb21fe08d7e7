"""Streams for TensorFlow: a ``tf.data.Dataset`` of exact signature and cardinality."""

import tensorflow as _tf

from gristmill.adapters import chosen


def to_tf(stream, columns):
    """A stream as a ``tf.data.Dataset``: see :func:`gristmill.to_tf`."""
    if columns is None:
        spec = known(stream)
        columns = {name: name for name in spec}
    made = dataset(lambda: iter(stream), stream, columns, lambda batch: chosen(batch, columns))
    length = stream.length
    if length is None:
        return made
    return made.apply(_tf.data.experimental.assert_cardinality(_tf.data.INFINITE_CARDINALITY if length == float("inf") else length))


def dataset(batches, stream, columns, unpacked):
    """The dataset of what ``unpacked`` makes of the batches, whose columns are those of ``columns``."""
    spec = known(stream)

    def signature(name):
        dtype, shape = spec[name]
        kind = _tf.string if dtype.kind in "SU" else _tf.as_dtype(dtype)
        return _tf.TensorSpec((None, *shape), kind)

    signatures = {name: signature(name) for name in spec}

    def items():
        for batch in batches():
            yield unpacked(batch)

    return _tf.data.Dataset.from_generator(items, output_signature=chosen(signatures, columns))


def known(stream):
    spec = stream.spec
    if spec is None:
        raise ValueError("to_tf: the columns of this stream are not known before it runs; say what they are with stream.declare(spec)")
    return spec
