# SPDX-License-Identifier: Apache-2.0
"""What a person asks of forecasts first: do the intervals cover as they claim, are the distributions calibrated, which way off?

1. Coverage at the level, by the exact binomial test; the uniformity of the transform, where there is one. Each at half the
   level where both are made (Bonferroni). With groups, one row each would be needed: then only intervals speak.
2. Which way: bias in units of the stated deviation, and whether deviations are too small or too large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from epimeter.forecasts import Forecast, Normal, Sets, States
from epimeter.report.measurement import Measurement
from epimeter.results import plain

ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastVerdict:
    """The first lines of a report on forecasts.

    Attributes
    ----------
    refuted
        Whether calibration is refuted at level 0.05; None where no test is made.
    test, p_value
        The test that speaks loudest, and its p-value times the number of tests.
    coverage, level
        How often the truth was covered, and how often it should have been; None for states, which have no interval.
    sentences
        All of it in words.
    """

    refuted: bool | None
    test: str | None
    p_value: float | None
    coverage: float | None
    level: float | None
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {name: plain(getattr(self, name)) for name in self.__slots__} | {"sentences": list(self.sentences)}


def forecast_verdict(
    view: Forecast, level: float, lines: Mapping[str, Measurement], independent: bool
) -> ForecastVerdict | None:
    """The verdict; None where coverage has no value (quantiles that state no interval of the level).

    The measurements may be those of more rows than `view` holds: then bias and spread are told by those it does.
    """
    if isinstance(view, States):
        return _of_state(view, lines, independent)
    share = lines.get("set_coverage" if isinstance(view, Sets) else "picp")
    if share is None or share.value is None:
        return None
    p_values: dict[str, float] = {}
    if view.weight is None and independent:
        p_values["coverage"] = _binomial(share, level)
        test = lines.get("pit_test")
        if test is not None and test.value is not None:
            p_values["pit_test"] = float(test.fields["p_value"])
    loudest = min(p_values, key=lambda name: p_values[name]) if p_values else None
    p_value = None if loudest is None else min(1.0, p_values[loudest] * len(p_values))
    refuted = None if p_value is None else p_value < ALPHA
    sentences = [
        _covered(view, share, level),
        *_tested(refuted, loudest, p_value, share.n_rows, len(p_values)),
        *_direction(view, lines),
    ]
    return ForecastVerdict(
        refuted=refuted, test=loudest, p_value=p_value, coverage=share.value, level=level, sentences=tuple(sentences)
    )


def _of_state(view: States, lines: Mapping[str, Measurement], independent: bool) -> ForecastVerdict | None:
    """The verdict on states: are errors as large as the covariance says?"""
    test = lines.get("nees_test")
    if test is None or test.value is None or view.weight is not None or not independent:
        return None
    p_value, d = float(test.fields["p_value"]), view.dimension
    refuted = p_value < ALPHA
    which = "as large as" if not refuted else "larger than" if test.value > d else "smaller than"
    sentences = [
        f"Errors are {which} the stated covariance says: nees {test.value:.4g}, where {d} is right and a calibrated model has "
        f"{test.fields['lower']:.4g} to {test.fields['upper']:.4g} in 95 of 100 cases.",
        *_tested(refuted, "nees_test", p_value, view.n_rows),
    ]
    return ForecastVerdict(
        refuted=refuted, test="nees_test", p_value=p_value, coverage=None, level=None, sentences=tuple(sentences)
    )


def _binomial(share: Measurement, level: float) -> float:
    from scipy.stats import binomtest

    assert share.value is not None
    return float(binomtest(round(share.value * share.n_rows), share.n_rows, level).pvalue)


def _covered(view: Forecast, share: Measurement, level: float) -> str:
    what = "sets" if isinstance(view, Sets) else "intervals"
    said = f"The {100 * level:.4g} % {what} hold the truth in {share.value:.1%} of the rows"
    ends = share.interval
    if ends is None:
        return said + "."
    word = (
        f"too {'few labels' if what == 'sets' else 'narrow'}"
        if ends.high < level
        else f"{'more labels' if what == 'sets' else 'wider'} than the level asks for"
        if ends.low > level
        else "as often as they claim, as far as these rows tell"
    )
    return f"{said} ({ends.level:.0%} interval {ends.low:.1%} to {ends.high:.1%}): {word}."


TESTS = {
    "coverage": "coverage, exact binomial test",
    "pit_test": "uniformity of the transform",
    "nees_test": "chi-squared test of the normalised error",
}


def _tested(refuted: bool | None, test: str | None, p_value: float | None, n_rows: int, tests: int = 1) -> list[str]:
    if test is None or p_value is None:
        return []
    shown = "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"
    if tests > 1 and p_value >= 1e-4:
        shown += f" after correction for {tests} tests"
    word = "is refuted" if refuted else "is not refuted; that is no proof of it"
    return [f"Calibration {word} ({TESTS[test]}, {shown}, N = {n_rows:,})."]


def _direction(view: Forecast, lines: Mapping[str, Measurement]) -> list[str]:
    """Bias and spread in units of the stated deviation, of a normal law with independent rows."""
    if not isinstance(view, Normal) or view.weight is not None or view.n_rows < 2:
        return []
    z = view.standard()
    made = []
    with np.errstate(over="ignore"):
        centre, error = float(z.mean()), float(z.std(ddof=1)) / math.sqrt(len(z))
    if abs(centre) > 1.96 * error:
        made.append(
            f"Truths lie {abs(centre):.2f} stated deviations {'above' if centre > 0 else 'below'} the means on average."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(np.mean(z**2))
        noise = float(np.std(z**2, ddof=1)) / math.sqrt(len(z))
    if math.isfinite(noise) and abs(square - 1) > 1.96 * noise:
        word = "too small" if square > 1 else "too large"
        made.append(f"The stated deviations are {word}: errors are {math.sqrt(square):.2f} times as large as they say.")
    return made
