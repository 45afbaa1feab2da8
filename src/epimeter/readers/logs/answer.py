# SPDX-License-Identifier: Apache-2.0
"""What every log reader gives: answers one by one, and facts about the run they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Abstain = Literal["unknown", "wrong", "leave-out"]
Unit = Literal["answer", "question"]
Surer = Literal["higher", "lower"]


class Token(NamedTuple):
    """A generated token, its log-probability, and the likeliest tokens at its place."""

    text: str
    logprob: float
    top: list[tuple[str, float]]


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """How a log is to be read; every field but `carry` has a flag of the same name on the command line.

    Attributes
    ----------
    scorer
        Which scorer, metric or assessment says whether an answer is right, where a log has several.
    confidence
        Which source of confidence: answer_token, choice_logprob, sequence_logprob, verbalised, agreement, score:NAME,
        metadata:NAME. By default the first that the log has, and the report says which.
    confidence_pattern
        A regular expression whose first group is the number, in place of the grammar of stated confidence.
    scale
        What numbers without a unit are out of: 1, 10, 100. For a score without bounds (a log-likelihood, a reward, semantic
        entropy) `higher` or `lower`: which numbers mean surer. Its confidence is then a recalibration of it, cross-fitted.
    words
        Words that count as confidence, with their values.
    abstain
        What a declined answer is: unknown (no outcome, detected), wrong, or left out.
    correct_from
        The credit from which a partly right answer counts as right; without it partial credit is refused.
    filter
        Which filter of lm-eval, where a file holds several.
    key
        A file of right answers by id, for logs that hold responses only.
    unit
        One row an answer, or one row a question (its majority answer and the share that gave it).
    carry
        Whether rows carry the metadata of their samples along. They may be most of a log; what needs none leaves them out.
    """

    scorer: str | None = None
    confidence: str | None = None
    confidence_pattern: str | None = None
    scale: float | Surer | None = None
    words: Mapping[str, float] | None = None
    abstain: Abstain = "unknown"
    correct_from: float | None = None
    filter: str | None = None
    key: str | None = None
    unit: Unit = "answer"
    carry: bool = True


@dataclass(slots=True, kw_only=True)
class Answer:
    """One answer to one question, before a source of confidence is chosen.

    `correct` is 1, 0, a fraction of credit, or None; `declined` marks an answer that declines to answer; `why` says why there
    is no usable answer. `sources` holds the confidences that the format itself gives, `text` and `tokens` what others are read
    from, `numbers` the numbers that scores and metadata hold under `score:NAME` and `metadata:NAME`.
    """

    question: str
    epoch: int = 1
    id: str | None = None
    answer: str | None = None
    expected: str | None = None
    correct: float | None = None
    declined: bool = False
    unknown: bool | None = None
    why: str | None = None
    text: str | None = None
    tokens: list[Token] | None = None
    options: Sequence[str] | None = None
    probabilities: list[float] | None = None
    label: int | None = None
    length: int | None = None
    """Tokens that were generated, where known."""
    sources: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    task: str | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class LogRange:
    """A part of a large log: some lines of it, or some entries of an archive's directory."""

    start: int
    """The first byte, or the place of the first entry."""
    size: int
    """Bytes, or entries."""
    before: int
    """Lines or samples before it; in an archive the place of the header's entry."""


class Claims(NamedTuple):
    """What a log says of itself: its finished samples, all of them, and the accuracy by every scorer."""

    finished: Any
    total: Any
    accuracy: Mapping[str, float]


@dataclass(kw_only=True)
class Run:
    """What is known of the whole log while its answers go by."""

    source: str
    format: str
    model: str | None = None
    task: str | None = None
    scorer: str | None = None
    filter: str | None = None
    claims: Claims | None = None
    part: LogRange | None = None
    """The part that is read, where several processes share a log."""
    notes: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Things that happen to single answers and are said once, with their number."""
    facts: dict[str, Any] = field(default_factory=dict)

    def note(self, sentence: str) -> None:
        """A sentence that the report repeats, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)
