"""Runs Gristmill and its peers one after the other, writes results.json and chart.svg, and prints the table; --table only prints.
With names of scripts, such as with_numpy, only those are run, and the other results stay.

Needs Python 3.11 to 3.13 for the peers' wheels, Rust, and about 12 GB of disk under target/. Environments and data files are made once.
"""

import datetime
import itertools
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "target" / "peers"
RESULTS = HERE / "results.json"
PACKAGE = HERE.parents[1] / "python"
PEERS = ["with_gristmill", "with_numpy", "with_torch", "with_tf_data", "with_grain"]


def environment(requirements):
    """The Python of a virtual environment that has just these packages."""
    folder = TARGET / requirements.stem
    python, stamp = folder / "bin" / "python", folder / requirements.name
    if not (stamp.exists() and stamp.read_text() == requirements.read_text()):
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
        stamp.write_text(requirements.read_text())
    return python


def lines(command, **options):
    """Runs a peer over files that are in the page cache, shows what it prints, and gives its lines of JSON."""
    subprocess.run([TARGET / "with_numpy" / "bin" / "python", HERE / "python" / "data.py"], check=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
        for line in process.stdout:
            if line.startswith("{"):
                print(line, end="", file=sys.stderr)
                yield json.loads(line)
    if process.returncode:
        sys.exit(f"{command} failed with status {process.returncode}")


def in_python(peers):
    environments = {peer: environment(HERE / "python" / f"{peer}.txt") for peer in peers}
    if "with_gristmill" in peers:
        subprocess.run([environments["with_gristmill"], "-m", "pip", "install", "--quiet", PACKAGE], check=True)
    for peer in peers:
        yield from lines([environments[peer], HERE / "python" / f"{peer}.py"])


def in_rust():
    cargo = os.environ.get("CARGO", "cargo")
    rust = os.environ | {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(TARGET / "rust"))}
    subprocess.run([cargo, "build", "--release", "--locked"], cwd=HERE / "rust", env=rust, check=True)
    yield from lines([cargo, "run", "--release", "--locked", "--quiet"], cwd=HERE / "rust", env=rust)


def machine():
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    rust = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    return {
        "date": datetime.date.today().isoformat(), "cpu": cpu, "cores": os.cpu_count(), "memory_gib": round(memory / 2**30),
        "python": sys.version.split()[0], "rust": rust,
    }


def table(results):
    """A Markdown table, fastest first, each peer beside Gristmill on as many cores as the peer may keep busy."""
    ours = {
        (r["case"], r["workers"]): r["gb_per_s"]
        for r in results if r["peer"] == "Gristmill" and r["way"] != "Shuffle::blocks"
    }
    cases = list(dict.fromkeys(r["case"] for r in results))
    yield "| case | peer | way | workers | cores | GB/s | Mrows/s | Gristmill, GB/s | Gristmill ÷ peer |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for r in sorted(results, key=lambda r: (cases.index(r["case"]), -r["gb_per_s"])):
        same = ours[r["case"], r["cores"]]
        yield (
            f"| {r['case']} | {r['peer']} {r['version']} | {r['way']} | {r['workers']} | {r['cores']} "
            f"| {r['gb_per_s']:.3g} | {r['rows_per_s'] / 1e6:.3g} | {same:.3g} | {same / r['gb_per_s']:.3g} |"
        )


def main():
    if sys.argv[1:] == ["--table"]:
        print("\n".join(table(json.loads(RESULTS.read_text())["results"])))
        return
    names = sys.argv[1:]
    environment(HERE / "python" / "with_numpy.txt")  # which makes the data
    results = list(in_python(names) if names else itertools.chain(in_rust(), in_python(PEERS)))
    if names:
        anew = {r["peer"] for r in results}
        results = [r for r in json.loads(RESULTS.read_text())["results"] if r["peer"] not in anew] + results
    each = ",\n  ".join(map(json.dumps, results))
    RESULTS.write_text(f'{{\n "machine": {json.dumps(machine())},\n "results": [\n  {each}\n ]\n}}\n')
    print("\n".join(table(results)))
    subprocess.run([environment(HERE / "chart.txt"), HERE / "chart.py"], check=True)


if __name__ == "__main__":
    main()
