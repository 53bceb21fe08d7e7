"""Draws chart.svg from results.json: the best of each peer in each case."""

import json
from pathlib import Path

import matplotlib

matplotlib.use("svg")
# The same results give the same file.
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "peers", "font.size": 10})

from matplotlib import pyplot

HERE = Path(__file__).resolve().parent
TITLES = {
    "shuffled-1024": "Shuffled, batches of 1024",
    "shuffled-128": "Shuffled, batches of 128",
    "in-order-1024": "File order, batches of 1024, copied",
}


def best(results, case):
    """The fastest way of each peer; a slice that copies nothing is in the table only."""
    found = {}
    for r in results:
        if r["case"] == case and "view" not in r["way"] and r["gb_per_s"] > found.get(r["peer"], {"gb_per_s": 0})["gb_per_s"]:
            found[r["peer"]] = r
    return sorted(found.values(), key=lambda r: r["gb_per_s"])


data = json.loads((HERE / "results.json").read_text())
figure, axes = pyplot.subplots(len(TITLES), figsize=(8, 8), layout="constrained")
for axis, (case, title) in zip(axes, TITLES.items()):
    rows = best(data["results"], case)
    colors = ["#c45a1c" if r["peer"] == "Gristmill" else "#8a9ba8" for r in rows]
    bars = axis.barh([r["peer"] for r in rows], [r["gb_per_s"] for r in rows], color=colors)
    axis.bar_label(bars, [f"{r['gb_per_s']:.2g}  ({r['way']}, {r['workers']} workers)" for r in rows], padding=4)
    axis.set_title(title, loc="left")
    axis.margins(x=0.35)
    axis.spines[["top", "right"]].set_visible(False)
machine = data["machine"]
axes[-1].set_xlabel(f"GB/s, 512-byte rows with labels, page cache warm · {machine['cpu']}, {machine['cores']} cores")
figure.savefig(HERE / "chart.svg", metadata={"Date": None})
