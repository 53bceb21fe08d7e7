"""tf.data over tensors in memory: it has no reader of .npy files.

- "rows": `from_tensor_slices`, shuffle, batch, prefetch, the pipeline of every tutorial.
- "range, gather": `range`, shuffle, batch, and a parallel `map` that gathers the batch. The performance guide advises to vectorize so: few
  calls, each on a batch.
- "own order": a permutation drawn outside tf.data, its batches gathered by a parallel `map`. It goes further than the guide.

A shuffle is a full one, as its documentation asks for: the buffer holds all rows, and is filled before the first batch.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

from common import CASES, ROWS, loaded, measure

AUTOTUNE = tf.data.AUTOTUNE
x, y = (tf.constant(array) for array in loaded())


def gather(rows):
    return tf.gather(x, rows), tf.gather(y, rows)


def rows(batch, shuffle):
    data = tf.data.Dataset.from_tensor_slices((x, y))
    return (data.shuffle(ROWS) if shuffle else data).batch(batch).prefetch(AUTOTUNE)


def range_gather(batch, shuffle):
    data = tf.data.Dataset.range(ROWS)
    data = (data.shuffle(ROWS) if shuffle else data).batch(batch)
    return data.map(gather, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE)


def own_order(batch, shuffle):
    if shuffle:
        data = tf.data.Dataset.from_tensor_slices(tf.reshape(tf.random.shuffle(tf.range(ROWS)), (-1, batch)))
        data = data.map(gather, num_parallel_calls=AUTOTUNE)
    else:
        data = tf.data.Dataset.range(0, ROWS, batch)
        data = data.map(lambda at: (x[at : at + batch], y[at : at + batch]), num_parallel_calls=AUTOTUNE)
    return data.prefetch(AUTOTUNE)


for case, batch, shuffle in CASES:
    for way, make in [("rows", rows), ("range, gather", range_gather), ("own order", own_order)]:
        if way == "own order":
            batches = lambda: make(batch, shuffle)
        else:
            batches = lambda data=make(batch, shuffle): data
        measure("tf.data", tf.__version__, case, way, batches, cores=2)
