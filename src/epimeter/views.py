# SPDX-License-Identifier: Apache-2.0
"""Columns into views: the only room that doubts the data.

A view is a set of validated, frozen columns. `view` makes one from whatever a caller holds (lists, numpy, pandas,
polars, Arrow, torch) and refuses everything that would have to be guessed. Behind this border the type is trusted.

A view knows its kind (`epimeter.kinds`). `Binary` holds one number a row: an *event* (the probability of outcome 1, beside
the outcome) or an *answer* (the confidence in the answer given, beside whether it was right). `Multiclass` holds one
probability a class. A metric says how it reads what was given:

- ``given``: a vector as a vector, a matrix as a matrix;
- ``event``: one number a row as it stands, a matrix by its top label (largest probability, the first on ties; outcome: was it
  right);
- ``answer``: as answers; an event by its top label (1 where p >= 0.5, confidence max(p, 1 - p)), as a matrix by its own (C-48);
- ``classes``: a vector p is read as the two columns 1 - p, p.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from epimeter.checks import (
    check_classes,
    check_finite,
    check_probabilities,
    check_row_sums,
    column,
    labels,
    numbers,
    refuse,
    refuse_different_indexes,
    row_sum_tolerance,
)
from epimeter.core.class_loops import top_labels
from epimeter.core.row_loops import outcomes, sound
from epimeter.errors import InputError
from epimeter.kinds import Kind, kind_of

HEAVIEST = 1e70
"""The largest weight, and the smallest one its inverse, where powers of them are added up."""

Reading = Literal["given", "event", "answer", "classes"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class View(ABC):
    """Validated rows: what came true, what was said, how much each row counts."""

    true: NDArray[Any]
    prob: NDArray[Any]
    weight: Floats | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return len(self.prob)

    @property
    def total_weight(self) -> float:
        """Sum of the weights; the number of rows when there are none."""
        return float(self.n_rows) if self.weight is None else float(np.sum(self.weight))

    def read_as(self, reading: Reading) -> View:
        """This view as a metric wants to read it."""
        if reading == "event":
            return self.event
        if reading == "answer":
            return self.answer
        return self.classes if reading == "classes" else self

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """What was stated: the probability of an event, the confidence in an answer, or one probability a class."""

    @property
    @abstractmethod
    def event(self) -> Binary:
        """One number a row: a vector as it stands, a matrix by its top label."""

    @property
    @abstractmethod
    def answer(self) -> Binary:
        """Confidence in the answer given and whether it was right; events and classes are read by their top label."""

    @property
    @abstractmethod
    def classes(self) -> Multiclass:
        """One probability a class: a vector p becomes the columns 1 - p, p."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes; 2 for a vector."""

    @property
    @abstractmethod
    def picked(self) -> Floats:
        """Probability given to what came true."""

    def take(self, rows: Any) -> Self:
        """The view of some rows: a slice, an array of indices, or one of flags."""
        return replace(
            self,
            true=self.true[rows],
            prob=self.prob[rows],
            weight=None if self.weight is None else self.weight[rows],
            columns={name: column[rows] for name, column in self.columns.items()},
        )

    @property
    def tied(self) -> bool:
        """Whether two rows have equal predictions."""
        order = np.lexsort(self.prob.T) if self.prob.ndim == 2 else np.argsort(self.prob)
        ranked = self.prob[order].reshape(self.n_rows, -1)
        return bool((ranked[1:] == ranked[:-1]).all(axis=1).any())

    def chunks(self, size: int) -> Iterator[View]:
        """The rows in slices of at most `size`, without copying them."""
        for start in range(0, self.n_rows, size):
            yield self.take(slice(start, start + size))


