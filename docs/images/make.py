# SPDX-License-Identifier: Apache-2.0
"""Make the pictures that no page draws itself: `python docs/images/make.py`.

The reliability diagram of the README is drawn from the bundled data set, the times from the table of docs/scale.md, the parts of an
installation from the list below.
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import epimeter.data
from epimeter import draw

HERE = Path(__file__).parent
DATA = Path(epimeter.data.__path__[0]) / "cifar10_vgg16.npz"
BLUE, GREY = "#1f5fa8", "#5d6673"
PARTS = {
    "callers": (0.0, 1.0, "callers,\nbrowsers"),
    "proxy": (1.6, 1.0, "proxy\nwith TLS"),
    "service": (3.2, 1.0, "epimeter serve"),
    "database": (5.2, 1.9, "database\nSQLite or PostgreSQL"),
    "data": (5.2, 1.0, "data folder\nkeys, logs, secrets"),
    "root": (5.2, 0.1, "data.root\nroot key: to a drawer"),
    "published": (3.2, 0.1, "data.published.json\ncopied elsewhere"),
    "backup": (7.4, 1.45, "epimeter backup\none file, mode 600"),
}
WAYS = (
    ("callers", "proxy"), ("proxy", "service"), ("service", "database"), ("service", "data"), ("service", "root"),
    ("service", "published"), ("database", "backup"), ("data", "backup"),
)  # fmt: skip


def installation() -> plt.Figure:
    """What belongs to a registry, and what a backup holds."""
    figure, ax = plt.subplots(figsize=(10, 3.2), layout="constrained")
    ax.set(xlim=(-0.8, 8.4), ylim=(-0.4, 2.4))
    box = {"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": BLUE}
    drawn = {
        name: ax.text(x, y, words, ha="center", va="center", fontsize=9, bbox=box).get_bbox_patch()
        for name, (x, y, words) in PARTS.items()
    }
    figure.canvas.draw()  # boxes have their size from here on, and arrows end at them
    for first, second in WAYS:
        arrow = {"arrowstyle": "->", "color": GREY, "patchA": drawn[first], "patchB": drawn[second]}
        ax.annotate("", PARTS[second][:2], PARTS[first][:2], arrowprops=arrow)
    ax.axis("off")
    return figure


def times() -> plt.Figure:
    """Processor time of 100 million rows, as docs/scale.md has it between its marks."""
    text = (HERE.parent / "scale.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \| [\d.]+ s \| ([\d.]+) s \| [\d.]+ \|", text, re.M)
    names, seconds = [name for name, _ in rows][::-1], [float(value) for _, value in rows][::-1]
    figure, ax = plt.subplots(figsize=(9, 0.34 * len(rows) + 0.8), layout="constrained")
    bars = ax.barh(
        names, seconds, color=[BLUE if name.startswith(("epimeter", "the same, all")) else GREY for name in names]
    )
    ax.bar_label(bars, fmt="%.2f s", padding=3, fontsize=8)
    ax.set(xscale="log", xlabel="seconds of processor time, 100 million rows (logarithmic)", xlim=(0.1, 60))
    ax.tick_params(axis="y", labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    draw.save(installation(), HERE / "installation.svg")
    draw.save(times(), HERE / "scale.svg")
    with np.load(DATA) as data:
        y_true, y_prob = data["labels"], data["probs"]
    figure = draw.reliability(y_true, y_prob, draws=999, title="VGG-16, CIFAR-10 test images")
    for suffix in ("png", "svg"):
        print(draw.save(figure, HERE / f"reliability.{suffix}", dpi=160))


if __name__ == "__main__":
    main()
