"""The classic script of Keras, on the digits files: a dense layer of 64, one of 10, adam. Prints the accuracy on rows it did not train on.

Run it with KERAS_BACKEND=jax, torch or tensorflow.
"""

from pathlib import Path

import keras

import gristmill as gm

FILES = Path(__file__).resolve().parents[2] / "examples" / "data"


def main():
    rows = gm.Dataset.from_slices(x=gm.Npy(FILES / "digits-features.npy"), y=gm.Npy(FILES / "digits-labels.npy"))
    train, valid = rows.split(0.9, seed=7)
    train = train.shuffle(gm.Shuffle.blocks(seed=42)).batch(32).cast("x", "float32").prefetch(4)
    valid = valid.batch(256).cast("x", "float32")

    keras.utils.set_random_seed(1)
    layers = [keras.Input((64,)), keras.layers.Rescaling(1 / 16), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    history = model.fit(gm.keras(train), validation_data=gm.keras(valid), epochs=12, verbose=2)
    print(f"result val_accuracy={history.history['val_accuracy'][-1]:.4f}")


if __name__ == "__main__":
    main()
