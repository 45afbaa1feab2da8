# SPDX-License-Identifier: Apache-2.0
"""Unknown inputs (ONTO 42001 clause 6): their taxonomies, and mechanisms that flag them.

A mechanism turns what a user has into a score, higher where an input looks unknown, and flags it from a threshold on.
Its documentation is method, threshold and validation (42001-6.3.2-a): a ROC curve on labelled data, and an operating
point that was chosen on other data than it is judged on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, UndefinedMetricError
from epimeter.results import Result
from epimeter.standards.bands import number, word
from epimeter.standards.onto42001 import UnknownRecall, onto_u_recall
from epimeter.views import Multiclass, view

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TAXONOMIES = {
    "distribution": ("ood", "near_ood", "far_ood"),
    "epistemic": ("knowledge_gap", "temporal_gap", "domain_gap"),
    "operational": ("novel", "ambiguous", "adversarial"),
}
"""Kinds of unknowns (42001-6.2.3-a); a system documents at least one of the three."""


def taxonomy_of(text: str) -> tuple[str, ...]:
    """The taxonomies named in a text such as `distribution,operational`; at least one, none of another name."""
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise InputError(
            f"taxonomy must name at least one of {', '.join(TAXONOMIES)} (42001-6.2.3-a); got none", field="taxonomy"
        )
    for name in names:
        if name not in TAXONOMIES:
            raise InputError(
                f"taxonomy must be of {', '.join(TAXONOMIES)} (42001-6.2.3-a); got {name!r:.40}", field="taxonomy"
            )
    return names


@dataclass(frozen=True, kw_only=True)
class Detection(Result):
    """What a mechanism flagged, and the documentation that the standard asks for."""

    detected: Flags
    score: Floats
    method: str
    threshold: float
    validation: str = "not validated"

    @property
    def documentation(self) -> dict[str, str]:
        """Method, threshold and validation in words."""
        return {
            "method": self.method,
            "threshold": f"flagged when the score is at least {self.threshold:.6g}",
            "validation": self.validation,
        }


def by_confidence(confidence: Any, *, threshold: float = 0.5) -> Detection:
    """Flagged when the confidence is below the threshold (42001-A.3.2-a); the score is 1 - confidence."""
    prob = view(np.zeros(len(confidence), int), confidence).event.prob.astype(np.float64)
    limit = number(threshold, "threshold", 0, 1)
    return Detection(
        detected=prob < limit,
        score=1 - prob,
        method=f"confidence threshold: flagged when confidence < {limit:g}",
        threshold=1 - limit,
    )


def by_entropy(probabilities: Any, *, threshold: float = 0.5) -> Detection:
    """Flagged when the entropy of the class probabilities, divided by log K, is at least the threshold."""
    matrix = _matrix(probabilities)
    return _flagged(
        _entropy(matrix) / math.log(matrix.shape[1]),
        number(threshold, "threshold", 0, 1),
        f"predictive entropy of {matrix.shape[1]} class probabilities, as a share of its maximum",
    )


def by_disagreement(
    members: Sequence[Any], *, threshold: float = 0.1, measure: Literal["information", "votes"] = "information"
) -> Detection:
    """Flagged when the members of an ensemble disagree.

    Parameters
    ----------
    members
        Matrices of class probabilities, one a member, rows alike.
    threshold
        From where on an input is flagged.
    measure
        ``information``: entropy of the mean minus mean of the entropies, as a share of log K; ``votes``: share of the
        members whose top class is not the commonest.
    """
    word(measure, ("information", "votes"), "measure")
    if len(members) < 2:
        raise InputError(f"members must be at least two matrices; got {len(members)}", field="members")
    made = [_matrix(member) for member in members]
    if len({matrix.shape for matrix in made}) > 1:
        raise InputError("members must have rows and classes alike", field="members")
    stack = np.stack(made)
    n_classes = stack.shape[2]
    if measure == "votes":
        top = stack.argmax(axis=2)
        most = np.max([(top == k).sum(axis=0) for k in range(n_classes)], axis=0)
        score = 1 - most / len(stack)
    else:
        inside = np.mean([_entropy(matrix) for matrix in stack], axis=0)
        score = np.maximum(_entropy(stack.mean(axis=0)) - inside, 0.0) / math.log(n_classes)
    return _flagged(
        score, number(threshold, "threshold", 0, 1), f"disagreement of {len(stack)} ensemble members, by {measure}"
    )


def by_mahalanobis(features: Any, reference: Any, *, threshold: float, classes: Any = None) -> Detection:
    """Flagged when the Mahalanobis distance to known data is at least the threshold (Lee et al. 2018).

    Parameters
    ----------
    features
        Embeddings to judge, one row each.
    reference
        Embeddings of known data; other data than those judged.
    threshold
        Distance from which an input is flagged; `operating_point` finds one.
    classes
        Class of each reference row: the distance is then to the nearest class mean, under one shared covariance.
    """
    rows, known = _features(features, reference)
    label = np.zeros(len(known), int) if classes is None else np.unique(np.asarray(classes), return_inverse=True)[1]
    means = np.stack([known[label == k].mean(axis=0) for k in range(int(label.max()) + 1)])
    centred = known - means[label]
    # A pseudo-inverse: directions in which known data do not vary at all say nothing about distance.
    precision = np.linalg.pinv(centred.T @ centred / max(1, len(known) - len(means)), hermitian=True)
    gaps = rows[:, None, :] - means[None]
    squared = np.einsum("nkd,de,nke->nk", gaps, precision, gaps).min(axis=1)
    return _flagged(
        np.sqrt(np.maximum(squared, 0.0)),
        number(threshold, "threshold", 0, math.inf),
        f"Mahalanobis distance to {len(known):,} known embeddings of {known.shape[1]} dimensions",
    )


def by_neighbours(
    features: Any, reference: Any, *, threshold: float, neighbours: int = 10, scaled: bool = True
) -> Detection:
    """Flagged when the distance to the k-th nearest known embedding is at least the threshold (Sun et al. 2022).

    Embeddings are scaled to length 1 first, as the paper does; an input that is moved away from the known ones along their own
    direction is then not seen. With ``scaled=False`` the distance is the plain one. Parameters as in `by_mahalanobis`;
    `neighbours` is k.
    """
    from scipy.spatial import cKDTree

    rows, known = _features(features, reference)
    k = int(number(neighbours, "neighbours", 1, len(known)))
    if scaled:
        rows, known = (made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-300) for made in (rows, known))
    distance, _ = cKDTree(known).query(rows, k=[k])
    return _flagged(
        np.asarray(distance, np.float64)[:, 0],
        number(threshold, "threshold", 0, math.inf),
        f"distance to the {k}. nearest of {len(known):,} known embeddings{', scaled to length 1' if scaled else ''}",
    )


def by_score(score: Any, *, threshold: float, unknown_is_high: bool = True) -> Detection:
    """Flagged by an external out-of-distribution score; set `unknown_is_high` false where low scores mean unknown."""
    made = _scores(score, "score")
    sign = 1.0 if unknown_is_high else -1.0
    limit = number(threshold, "threshold", -math.inf, math.inf)
    side = "at least" if unknown_is_high else "at most"
    return Detection(
        detected=sign * made >= sign * limit,
        score=sign * made,
        method=f"external out-of-distribution score, flagged when {side} {limit:g}",
        threshold=sign * limit,
    )


def _flagged(score: Floats, threshold: float, method: str) -> Detection:
    return Detection(detected=score >= threshold, score=np.asarray(score), method=method, threshold=threshold)


def _matrix(probabilities: Any) -> Floats:
    made = np.asarray(probabilities, np.float64)
    checked = view(np.zeros(len(made), int), made)
    if not isinstance(checked, Multiclass):
        raise InputError("probabilities must have one column a class; got one number a row", field="probabilities")
    return checked.prob.astype(np.float64)


def _entropy(prob: Floats) -> Floats:
    from epimeter.special import entr

    return np.asarray(entr(prob).sum(axis=1))


def _features(features: Any, reference: Any) -> tuple[Floats, Floats]:
    rows, known = (np.asarray(values, np.float64) for values in (features, reference))
    for name, made in (("features", rows), ("reference", known)):
        if made.ndim != 2 or not len(made) or not np.isfinite(made).all():
            raise InputError(f"{name} must be a table of finite numbers, one row a record", field=name)
    if rows.shape[1] != known.shape[1]:
        raise InputError(
            f"features and reference must have the same columns; got {rows.shape[1]} and {known.shape[1]}",
            field="reference",
        )
    if rows.shape == known.shape and np.array_equal(rows, known):
        raise InputError("reference must be other data than those judged (42001-6.3.2-a)", field="reference")
    return rows, known


def _scores(values: Any, name: str) -> Floats:
    made = np.asarray(values, np.float64)
    if made.ndim != 1 or not len(made) or not np.isfinite(made).all():
        raise InputError(f"{name} must be one finite number a record", field=name)
    return made


@dataclass(frozen=True, kw_only=True)
class Roc(Result):
    """The ROC curve of a score, from strictest to loosest threshold, and the area under it."""

    auroc: float
    threshold: Floats
    u_recall: Floats
    false_alarm_rate: Floats


def roc(unknown: Any, score: Any) -> Roc:
    """U-Recall against false alarms for every threshold; ties move together, the area counts them half."""
    made = _scores(score, "score")
    truth = view(unknown, np.zeros(len(made))).event.true == 1
    positives = int(truth.sum())
    if positives in (0, len(truth)):
        raise UndefinedMetricError("a ROC curve needs known and unknown inputs; the records have only one kind")
    order = np.argsort(-made, kind="stable")
    ordered = made[order]
    last = np.flatnonzero(np.concatenate([ordered[1:] != ordered[:-1], [True]]))
    hits = np.concatenate([[0], np.cumsum(truth[order])[last]])
    alarms = np.concatenate([[0], last + 1]) - hits
    recall, false = hits / positives, alarms / (len(truth) - positives)
    area = float(((recall[1:] + recall[:-1]) * np.diff(false)).sum() / 2)
    return Roc(
        auroc=area,
        threshold=np.concatenate([[math.inf], ordered[last]]),
        u_recall=recall,
        false_alarm_rate=false,
    )


def operating_point(
    unknown: Any, score: Any, *, u_recall: float | None = None, false_alarm_rate: float | None = None
) -> float:
    """A threshold chosen on tuning data.

    Parameters
    ----------
    u_recall
        The strictest threshold that reaches this U-Recall.
    false_alarm_rate
        The loosest threshold that stays within this rate. With neither, the largest U-Recall minus false alarms.
    """
    curve = roc(unknown, score)
    if u_recall is not None and false_alarm_rate is not None:
        raise InputError("an operating point is chosen by u_recall or by false_alarm_rate, not by both")
    if u_recall is not None:
        place = int(np.argmax(curve.u_recall >= number(u_recall, "u_recall", 0, 1) - 1e-12))
    elif false_alarm_rate is not None:
        within = curve.false_alarm_rate <= number(false_alarm_rate, "false_alarm_rate", 0, 1) + 1e-12
        place = int(np.flatnonzero(within)[-1])
    else:
        place = int(np.argmax(curve.u_recall - curve.false_alarm_rate))
    return float(curve.threshold[place])


@dataclass(frozen=True, kw_only=True)
class Validation(Result):
    """How a mechanism does on data that did not choose its threshold."""

    auroc: float
    threshold: float
    u_recall: float
    false_alarm_rate: float
    unknowns: int
    knowns: int
    tuned_on: int

    @property
    def sentence(self) -> str:
        """The validation in words, for the passport."""
        return (
            f"threshold {self.threshold:.6g} chosen on {self.tuned_on:,} other records; on {self.unknowns:,} unknown and "
            f"{self.knowns:,} known inputs AUROC {self.auroc:.3f}, U-Recall {self.u_recall:.3f}, "
            f"false alarms {self.false_alarm_rate:.3f}"
        )


def validated(unknown: Any, score: Any, *, tuning_unknown: Any, tuning_score: Any, **target: float) -> Validation:
    """Choose the operating point on the tuning data, judge it on the others; the same data twice are refused.

    `target` is `u_recall` or `false_alarm_rate`, as in `operating_point`.
    """
    made, tuned = _scores(score, "score"), _scores(tuning_score, "tuning_score")
    if len(made) == len(tuned) and np.array_equal(made, tuned):
        raise InputError(
            "tuning_score must come from other data than those judged (42001-6.3.2-a); got the same scores",
            field="tuning_score",
        )
    limit = operating_point(tuning_unknown, tuned, **target)
    truth = view(unknown, np.zeros(len(made))).event.true == 1
    found = onto_u_recall(truth.astype(int), np.zeros(len(made)), detected=(made >= limit).astype(int))
    return Validation(
        auroc=roc(truth.astype(int), made).auroc,
        threshold=limit,
        u_recall=found.u_recall,
        false_alarm_rate=found.false_alarm_rate,
        unknowns=found.unknowns,
        knowns=len(made) - found.unknowns,
        tuned_on=len(tuned),
    )


@dataclass(frozen=True, kw_only=True)
class CategoryRecall(Result):
    """U-Recall of one category of unknowns."""

    category: str
    u_recall: float
    unknowns: int


def recall_by_category(unknown: Any, detected: Any, category: Any) -> tuple[CategoryRecall, ...]:
    """U-Recall of each category among the unknown inputs; a record without a category counts as `other`."""
    flags = np.asarray(detected).astype(bool)
    truth = np.asarray(unknown).astype(bool)
    if not (len(flags) == len(truth) == len(np.asarray(category))):
        raise InputError("unknown, detected and category must have one entry a record", field="category")
    names = np.array(["other" if name is None or name == "" else str(name) for name in np.asarray(category)[truth]])
    hit = flags[truth]
    return tuple(
        CategoryRecall(
            category=str(name), u_recall=float(hit[names == name].mean()), unknowns=int((names == name).sum())
        )
        for name in np.unique(names)
    )


__all__ = [
    "TAXONOMIES",
    "CategoryRecall",
    "Detection",
    "Roc",
    "UnknownRecall",
    "Validation",
    "by_confidence",
    "by_disagreement",
    "by_entropy",
    "by_mahalanobis",
    "by_neighbours",
    "by_score",
    "operating_point",
    "recall_by_category",
    "roc",
    "taxonomy_of",
    "validated",
]
