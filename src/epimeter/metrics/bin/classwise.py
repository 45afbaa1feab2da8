# SPDX-License-Identifier: Apache-2.0
"""Every class against the rest: errors of all the probabilities, not of the top label alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError
from epimeter.limits import Between, BinCount
from epimeter.metrics.bin.expected import Norm, power_mean
from epimeter.summaries import Bins, BinTotals, ClassBins, GivenBins, Rows
from epimeter.summaries.cuts import Cut
from epimeter.uncertainty import GapNorm
from epimeter.views import Binary, View

Floats = NDArray[np.float64]

CLASS_SYMBOLS = {
    "K": "number of classes",
    "p_bk": "share of the rows whose probability of class k is in bin b",
    "ȳ_bk": "share of them with label k",
    "c̄_bk": "mean probability of class k among them",
}
ONE_AGAINST_REST = "K problems of one class against the rest, each with its own bins; a vector p is read as 1 - p, p"
GIVEN_CLASSES = "K problems of one class against the rest, each with its own bins; a vector is one problem"


@metric(
    title="Class-wise ECE",
    family="bin",
    reads=ClassBins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"CWCE=\frac1K\sum_k\sum_b p_{bk}\,|\bar y_{bk}-\bar c_{bk}|",
    where=CLASS_SYMBOLS,
    source="Nixon et al. 2019 CVPR workshops; Kull et al. 2019 NeurIPS; Lane 2025 s4.4 eq 34",
    matrix=ONE_AGAINST_REST,
    pitfalls="With many classes most probabilities are near 0, where gaps are small: the mean over classes hides "
    "errors of the likely ones. A class that never occurs still counts.",
    aliases=("cwce", "static_calibration_error", "sce", "macro_subset_ece", "msece", "cwece"),
    interval=GapNorm(norm=1),
)
def classwise_ece(bins: BinTotals) -> float:
    """Expected calibration error of each class against the rest, averaged over the classes."""
    return float(np.mean(class_errors(bins)))


def class_errors(bins: BinTotals) -> Floats:
    """The expected calibration error of each class."""
    return bins.mean(np.abs(bins.gap))


@metric(
    title="Weighted subset ECE",
    family="bin",
    reads=ClassBins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"WSECE=\sum_k\frac{n_k}{N}\sum_b p_{bk}\,|\bar y_{bk}-\bar c_{bk}|",
    where=CLASS_SYMBOLS | {"n_k": "rows with label k"},
    source="Obadinma et al. 2021 Canadian AI; Lane 2025 s4.4 eq 34 with w_k = n_k/N",
    matrix=ONE_AGAINST_REST,
    pitfalls="Rare classes hardly count. The original may mean by subset the rows of true class k; here, as the review "
    "prints it, each class is held against the rest over all rows.",
)
def wsece(bins: BinTotals) -> float:
    """Expected calibration error of each class against the rest, averaged by how often the class occurs."""
    frequency = bins.true.sum(axis=-1).floats() / bins.n
    return float(frequency @ class_errors(bins))


@metric(
    title="Contraharmonic ECE",
    family="bin",
    reads=ClassBins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"CECE=\sum_k ECE_k^2\Big/\sum_k ECE_k",
    where={"ECE_k": "expected calibration error of class k against the rest"},
    source="Obadinma et al. 2021 Canadian AI; Lane 2025 s4.5 eq 38",
    matrix=ONE_AGAINST_REST,
    pitfalls="Lies between the mean and the largest error of the classes, nearer the largest. Without any error it is "
    "0/0 in print; 0 is returned.",
)
def cece(bins: BinTotals) -> float:
    """Mean of the errors of the classes that gives the worse classes more weight."""
    errors = class_errors(bins)
    return float(errors @ errors / errors.sum()) if errors.any() else 0.0


@metric(
    title="Marginal calibration error",
    family="bin",
    reads=ClassBins(bins=15, binning="mass"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"MCE=\Big(\sum_k w_k\sum_b p_{bk}|\bar y_{bk}-\bar c_{bk}|^p\Big)^{1/p}\ (outer),\quad "
    r"\sum_k w_k\Big(\sum_b p_{bk}|\bar y_{bk}-\bar c_{bk}|^p\Big)^{1/p}\ (inner)",
    where=CLASS_SYMBOLS | {"w_k": "parameter weights", "p": "parameter norm"},
    source="Kumar et al. 2019 NeurIPS def 2.4; Lane 2025 s4.4 eq 34",
    matrix=ONE_AGAINST_REST,
    pitfalls="The review prints the root inside the sum over the classes (root=inner); Kumar et al. and their code take "
    "it once outside, which is never smaller for equal weights. Not the maximum calibration error, also called MCE.",
    aliases=(
        "weighted_class-wise_l_p_error",
        "MCE (Kumar)",
    ),
)
def marginal_ce(
    bins: BinTotals, *, weights: Any = None, norm: Norm = 2.0, root: Literal["outer", "inner"] = "outer"
) -> float:
    """Errors of each class against the rest under one norm, the classes weighed as the caller says.

    Parameters
    ----------
    weights
        Importance of each class, one number a class, none negative; by default 1/K each.
    norm
        Power p of the gaps; ``inf`` takes the largest.
    root
        Where the root is taken: ``outer`` once over all classes, ``inner`` in each class.
    """
    n_classes = len(bins.count)
    weight = np.full(n_classes, 1 / n_classes) if weights is None else class_weights(weights, n_classes)
    if root == "inner":
        return float(weight @ power_mean(bins.gap, norm, bins.mean))
    share = weight[:, None] * bins.share
    gaps = np.where(share > 0, bins.gap, 0.0).ravel()
    return float(power_mean(gaps, norm, lambda values: np.asarray(np.sum(share.ravel() * values))))


def class_weights(weights: Any, n_classes: int) -> Floats:
    """Importances of the classes, doubted."""
    try:
        found = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"weights must be numbers, one per class; got {weights!r:.60}", field="weights") from None
    if found.shape != (n_classes,):
        raise InputError(
            f"weights must have one number per class, {n_classes}; got shape {found.shape}. "
            "Weights of rows? Pass sample_weight",
            field="weights",
        )
    if not (np.isfinite(found) & (found >= 0)).all():
        raise InputError(f"weights must be finite and not negative; got {weights!r:.60}", field="weights")
    return found


@dataclass(frozen=True)
class MassBins(GivenBins):
    """Totals per class and equal-mass bin.

    Parameters
    ----------
    bins
        Number of equal-mass bins of each class.
    """

    bins: BinCount = 15
    binning: Cut = field(default="mass", init=False)


@metric(
    title="Adaptive calibration error",
    family="bin",
    reads=MassBins(bins=15),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"ACE=\frac1K\sum_k\Big(\sum_b p_{bk}|\bar y_{bk}-\bar c_{bk}|^p\Big)^{1/p}",
    where=CLASS_SYMBOLS | {"p": "parameter norm"},
    source="Nixon et al. 2019 CVPR workshops; Roelofs et al. 2022 AISTATS; Lane 2025 s4.5",
    matrix=GIVEN_CLASSES,
    pitfalls="Equal confidences stay in one bin; some peers cut them in the order of the rows. netcal's "
    "ACE is another metric: the plain mean over equal-width bins (rbece with min_count=1).",
    aliases=(
        "ece-em",
        "equal-mass_ece",
        "quantile-binned_ece",
        "adaptive_ece",
    ),
)
def ace(bins: BinTotals, *, norm: Norm = 1.0) -> float:
    """Calibration error over bins of equal counts, averaged over the classes.

    Parameters
    ----------
    norm
        Power p of the gaps within a class; ``inf`` takes the largest.
    """
    return float(np.mean(power_mean(bins.gap, norm, bins.mean)))


@metric(
    title="Thresholded adaptive calibration error",
    family="bin",
    reads=Rows("given"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"TACE=\frac1K\sum_k\sum_b\frac{n_{bk}}{N_k}|\bar y_{bk}-\bar c_{bk}|,\quad N_k=\#\{i:p_{ik}>\epsilon\}",
    where=CLASS_SYMBOLS
    | {"ε": "parameter threshold", "N_k": "rows kept for class k", "n_bk": "kept rows in equal-mass bin b of class k"},
    source="Nixon et al. 2019 CVPR workshops; Lane 2025 s4.5",
    matrix=GIVEN_CLASSES,
    pitfalls="The value depends strongly on the threshold. A class that keeps no row adds 0 and still counts in 1/K, so "
    "a high threshold flatters.",
)
def tace(
    view: View,
    *,
    threshold: Annotated[float, Between(0, 1)] = 0.01,
    bins: BinCount = 15,
) -> float:
    """Adaptive calibration error of the probabilities that are not negligible.

    Parameters
    ----------
    threshold
        Only probabilities strictly above it are used.
    bins
        Number of equal-mass bins of each class, cut after the threshold.
    """
    if isinstance(view, Binary):
        return error_above_threshold(view, threshold, bins)
    problems = (Binary((view.true == k).astype(np.uint8), view.prob[:, k], view.weight) for k in range(view.n_classes))
    return float(np.mean([error_above_threshold(problem, threshold, bins) for problem in problems]))


def error_above_threshold(view: Binary, threshold: float, bins: int) -> float:
    """The equal-mass error of the rows above the threshold; 0 when there are none."""
    kept = view.prob.astype(np.float64, copy=False) > threshold
    if view.weight is not None:
        kept &= view.weight > 0
    if not kept.any():
        return 0.0
    return float(np.mean(class_errors(Bins(bins, "mass").of(view.take(kept)))))
