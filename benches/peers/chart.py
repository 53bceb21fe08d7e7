"""Draws chart.svg from results.json: in each case the best that a peer's documented ways give, and paler what goes further."""

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
    "in-order-1024": "File order, batches of 1024",
}
# Ways that do part of the pipeline's work by hand, and Gristmill's cheaper shuffle.
FURTHER = ("numbers", "own order", "Shuffle::blocks")
# A slice that copies nothing is in the table only.
VIEW = "slices"


def best(results, case):
    """For each peer the fastest documented way and the fastest of all; slowest peer first."""
    found = {}
    for r in sorted(results, key=lambda r: r["gb_per_s"]):
        if r["case"] == case and not r["way"].startswith(VIEW):
            fastest = found.setdefault(r["peer"], {})
            fastest["any"] = r
            if not r["way"].startswith(FURTHER):
                fastest["book"] = r
    return sorted(found.items(), key=lambda item: item[1]["book"]["gb_per_s"])


def label(fastest):
    text = f"{fastest['book']['gb_per_s']:.2g}"
    if fastest["any"] is not fastest["book"]:
        text += f"  ({fastest['any']['gb_per_s']:.2g}: {fastest['any']['way']})"
    return text


data = json.loads((HERE / "results.json").read_text())
figure, axes = pyplot.subplots(len(TITLES), figsize=(8, 8), layout="constrained")
for axis, (case, title) in zip(axes, TITLES.items()):
    peers = best(data["results"], case)
    names = [name for name, _ in peers]
    colors = ["#c45a1c" if name == "Gristmill" else "#6b7f8d" for name in names]
    whole = axis.barh(names, [fastest["any"]["gb_per_s"] for _, fastest in peers], color=colors, alpha=0.35)
    axis.barh(names, [fastest["book"]["gb_per_s"] for _, fastest in peers], color=colors)
    axis.bar_label(whole, [label(fastest) for _, fastest in peers], padding=4)
    axis.set_title(title, loc="left")
    axis.margins(x=0.3)
    axis.spines[["top", "right"]].set_visible(False)
machine = data["machine"]
axes[-1].set_xlabel(f"GB/s of 512-byte rows and labels, page cache warm; {machine['cpu']}, {machine['cores']} cores")
figure.savefig(HERE / "chart.svg", metadata={"Date": None})
