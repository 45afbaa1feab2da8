# SPDX-License-Identifier: Apache-2.0
"""Write docs/experiments/bias.md from a finished study: `python experiments/bias/page.py FOLDER`.

How it is run is written by hand in introduction.md; findings, size, answers, tables and figures come from the study, and so does
the table in the guide to metrics.
"""

import csv
import json
import shutil
import sys
from pathlib import Path

from epimeter.experiments.bias import FAMILIES
from epimeter.experiments.bias_findings import by_rows, findings
from epimeter.experiments.bias_tables import markdown, nearest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
MARK, END = "<!-- study: written by `python experiments/bias/page.py FOLDER` -->", "<!-- end -->"
KEY = """*bias*: mean minus what the metric itself tends to, averaged over truths; empty where it tends to nothing. *distance*:
root mean square from the true l1 error, for metrics that are read as one. *rank correlation*: Spearman's, of the
value (signed metrics: its size) with the true error. *level*, *power*: how often the metric's own test refuted
calibration at 5 %, on calibrated rows and on the others. *coverage*: of 95 % intervals. *ms*: processor time of one
value."""


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
    images = DOCS / "images" / "bias"
    images.mkdir(parents=True, exist_ok=True)
    for figure in ("distances.svg", "biases.svg"):
        shutil.copy(folder / figure, images / figure)
    shutil.copy(folder / "cells.csv", DOCS / "experiments" / "bias_cells.csv")
    shutil.copy(folder / "metrics.csv", ROOT / "src" / "epimeter" / "data" / "bias_study.csv")
    table = list(csv.DictReader((folder / "metrics.csv").read_text("utf-8").splitlines()))
    settings = json.loads((folder / "experiment.json").read_text("utf-8"))["settings"]
    sizes = sorted({int(row["rows"]) for row in table})
    counted = {
        n: int(next(row["samples"] for row in table if row["metric"] == "ece" and int(row["rows"]) == n)) for n in sizes
    }
    cells = list(csv.DictReader((folder / "cells.csv").read_text("utf-8").splitlines()))
    truths = list(dict.fromkeys(row["truth"] for row in cells))
    behind = {
        int(row["rows"]): int(row["samples"]) for row in cells if (row["truth"], row["metric"]) == ("calibrated", "ece")
    }
    page = [
        (HERE / "introduction.md").read_text("utf-8"),
        "## What it shows",
        "",
        *(f"- {sentence}" for sentence in findings(table, cells)),
        "",
        "The ranking is one of these truths; with others it would be another.",
        "",
        "## The size of this study",
        "",
        f"Size {settings['size']!r}, seed {settings['seed']}: "
        + ", ".join(f"{count} samples of {n:,} rows" for n, count in counted.items())
        + f", over all {len(truths)} truths together ({', '.join(truths)}). A metric that would need more than 2.5 seconds for "
        "one value is left out at that size.",
        "",
        "A level rests on the calibrated samples alone: "
        + ", ".join(f"{count} of {n:,} rows" for n, count in behind.items())
        + f". With {max(behind.values())} of them it is known to {100 * (0.05 * 0.95 / max(behind.values())) ** 0.5:.0f} points. "
        f"[Coverage](../coverage.md) has the finer tables. Nothing is said here about more than {max(sizes):,} rows.",
        "",
        "## Which metric at my N?",
        "",
        "| rows | nearest to the true l1 error (root mean square distance over all truths) | ece |",
        "|---|---|---|",
    ]
    for n in sizes:
        _, ranked = nearest(table, n)
        plain = next(row for row in ranked if row["metric"] == "ece")
        named = ", ".join(f"{row['metric']} {float(row['distance']):.4f}" for row in ranked[:6])
        page.append(f"| {n:,} | {named} | {float(plain['distance']):.4f} |")
    page += ["", "`epimeter experiment which -n ROWS` says it for your own number of rows.", ""]
    page += ["![distance from the true error against rows](../images/bias/distances.svg)", ""]
    page += ["![bias truth by truth](../images/bias/biases.svg)", ""]
    page += [
        "## Tables",
        "",
        KEY,
        "",
    ]
    for family in FAMILIES:
        page += [f"### {family}", "", markdown(table, family)]
    page.append("As data: [by truth](bias_cells.csv), [over truths](../../src/epimeter/data/bias_study.csv).\n")
    (DOCS / "experiments" / "bias.md").write_text("\n".join(page), "utf-8")
    guide = DOCS / "guides" / "which-metric.md"
    before, _, rest = guide.read_text("utf-8").partition(MARK)
    _, end, after = rest.partition(END)
    guide.write_text(f"{before}{MARK}\n\n{by_rows(table, cells)}\n{end}{after}", "utf-8")


if __name__ == "__main__":
    main()
