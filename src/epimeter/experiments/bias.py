# SPDX-License-Identifier: Apache-2.0
"""How far is each metric from the truth as rows grow? Every metric, every truth, from a hundred rows to a million.

A cell is one truth and one number of rows: many samples, each measured by every metric that takes nothing but forecasts and
outcomes; forecasts of a number by a mean and a deviation are measured by those that read them. Kept are the values, the
processor time they took, how often a metric's own test refuted calibration, and how often intervals held the population's
value.
"""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

from epimeter.calling import Metric
from epimeter.card_index import catalogue
from epimeter.errors import EpimeterError, UndefinedMetricError
from epimeter.experiments import bias_numbers
from epimeter.report import evaluate
from epimeter.results import Result
from epimeter.simulate import Truth, gaussian, truth
from epimeter.views import View, view

TRUTHS: dict[str, dict[str, Any]] = {
    "calibrated": {"name": "calibrated"},
    "slightly over": {"name": "over", "strength": 0.85},
    "over": {"name": "over"},
    "under": {"name": "under"},
    "wavy": {"name": "wavy"},
    "shift": {"name": "shift"},
    "noise": {"name": "noise"},
    "rare": {"name": "rare"},
    "verbal": {"name": "verbal"},
    "drift": {"name": "drift"},
    "4 classes": {"name": "temperature", "kind": "classes", "classes": 4},
    "100 classes": {"name": "temperature", "kind": "classes", "classes": 100},
    "1,000 classes": {"name": "temperature", "kind": "classes", "classes": 1_000},
}
NUMBERS = {f"Gaussian {name}": name for name in ("calibrated", "over", "under", "shift")}
"""Forecasts of a number."""
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
SETS = {100: 200, 1_000: 200, 10_000: 60, 100_000: 15, 1_000_000: 4}
MEDIUM = {100: 100, 1_000: 100, 10_000: 20, 100_000: 5, 1_000_000: 1}
"""Every size within half an hour of two cores."""
SMALL = {100: 25, 1_000: 25}
TINY = {100: 2}
"""For tests."""
OF_PROBABILITIES = ("point", "bin", "kernel", "curve", "cumulative", "selective")
FAMILIES = (*OF_PROBABILITIES, "distribution")
LEFT_OUT = ("kernel_bandwidth", "kernel_curve", "loess_curve", "bcs")
"""Curves and rules for a parameter: no measures."""
PATIENCE = 2.5
"""Seconds that one value may be expected to take, by the cost on the metric's card; dearer ones are left out at that size."""
INTERVALS = (
    "ece", "ece_db", "drmsce", "mce", "lp_ce", "brier_score", "nll", "ecd", "esce", "eo_ratio", "ecce_mad", "ecce_r",
)  # fmt: skip
"""Metrics whose intervals are counted: those that need no drawing."""
MATRICES = {"4 classes": 10_000, "100 classes": 100, "1,000 classes": 100}
"""Rows up to which classes are drawn: metrics of all classes take long."""
FEWER = {"1,000 classes": 5}
"""Of these there are so many times fewer samples: one takes as long as a hundred of one column."""
SECONDS: dict[str, dict[int, float]] = {
    "one column": {100: 0.40, 1_000: 0.95, 10_000: 2.4, 100_000: 10.5, 1_000_000: 102.0},
    "numbers": {100: 0.03, 1_000: 0.03, 10_000: 0.11, 100_000: 1.2, 1_000_000: 16.0},
    "4 classes": {100: 0.8, 1_000: 1.5, 10_000: 5.0},
    "100 classes": {100: 0.7},
    "1,000 classes": {100: 4.6},
}
"""Processor time of one sample under all metrics, by truth and rows; to say beforehand how long a study takes."""
BEFORE = {"1,000 classes": 6.0}
"""Seconds before the first sample: what the metrics tend to."""
MOST_ROWS = 10_000
"""Intervals are counted up to so many rows."""
LEVEL = 0.95
ALPHA = 0.05


