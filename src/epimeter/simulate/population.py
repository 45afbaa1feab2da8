# SPDX-License-Identifier: Apache-2.0
"""What a metric tends to when rows never end, by quadrature.

1. Scores that are means over rows, binned errors, cumulative errors and the true error itself are integrated here: Gauss-Legendre
   rules that end at every edge of a bin and wherever the calibration function crosses the diagonal.
2. A metric that estimates the error without bins (`ece_knn`, `ece_sweep`, `ici`, ...) tends to the true error.
3. Any other metric that is a function of the weighted rows alone is computed on the population itself: every node of the quadrature
   stands there with outcome 1 and with outcome 0, weighted by how likely each of the two is.
4. What remains has no value here: it depends on the number of rows (a test statistic, a rule for the number of bins).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from epimeter.calling import Metric
from epimeter.card_index import find
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.results import Result
from epimeter.simulate.laws import DiscreteLaw, Floats
from epimeter.special import brentq
from epimeter.summaries import MeanOf
from epimeter.summaries.sums import SumsOf
from epimeter.views import View, view

if TYPE_CHECKING:
    from epimeter.simulate.truth import Truth

BINNED = ("ece", "lp_ce", "mce", "ece_db", "drmsce", "ce2_db", "dpe", "l2_ece_ci")
SQUARES = ("ce2_db", "dpe", "l2_ece_ci")
"""Estimators of the square of the binned error."""
WITHOUT_BINS = {
    "ece_sweep": 1.0, "ece_knn": 1.0, "ece_pl": 1.0, "ece_pl3": 1.0, "sece": 1.0, "bkde": 1.0, "ici": 1.0, "fott_spline": 1.0,
    "fott_isotonic": 1.0, "lsece": 1.0, "drmsce_bcs": 2.0, "ece_fott": 1.0,
}  # fmt: skip
"""Estimators of the true error, with its norm: their bins, segments or kernels are not part of what is meant."""
FUNCTIONALS = (
    "smooth_ce", "mmce", "cis", "fott_platt", "fott_beta", "corp", "auroc", "aurc", "auarc", "e_aurc", "cutoff_ce", "interval_ce",
    "hcs", "smbs", "esce", "abc", "onto_ece", "ers_ece", "rbece", "cece", "classwise_ece", "marginal_ce", "top_label_ce",
    "brier_skill_score", "skill_score", "brier_decomposition", "pointwise_lp_error", "fce", "dece",
)  # fmt: skip
"""Metrics that are functions of the weighted rows alone, beside all means."""


def value(truth: Truth, metric: str, parameters: dict[str, Any]) -> float:
    """The population's value of a metric of the catalogue; `UndefinedMetricError` where it has none."""
    found = find(metric)
    if not found.of_probabilities or found.card.needs:
        raise UndefinedMetricError(f"{found.name} reads other columns than a forecast and its outcome")
    recipe, rest = found.settle(parameters)
    if found.name in MEANS and not rest and recipe == found.reads:
        return MEANS[found.name](truth)
    if found.name in BINNED:
        return _binned_error(truth, found, {**recipe.choices(), **rest})
    if found.name in ("ecce_mad", "ecce_r") and truth.kind != "classes":
        return _cumulative(truth, found.name)
    if found.name in WITHOUT_BINS:
        return calibration_error(truth, WITHOUT_BINS[found.name])
    if found.name in QUANTILES:
        return _gap_quantile(truth, QUANTILES[found.name])
    if found.card.weighted and (
        found.name in FUNCTIONALS or (isinstance(found.reads, (MeanOf, SumsOf)) and found.card.copies)
    ):
        return _on_the_population(truth, found, parameters)
    raise UndefinedMetricError(
        f"{found.name} has no value that it tends to: it depends on the number of rows, or none is known here"
    )