@dataclass(frozen=True)
class Binary(View):
    """One number a row. `true` is 0 or 1 (uint8), `prob` lies in [0, 1] (float64 or float32)."""

    states: Literal["event", "answer"] = "event"
    """Whether `prob` is the probability of outcome 1, or the confidence in an answer that `true` says was right."""

    @property
    def kind(self) -> Kind:
        return self.states

    @property
    def n_classes(self) -> int:
        return 2

    @property
    def event(self) -> Binary:
        return self

    @cached_property
    def answer(self) -> Binary:
        if self.states == "answer":
            return self
        prob = self.prob.astype(np.float64, copy=False)
        says_one = prob >= 0.5
        right = says_one == (self.true == 1)
        return Binary(right.view(np.uint8), np.maximum(prob, 1.0 - prob), self.weight, self.columns, "answer")

    @cached_property
    def classes(self) -> Multiclass:
        prob = self.prob.astype(np.float64)
        return Multiclass(self.true.astype(np.intp), np.column_stack([1.0 - prob, prob]), self.weight, self.columns)

    @cached_property
    def picked(self) -> Floats:
        """Probability given to what came true."""
        prob = self.prob.astype(np.float64, copy=False)
        return np.where(self.true == 1, prob, 1.0 - prob)


@dataclass(frozen=True)
class Multiclass(View):
    """One probability a class. `true` is the class index (intp), `prob` has one row a sample (float64 or float32)."""

    @property
    def kind(self) -> Kind:
        return "classes"

    @property
    def n_classes(self) -> int:
        return int(self.prob.shape[1])

    @cached_property
    def event(self) -> Binary:
        return Binary((self.guess == self.true).view(np.uint8), self.top, self.weight, self.columns, "answer")

    @property
    def answer(self) -> Binary:
        return self.event

    @property
    def classes(self) -> Multiclass:
        return self

    @cached_property
    def guess(self) -> NDArray[np.intp]:
        """The class of largest probability, the first on ties."""
        return np.asarray(self.prob.argmax(axis=1))

    @cached_property
    def top(self) -> NDArray[Any]:
        """The largest probability of each row."""
        return self.prob[np.arange(self.n_rows), self.guess]

    @cached_property
    def picked(self) -> Floats:
        """Probability given to the true class."""
        return np.asarray(self.prob[np.arange(self.n_rows), self.true], np.float64)


def view(
    y_true: Any,
    y_prob: Any,
    *,
    kind: str | None = None,
    sample_weight: Any = None,
    probabilities: bool = True,
    **columns: Any,
) -> Binary | Multiclass:
    """Doubt columns once and give them back as a view.

    Parameters
    ----------
    y_true
        Outcomes: 0/1 or booleans beside a vector, class indices 0..K-1 beside a matrix.
    y_prob
        Probability of outcome 1 (or, with ``kind="answer"``, the confidence beside "was it right"), or one column a class.
    kind
        ``event``, ``answer`` or ``classes``; None takes a vector for an event and a matrix for classes.
    sample_weight
        Non-negative weights, not all zero.
    probabilities
        False lets `y_prob` hold any finite number (margins).
    columns
        Further columns of the same length: `features` (numbers), `groups` (labels).
    """
    return _view(y_true, y_prob, kind, sample_weight, probabilities, columns, look=True)


def unread(y_true: Any, y_prob: Any, **columns: Any) -> Binary | Multiclass:
    """The same for a loop that checks every row itself (`Recipe.checks_rows`): the rows of a vector may not be sound."""
    return _view(y_true, y_prob, None, None, True, columns, look=False)


