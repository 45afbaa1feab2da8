# SPDX-License-Identifier: Apache-2.0
"""The bias study as data: a row a truth, size and metric; a row a size and metric; and which metric is nearest at a size."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from epimeter.card_index import find

Results = Mapping[str, Mapping[str, Any]]
ERRORS = (
    "ece", "ece_db", "ece_sweep", "ece_knn", "ece_avg", "ece_ea", "ece_fott", "sbece", "fce", "sece", "smece", "smooth_ce",
    "bkde", "lsece", "ici", "fott_platt", "fott_beta", "fott_isotonic", "fott_spline", "ece_pl", "ece_pl3", "rice",
)  # fmt: skip
"""Metrics that are read as "the calibration error": these are held against the true one."""


def rows(results: Results) -> list[dict[str, Any]]:
    """One row a truth, size and metric; empty where there is nothing to say."""
    made = []
    for key, cell in results.items():
        for name, kept in cell["metrics"].items():
            values, limit = kept["values"], cell["limits"].get(name)
            mean = statistics.fmean(values) if values else None
            made.append(
                {
                    "truth": key.rpartition("/")[0],
                    "rows": cell["n_rows"],
                    "metric": name,
                    "family": find(name).card.family,
                    "samples": len(values),
                    "true_error": cell["true_error"],
                    "limit": limit,
                    "mean": mean,
                    "sd": statistics.stdev(values) if len(values) > 1 else None,
                    "bias": mean - limit if mean is not None and limit is not None else None,
                    "refuted": kept["refuted"],
                    "tests": kept["tests"],
                    "held": kept["held"],
                    "intervals": kept["intervals"],
                    "undefined": kept["undefined"],
                    "milliseconds": 1e3 * kept["seconds"] / len(values) if values else None,
                }
            )
    return made


def overall(results: Results) -> list[dict[str, Any]]:
    """One row a size and metric, over all truths: bias, spread, distance from the true error, rank correlation, level, power."""
    table = rows(results)
    made = []
    for n in sorted({row["rows"] for row in table}):
        for name in dict.fromkeys(row["metric"] for row in table if row["rows"] == n):
            of_metric = [row for row in table if row["rows"] == n and row["metric"] == name and row["samples"]]
            if of_metric:
                made.append(_over_truths(results, n, name, of_metric))
    return made


def _over_truths(results: Results, n: int, name: str, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    pairs = [
        (cell["true_error"], value)
        for cell in results.values()
        if cell["n_rows"] == n and name in cell["metrics"]
        for value in cell["metrics"][name]["values"]
    ]
    signed = find(name).card.direction == "signed"
    ideal = find(name).card.ideal or 0.0
    sizes = [abs(value - ideal) if signed else value for _, value in pairs]
    off = [row for row in found if row["true_error"] > 1e-9]
    return {
        "rows": n,
        "metric": name,
        "family": found[0]["family"],
        "truths": len(found),
        "samples": sum(row["samples"] for row in found),
        "bias": _mean(row["bias"] for row in found),
        "sd": _mean(row["sd"] for row in found),
        "distance": math.sqrt(statistics.fmean((t - v) ** 2 for t, v in pairs)) if name in ERRORS else None,
        "rank_correlation": _ranked([t for t, _ in pairs], sizes),
        "level": _share([row for row in found if row["true_error"] <= 1e-9], "refuted", "tests"),
        "power": _share(off, "refuted", "tests"),
        "coverage": _share(found, "held", "intervals"),
        "milliseconds": _mean(row["milliseconds"] for row in found),
    }


def _mean(values: Iterable[float | None]) -> float | None:
    kept = [value for value in values if value is not None]
    return statistics.fmean(kept) if kept else None


def _share(found: Iterable[Mapping[str, Any]], part: str, whole: str) -> float | None:
    listed = list(found)
    total = sum(row[whole] for row in listed)
    return sum(row[part] for row in listed) / total if total else None


def _ranked(true: Sequence[float], value: Sequence[float]) -> float | None:
    """Spearman's correlation; None where all values are equal."""
    from scipy.stats import spearmanr

    if len(set(true)) < 2 or len(set(value)) < 2:
        return None
    return float(spearmanr(true, value).statistic)


def nearest(table: Iterable[Mapping[str, Any]], n: int) -> tuple[int, list[Mapping[str, Any]]]:
    """The size of the study nearest to n, and its calibration errors by their distance from the true one."""
    listed = [row for row in table if row["distance"] not in (None, "")]
    size = min({int(row["rows"]) for row in listed}, key=lambda each: abs(math.log(each / n)))
    return size, sorted((row for row in listed if int(row["rows"]) == size), key=lambda row: float(row["distance"]))


def as_csv(table: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a file, six significant digits."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(table[0]), lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})
    return stream.getvalue()


def markdown(table: Sequence[Mapping[str, Any]], family: str) -> str:
    """A family as a table, one row a metric and size."""
    head = ("metric", "rows", "bias", "sd", "distance", "rank correlation", "level", "power", "coverage", "ms")
    keys = ("bias", "sd", "distance", "rank_correlation", "level", "power", "coverage", "milliseconds")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in sorted(
        (row for row in table if row["family"] == family), key=lambda row: (row["metric"], int(row["rows"]))
    ):
        cells = [_shown(key, row[key]) for key in keys]
        lines.append(
            f"| [{row['metric']}](../reference/{row['metric']}.md) | {int(row['rows']):,} | " + " | ".join(cells) + " |"
        )
    return "\n".join(lines) + "\n"


def _shown(key: str, value: Any) -> str:
    if value in (None, ""):
        return ""
    if key in ("level", "power", "coverage"):
        return f"{100 * float(value):.0f} %"
    return (
        f"{float(value):+.4f}"
        if key == "bias"
        else f"{float(value):.2f}"
        if key != "sd" and key != "distance"
        else f"{float(value):.4f}"
    )
