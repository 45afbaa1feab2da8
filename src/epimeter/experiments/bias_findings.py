# SPDX-License-Identifier: Apache-2.0
"""What a bias study shows, in words that follow from its numbers: no sentence knows how a study came out, or how large it was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from epimeter.experiments.bias_tables import nearest

Table = Sequence[Mapping[str, Any]]
NEAR = 1.1
"""Errors whose distance is at most so many times that of the nearest are named with it."""
UNRELATED = 0.1
"""Rank correlations up to this size tell nothing of the true error."""
SURE = 0.01
"""How unlikely a count must be before a level or a coverage is said to be off; there are hundreds of them."""


def findings(table: Table, cells: Table) -> list[str]:
    """The findings of a study, one a paragraph."""
    sizes = sorted({int(row["rows"]) for row in table})
    made = [_known(table, sizes), *_near(table, cells, sizes), _ranked(table, sizes[-1])]
    made += [_off(cells, "level", "refuted", "tests", 0.05), _off(cells, "coverage", "held", "intervals", 0.95)]
    return [sentence for sentence in made if sentence]


def by_rows(table: Table, cells: Table) -> str:
    """A table for whoever has so many rows: which errors are nearest, by how much they are off, and how large errors were."""
    lines = [
        "| rows | nearest to the true error | off by | ece is off by | the true errors were |",
        "|---|---|---|---|---|",
    ]
    for n in sorted({int(row["rows"]) for row in table}):
        _, ranked = nearest(table, n)
        plain = next((row for row in ranked if row["metric"] == "ece"), None)
        true = _true_errors(cells, n)
        beside = f"{float(plain['distance']):.3f}" if plain is not None else ""
        lines.append(
            f"| {n:,} | {_named(ranked)} | {float(ranked[0]['distance']):.3f} | {beside} | {min(true):.3f} to {max(true):.3f} |"
        )
    return "\n".join(lines) + "\n"


def _known(table: Table, sizes: Sequence[int]) -> str:
    """Whether ECE says too much, debiasing takes it off, and the error of neighbours is worse."""
    parts = []
    for n in sizes:
        found = {row["metric"]: row for row in table if int(row["rows"]) == n}
        said = [
            f"`{name}` {float(found[name]['bias']):+.4f}"
            for name in ("ece", "ece_db", "ece_sweep", "ece_knn")
            if name in found and found[name]["bias"] not in (None, "")
        ]
        if said:
            parts.append(f"{', '.join(said)} at {n:,} rows")
    if not parts:
        return ""
    return (
        "**What was known before.** On average over the truths these say more (+) or less (-) than they tend to: "
        + "; ".join(parts)
        + "."
    )


def _near(table: Table, cells: Table, sizes: Sequence[int]) -> Iterable[str]:
    """Which errors are nearest at each size, and whether that is near."""
    for n in sizes:
        _, ranked = nearest(table, n)
        if not ranked:
            continue
        off, true = float(ranked[0]["distance"]), [value for value in _true_errors(cells, n) if value > 1e-9]
        half = sum(off > value / 2 for value in true)
        sentence = f"**At {n:,} rows** nearest to the true error are {_named(ranked)}: off by {off:.4f}"
        if true:
            sentence += (
                f", which is more than half of the error under {half} of the {len(true)} truths that have one"
                + (": a test or an interval is the honest answer there" if 2 * half > len(true) else "")
            )
        yield sentence + "."


def _named(ranked: Table) -> str:
    best = float(ranked[0]["distance"])
    alike = [row["metric"] for row in ranked if float(row["distance"]) <= NEAR * best]
    return ", ".join(f"`{name}`" for name in alike)


def _true_errors(cells: Table, n: int) -> list[float]:
    found = {
        row["truth"]: float(row["true_error"]) for row in cells if int(row["rows"]) == n and row["metric"] == "ece"
    }
    return list(found.values()) or [0.0]


def _ranked(table: Table, n: int) -> str:
    """Metrics whose order says nothing of the true error."""
    correlated = [
        (row["metric"], float(row["rank_correlation"]))
        for row in table
        if int(row["rows"]) == n and row["rank_correlation"] not in (None, "")
    ]
    if not correlated:
        return ""
    names = sorted(name for name, found in correlated if abs(found) <= UNRELATED)
    if not names:
        return (
            f"**At {n:,} rows every metric is correlated with the true error** (rank correlation above {UNRELATED:g})."
        )
    listed = ", ".join(f"`{name}`" for name in names)
    return (
        f"**Metrics that answer another question**: at {n:,} rows {len(names)} of {len(correlated)} have a rank correlation with "
        f"the true error of at most {UNRELATED:g} in size: {listed}."
    )


def _off(cells: Table, what: str, part: str, whole: str, nominal: float) -> str:
    """Tests whose level, or intervals whose coverage, is not what they claim, by an exact binomial test."""
    from scipy.stats import binomtest

    counted: dict[tuple[str, int], list[int]] = {}
    for row in cells:
        if what == "coverage" or float(row["true_error"]) <= 1e-9:
            sums = counted.setdefault((row["metric"], int(row["rows"])), [0, 0])
            sums[0] += int(row[part])
            sums[1] += int(row[whole])
    counted = {key: sums for key, sums in counted.items() if sums[1]}
    if not counted:
        return ""
    wrong = "greater" if what == "level" else "less"
    bad = sorted(
        (key, sums)
        for key, sums in counted.items()
        if binomtest(sums[0], sums[1], nominal, alternative=wrong).pvalue < SURE / len(counted)
    )
    word = (
        "reject calibrated rows more often than they claim" if what == "level" else "cover less often than they claim"
    )
    subject = "Tests" if what == "level" else "Intervals"
    least, most = (pick(sums[1] for sums in counted.values()) for pick in (min, max))
    behind = f"{least:,} to {most:,}" if least < most else f"{least:,}"
    if not bad:
        return f"**{subject}**: of {len(counted)} none is seen to {word} ({behind} samples behind each)."
    listed = ", ".join(f"`{name}` at {n:,} rows ({sums[0] / sums[1]:.0%})" for (name, n), sums in bad)
    return f"**{subject}** that {word}, beyond what {behind} samples leave to chance: {listed}."
