# SPDX-License-Identifier: Apache-2.0
"""Which kind of forecast a table holds, and which columns say it.

Names decide where they are clear:

====================  =====================  ====================  ===========================================
forecast              outcome                prediction            kind
====================  =====================  ====================  ===========================================
prob, score, p, …     label, y_true, …       any                   event: the probability of outcome 1
confidence, conf      correct, right, …      any                   answer: was the answer given right?
confidence, conf      label, y_true, …       y_pred, pred, …       answer: right where prediction and label agree
confidence, conf      label, y_true, …       none                  ambiguous, refused until the caller says which
prob, score, p, …     correct, right, …      any                   answer: the probability that it was right
one column a class    label, y_true, …       any                   classes
====================  =====================  ====================  ===========================================

Nothing is guessed: where names contradict each other or the kind that was said, one sentence says what would settle it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from epimeter.errors import ReadError
from epimeter.kinds import Kind, kind_of
from epimeter.readers.logs.answer import LogOptions
from epimeter.readers.wording import clean, listed, shown

EVENT = (
    "p", "prob", "probs", "proba", "probability", "score", "y_prob", "y_proba", "y_score", "y_pred_proba", "pred_proba",
    "predicted_probability", "pred_prob", "p_1", "prob_1", "proba_1", "probability_1",
)  # fmt: skip
"""Names of a probability of outcome 1."""
SCORES = ("logit", "logits", "score", "scores")
"""Names of scores before softmax, where the caller says that there are some."""
CONFIDENCE = (
    "confidence",
    "conf",
    "confidence_score",
    "stated_confidence",
    "verbalised_confidence",
    "verbalized_confidence",
)
"""Names of a confidence in the answer given."""
LISTS = (*EVENT, *CONFIDENCE, "probabilities", "class_probabilities")
"""Names of a column with one list of class probabilities a row."""
RIGHT = ("correct", "is_correct", "was_correct", "right", "is_right", "was_right", "correctness")
"""Names of whether the answer was right."""
TRUTH = (
    "label", "labels", "y", "y_true", "target", "targets", "outcome", "true_label", "true_class", "truth", "ground_truth",
    "actual",
)  # fmt: skip
"""Names of what came true: 0 or 1, or a class."""
PREDICTED = ("prediction", "y_pred", "predicted", "pred", "predicted_label", "predicted_class", "pred_label", "y_hat")
"""Names of the answer that was given."""


@dataclass(frozen=True)
class Choice:
    """What the caller says of the columns.

    Attributes
    ----------
    columns
        Role to column, where a name does not say; "" leaves a role out.
    kind
        The kind of forecast, where names do not say.
    positive
        The label that is outcome 1, where labels are neither 0 and 1 nor plain words for them.
    classes
        The classes in the order of the probability columns, where neither columns nor labels say them.
    log
        How an evaluation log is to be read.
    logits
        Whether the forecast is written as scores before softmax or the logistic function.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    kind: str | None = None
    positive: str | None = None
    classes: tuple[str, ...] | None = None
    log: LogOptions = field(default_factory=LogOptions)
    logits: bool = False

    def __post_init__(self) -> None:
        if self.kind is not None:
            kind_of(self.kind)
        if self.kind == "classes" and self.positive is not None:
            raise ReadError("positive names outcome 1 of an event; classes have none. Leave it out", field="positive")

    @classmethod
    def of(cls, said: Choice | Mapping[str, str] | None) -> Choice:
        """What was said, if only the columns were."""
        return said if isinstance(said, Choice) else cls(dict(said or {}))


def vector_kind(
    forecast: str, outcome: str, *, event: bool, right: bool, predicted: str | None, said: str | None, source: str
) -> tuple[Kind, bool]:
    """The kind of one number a row, and whether right or wrong is found by comparing prediction and label.

    Parameters
    ----------
    forecast, outcome, predicted
        The columns, by their names in the source.
    event
        Whether the forecast's name says that it is the probability of outcome 1.
    right
        Whether the outcome is "was it right" and not what came true.
    said
        The kind as the caller says it.
    """
    if said == "classes":
        raise ReadError(
            f"kind classes needs one probability column a class; {source} has {shown(forecast)} alone", field="kind"
        )
    if said == "event":
        if right:
            raise ReadError(
                f"kind event needs what came true, 0 or 1, beside the probability of outcome 1; {shown(outcome)} of {source} "
                "says whether an answer was right. Name the outcome with --column label=NAME, or say --kind answer",
                field="kind",
            )
        return "event", False
    if said == "answer":
        return "answer", not right and predicted is not None
    if right:
        return "answer", False
    if event:
        return "event", False
    if predicted is not None:
        return "answer", True
    raise ReadError(
        f"what {shown(forecast)} of {source} means beside {shown(outcome)} must be said: the probability of outcome 1 "
        "(--kind event), or the confidence in an answer that the label says was right (--kind answer). A column with the "
        "prediction would settle it too",
        field="kind",
    )


def predicted_column(by_word: Mapping[str, list[str]], source: str, taken: Container[str]) -> str | None:
    """The column of the answer that was given, if there is one."""
    named = [name for word in PREDICTED for name in by_word.get(word, ()) if name not in taken]
    if len(named) > 1:
        raise ReadError(
            f"only one column can serve as prediction; {source} has {listed([shown(name) for name in named], 'and')}. "
            "Choose with --column prediction=NAME",
            field="prediction",
        )
    return named[0] if named else None


def outcome_column(
    kind: str | None, forecast_is_event: bool, truths: Sequence[str], rights: Sequence[str]
) -> tuple[list[str], bool]:
    """The columns that could say the outcome, and whether they say "was it right".

    A file may hold both: beside a confidence `correct` is meant, beside a probability of outcome 1 the label.
    """
    wants_right = kind == "answer" or (kind is None and not forecast_is_event)
    if kind == "event":
        return (list(truths), False) if truths else (list(rights), True)
    if wants_right:
        return (list(rights), True) if rights else (list(truths), False)
    return (list(truths), False) if truths else (list(rights), True)


def score_note(kind: Kind) -> str:
    """What a report says where scores were turned into probabilities."""
    return f"scores were turned into probabilities by {'softmax' if kind == 'classes' else 'the logistic function'}"


def described(columns: Mapping[str, tuple[str, ...]], compared: bool, guessed: str | None = None) -> tuple[str, ...]:
    """A sentence for the report where right and wrong were found by comparison, or the labels by their words."""
    if guessed is not None:
        return (
            f"the label is read from {clean(guessed)}, which alone holds words that name the class columns; if it is "
            "another, say --column label=NAME",
        )
    if not compared:
        return ()
    prediction, label = clean(columns["prediction"][0]), clean(columns["label"][0])
    return (f"an answer counts as right where {prediction} equals {label}",)
