# SPDX-License-Identifier: Apache-2.0
"""A reliability diagram with the manners of scikit-learn's displays: from an estimator, or from its predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from epimeter.draw.bin_marks import Style, reliability
from epimeter.draw.bins import ReliabilityCurve, reliability_curve
from epimeter.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STRATEGIES = {"uniform": "width", "quantile": "mass"}


class ReliabilityDisplay:
    """A reliability curve that draws itself, as often as asked and on axes of your own.

    Attributes
    ----------
    curve
        The data: bins with confidence, frequency, interval and rows.
    estimator_name
        What the model is called in the legend; None when it has no name.
    figure_, ax_
        Set by `plot`.
    """

    figure_: Figure
    ax_: Axes

    def __init__(self, curve: ReliabilityCurve, *, estimator_name: str | None = None) -> None:
        self.curve = curve
        self.estimator_name = estimator_name

    @property
    def prob_true(self) -> Any:
        """Frequency of the outcome in each filled bin."""
        return self.curve.frequency[self.curve.count > 0]

    @property
    def prob_pred(self) -> Any:
        """Mean confidence in each filled bin."""
        return self.curve.confidence[self.curve.count > 0]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: Any = None,
        name: str | None = None,
        sample_weight: Any = None,
        ax: Any = None,
        style: Style = "points",
        **choices: Any,
    ) -> Self:
        """Predict, compute the curve and draw it.

        Parameters
        ----------
        estimator
            A fitted classifier with ``predict_proba`` and ``classes_``.
        X, y
            Rows and their labels, as the estimator knows them.
        pos_label
            With two classes: the one whose probability is drawn; None takes the second of ``classes_``. With more
            classes None draws the top label, a label that class against the rest.
        name
            What stands in the legend; None takes the name of the estimator's class.
        sample_weight
            Weights of the rows.
        ax, style
            As for `reliability`.
        choices
            Parameters of `reliability_curve`; ``n_bins`` and ``strategy`` are understood as well.
        """
        if not hasattr(estimator, "predict_proba") or not hasattr(estimator, "classes_"):
            raise InputError(
                f"estimator must be a fitted classifier with predict_proba; {type(estimator).__name__} is not",
                field="estimator",
            )
        classes = np.asarray(estimator.classes_)
        prob = np.asarray(estimator.predict_proba(X))
        label = np.asarray(y)
        unknown = ~np.isin(label, classes)
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            raise InputError(
                f"y must hold classes of the estimator; y[{row}] = {label[row]!r} is none", field="y", row=row
            )
        if pos_label is None and len(classes) == 2:
            pos_label = classes[1]
        if pos_label is None:
            true: Any = np.searchsorted(classes, label)
        elif pos_label not in classes:
            raise InputError(f"pos_label must be one of {classes.tolist()}; got {pos_label!r}", field="pos_label")
        else:
            true, prob = (label == pos_label).astype(np.uint8), prob[:, int(np.flatnonzero(classes == pos_label)[0])]
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(true, prob, name=name, sample_weight=sample_weight, ax=ax, style=style, **choices)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        name: str | None = None,
        sample_weight: Any = None,
        ax: Any = None,
        style: Style = "points",
        **choices: Any,
    ) -> Self:
        """Compute the curve of predictions and draw it.

        Parameters
        ----------
        y_true, y_prob
            Outcomes, and probabilities of outcome 1 or of every class.
        name
            What stands in the legend.
        sample_weight
            Weights of the rows.
        ax, style
            As for `reliability`.
        choices
            Parameters of `reliability_curve`; ``n_bins`` and ``strategy`` are understood as well.
        """
        curve = reliability_curve(y_true, y_prob, sample_weight=sample_weight, **_ours(choices))
        return cls(curve, estimator_name=name).plot(ax=ax, style=style)

    def plot(self, *, ax: Any = None, name: str | None = None, style: Style = "points") -> Self:
        """Draw, on the axes given or on a page of its own.

        Parameters
        ----------
        ax
            Axes; drawn on twice they hold both models.
        name
            Another name for the legend.
        style
            As for `reliability`.
        """
        called = self.estimator_name if name is None else name
        if ax is not None and called is not None and style != "bars":
            made = reliability({called: self.curve}, ax=ax, style=style)
        else:
            title = "Reliability diagram" if called is None else f"Reliability of {called}"
            made = reliability(self.curve, ax=ax, style=style, title=title)
        self.figure_, self.ax_ = made, made.axes[0] if ax is None else ax
        return self

    def _repr_png_(self) -> bytes | None:
        shown = getattr(getattr(self, "figure_", None), "_repr_png_", None)
        return None if shown is None else shown()

    def __repr__(self) -> str:
        named = "" if self.estimator_name is None else f"{self.estimator_name}: "
        return f"<ReliabilityDisplay {named}ece = {self.curve.value:.4f}, {self.curve.n_rows:,} rows>"


def _ours(choices: dict[str, Any]) -> dict[str, Any]:
    """scikit-learn's words for bins in ours."""
    made = dict(choices)
    if "n_bins" in made:
        made["bins"] = made.pop("n_bins")
    if "strategy" in made:
        strategy = made.pop("strategy")
        if strategy not in STRATEGIES:
            raise InputError(f"strategy must be uniform or quantile; got {strategy!r}", field="strategy")
        made["binning"] = STRATEGIES[strategy]
    return made