def cells(seed: int, sets: dict[int, int]) -> dict[str, dict[str, Any]]:
    """Every truth at every number of rows, the small ones first."""
    return {
        f"{name}/{n}": {"truth": name, "rows": n, "sets": -(-count // FEWER.get(name, 1)), "seed": seed}
        for n, count in sorted(sets.items())
        for name in (*TRUTHS, *NUMBERS)
        if n <= MATRICES.get(name, n)
    }


def seconds(cell: dict[str, Any]) -> float:
    """About how long a cell takes on one core: what a sample took when the study was last timed."""
    known = SECONDS.get(cell["truth"]) or SECONDS["numbers" if cell["truth"] in NUMBERS else "one column"]
    return float(cell["sets"] * known[cell["rows"]] + BEFORE.get(cell["truth"], 0.3))


def measures() -> dict[str, Metric[Any]]:
    """Every metric that takes nothing but forecasts and outcomes."""
    return {
        name: metric
        for name, metric in catalogue().items()
        if metric.card.family in OF_PROBABILITIES
        and metric.reads is not None
        and not metric.card.needs
        and not any(parameter.required for parameter in metric.parameters.values())
        and name not in LEFT_OUT
    }


def measured(cell: dict[str, Any]) -> dict[str, Any]:
    """All samples of a cell."""
    if cell["truth"] in NUMBERS:
        return _measured_numbers(cell)
    law, n = truth(**TRUTHS[cell["truth"]]), cell["rows"]
    classes = law.classes if law.kind == "classes" else 2  # of more than two, some metrics need all pairs of rows
    taken = {name: m for name, m in measures().items() if m.card.seconds(n, n_classes=classes) <= PATIENCE}
    kept = _nothing_yet(taken)
    limits = {name: limit(law, name) for name in taken}
    for seed in _seeds(cell):
        rows = law.sample(n, seed=seed)
        given = view(rows.y_true, rows.y_prob, kind=law.kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ties, mostly: the card of a metric says what they do
            for name, metric in taken.items():
                _note(kept[name], metric, given)
            if n <= MOST_ROWS:
                _note_intervals(kept, limits, rows)
    return {"n_rows": n, "true_error": law.calibration_error(), "limits": limits, "metrics": kept}


def _measured_numbers(cell: dict[str, Any]) -> dict[str, Any]:
    """All samples of a cell of forecasts of a number."""
    law, n, taken = gaussian(NUMBERS[cell["truth"]]), cell["rows"], bias_numbers.measures()
    kept = _nothing_yet(taken)
    limits = {name: bias_numbers.limit(law, metric) for name, metric in taken.items()}
    for seed in _seeds(cell):
        rows = law.sample(n, seed=seed)
        for name, metric in taken.items():
            bias_numbers.noted(kept[name], metric, rows, ALPHA)
            true = limits[name]
            if n <= MOST_ROWS and true is not None:
                bias_numbers.noted_interval(kept[name], metric, rows, true, LEVEL)
    return {"n_rows": n, "true_error": bias_numbers.true_error(law), "limits": limits, "metrics": kept}


def _seeds(cell: dict[str, Any]) -> list[int]:
    """A sample is known by study, size and number: every truth is measured on the same uniform numbers."""
    return [cell["seed"] * 1_000_003 + cell["rows"] * 1_009 + number for number in range(cell["sets"])]


def _nothing_yet(taken: dict[str, Metric[Any]]) -> dict[str, dict[str, Any]]:
    return {
        name: {"values": [], "seconds": 0.0, "refuted": 0, "tests": 0, "undefined": 0, "held": 0, "intervals": 0}
        for name in taken
    }


def limit(law: Truth, name: str) -> float | None:
    """What the metric tends to; None where it tends to nothing, or to infinity."""
    try:
        value = law.value(name)
    except UndefinedMetricError:
        return None
    return value if math.isfinite(value) else None


def _note(kept: dict[str, Any], metric: Metric[Any], given: View) -> None:
    begun = time.process_time()
    try:
        recipe, rest = metric.settle({})
        answer = metric.compute(recipe.finish(recipe.summarise(given.read_as(recipe.reading))), **rest)
        value = float(answer.headline if isinstance(answer, Result) else answer)
    except (EpimeterError, TypeError):  # undefined on these rows, or not a number at all
        kept["undefined"] += 1
        return
    kept["seconds"] += time.process_time() - begun
    if not math.isfinite(value):
        kept["undefined"] += 1
        return
    kept["values"].append(value)
    p_value = getattr(answer, "p_value", None)
    if p_value is not None and math.isfinite(p_value):
        kept["tests"] += 1
        kept["refuted"] += bool(p_value <= ALPHA)


def _note_intervals(kept: dict[str, dict[str, Any]], limits: dict[str, float | None], rows: Any) -> None:
    wanted = [name for name in INTERVALS if limits.get(name) is not None]
    for measurement in evaluate(rows.y_true, rows.y_prob, metrics=wanted, level=LEVEL).values():
        interval, true = measurement.interval, limits[measurement.metric]
        if interval is not None and true is not None:
            note = kept[measurement.metric]
            note["intervals"] += 1
            note["held"] += bool(interval.low - 1e-12 <= true <= interval.high + 1e-12)
