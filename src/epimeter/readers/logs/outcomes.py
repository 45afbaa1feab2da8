# SPDX-License-Identifier: Apache-2.0
"""Right, wrong, partly right, declined: what the marks of the tools mean."""

from __future__ import annotations

import math
import re
from typing import Any

from epimeter.errors import ReadError
from epimeter.readers.wording import shown

RIGHT = {"c", "correct", "yes", "true", "pass", "passed", "right", "1", "1.0"}
WRONG = {"i", "incorrect", "no", "false", "fail", "failed", "wrong", "0", "0.0"}
DECLINED = {"n", "not_attempted", "not attempted", "noanswer", "abstained", "declined", "refused", "refusal"}
PARTLY = {"p", "partial", "partially_correct", "partially correct"}
UNANSWERED = re.compile(
    r"\W*(?:(?:i'?m\s+sorry,?\s*(?:but\s+)?)?(?:(?:i|we)\s+)?(?:do\s+not|don'?t|cannot|can'?t|am\s+unable\s+to|could\s+not|couldn'?t)\s+"
    r"(?:know|answer|determine|say|tell|provide)|i'?m\s+not\s+sure|not\s+sure|unsure|no\s+answer|i\s+abstain|abstain|i\s+decline|"
    r"decline\s+to\s+answer|idk|n/?a|none\s+given|unanswerable|unknown)\b[^\n]{0,40}$",
    re.IGNORECASE,
)

DECIMAL_COMMA = re.compile(r"^([-+]?\d+),(\d{1,2}|(?<=^0,)\d+)$")
NO_DIGITS = {"nan", "inf", "infinity"}
"""Numbers that begin with a letter."""
WRITTEN = (int, float, str)
PARTLY_RIGHT = "partly right"
Outcome = tuple[float | None, bool, str | None]
"""Credit, whether the answer was declined, and why there is no credit."""


def outcome(value: Any, where: str) -> Outcome:
    """What a mark says: credit in 0..1, declined, or why neither."""
    if value is None:
        return None, False, "not scored"
    if isinstance(value, bool):
        return float(value), False, None
    if isinstance(value, int | float):
        if math.isnan(value):
            return None, False, "not scored"
        if 0 <= value <= 1:
            return float(value), False, None
        raise ReadError(f"a score must lie in 0 … 1; {where}, has {value:g}", field="score")
    if isinstance(value, dict):
        return _named(value, where)
    if isinstance(value, list) and len(value) == 1:
        return outcome(value[0], where)
    word = str(value).strip().lower()
    if word in RIGHT:
        return 1.0, False, None
    if word in WRONG:
        return 0.0, False, None
    if word in DECLINED:
        return None, True, "declined"
    if word in PARTLY:
        return 0.5, False, PARTLY_RIGHT
    if word in ("", "nan", "none", "null"):
        return None, False, "not scored"
    if not word.endswith("%") and (credit := number(word)) is not None:
        return outcome(credit, where)
    raise ReadError(
        f"a score must say right or wrong (C, I, P, N, 0, 1, true, yes …); {where}, has {shown(value)}", field="score"
    )


def _named(value: dict[str, Any], where: str) -> Outcome:
    """Scores with named parts: {score|correct|accuracy, confidence}, {correct, incorrect, not_attempted}."""
    names = {str(key).lower(): part for key, part in value.items()}
    if "not_attempted" in names and _yes(names["not_attempted"]):
        return None, True, "declined"
    for key in ("correct", "is_correct", "score", "accuracy", "acc", "value"):
        if key in names:
            return outcome(names[key], where)
    raise ReadError(
        f"a score with parts must have one called correct, score or accuracy; {where}, has {shown(list(value))}",
        field="score",
    )


def _yes(value: Any) -> bool:
    return value is True or value == 1 or (isinstance(value, str) and value.strip().lower() in RIGHT)


def declines(answer: str | None, expected: str | None) -> bool:
    """Whether a text declines to answer, where declining is not what was expected."""
    if answer is None or not UNANSWERED.match(answer):
        return False
    return expected is None or not UNANSWERED.match(expected)


def number(value: Any) -> float | None:
    """A number, also one written as text (0,7 as 0.7) or as a percentage's digits; None for anything else."""
    kind = type(value)
    if kind is float:
        return value  # type: ignore[no-any-return]
    if kind is bool or not isinstance(value, WRITTEN):
        return None
    if isinstance(value, str):
        if value[:1].isalpha() and value.strip().lower() not in NO_DIGITS:
            return None
        value = DECIMAL_COMMA.sub(r"\1.\2", value.strip().removesuffix("%").rstrip())
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def softmax(values: list[float]) -> list[float] | None:
    """Shares of the exponentials; None when no value is finite or one is no number."""
    top = max(values)
    if not math.isfinite(top) or any(math.isnan(value) for value in values):
        return None
    weights = [math.exp(value - top) for value in values]
    total = math.fsum(weights)
    return [weight / total for weight in weights]
