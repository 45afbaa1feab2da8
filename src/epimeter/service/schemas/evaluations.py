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
    """`epi-col-v1` over confidence, outcome, unknown and detected, as in a certificate; of a summary `epi-parts-v1`."""
    whole_digest: str
    """`epi-col-v2` over every column that a verdict uses; of a summary `epi-parts-v1`."""
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
    """The numbers of ONTO 42001, where the records say which inputs were unknown, and the level that may be claimed."""

    domain: str
    """Domain of ONTO 42001."""
    ece: float
    """Expected calibration error over the bins of the strategy."""
    mce: float
    """Largest gap of a bin."""
    u_recall: float
    """Of the inputs that were unknown, the share that the system flagged."""
    false_alarm_rate: float
    """Of the inputs that were known, the share that it flagged."""
    ors: float
    """Composite score from 0 to 100: calibration error, missed unknowns, stakes of the domain."""
    risk: str | None
    """Class of the score; it has no part in the level. Null where the data do not suffice for a level."""
    level: str
    """The level that may be claimed: by the numbers, and by what is documented, kept and declared."""
    assessed: str | None
    """`self-assessed` where the level rests on what the operator declares."""
    measured_level: str
    """The level that the numbers alone meet."""
    tier: str
    """The governance tier of the level."""
    missing: tuple[str, ...]
    """What the measured level asks for beyond the numbers and does not have."""
    declared: tuple[str, ...]
    """What the level rests on that only the operator says."""
    statement: str
    """The conformance statement (42001-8.3)."""
    baseline: str | None = None
    """How the method compares with that of the last evaluation (42001-5.2.3)."""
    due: tuple[str, ...] = ()
    """Why a measurement was due, and whether it came too late (42001-5.1.1)."""
    categories: dict[str, float] = {}
    """U-Recall by category of unknowns, where records have one (42001-6.2.3)."""


class ForecastFindings(Struct, frozen=True, kw_only=True):
    """What forecasts of a number or of a set came to; the report has intervals and figures."""

    kind: str
    """normal, quantiles, ensemble, interval, set, state or count."""
    states: str
    """The same in words."""
    sample_size: int
    unlabelled: int
    """Rows left out because their truth is not known."""
    level: float
    """Coverage that intervals and sets were held against."""
    values: dict[str, float | None]
    """Metrics by name; null where one is undefined on these rows."""
    refuted: bool | None
    """Whether calibration is refuted at level 0.05; null where no test is made."""
    verdict: tuple[str, ...]
    """What a reader asks first, in sentences: refuted or not, by which test, and how far coverage is off."""


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
    assessed: str | None = None
    """`self-assessed` for L3: it asks for an audit by a third party, and no measurement is one."""
    accuracy: float | None = None
    risk: str | None = None
    dataset: DatasetReport | None = None
    onto_42001: OntoReport | None = None
    forecasts: ForecastFindings | None = None
    """Of forecasts of a number or of a set, instead of the numbers of the standards."""
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
