# SPDX-License-Identifier: Apache-2.0
"""Tests that may look after every row: e-processes and confidence sequences.

A monitor keeps a small state, is fed rows as their outcomes become known, and may stop at any time: under calibration
the chance of ever raising an alarm is at most alpha. States are frozen; feeding one gives the next, and a state
travels as plain JSON.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric as card
from epimeter.errors import InputError, MergeError
from epimeter.inference.consistency import Alpha
from epimeter.limits import Above, BinCount
from epimeter.results import Result
from epimeter.views import view

Floats = NDArray[np.float64]
Method = Literal["cox_mixture", "bins", "average"]

INTERCEPTS = (-2.0, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0)
SLOPES = (0.25, 0.5, 0.75, 1.0, 4 / 3, 2.0, 4.0)
ALTERNATIVES = tuple((a, b) for a in INTERCEPTS for b in SLOPES if (a, b) != (0.0, 1.0))
"""The 62 lines in logit space that the mixture bets on."""


@dataclass(frozen=True, kw_only=True)
class SequentialTest(Result):
    """Where the e-process stands, the most it reached, and where it first raised an alarm (1-based row, 0: never)."""

    log_e_value: float
    max_log_e_value: float
    p_value: float
    reject: bool
    stopping_index: int


@dataclass(frozen=True, kw_only=True)
class CalibrationMonitor:
    """The state of a sequential test of calibration; `feed` it rows in time order, in chunks of any size.

    A state is frozen: feeding it gives the next one. Chunks give the bits of the whole; `save` and `load` keep a state
    between them.

    Parameters
    ----------
    method, alpha, bins, prior
        As for `sequential_calibration_test`.

    Examples
    --------
    >>> state = CalibrationMonitor().feed([1, 0, 1], [0.8, 0.3, 0.9])
    >>> state = state.feed([1, 1], [0.6, 0.7])
    >>> state.rows, state.alarm
    (5, False)
    """

    method: Method = "average"
    alpha: float = 0.05
    bins: int = 10
    prior: float = 10.0
    rows: int = 0
    mixture: tuple[float, ...] = field(default=(0.0,) * len(ALTERNATIVES))
    """Running log likelihood ratio of every alternative."""
    bin_rows: tuple[int, ...] = ()
    bin_residuals: tuple[float, ...] = ()
    bin_log: float = 0.0
    """Running log likelihood ratio of the bins method."""
    peak: float = 0.0
    stopping_index: int = 0

    def __post_init__(self) -> None:
        wrong = (
            ("method", self.method not in get_args(Method), f"one of {', '.join(get_args(Method))}"),
            ("alpha", not 0 < self.alpha < 1, "in (0, 1)"),
            ("bins", self.bins < 1, "at least 1"),
            ("prior", not 0 < self.prior < math.inf, "above 0"),
        )
        for name, holds, wanted in wrong:
            if holds:
                raise InputError(f"{name} must be {wanted}; got {getattr(self, name)!r:.40}", field=name)

    def feed(self, y_true: Any, y_prob: Any) -> CalibrationMonitor:
        """The state after these rows."""
        event = view(y_true, y_prob).event
        prob, true = event.prob.astype(np.float64), event.true.astype(np.float64)
        counts = np.array(self.bin_rows or (0,) * self.bins, np.int64)
        sums = np.array(self.bin_residuals or (0.0,) * self.bins)
        cox = _onward(np.array(self.mixture), cox_ratios(prob, true))
        walk = _onward(np.float64(self.bin_log), _bin_ratios(prob, true, counts, sums, self.bins, self.prior))
        path = self._path(cox, walk)
        alarm = np.flatnonzero(path >= math.log(1 / self.alpha) - 1e-12)
        first = self.rows + int(alarm[0]) + 1 if len(alarm) else 0
        return replace(
            self,
            rows=self.rows + len(prob),
            mixture=tuple(cox[-1].tolist()),
            bin_rows=tuple(counts.tolist()),
            bin_residuals=tuple(sums.tolist()),
            bin_log=float(walk[-1]),
            peak=max(self.peak, float(path.max())),
            stopping_index=self.stopping_index or first,
        )

    def _path(self, cox: Floats, walk: Floats) -> Floats:
        """log E after each row."""
        from scipy.special import logsumexp

        with np.errstate(invalid="ignore"):
            mixture = logsumexp(cox, axis=1) - math.log(len(ALTERNATIVES))
        mixture = np.where(np.isinf(cox).any(axis=1) & (cox == np.inf).any(axis=1), np.inf, mixture)
        if self.method == "cox_mixture":
            return np.asarray(mixture)
        if self.method == "bins":
            return walk
        return np.asarray(np.logaddexp(mixture, walk) - math.log(2))

    @property
    def log_e_value(self) -> float:
        return float(self._path(np.array([self.mixture]), np.array([self.bin_log]))[0])

    @property
    def alarm(self) -> bool:
        return self.stopping_index > 0

    def result(self) -> SequentialTest:
        """What may be said now."""
        return SequentialTest(
            log_e_value=self.log_e_value,
            max_log_e_value=self.peak,
            p_value=math.exp(-self.peak),
            reject=self.alarm,
            stopping_index=self.stopping_index,
        )

    def merge(self, other: CalibrationMonitor) -> CalibrationMonitor:
        """The state of two independent streams: their evidence multiplies; only cox_mixture can be merged."""
        if self.method != "cox_mixture" or other.method != "cox_mixture":
            raise MergeError(
                "only monitors of method cox_mixture can be merged; the others depend on the order of rows"
            )
        if self.alpha != other.alpha:
            raise MergeError(f"monitors of one alpha can be merged; got {self.alpha:g} and {other.alpha:g}")
        mixture = tuple(a + b for a, b in zip(self.mixture, other.mixture, strict=True))
        joined = replace(self, rows=self.rows + other.rows, mixture=mixture)
        now = joined.log_e_value
        crossed = now >= math.log(1 / self.alpha) - 1e-12
        # Only the end of the joint walk is known: its peak is what it has reached now.
        return replace(joined, peak=max(0.0, now), stopping_index=joined.rows if crossed else 0)

    def to_dict(self) -> dict[str, Any]:
        """The state as plain values; infinities as text, JSON has none."""
        return {k: _saved(v) for k, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> CalibrationMonitor:
        """The state back from plain values."""
        try:
            return cls(**{k: _restored(v) for k, v in state.items()})
        except TypeError as fault:
            raise InputError(f"this is not the state of a calibration monitor: {fault}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state as JSON; a crash leaves the file before or this one."""
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        temporary.write_text(json.dumps(self.to_dict(), allow_nan=False), encoding="utf-8")
        os.replace(temporary, target)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CalibrationMonitor:
        """Read a state that `save` wrote."""
        try:
            state = json.loads(Path(path).read_bytes())
        except ValueError:
            state = None
        if not isinstance(state, dict):
            raise InputError(f"{os.fsdecode(path)} is not the state of a calibration monitor; `save` writes one")
        return cls.from_dict(state)


