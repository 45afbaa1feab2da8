# SPDX-License-Identifier: Apache-2.0
"""A meter for training and evaluation loops: batches of tensors in, the report of `evaluate` out.

meter = CalibrationMeter()
for inputs, targets in loader:
    meter.update(model(inputs), targets)
print(meter.compute())
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch

from epimeter.card_index import find
from epimeter.errors import InputError, MergeError
from epimeter.integrations.torch_batch import IGNORED, UNKNOWN, UNSOUND, TorchBatch, read
from epimeter.integrations.torch_gather import gathered
from epimeter.integrations.torch_totals import ClassRows, Faults, KeyTotals
from epimeter.kinds import Kind
from epimeter.report import Report, evaluate
from epimeter.report.measuring import infinite

KINDS = (None, "event", "answer", "classes")


class CalibrationMeter:
    """Running totals of predictions on the device where they are made.

    Parameters
    ----------
    kind
        None: tensors of one shape are events, a further dimension of classes is read by its top label, as answers. ``answer``:
        confidences and right or wrong, too. ``classes``: every class counts; the probabilities are kept whole on the device.
    metrics
        What the report measures; None for the headlines.
    ignore_index
        The target of rows that do not count, such as padding; None where every row does.
    intervals, level
        Intervals of the report, as `evaluate` has them.
    choices
        Parameters of metrics, such as ``bins=15``.
    """

    def __init__(
        self,
        *,
        kind: Kind | None = None,
        metrics: str | Iterable[str] | None = None,
        ignore_index: int | None = -100,
        intervals: Any = "asymptotic",
        level: float = 0.95,
        **choices: Any,
    ) -> None:
        if kind not in KINDS:
            raise InputError(f"kind must be event, answer, classes or None; got {kind!r:.40}", field="kind")
        names = metrics.split(",") if isinstance(metrics, str) and metrics != "all" else metrics
        self.metrics = names if names is None or names == "all" else tuple(find(name.strip()).name for name in names)
        self.kind, self.ignore_index = kind, ignore_index
        self.options = {"intervals": intervals, "level": level, **choices}
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        self.totals: KeyTotals | ClassRows | None = None
        self.states: Kind | None = None
        self.seen = 0
        self.logits = False

    def update(self, logits: Any = None, targets: Any = None, *, probs: Any = None) -> None:
        """Add a batch; nothing waits for the device.

        Parameters
        ----------
        logits
            Scores before softmax, with the classes last, or before the logistic function, in the shape of the targets.
        targets
            Classes, or 0 and 1; `ignore_index` where a row does not count.
        probs
            Probabilities in place of logits.
        """
        batch = read(logits, probs, targets, self.kind, self.ignore_index)
        self._check_fits(batch)
        if batch.prob.device.type == "cpu":  # the numbers are at hand; a device would have to be waited for
            faults = Faults(seen=self.seen)
            faults.look(batch.marked(torch.zeros_like(batch.outcome, dtype=torch.int64)))
            _refuse(faults, batch.logits)
        if self.totals is None:
            self.totals = ClassRows.empty(batch) if batch.kind == "classes" else KeyTotals.empty(batch)
            self.states = batch.kind
        self.totals.add(batch)
        self.seen += len(batch.outcome)
        self.logits = self.logits or batch.logits

    def _check_fits(self, batch: TorchBatch) -> None:
        """Refuse a batch that the totals cannot take."""
        held = self.totals
        if held is None:
            return
        if held.device != batch.prob.device:
            raise InputError(
                f"a meter holds its totals on one device, here {held.device}; got a batch on {batch.prob.device}. "
                "Use one meter a device and merge them"
            )
        _check_alike(self.states, batch.kind, held, batch.prob.shape[1] if batch.kind == "classes" else None)

    def merge(self, other: CalibrationMeter) -> CalibrationMeter:
        """Add the rows of another meter, which keeps its own; its device does not matter."""
        if not isinstance(other, CalibrationMeter):
            raise MergeError(f"a meter merges with a meter; got {type(other).__name__}")
        if other.totals is None:
            return self
        if self.totals is None:
            self.totals, self.states = other.totals.copy(other.totals.device), other.states
        else:
            classes = other.totals.n_classes if isinstance(other.totals, ClassRows) else None
            _check_alike(self.states, other.states, self.totals, classes)
            self.totals.merge(other.totals)  # type: ignore[arg-type]
        self.seen += other.seen
        self.logits = self.logits or other.logits
        return self

    def compute(self, *, group: Any = None) -> Report:
        """The report of all rows so far; where `torch.distributed` runs, of the rows of all its processes.

        Parameters
        ----------
        group
            The processes whose rows are joined; every one of them must call. None for all of them.
        """
        return gathered(self, group).own_report()

    def own_report(self) -> Report:
        """The report of the rows of this process alone."""
        if self.totals is None:
            raise InputError("a meter needs a batch before it can compute; update it first")
        prob, outcome = self.totals.columns()
        faults = self.totals.faults
        _refuse(faults, self.logits)
        if not len(prob):
            raise InputError(
                f"a meter needs a row that counts; all {self.seen:,} have the target {self.ignore_index}, which is ignored",
                field="targets",
            )
        source: dict[str, Any] = {"name": "torch"}
        if faults.counts[IGNORED]:
            source["unlabelled"] = faults.counts[IGNORED]
        if self.logits:
            by = "the logistic function" if self.states == "event" else "softmax"
            source["notes"] = [f"scores were turned into probabilities by {by}"]
        made = evaluate(outcome, prob, kind=self.states, metrics=self.metrics, source=source, **self.options)
        return _without_places(made)

    def fresh(self) -> CalibrationMeter:
        """A meter of the same settings without rows."""
        return CalibrationMeter(kind=self.kind, metrics=self.metrics, ignore_index=self.ignore_index, **self.options)

    def to(self, device: Any) -> CalibrationMeter:
        """Move the totals to a device."""
        if self.totals is not None:
            self.totals = self.totals.copy(device)
        return self

    def state_dict(self) -> dict[str, Any]:
        """The totals as tensors and plain values, for a checkpoint."""
        if self.totals is None:
            return {"seen": 0}
        copies = {name: tensor.clone() for name, tensor in self.totals.tensors().items()}
        facts = {"states": self.states, "seen": self.seen, "logits": self.logits}
        return {**facts, "faults": self.totals.faults.plain(), **copies}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over the totals of a checkpoint."""
        if not state.get("seen"):
            self.reset()
            return
        missing = {"states", "logits", "faults"} - set(state)
        kept = next((made for made in (KeyTotals, ClassRows) if set(_COLUMNS[made]) <= set(state)), None)
        if missing or kept is None:
            raise InputError("the state must be what state_dict of a CalibrationMeter gave; parts of it are missing")
        if self.kind not in (None, state["states"]):
            raise InputError(f"this meter reads {self.kind}; the state holds {state['states']}", field="kind")
        columns = {name: state[name].clone() for name in _COLUMNS[kept]}
        self.totals = kept.of(Faults.of(state["faults"]), columns)
        self.states, self.seen, self.logits = state["states"], state["seen"], state["logits"]

    def __repr__(self) -> str:
        where = "" if self.totals is None else f" on {self.totals.device}"
        return f"<CalibrationMeter: {self.seen:,} rows{where}>"


