# SPDX-License-Identifier: Apache-2.0
"""Where two evaluations differ most: the gap between stated and seen in each slice that both have, by its difference."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from epimeter.documents.sections import Grid, Paragraph, Section
from epimeter.readers.table import Table

COLUMNS = {"class_of": "class", "category": "category", "ground_truth_source": "source of the truth"}
LEAST, MOST = 30, 200
"""Records that a slice must have on both sides, and slices of one column that are looked at, the fullest first."""
SHOWN = 20


def slice_gaps(tables: list[Table], *, paired: bool) -> list[dict[str, Any]]:
    """Each slice of both evaluations, those that differ most first.

    The gap is the mean confidence less the share that was right. The intervals of the difference hold together at 95 %
    (Bonferroni), so that the first of many slices is not believed by luck. Answers to one question count as one.
    """
    found = []
    clusters = [table.clusters for table in tables]
    for column, words in COLUMNS.items():
        values = [getattr(table, column) for table in tables]
        if any(value is None for value in values):
            continue
        texts = [np.asarray(["" if one is None else str(one) for one in value]) for value in values]
        for name in _shared(texts):
            inside = [text == name for text in texts]
            off = [
                np.asarray(table.y_prob)[rows] - np.asarray(table.y_true)[rows]
                for table, rows in zip(tables, inside, strict=True)
            ]
            together = paired and np.array_equal(inside[0], inside[1])
            groups = [None if each is None else each[rows] for each, rows in zip(clusters, inside, strict=True)]
            spread = (
                _spread(off[0] - off[1], groups[0])
                if together
                else math.hypot(*(_spread(*pair) for pair in zip(off, groups, strict=True)))
            )
            gaps = [float(one.mean()) for one in off]
            found.append((words, name, [len(one) for one in off], gaps, spread))
    wide = NormalDist().inv_cdf(1 - 0.025 / max(1, len(found)))
    made = [
        {
            "column": words,
            "value": name,
            "records": counts,
            "gaps": gaps,
            "difference": gaps[0] - gaps[1],
            "interval": [gaps[0] - gaps[1] - wide * spread, gaps[0] - gaps[1] + wide * spread],
        }
        for words, name, counts, gaps, spread in found
    ]
    return sorted(made, key=lambda one: -abs(one["difference"]))


def section(slices: list[dict[str, Any]]) -> Section:
    """The slices as a section of a page."""
    if not slices:
        said = f"Both evaluations must have a class, a category or a source of the truth in common, with {LEAST} records each."
        return Section("Slices by difference", (Paragraph(f"There are no slices to compare. {said}"),))
    rows = tuple(
        (
            f"{one['column']}: {one['value']}",
            " / ".join(f"{count:,}" for count in one["records"]),
            *(f"{gap:+.3f}" for gap in one["gaps"]),
            f"{one['difference']:+.3f} [{one['interval'][0]:+.3f}, {one['interval'][1]:+.3f}]",
            "differs" if one["interval"][0] > 0 or one["interval"][1] < 0 else "could be chance",
        )
        for one in slices[:SHOWN]
    )
    said = (
        "The gap of a slice is the mean confidence less the share that was right: above 0 says too much, below 0 too little. The "
        f"intervals of all {len(slices):,} slices hold together at 95 %."
    )
    if len(slices) > SHOWN:
        said += f" The {SHOWN} that differ most are shown."
    heads = ("slice", "records", "gap of the first", "gap of the second", "difference", "verdict")
    return Section("Slices by difference", (Paragraph(said), Grid("Slices", heads, rows, frozenset({1, 2, 3, 4}))))


def _shared(texts: list[Any]) -> list[str]:
    counts = [dict(zip(*np.unique(text, return_counts=True), strict=True)) for text in texts]
    both = {name: min(count, counts[1].get(name, 0)) for name, count in counts[0].items() if name}
    return [str(name) for name in sorted(both, key=lambda name: (-both[name], name)) if both[name] >= LEAST][:MOST]


def _spread(off: Any, group: Any) -> float:
    """The standard error of the mean; of groups by their sums, which are what is independent."""
    if group is None:
        return float(off.std(ddof=1) / np.sqrt(len(off)))
    sums = np.bincount(np.unique(group, return_inverse=True)[1].ravel(), off - off.mean())
    if len(sums) < 2:
        return math.inf
    return float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(off))
