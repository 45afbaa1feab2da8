# SPDX-License-Identifier: Apache-2.0
"""An evaluation as it is answered."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Metrics(Struct, frozen=True):
    """The three numbers of ERS: ECE, U-Recall in percent, score."""

    ece: float
    u_recall: float
    ers: int


class Compliance(Struct, frozen=True):
    """The level earned, and the day it must be earned again."""

    level: Literal["NONE", "L1", "L2", "L3"]
    """The level whose limits are met; NONE where none are, or where the data do not meet ERS 3.1."""
    status: Literal["PASS", "FAIL", "INSUFFICIENT_DATA"]
    """PASS where a level is earned; INSUFFICIENT_DATA where the data do not meet ERS 3.1: `obstacles` say which part."""
    next_evaluation: str | None
    """The day by which the level must be earned again."""


class Period(Struct, frozen=True):
    """First and last moment of the data."""

    start: str
    end: str
    days: float


class DatasetReport(Struct, frozen=True, kw_only=True):
    """The data: what they are, and whether they suffice for a certificate (ERS 3.1)."""

    digest: str
    sample_size: int
    unlabelled: int
    covered_bins: int
    largest_share: float
    sample_size_ok: bool
    coverage_ok: bool
    balance_ok: bool
    span_ok: bool
    period: Period | None
    ground_truth: dict[str, int]


class OntoReport(Struct, frozen=True, kw_only=True):
    """The numbers of ONTO 42001, where the records say which inputs were unknown."""

    domain: str
    ece: float
    mce: float
    u_recall: float
    false_alarm_rate: float
    ors: float
    risk: str
    level: str


class Evaluation(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """An evaluation (ERS 6.2)."""

    evaluation_id: str
    status: Literal["queued", "completed", "failed"]
    spec_version: str
    model_id: str
    model_version: str | None
    domain: str
    attempt: int
    created_at: str
    completed_at: str | None = None
    metrics: Metrics | None = None
    compliance: Compliance | None = None
    accuracy: float | None = None
    risk: str | None = None
    dataset: DatasetReport | None = None
    onto_42001: OntoReport | None = None
    certifiable: bool = False
    obstacles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    engine: str = ""
    error: str | None = None
    job: str | None = None


class EvaluationLine(Struct, frozen=True, kw_only=True):
    """An evaluation in a list."""

    evaluation_id: str
    status: str
    model_id: str
    model_version: str | None
    domain: str
    attempt: int
    created_at: str
    completed_at: str | None
    sample_size: int | None
    metrics: Metrics | None
    level: str | None


class EvaluationPage(Struct, frozen=True):
    """Evaluations, the newest first; `next` is the cursor of the page after."""

    items: list[EvaluationLine]
    next: str | None


class JobLine(Struct, frozen=True, kw_only=True):
    """A job."""

    id: str
    kind: str
    subject: str
    state: str
    attempts: int
    created_at: str
    finished_at: str | None
    error: str | None