def _saved(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_saved(item) for item in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_restored(item) for item in value)
    return float(value) if value in ("inf", "-inf") else value


def _onward(start: Any, steps: Floats) -> Floats:
    """A running sum begun at `start`: one sum after the other, so that chunks give the bits of the whole."""
    return np.asarray(np.cumsum(np.concatenate([[start], steps]), axis=0)[1:])


def cox_ratios(prob: Floats, true: Floats) -> Floats:
    """Log likelihood ratio of every row under every alternative, shape (rows, 62).

    A certain forecast that came true changes nothing; one that did not is worth infinitely much.
    """
    from epimeter.special import log_expit

    certain = (prob == 0) | (prob == 1)
    impossible = certain & (prob != true)
    inside = np.where(certain, 0.5, prob)
    logit = np.log(inside) - np.log1p(-inside)
    a, b = np.array(ALTERNATIVES).T
    line = a + b * logit[:, None]
    sign = np.where(true == 1, 1.0, -1.0)
    ratios = log_expit(sign[:, None] * line) - log_expit(sign * logit)[:, None]
    ratios[certain] = 0.0
    ratios[impossible] = np.inf
    return np.asarray(ratios)


def _bin_ratios(prob: Floats, true: Floats, counts: NDArray[np.int64], sums: Floats, bins: int, prior: float) -> Floats:
    """Log likelihood ratios of the bins method; `counts` and `sums` are moved on as rows are seen."""
    index = np.minimum((prob * bins).astype(np.int64), bins - 1)
    residual = true - prob
    # Rows of one bin see only the rows of that bin before them: a cumulative sum inside each bin.
    order = np.argsort(index, kind="stable")
    ends = np.cumsum(np.bincount(index, minlength=bins))
    seen, moved = np.empty(len(prob)), np.empty(len(prob))
    for b in range(bins):
        rows = order[ends[b - 1] if b else 0 : ends[b]]
        if not len(rows):
            continue
        running = np.concatenate([[sums[b]], _onward(sums[b], residual[rows])])
        seen[rows], moved[rows] = counts[b] + np.arange(len(rows)), running[:-1]
        counts[b] += len(rows)
        sums[b] = running[-1]
    # In terms of what came true, so that 1 - q keeps its digits for a forecast just below 1: q' >= c/2, never 0.
    chance = np.where(true == 1, prob, 1 - prob)
    lean = np.where(true == 1, 1.0, -1.0) * moved / (seen + prior)
    rival = np.clip(chance + lean, chance / 2, (1 + chance) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.maximum(np.log(rival) - np.log(chance), -math.log(2))
    ratio[chance == 0] = np.inf
    return np.asarray(ratio)


@card(
    title="Anytime-valid test of calibration",
    family="test",
    equation=r"E_t=\prod_{s\le t}\frac{q_s^{y_s}(1-q_s)^{1-y_s}}{p_s^{y_s}(1-p_s)^{1-y_s}};\ "
    r"\text{cox\_mixture: mean of }E_t\text{ over }q_{ab}(p)=\rho(a+b\,\mathrm{logit}\,p);\ "
    r"\text{bins: }q_s=\min(\max(p_s+\tfrac{R_\beta}{n_\beta+\kappa},\tfrac{p_s}2),\tfrac{1+p_s}2)",
    where={
        "q_s": "a rival forecast made from the past only",
        "a, b": "62 pairs of intercept and slope",
        "n_β, R_β": "rows seen in the bin of p_s, and their sum of y - p",
        "κ": "prior",
    },
    source="Henzi, Puke, Dimitriadis and Ziegel 2023; Arnold, Henzi and Ziegel 2023; Ville 1939; Robbins 1970; beyond the review",
    direction="lower",
    order="rows",
    test="asymptotic",
    pitfalls="Rows must be in time order and each outcome known before the next forecast is judged; with overlapping horizons "
    "the product is not valid. Simulated false alarms at alpha = 0.05: 4.3 % cox_mixture, 4.0 % bins, 3.0 % average.",
    aliases=(
        "e-value",
        "e-process",
        "test martingale",
        "safe test",
        "Anytime-valid test of calibration (e-process)",
        "betting",
    ),
)
def sequential_calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    method: Method = "average",
    alpha: Alpha = 0.05,
    bins: BinCount = 10,
    prior: Annotated[float, Above(0)] = 10.0,
) -> SequentialTest:
    """Test of calibration that may be looked at after every row.

    Parameters
    ----------
    method
        ``cox_mixture`` bets on lines in logit space, ``bins`` on the past of each bin, ``average`` on both.
    alpha
        Alarm when E reaches 1/alpha.
    bins
        Equal-width bins of the method bins.
    prior
        Pseudo-count that pulls a bin's estimate to the forecast.
    """
    monitor = CalibrationMonitor(method=method, alpha=alpha, bins=bins, prior=prior)
    if len(y_prob) == 0 and len(y_true) == 0:
        return monitor.result()
    return monitor.feed(y_true, y_prob).result()