_COLUMNS: dict[Any, tuple[str, ...]] = {KeyTotals: ("keys", "counts"), ClassRows: ("prob", "outcome")}


def _check_alike(mine: Kind | None, theirs: Kind | None, held: Any, n_classes: int | None) -> None:
    if mine != theirs:
        raise MergeError(f"a meter holds rows of one kind, here {mine}; got {theirs}. Use a meter for each")
    if n_classes is not None and held.n_classes != n_classes:
        raise MergeError(f"a meter of classes holds rows of as many classes, here {held.n_classes}; got {n_classes}")


def _refuse(faults: Faults, logits: bool) -> None:
    """One sentence where rows cannot be measured."""
    unsound, unknown = faults.counts[UNSOUND], faults.counts[UNKNOWN]
    if unsound:
        must = (
            "logits must be numbers, and finite but for classes masked by -inf"
            if logits
            else "probs must lie in [0, 1], and a row of classes must sum to 1"
        )
        raise InputError(
            f"{must}; {unsound:,} of the rows are otherwise, the first is row {faults.first[UNSOUND]:,}, counted from 0 since the "
            "reset",
            field="logits" if logits else "probs",
            row=faults.first[UNSOUND],
            count=unsound,
        )
    if unknown:
        raise InputError(
            f"targets must be classes, 0 or 1, or ignore_index; {unknown:,} are not, the first is that of row "
            f"{faults.first[UNKNOWN]:,}, counted from 0 since the reset",
            field="targets",
            row=faults.first[UNKNOWN],
            count=unknown,
        )


def _without_places(report: Report) -> Report:
    """The report without the places of rows that make a score infinite: totals know how many there are, not where."""
    before = infinite(report.measurements)
    if not before:
        return report
    lines = tuple(
        line if line.infinite is None else replace(line, infinite=line.infinite.partition(" (row")[0])
        for line in report.measurements
    )
    others = tuple(caution for caution in report.cautions if caution not in before)
    return replace(report, measurements=lines, cautions=(*others, *infinite(lines)))
