# SPDX-License-Identifier: Apache-2.0
"""The meter as a metric of torchmetrics, for `MetricCollection` and Lightning.

    metrics = MetricCollection({"calibration": CalibrationMetric(), "accuracy": MulticlassAccuracy(1000)})

The report is made as `CalibrationMeter` makes it; torchmetrics gathers the keys of the rows from all processes.
"""

from __future__ import annotations

from typing import Any

import torch
from torchmetrics import Metric

from epimeter.errors import InputError
from epimeter.integrations.torch_meter import CalibrationMeter
from epimeter.integrations.torch_totals import Faults
from epimeter.report import Report


class CalibrationMetric(Metric):  # type: ignore[misc]
    """The values of a report as tensors by name; `report` gives it whole.

    Parameters
    ----------
    probs
        Whether `update` is given probabilities; logits otherwise, as this is never guessed.
    kind, metrics, ignore_index, choices
        As `CalibrationMeter` has them; the kinds are events and answers.
    """

    is_differentiable = False
    higher_is_better = None
    full_state_update = False
    keys: Any
    events: Any

    def __init__(self, *, probs: bool = False, kind: Any = None, metrics: Any = None, **options: Any) -> None:
        ours = {name: options.pop(name) for name in list(options) if name not in _THEIRS}
        super().__init__(**options)
        if kind == "classes":
            raise InputError("CalibrationMetric reads events and answers; CalibrationMeter reads classes", field="kind")
        self.probs = probs
        self.settings = {"kind": kind, "metrics": metrics, **ours}
        CalibrationMeter(**self.settings)  # what is wrong with them is said now
        self.add_state("keys", default=[], dist_reduce_fx="cat")
        self.add_state("events", default=torch.tensor(0), dist_reduce_fx="max")

    def update(self, preds: Any, target: Any) -> None:
        """Add a batch: logits, or probabilities where `probs` says so."""
        batch = CalibrationMeter(**self.settings)
        batch.update(targets=target, **{"probs" if self.probs else "logits": preds})
        totals: Any = batch.totals
        if self.keys and self.keys[0].dtype != totals.waiting[0].dtype:
            raise InputError("preds must have one precision in all batches; got single and double", field="preds")
        self.keys += totals.waiting
        self.events = self.events.fill_(int(batch.states == "event"))

    def report(self) -> Report:
        """The report of the rows at hand: those of this process, or of all inside `sync_context`."""
        keys = torch.cat(self.keys) if isinstance(self.keys, list) and self.keys else self.keys
        meter = CalibrationMeter(**self.settings)
        if isinstance(keys, list):
            raise InputError("a metric needs a batch before it can compute; update it first")
        faults = Faults()
        faults.look(keys)
        values, counts = torch.unique(keys[keys >= 0], return_counts=True)
        facts = {"states": "event" if int(self.events) else "answer", "seen": len(keys), "logits": not self.probs}
        meter.load_state_dict({**facts, "faults": faults.plain(), "keys": values, "counts": counts})
        return meter.own_report()

    def compute(self) -> dict[str, Any]:
        """The value of every metric of the report that has one."""
        return {
            line.metric: torch.tensor(line.value, dtype=torch.float64)
            for line in self.report().measurements
            if line.value is not None
        }


_THEIRS = (
    "compute_on_cpu",
    "dist_sync_on_step",
    "process_group",
    "dist_sync_fn",
    "distributed_available_fn",
    "sync_on_compute",
    "compute_with_cache",
)
