# SPDX-License-Identifier: Apache-2.0
"""For Hugging Face: a module with the methods of `evaluate`, and what `Trainer` takes as `compute_metrics`.

calibration = epimeter.huggingface.Calibration(metrics="ece,brier_score")
calibration.compute(references=labels, predictions=probabilities)

Trainer(…, compute_metrics=epimeter.huggingface.compute_metrics)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from epimeter.errors import InputError
from epimeter.integrations.tracked import scalars
from epimeter.report import Report, evaluate


class Calibration:
    """Collects references and predictions, then measures them.

    Parameters
    ----------
    metrics
        What is measured; None for the headlines.
    kind
        What predictions are, where they are one number a row: ``event`` (the default) or ``answer``.
    logits
        Whether predictions are scores before softmax or the logistic function.
    ignore_index
        The reference of rows that do not count.
    choices
        Further arguments of `evaluate`, such as ``bins=15``.
    """

    name = "epimeter"

    def __init__(
        self,
        metrics: str | Iterable[str] | None = None,
        *,
        kind: str | None = None,
        logits: bool = False,
        ignore_index: int = -100,
        **choices: Any,
    ) -> None:
        self.options = {"metrics": metrics, "kind": kind, "logits": logits, **choices}
        self.ignore_index = ignore_index
        self.waiting: list[tuple[Any, Any]] = []
        self.report: Report | None = None
        """The whole report of the last `compute`."""

    def add(self, *, references: Any, predictions: Any) -> None:
        """Add one row."""
        self.add_batch(references=[references], predictions=[predictions])

    def add_batch(self, *, references: Any, predictions: Any) -> None:
        """Add rows."""
        given = np.asarray(references), np.asarray(predictions)
        if given[0].shape != given[1].shape[: given[0].ndim] or not given[0].ndim:
            raise InputError(
                f"references and predictions must have as many rows; got shapes {given[0].shape} and {given[1].shape}"
            )
        self.waiting.append(given)

    def compute(self, *, references: Any = None, predictions: Any = None) -> dict[str, float]:
        """The values by name, with the ends of their intervals; rows that were added are forgotten afterwards."""
        if references is not None or predictions is not None:
            self.add_batch(references=references, predictions=predictions)
        if not self.waiting:
            raise InputError("compute needs references and predictions; none were added")
        true, said = (
            np.concatenate([_flattened(part, references.ndim) for part, references in parts])
            for parts in (
                [(references, references) for references, _ in self.waiting],
                [(predictions, references) for references, predictions in self.waiting],
            )
        )
        self.waiting = []
        some = true != self.ignore_index
        self.report = evaluate(true[some], said[some], **self.options)
        return scalars(self.report, "")


def _flattened(part: Any, dimensions: int) -> Any:
    """Rows of batches of sequences behind each other; a last dimension of classes stays."""
    return part.reshape(-1, *part.shape[dimensions:])


def compute_metrics(predicted: Any) -> dict[str, float]:
    """What `Trainer` logs: the headlines of logits, classes last, beside labels of which -100 does not count."""
    logits, labels = predicted
    return Calibration(logits=True).compute(references=labels, predictions=logits)
