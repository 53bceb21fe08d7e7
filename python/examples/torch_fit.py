"""A dense network in PyTorch, on the digits files, through a DataLoader. Prints the accuracy on rows it did not train on."""

from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader

import gristmill as gm

FILES = Path(__file__).resolve().parents[2] / "examples" / "data"


def main():
    rows = gm.Dataset.from_slices(x=gm.Npy(FILES / "digits-features.npy"), y=gm.Npy(FILES / "digits-labels.npy"))
    train, valid = rows.split(0.9, seed=7)
    train = train.shuffle(gm.Shuffle.blocks(seed=42)).batch(32).cast("x", "float32").cast("y", "int64").prefetch(4)
    valid = valid.batch(256).cast("x", "float32").cast("y", "int64")

    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(gm.torch(train, columns=("x", "y")), batch_size=None)
    for epoch in range(12):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x / 16), y).backward()
            optimizer.step()
        with torch.no_grad():
            right = sum((model(x / 16).argmax(1) == y).sum().item() for x, y in gm.torch(valid, columns=("x", "y")))
        accuracy = right / sum(len(batch["y"]) for batch in valid.epoch(0))
        print(f"epoch {epoch}: accuracy {accuracy:.4f}")
    print(f"result val_accuracy={accuracy:.4f}")


if __name__ == "__main__":
    main()
