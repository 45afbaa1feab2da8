# SPDX-License-Identifier: Apache-2.0
"""Predictions and outcomes as they are collected, and how a system is watched."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from epimeter.service.schemas.words import Domain, Flag, Moment, Name

Id = Annotated[str, Meta(min_length=1, max_length=200)]
Word = Annotated[str, Meta(max_length=200)]
Label = Word | bool | int
"""A class or an outcome; 1 and "1" are the same, as in files."""


class CollectedPrediction(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One prediction whose truth comes later: a confidence, the probability of outcome 1, or those of all classes."""

    id: Id
    confidence: float | None = None
    probability: float | None = None
    """Of outcome 1; truth is then told as 0 or 1."""
    probabilities: dict[Word, float] | None = None
    prediction: Label | None = None
    """The answer that the confidence is in; needed where truth will be told as a label."""
    time: Moment | None = None
    slices: dict[Word, Word] = {}


class PredictionBatch(Struct, forbid_unknown_fields=True):
    """Predictions of one system."""

    predictions: list[CollectedPrediction]


class CollectedOutcome(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The truth about one prediction: whether it was right, or the label."""

    id: Id
    correct: Flag | None = None
    truth: Label | None = None
    time: Moment | None = None
    source: Word | None = None


class OutcomeBatch(Struct, forbid_unknown_fields=True):
    """Outcomes of one system."""

    outcomes: list[CollectedOutcome]


class Collected(Struct):
    """What became of the rows that came.

    `repeated` said what was known already, `corrected` replaced a value (both are kept), `refused` belong to windows whose rows
    are gone, `waiting` are outcomes whose prediction has not come yet.
    """

    new: int
    repeated: int
    corrected: int
    refused: int
    waiting: int


class WatchRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """How a system is to be watched."""

    tolerance: Annotated[float, Meta(ge=0, lt=1)] = 0.01
    false_alarms: str = "1 per year"
    level: Literal["L1", "L2", "L3"] | None = None
    delay: Annotated[float, Meta(ge=0, le=365)] = 7.0
    horizon: Annotated[float, Meta(ge=0, le=730)] = 90.0
    evaluate: bool = False
    """Whether every seven days, once their truth is due, become an evaluation."""
    domain: Domain = "general"
    """The domain of these evaluations."""


class Acknowledgement(Struct, forbid_unknown_fields=True):
    """Who takes an alarm up."""

    alarm: Annotated[str, Meta(min_length=1, max_length=300)]
    by: Name


class Correction(Struct):
    """A value that was replaced."""

    id: str
    half: Literal["prediction", "outcome"]
    before: str
    after: str
    at: str


class CorrectionList(Struct):
    """Corrections of a system, the newest first."""

    items: list[Correction]
    next: str | None