def _view(
    y_true: Any,
    y_prob: Any,
    kind: str | None,
    sample_weight: Any,
    probabilities: bool,
    columns: Mapping[str, Any],
    *,
    look: bool,
) -> Binary | Multiclass:
    states = None if kind is None else kind_of(kind)
    if columns or sample_weight is not None or type(y_true) is not np.ndarray or type(y_prob) is not np.ndarray:
        refuse_different_indexes(y_true=y_true, y_prob=y_prob, sample_weight=sample_weight, **columns)
    prob = numbers(y_prob, "y_prob")
    if prob.ndim == 2 and prob.shape[1] == 1:
        raise InputError(
            f"y_prob must be a vector or have one column per class; got shape {prob.shape}. "
            "A single column of probabilities? Pass y_prob[:, 0]",
            field="y_prob",
        )
    if prob.ndim not in (1, 2):
        raise InputError(f"y_prob must have one or two dimensions; got {prob.ndim}", field="y_prob")
    if states is not None and (states == "classes") != (prob.ndim == 2):
        needs = "one column a class" if states == "classes" else f"one number a row, as kind {states!r} says"
        raise InputError(
            f"y_prob must have {needs}; got shape {prob.shape}. Leave kind out, or change it", field="kind"
        )
    true = labels(y_true)
    if len(true) != len(prob):
        raise InputError(f"y_true and y_prob must have the same length; got {len(true)} and {len(prob)}")
    if len(prob) == 0:
        raise InputError("y_true and y_prob must have at least one row; got none")
    if prob.ndim == 2 and not prob.shape[1]:
        raise InputError(
            f"y_prob must have one column a class; got 0 feature(s) (shape={prob.shape}) while a minimum of 2 is required.",
            field="y_prob",
        )
    tolerance = row_sum_tolerance(y_prob, prob.shape[1]) if prob.ndim == 2 else 0.0
    tops = top_labels(prob, tolerance) if probabilities and prob.ndim == 2 else None
    outcome = outcomes(true) if prob.ndim == 1 else None
    # The core looks at all rows at once; where it finds a fault, the checks say which row and what is wrong with it.
    found_sound = tops is not None or (probabilities and outcome is not None and (not look or sound(outcome, prob)))
    if probabilities and not found_sound:
        check_probabilities(prob, "y_prob")
    elif not probabilities:
        check_finite(prob, "y_prob")
    weight = None if sample_weight is None else weights(sample_weight, len(prob))
    extra = {name: _frozen(column(values, name, len(prob))) for name, values in columns.items() if values is not None}
    if prob.ndim == 1:
        if outcome is None or not found_sound:
            check_classes(true, 2)
        assert outcome is not None  # otherwise a label was neither 0 nor 1
        stated: Literal["event", "answer"] = "answer" if states == "answer" else "event"
        return Binary(_frozen(outcome), _frozen(prob), weight, extra, stated)
    if probabilities and tops is None:
        check_row_sums(prob, tolerance)
    check_classes(true, prob.shape[1])
    made = Multiclass(_frozen(true.astype(np.intp, copy=False)), _frozen(prob), weight, extra)
    if tops is not None:
        made.__dict__["top"], made.__dict__["guess"] = tops  # what the cached properties would compute
    return made


def weights(values: Any, n_rows: int, name: str = "sample_weight") -> Floats:
    """Validated weights: finite, none negative, not all zero, one a row."""
    weight = numbers(values, name).astype(np.float64)
    if weight.shape != (n_rows,):
        raise InputError(f"{name} must have one weight per row, {n_rows}; got shape {weight.shape}", field=name)
    check_finite(weight, name)
    refuse(weight < 0, weight, name, "must not be negative")
    if not weight.any():
        raise InputError(f"{name} must not be all zero", field=name)
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise InputError(f"{name} must have a finite sum; the largest weight is {weight.max():g}", field=name)
    return _frozen(weight)


def refuse_extreme(weight: Floats | None, name: str = "sample_weight") -> None:
    """Refuse weights whose squares or cubes are no numbers, where those are added up."""
    if weight is not None and not (weight.max() <= HEAVIEST and weight.min() >= 1 / HEAVIEST):
        extreme = (weight > HEAVIEST) | ((weight < 1 / HEAVIEST) & (weight > 0))
        refuse(extreme, weight, name, f"must be 0 or lie between {1 / HEAVIEST:g} and {HEAVIEST:g} here")


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    """The same memory, not to be written to through the view."""
    values = values.view()
    values.setflags(write=False)
    return values
