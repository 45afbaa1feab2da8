# SPDX-License-Identifier: Apache-2.0
"""Predictions as they are sent, and what is said of them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from epimeter.service.schemas.words import Domain, Flag, Identifier, Moment, Name, OntoDomain, Source, Strategy, Uuid

Text = Annotated[str, Meta(max_length=200)]
"""An id, a class or a category."""
Label = Text | int
"""What records belong to: a question or a group, by its name or its number."""
Share = Annotated[float, Meta(ge=0, le=1)]
Reason = Annotated[str, Meta(max_length=2000)]
Level = Annotated[float, Meta(gt=0, lt=1)]
Cell = int | float | Text | list[int | float | Text] | None
"""A number, a label, a set of labels, or nothing where the truth is not known."""
Row = dict[Text, Cell]
Column = list[Cell]


class Prediction(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False, rename={"class_": "class"}):
    """One prediction (ERS 3.1, 6.2): how sure the system was, and whether it was right; null where nobody knows.

    An answer that was declined may have neither: its flags count.
    """

    confidence: float | None
    """Confidence in the answer given, from 0 to 1; null only where `correct` is null too."""
    correct: Flag | None
    id: Text | None = None
    timestamp: Moment | None = None
    ground_truth_source: Source | None = None
    class_: Text | None = None
    unknown: Flag | None = None
    detected: Flag | None = None
    category: Text | None = None
    question: Label | None = None
    group: Label | None = None


class PredictionColumns(Struct, forbid_unknown_fields=True, gc=False, rename={"class_": "class"}):
    """The same as columns of one length."""

    confidence: list[float | None]
    """Confidence in the answer given, from 0 to 1; null only where `correct` is null too."""
    correct: list[Flag | None]
    id: list[Text] | None = None
    timestamp: list[Moment] | None = None
    ground_truth_source: list[Source | None] | None = None
    class_: list[Text] | None = None
    unknown: list[Flag] | None = None
    detected: list[Flag] | None = None
    category: list[Text | None] | None = None
    question: list[Label | None] | None = None
    group: list[Label | None] | None = None


COLUMNS = tuple(field.encode_name for field in msgspec.structs.fields(Prediction))


class EvaluateRequest(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Predictions of one system, as rows or as columns; or forecasts of a number or of a set."""

    model_id: Identifier
    domain: Domain = "general"
    model_version: Identifier | None = None
    dataset_id: Uuid | None = None
    """A UUID (ERS 3.1)."""
    created_at: Moment | None = None
    metrics: Annotated[list[Annotated[str, Meta(max_length=60)]], Meta(max_length=60)] | None = None
    """Metrics of the report; the headlines when left out."""
    preregistration: Identifier | None = None
    onto_domain: OntoDomain | None = None
    """Domain of ONTO 42001, where it is not the converted one."""
    strategy: Strategy = "equal_width"
    """How ONTO 42001 cuts its bins (5.2.3)."""
    declaration: dict[str, dict[str, Any]] | None = None
    """What numbers cannot say, in the tables of the command's declaration file: system, unknowns, methodology, contents, flags."""
    weights: Annotated[list[Share], Meta(min_length=3, max_length=3)] | None = None
    """Weights of ORS for calibration, unknowns and domain, where they are not 0.35, 0.45, 0.20 (42001-A.5.3)."""
    weights_reason: Reason | None = None
    """Why the weights were changed."""
    unknown_threshold: Share | None = None
    """Confidence below which an input counts as flagged, 0.5 when left out; a column `detected` overrules it (42001-A.3.2)."""
    new_baseline: Name | None = None
    """Why a new baseline begins; without it the binning strategy must be that of the last evaluation (42001-5.2.3)."""
    level: Level | None = None
    """Coverage that the intervals or sets of forecasts claim; 0.9 when left out."""
    predictions: list[Prediction] | UnsetType = UNSET
    columns: PredictionColumns | UnsetType = UNSET
    forecasts: dict[Text, Column] | list[Row] | UnsetType = UNSET
    """Columns or rows by the names that files have: the truth as y, and mean and std, q0.05 … q0.95, member_0 …, lower and upper,
    or set."""


class Facts(Struct, frozen=True, kw_only=True):
    """What is said of the rows, whatever format they come in."""

    model_id: str
    domain: str
    model_version: str | None = None
    dataset_id: str | None = None
    metrics: tuple[str, ...] | None = None
    preregistration: str | None = None
    onto_domain: str | None = None
    strategy: str = "equal_width"
    declaration: dict[str, dict[str, Any]] | None = None
    weights: tuple[float, ...] | None = None
    weights_reason: str | None = None
    unknown_threshold: float | None = None
    new_baseline: str | None = None
    level: float | None = None

    @classmethod
    def of(cls, request: EvaluateRequest) -> Facts:
        """The facts of a request."""
        return cls(
            model_id=request.model_id,
            domain=request.domain,
            model_version=request.model_version,
            dataset_id=request.dataset_id,
            metrics=None if request.metrics is None else tuple(request.metrics),
            preregistration=request.preregistration,
            onto_domain=request.onto_domain,
            strategy=request.strategy,
            declaration=request.declaration,
            weights=None if request.weights is None else tuple(request.weights),
            weights_reason=request.weights_reason,
            unknown_threshold=request.unknown_threshold,
            new_baseline=request.new_baseline,
            level=request.level,
        )