@dataclass(frozen=True, kw_only=True)
class Sequence(Result):
    """A running mean and the interval that holds at all times at once."""

    estimate: float
    low: float
    high: float


@card(
    title="Time-uniform interval for the running bias or score difference",
    family="test",
    equation=r"\Big|\frac1t\sum_{s\le t}x_s-\frac1t\sum_{s\le t}E[x_s\mid past]\Big|\le"
    r"\frac1t\sqrt{(V_t+\rho)\ln\frac{V_t+\rho}{\rho\alpha^2}}\ \text{for all }t",
    where={
        "x_s": "y - p (bias), or (p^a - y)^2 - (p^b - y)^2 (difference)",
        "V_t": "t/4, or the sum of (p^a - p^b)^2",
        "ρ": "mixture parameter",
    },
    source="Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021; Choe and Ramdas 2023; beyond the review",
    ideal=0.0,
    direction="signed",
    order="free",
    test="asymptotic",
    pitfalls="For the bias, negative means that the forecasts are too high. Wider than an interval for one fixed time: that is "
    "the price of looking at all times.",
    aliases=("anytime-valid interval", "normal mixture confidence sequence"),
)
def confidence_sequence(
    y_true: Any,
    y_prob: Any,
    *,
    prob_b: Any = None,
    alpha: Alpha = 0.05,
    rho: Annotated[float | None, Above(0)] = None,
) -> Sequence:
    """An interval for the mean of y - p, or for a difference of Brier scores, that holds after every row at once.

    Parameters
    ----------
    prob_b
        A second model; the quantity is then the Brier score of the first minus that of the second.
    alpha
        1 minus the simultaneous coverage.
    rho
        Mixture parameter; None: 25 for the bias, 1 for the difference.
    """
    first = view(y_true, y_prob).event
    prob, true = first.prob.astype(np.float64), first.true.astype(np.float64)
    t = len(prob)
    if prob_b is None:
        x, spread, rho = true - prob, t / 4, 25.0 if rho is None else rho
    else:
        other = view(y_true, prob_b).event.prob.astype(np.float64)
        x = (prob - true) ** 2 - (other - true) ** 2
        spread, rho = math.fsum((prob - other) ** 2), 1.0 if rho is None else rho
    estimate = math.fsum(x) / t
    reach = math.sqrt((spread + rho) * math.log((spread + rho) / (rho * alpha**2))) / t
    return Sequence(estimate=estimate, low=estimate - reach, high=estimate + reach)
