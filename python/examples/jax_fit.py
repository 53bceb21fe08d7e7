"""A dense network in plain JAX, on the digits files. Prints the accuracy on rows it did not train on."""

from pathlib import Path

import jax
import jax.numpy as jnp

import gristmill as gm

FILES = Path(__file__).resolve().parents[2] / "examples" / "data"


def logits(weights, x):
    hidden = jax.nn.relu(x @ weights["w1"] + weights["b1"])
    return hidden @ weights["w2"] + weights["b2"]


def loss(weights, batch):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits(weights, batch["x"])), batch["y"][:, None].astype(int), axis=1)
    return -picked.mean()


@jax.jit
def step(weights, speeds, batch):
    """Gradient descent with momentum."""
    slopes = jax.grad(loss)(weights, batch)
    speeds = jax.tree.map(lambda v, g: 0.9 * v - 0.05 * g, speeds, slopes)
    return jax.tree.map(jnp.add, weights, speeds), speeds


def main():
    rows = gm.Dataset.from_slices(x=gm.Npy(FILES / "digits-features.npy"), y=gm.Npy(FILES / "digits-labels.npy"))
    train, valid = rows.split(0.9, seed=7)
    train = train.shuffle(gm.Shuffle.full(seed=42)).batch_exact(32).cast("x", "float32").map(scaled).prefetch(4)
    valid = valid.batch(len(valid)).cast("x", "float32").map(scaled)

    keys = jax.random.split(jax.random.key(1), 2)
    weights = {
        "w1": jax.random.normal(keys[0], (64, 64)) * 0.15,
        "b1": jnp.zeros(64),
        "w2": jax.random.normal(keys[1], (64, 10)) * 0.15,
        "b2": jnp.zeros(10),
    }
    speeds = jax.tree.map(jnp.zeros_like, weights)
    data = gm.jax(train)
    for epoch in range(10):
        for batch in data.epoch(epoch):
            weights, speeds = step(weights, speeds, batch)
        held = next(gm.jax(valid).epoch(0))
        accuracy = float((logits(weights, held["x"]).argmax(1) == held["y"]).mean())
        print(f"epoch {epoch}: accuracy {accuracy:.4f}")
    print(f"result val_accuracy={accuracy:.4f}")


def scaled(batch):
    batch["x"] /= 16
    return batch


if __name__ == "__main__":
    main()
