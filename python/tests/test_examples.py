"""The examples run, and reach what they say."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gristmill as gm

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PACKAGE = str(Path(gm.__file__).parents[1])


def last_line(name, *arguments):
    command = [sys.executable, "-P", EXAMPLES / f"{name}.py", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=390, env=os.environ | {"PYTHONPATH": PACKAGE})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("framework", ["keras", "jax", "torch"])
def test_fit(framework):
    if not importlib.util.find_spec(framework):
        pytest.skip(f"{framework} is not installed")
    reached = re.fullmatch(r"result val_accuracy=(\d\.\d+)", last_line(f"{framework}_fit"))
    assert reached and float(reached[1]) >= 0.95


def test_big_embedding():
    pytest.importorskip("torch")
    assert last_line("big_embedding", "--gib", "0.1") == "result rows=52428 last_row_equal=True"
