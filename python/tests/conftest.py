"""What tests share. The watchdog against hangs is pytest's own, see pyproject.toml."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import gristmill as gm

# Keras chooses its backend when it is imported, and TensorFlow its talk.
backends = [name for name in ["jax", "torch", "tensorflow"] if importlib.util.find_spec(name)]
os.environ.setdefault("KERAS_BACKEND", (backends or ["numpy"])[0])
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "data"


@pytest.fixture
def digits():
    return gm.Dataset.from_slices(x=gm.Npy(DIGITS / "digits-features.npy"), y=gm.Npy(DIGITS / "digits-labels.npy"))


@pytest.fixture
def saved(tmp_path):
    """Saves an array and gives its path."""

    def save(array, name="array.npy"):
        np.save(tmp_path / name, array)
        return tmp_path / name

    return save


def column(stream, name="0", epoch=0):
    """A column of all batches of an epoch."""
    return np.concatenate([batch[name] for batch in stream.epoch(epoch)])


def lists(stream, name="0", epoch=0):
    """A column's batches as lists."""
    return [batch[name].tolist() for batch in stream.epoch(epoch)]


FOLDERS = os.pathsep.join([str(Path(gm.__file__).parents[1]), str(Path(__file__).parent)])


def python(code, *arguments, check=True):
    command = [sys.executable, "-P", "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=os.environ | {"PYTHONPATH": FOLDERS})
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.strip() if check else done
