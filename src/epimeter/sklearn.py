# SPDX-License-Identifier: Apache-2.0
"""Metrics as scorers of scikit-learn: for `cross_val_score`, `GridSearchCV` and whatever else takes ``scoring=``.

A scorer asks the estimator for its classes, so that targets may be words. It is larger for the better model, as scikit-learn
wants it: a metric of which less is better counts negative, a signed one by its distance from the ideal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epimeter.card_index import find
from epimeter.errors import InputError
from epimeter.results import Result


@dataclass(frozen=True)
class Scorer:
    """A metric under its parameters; called with an estimator, its input and the targets."""

    metric: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, x: Any, y_true: Any, sample_weight: Any = None, groups: Any = None) -> float:
        metric = find(self.metric)
        prob = np.asarray(estimator.predict_proba(x))
        classes = getattr(estimator, "classes_", None)
        if prob.ndim != 2 or classes is None or len(classes) != prob.shape[1]:
            raise InputError(
                f"an estimator must have one probability a class; {type(estimator).__name__} gave shape {prob.shape}"
            )
        true = _numbered(y_true, np.asarray(classes))
        beside = {"sample_weight": sample_weight, "groups": groups, "features": _features(self.metric, x)}
        given = {name: column for name, column in beside.items() if column is not None} | self.parameters
        answer = metric(true, prob[:, 1] if len(classes) == 2 else prob, **given)
        value = answer.headline if isinstance(answer, Result) else float(answer)
        if metric.card.direction == "higher":
            return value
        if metric.card.direction == "lower":
            return -value
        return -abs(value - (metric.card.ideal or 0.0))


def scorer(metric: str, **parameters: Any) -> Scorer:
    """A metric for ``scoring=``.

    Parameters
    ----------
    metric
        Its name.
    parameters
        Of the metric: ``bins=15``.

    A metric of features is given the estimator's input; one of groups takes them as ``groups=`` when the scorer is called.

    Examples
    --------
    >>> scorer("ece", bins=15)
    Scorer(metric='ece', parameters={'bins': 15})
    """
    chosen = find(metric)
    if chosen.reads is None or not chosen.of_probabilities:
        raise InputError(f"{chosen.name} takes other columns than targets and probabilities; no estimator gives them")
    chosen.settle(parameters)
    return Scorer(chosen.name, dict(parameters))


def _features(name: str, x: Any) -> Any:
    """The estimator's input, where the metric asks how near rows lie to each other."""
    return np.asarray(x) if "features" in find(name).card.needs or name == "mvce" else None


def _numbered(y_true: Any, classes: Any) -> Any:
    """Targets as numbers of their classes."""
    labels = np.asarray(y_true)
    if labels.ndim != 1:
        raise InputError(f"targets must be one class a row; got shape {labels.shape}", field="y_true")
    place = {label: number for number, label in enumerate(classes.tolist())}
    found = [place.get(label, -1) for label in labels.tolist()]
    if -1 in found:
        row = found.index(-1)
        raise InputError(
            f"every target must be a class that the estimator knows; y_true[{row}] is {labels[row].item()!r:.40}",
            field="y_true",
            row=row,
        )
    return np.array(found, np.int64)