def calibration_error(truth: Truth, norm: float = 1.0) -> float:
    """E[|g(p) - p|^norm]^(1/norm), of the top label for classes."""
    if not norm >= 1:
        raise InputError(f"norm must be at least 1; got {norm:g}", field="norm")
    stated, weight = truth.law.nodes(crossings(truth))
    gap = np.abs(truth.curve(stated) - stated)
    return float(gap.max()) if math.isinf(norm) else float((weight @ gap**norm) ** (1 / norm))


def crossings(truth: Truth) -> list[float]:
    """Where the calibration function crosses the diagonal: the size of the gap has a corner there."""
    if isinstance(truth.law, DiscreteLaw):
        return []
    grid = truth.law.nodes()[0][::8]
    gap = truth.curve(grid) - grid
    ends = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    far = [
        i for i in ends if min(abs(gap[i]), abs(gap[i + 1])) > 1e-13
    ]  # not the rounding of a curve that is the diagonal

    def at(stated: float) -> float:
        return float(truth.curve(np.array([stated]))[0] - stated)

    return [brentq(at, grid[i], grid[i + 1]) for i in far]


def _mean(
    score: Callable[[Floats, Floats], Floats], whole: Callable[[Floats, Floats], Floats]
) -> Callable[[Truth], float]:
    """The mean of a score of one probability and its true value, or of the rows of classes and theirs."""

    def integrated(truth: Truth) -> float:
        stated, weight = truth.law.nodes()
        if truth.kind != "classes":
            return float(weight @ score(stated, truth.curve(stated)))
        total, step = 0.0, max(1, (1 << 22) // truth.classes)
        for at in range(0, len(stated), step):
            prob = truth.spread_out(stated[at : at + step])
            total += float(weight[at : at + step] @ whole(prob, truth.held_classes(prob)))
        return total

    return integrated


def _log(prob: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(prob)


def _times(share: Floats, score: Floats) -> Floats:
    """A share times a score that may be infinite; nothing where the share is 0."""
    return np.multiply(share, score, out=np.zeros_like(score), where=share > 0)


def _surprise(prob: Floats, true: Floats) -> Floats:
    return -_times(true, _log(prob)) - _times(1 - true, _log(1 - prob))


def _class_surprise(prob: Floats, true: Floats) -> Floats:
    return -np.asarray(_times(true, _log(prob)).sum(axis=1))


MEANS: dict[str, Callable[[Truth], float]] = {
    "brier_score": _mean(
        lambda p, q: q * (1 - p) ** 2 + (1 - q) * p**2,
        lambda p, q: ((p**2).sum(axis=1) - 2 * (p * q).sum(axis=1) + 1) / p.shape[1],
    ),
    "nll": _mean(_surprise, _class_surprise),
    "ecd": _mean(
        lambda p, q: _surprise(p, q) - _surprise(p, p), lambda p, q: _class_surprise(p, q) - _class_surprise(p, p)
    ),
}
MOST_NUMBERS = 20_000_000
"""Probabilities that a population of classes may hold."""
QUANTILES = {"e50": 0.5, "e90": 0.9, "emax": 1.0}


def _edges(truth: Truth, bins: int, mass: bool) -> Floats:
    inner = np.arange(1, bins) / bins
    return truth.law.quantile(inner) if mass else inner


def _binned(truth: Truth, bins: int, mass: bool) -> tuple[Floats, Floats]:
    """Share and mean gap of every bin of the population that is not empty."""
    edges = _edges(truth, bins, mass)
    stated, weight = truth.law.nodes(edges)
    # A stated confidence on an edge lies in the bin above it, as in the metrics; 1 lies in the last.
    place = np.searchsorted(edges, stated, side="right")
    share = np.bincount(place, weights=weight, minlength=bins).astype(np.float64)
    gap = np.abs(np.bincount(place, weights=weight * (truth.curve(stated) - stated), minlength=bins))
    filled = share > 0
    return share[filled], gap[filled] / share[filled]


def _binned_error(truth: Truth, metric: Metric[Any], choices: dict[str, Any]) -> float:
    name, bins = metric.name, choices.get("bins", choices.get("n_bins"))
    binning = choices.get("binning", choices.get("mode", "width"))
    if not isinstance(bins, int) or binning not in ("width", "mass"):
        return _on_the_population(truth, metric, choices)
    if isinstance(truth.law, DiscreteLaw) and binning == "mass":
        raise UndefinedMetricError(
            f"{name} over bins of equal mass has no limit where few levels are said: ties are not cut"
        )
    share, gap = _binned(truth, bins, binning == "mass")
    if name == "mce":
        return float(gap.max())
    norm = 2.0 if name in (*SQUARES, "drmsce") else float(choices.get("norm", 1.0))
    error = float((share @ gap**norm) ** (1 / norm))
    return error**2 if name in SQUARES else error


def _cumulative(truth: Truth, name: str) -> float:
    """The greatest deviation of the cumulative difference, or its range; it turns where the curve crosses the diagonal."""
    stated, weight = truth.law.nodes(crossings(truth))
    walk = np.concatenate([[0.0], np.cumsum(weight * (truth.curve(stated) - stated))])
    return float(np.abs(walk).max()) if name == "ecce_mad" else float(walk.max() - walk.min())


def _gap_quantile(truth: Truth, level: float) -> float:
    stated, weight = truth.law.nodes(crossings(truth))
    gap = np.abs(truth.curve(stated) - stated)
    if level == 1:
        # The law reaches to both ends; the gap is the largest on a grid as fine as the nodes.
        return float(gap.max())
    order = np.argsort(gap)
    running = np.cumsum(weight[order])
    return float(np.interp(level, running - weight[order] / 2, gap[order]))


def _on_the_population(truth: Truth, metric: Metric[Any], parameters: Mapping[str, Any]) -> float:
    """The metric on the nodes themselves, each with both outcomes."""
    recipe, rest = metric.settle(parameters)
    bins = getattr(recipe, "bins", 0)
    edges = np.arange(1, bins) / bins if isinstance(bins, int) and bins > 1 else np.empty(0)
    if truth.kind != "classes" or recipe.reading in ("event", "answer"):
        given = _outcomes(truth, edges)
    else:
        given = _labels(truth, edges, metric.name)
    answer = metric.compute(recipe.finish(recipe.summarise(given.read_as(recipe.reading))), **rest)
    return float(answer.headline if isinstance(answer, Result) else answer)


def _outcomes(truth: Truth, edges: Floats) -> View:
    """Every node with outcome 1 and outcome 0, weighted by how likely each is; classes by their top label."""
    stated, weight = truth.law.nodes([*edges, 0.5, *crossings(truth)])
    held = truth.curve(stated)
    true = np.repeat([1, 0], len(stated))
    share = np.concatenate([weight * held, weight * (1 - held)])
    seen = share > 0
    kind = "event" if truth.kind == "event" else "answer"
    return view(true[seen], np.tile(stated, 2)[seen], kind=kind, sample_weight=share[seen])


def _labels(truth: Truth, edges: Floats, name: str) -> View:
    """Every node with every label, and with every class on top in turn."""
    stated, weight = truth.law.nodes(edges)
    k = truth.classes
    if len(stated) * k**3 > MOST_NUMBERS:
        raise UndefinedMetricError(
            f"the true value of {name} is integrated up to {int((MOST_NUMBERS / len(stated)) ** (1 / 3))} classes; got {k}"
        )
    prob = truth.spread_out(stated)
    share = weight[:, None] * truth.held_classes(prob) / k
    rows = np.concatenate([np.repeat(np.roll(prob, turn, axis=1), k, axis=0) for turn in range(k)])
    labels = np.concatenate([np.tile((np.arange(k) + turn) % k, len(stated)) for turn in range(k)])
    return view(labels, rows, kind="classes", sample_weight=np.tile(share.ravel(), k))
