# SPDX-License-Identifier: Apache-2.0
"""Several tests of perfect calibration at once: labels drawn once for all, and p-values adjusted for how many were made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import find
from epimeter.errors import InputError
from epimeter.inference.consistency import redrawn
from epimeter.inference.critical import LAWS, Bounds, drawn_bounds
from epimeter.inference.draws import Progress, at_least, at_most
from epimeter.inference.grouped import choices_of_one, has_repeats, mean_p_value
from epimeter.inference.intervals import OPTIONS
from epimeter.inference.multiplicity import Adjustment, adjust_p_values
from epimeter.inference.statistic import Statistic
from epimeter.inference.tables import CalibrationTests, Finding, of_kind
from epimeter.metrics.point.entropic import Clip, clipped
from epimeter.parameters import check
from epimeter.views import View, view

Floats = NDArray[np.float64]


def drawn_null(
    y_true: Any,
    y_prob: Any,
    names: Sequence[str],
    *,
    draws: int = 999,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Floats]:
    """The values of metrics on labels drawn from the forecasts, one a draw; all metrics share the labels."""
    check("drawn_null", {n: OPTIONS[n] for n in ("draws", "seed")}, {"draws": draws, "seed": seed})
    statistics = [Statistic.of(name, None) for name in dict.fromkeys(names)]
    if not statistics:
        return {}
    values = redrawn(view(y_true, y_prob), statistics, draws, seed, False, threads, progress=progress)
    return {statistic.name: column for statistic, column in zip(statistics, values.T, strict=True)}


def calibration_tests(
    y_true: Any,
    y_prob: Any,
    *,
    metrics: Sequence[str] = ("ece", "mce", "ecd", "ecce_mad", "l2_ece_ci", "spiegelhalter_z"),
    adjust: Adjustment = "holm",
    alpha: float = 0.05,
    draws: int = 999,
    seed: int = 0,
    threads: int | None = None,
    null: Mapping[str, Floats] | None = None,
    groups: Any = None,
    eps: Clip = 0.0,
) -> CalibrationTests:
    """Tests of perfect calibration with several metrics, their p-values adjusted.

    Metrics with a law of their own are tested by it; for the others labels are drawn from the forecasts, the same
    labels for all of them. Signed metrics are tested on both sides. Beside each value stand the critical values of its test
    by itself, before p-values are adjusted.

    Parameters
    ----------
    metrics
        Names of metrics.
    adjust
        How p-values are adjusted, as in adjust_p_values.
    alpha
        Level over all tests.
    draws, seed, threads
        Of the label draws.
    null
        What `drawn_null` gave for these metrics, where it was asked already.
    groups
        One label a row. Rows of one label (answers to one question) are no independent evidence: each test is made on one
        row a group, several times, and its p-value is twice the mean over these choices (see `grouped`).
    eps
        Clip the forecasts that ecd tests to [eps, 1 - eps], as in ecd; its labels are drawn from the clipped ones.
    """
    given = view(y_true, y_prob)
    check("calibration_tests", {n: OPTIONS[n] for n in ("draws", "seed")}, {"draws": draws, "seed": seed})
    names = [find(name).name for name in metrics]
    if not names:
        raise InputError("calibration_tests needs at least one metric; got none", field="metrics")
    found: dict[str, tuple[float, float, str, Bounds]] = {}
    if groups is not None and has_repeats(groups, given.n_rows):
        return _grouped_tests(given, names, adjust, alpha, draws, seed, threads, groups, eps)
    for name in names:
        if name in LAWS:
            answer = LAWS[name].metric(y_true, y_prob)
            p_value = 1.0 if math.isnan(answer.p_value) else answer.p_value
            found[name] = answer.headline, p_value, "asymptotic", LAWS[name].bounds(answer, given, alpha)
    resampled = [name for name in names if name not in found]
    moved = {"ecd": clipped(given, eps)} if eps and "ecd" in resampled else {}
    if null is None:
        plain = [name for name in resampled if name not in moved]
        null = drawn_null(y_true, y_prob, plain, draws=draws, seed=seed, threads=threads)
    for name, rows in moved.items():
        null = {**null, **drawn_null(rows.true, rows.prob, [name], draws=draws, seed=seed, threads=threads)}
    for name in resampled:
        value, column = Statistic.of(name, None).of_view(moved.get(name, given)), null[name]
        above = (1 + int(at_least(column, value).sum())) / (len(column) + 1)
        below = (1 + int(at_most(column, value).sum())) / (len(column) + 1)
        signed = find(name).card.direction == "signed"
        bounds = drawn_bounds(np.sort(column), "two-sided" if signed else "greater", alpha)
        found[name] = value, min(1.0, 2 * min(above, below)) if signed else above, "resampling", bounds
    adjusted = adjust_p_values([found[name][1] for name in names], method=adjust, alpha=alpha).adjusted
    made = [
        Finding(
            metric=name,
            value=found[name][0],
            p_value=found[name][1],
            adjusted=float(q),
            reject=bool(q <= alpha),
            method=found[name][2],
            lower=found[name][3].lower,
            upper=found[name][3].upper,
        )
        for name, q in zip(names, adjusted, strict=True)
    ]
    return CalibrationTests(
        made, **of_kind(given.kind), n_rows=given.n_rows, alpha=alpha, adjust=adjust, draws=draws, seed=seed
    )


def _grouped_tests(
    given: View,
    names: list[str],
    adjust: Adjustment,
    alpha: float,
    draws: int,
    seed: int,
    threads: int | None,
    groups: Any,
    eps: float,
) -> CalibrationTests:
    """The tests on one row a group, many times; the values are those of all rows."""
    chosen = choices_of_one(groups, seed)
    made = [
        calibration_tests(
            one.true,
            one.prob,
            metrics=names,
            adjust=adjust,
            alpha=alpha,
            draws=draws,
            seed=seed + number,
            threads=threads,
            eps=eps,
        )
        for number, one in enumerate(given.take(rows) for rows in chosen)
    ]
    p_values = [mean_p_value([findings[i].p_value for findings in made]) for i in range(len(names))]
    adjusted = adjust_p_values(p_values, method=adjust, alpha=alpha).adjusted
    word = f", one row of each of {len(chosen[0]):,} groups, {len(chosen)} times"
    tests = [
        Finding(
            metric=name,
            value=Statistic.of(name, None).of_view(clipped(given, eps) if name == "ecd" else given),
            p_value=p,
            adjusted=float(q),
            reject=bool(q <= alpha),
            method=made[0][i].method + word,
        )
        for i, (name, p, q) in enumerate(zip(names, p_values, adjusted, strict=True))
    ]
    facts: dict[str, Any] = {"n_rows": given.n_rows, "n_units": len(chosen[0]), "alpha": alpha, "adjust": adjust}
    return CalibrationTests(tests, **of_kind(given.kind), **facts, draws=draws, seed=seed)
