# SPDX-License-Identifier: Apache-2.0
"""What a gate says: one verdict a requirement and slice, and the judgement of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import epimeter
from epimeter.documents.held import Held, Record
from epimeter.documents.sections import Block, Document, Grid, Paragraph, Section, Tone
from epimeter.results import Interval, cell_text, plain

Outcome = Literal["pass", "warn", "fail", "cannot judge"]
TONES: dict[Outcome, Tone] = {"pass": "good", "warn": "mind", "fail": "bad", "cannot judge": "bad"}


@dataclass(frozen=True, kw_only=True)
class RequirementVerdict:
    """One requirement on one set of rows."""

    gate: str
    requirement: str
    """In words: `ece at most 0.05`."""
    metric: str
    outcome: Outcome
    reason: str
    """One sentence: what was found, and what it was held against."""
    slice: str | None = None
    """None for all rows."""
    value: float | None = None
    interval: Interval | None = None
    limit: float | None = None
    n_rows: int = 0
    p_value: float | None = None
    """Of a slice: how likely so bad a value is where the limit is kept, adjusted for the number of slices."""
    source: str = ""
    line: int = 1

    @property
    def name(self) -> str:
        """The requirement, and the slice where it is one."""
        return self.requirement if self.slice is None else f"{self.requirement} [{self.slice}]"

    def to_dict(self) -> dict[str, Any]:
        return {
            "gate": self.gate,
            "requirement": self.requirement,
            "slice": self.slice,
            "metric": self.metric,
            "outcome": self.outcome,
            "reason": self.reason,
            "value": plain(self.value),
            "interval": None if self.interval is None else self.interval.to_dict(),
            "limit": plain(self.limit),
            "n_rows": self.n_rows,
            "p_value": plain(self.p_value),
            "policy": self.source,
            "line": self.line,
        }


class PolicyJudgement(Held):
    """All verdicts of a policy. `code` is 0 for a pass, 1 for a fail, 2 where it cannot be judged."""

    def __init__(self, verdicts: Sequence[RequirementVerdict]) -> None:
        self.verdicts = tuple(verdicts)
        self.version = epimeter.__version__

    @property
    def outcome(self) -> Outcome:
        """The gravest verdict; nothing judged is no pass."""
        outcomes = {verdict.outcome for verdict in self.verdicts}
        order: tuple[Outcome, ...] = ("fail", "cannot judge", "warn", "pass")
        return next((outcome for outcome in order if outcome in outcomes), "cannot judge")

    @property
    def code(self) -> int:
        """The exit code."""
        return {"pass": 0, "warn": 0, "fail": 1, "cannot judge": 2}[self.outcome]

    @property
    def sentence(self) -> str:
        """The judgement in one line."""
        counts = [
            f"{sum(v.outcome == outcome for v in self.verdicts)} {word}"
            for outcome, word in (
                ("pass", "hold"),
                ("warn", "undecided"),
                ("fail", "fail"),
                ("cannot judge", "cannot be judged"),
            )
            if any(v.outcome == outcome for v in self.verdicts)
        ]
        what = {"pass": "Pass", "warn": "Pass, with warnings", "fail": "Fail", "cannot judge": "Cannot judge"}[
            self.outcome
        ]
        return f"{what}: {', '.join(counts) or 'nothing was required'}."

    def to_dict(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "exit_code": self.code,
            "version": self.version,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
        }

    def records(self) -> list[Record]:
        """One line a verdict."""
        made = []
        for verdict in self.verdicts:
            told = verdict.to_dict()
            around = told.pop("interval")
            made.append(told | {"low": around and around["low"], "high": around and around["high"]})
        return made

    def document(self, *, for_print: bool = False) -> Document:
        sections = []
        for gate in dict.fromkeys(verdict.gate for verdict in self.verdicts):
            some = [verdict for verdict in self.verdicts if verdict.gate == gate]
            rows = tuple(
                (
                    verdict.outcome,
                    verdict.name,
                    cell_text(verdict.value),
                    "–" if verdict.interval is None else f"[{verdict.interval.low:.4g}, {verdict.interval.high:.4g}]",
                    f"{verdict.n_rows:,}",
                    verdict.reason,
                )
                for verdict in some
            )
            columns = ("verdict", "requirement", "value", "interval", "rows", "why")
            grid = Grid(gate, columns, rows, frozenset({2, 3, 4}), tuple(TONES[verdict.outcome] for verdict in some))
            sections.append(Section(gate, (grid,)))
        blocks: tuple[Block, ...] = (Paragraph(self.sentence, TONES[self.outcome]),)
        return Document("Calibration gate", f"epimeter {self.version}", (Section("Verdict", blocks), *sections))
