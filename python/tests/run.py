"""Builds the package as a user would and runs its tests, in virtual environments of their own under target/.

Without arguments, on NumPy, JAX and Keras; with the names of other files of requirements (torch, tensorflow), on those frameworks. Needs
Python 3.11 with venv, Rust, and the package index that pip is set up for. Environments and the build are made once and used again.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[1]
TARGET = PYTHON.parent / "target" / "python"
FRAMEWORKS = {"torch": ["test_torch.py", "test_keras.py", "test_examples.py"], "tensorflow": ["test_tf.py", "test_keras.py"]}


def environment(name):
    """The Python of a virtual environment that has just these packages."""
    requirements = PYTHON / "requirements" / f"{name}.txt"
    folder = TARGET / name
    python, stamp = folder / "bin" / "python", folder / requirements.name
    if not (stamp.exists() and stamp.read_text() == requirements.read_text()):
        venv.create(folder, clear=True, with_pip=True)
        run(python, "-m", "pip", "install", "--quiet", "-r", requirements)
        stamp.write_text(requirements.read_text())
    return python


def run(*command, **environment):
    settings = {"CARGO_TARGET_DIR": str(TARGET / "rust"), "JAX_PLATFORMS": "cpu"} | dict(os.environ) | environment
    subprocess.run([str(part) for part in command], check=True, env=settings, cwd=PYTHON)


def wheel():
    """A wheel of the package as it is."""
    builder, folder = environment("test"), TARGET / "wheels"
    scripts = f"{builder.parent}{os.pathsep}{os.environ['PATH']}"
    for old in folder.glob("*.whl"):
        old.unlink()
    run(builder, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, PYTHON, PATH=scripts)
    return next(folder.glob("*.whl"))


def main(frameworks):
    cargo, manifest = os.environ.get("CARGO", "cargo"), PYTHON / "Cargo.toml"
    built = wheel()
    for name in frameworks or ["test"]:
        python = environment(name)
        run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", built)
        if name in FRAMEWORKS:
            tests = [PYTHON / "tests" / file for file in FRAMEWORKS[name]]
            run(python, "-P", "-m", "pytest", *tests, KERAS_BACKEND=name)
        else:
            run(python, "-m", "ruff", "check", PYTHON)
            run(python, "-m", "ruff", "format", "--check", PYTHON)
            run(cargo, "fmt", "--manifest-path", manifest, "--check")
            run(cargo, "clippy", "--manifest-path", manifest, "--locked", "--release", "--quiet", "--", "-D", "warnings")
            run(python, "-P", "-m", "pytest", PYTHON / "tests")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except subprocess.CalledProcessError as failed:
        sys.exit(f"failed: {' '.join(map(str, failed.cmd))}")
