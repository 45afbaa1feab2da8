# SPDX-License-Identifier: Apache-2.0
"""Judged answers in the style of Humanity's Last Exam: by question, with a `judge_response` each.

The judge says `correct` (yes or no) and extracts the `confidence` (0 to 100) that the answer states; it is told to write 100
where none is stated, which is undone where the answer's text is there to see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from epimeter.errors import ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.document import JsonText, elements
from epimeter.readers.logs.outcomes import number, outcome
from epimeter.readers.wording import shown


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The judged answers."""
    for question, entry in _entries(stream):
        judge = entry.get("judge_response", entry.get("judge")) if isinstance(entry, dict) else None
        if judge is not None and not isinstance(judge, dict):
            raise ReadError(f"judge_response must be an object; {shown(question)} of {run.source} has {shown(judge)}")
        text = entry.get("response") if isinstance(entry, dict) else None
        made = Answer(question=question, text=text if isinstance(text, str) else None, model=_text(entry, "model"))
        if judge is None:
            made.why = "judge failed"
            yield made
            continue
        made.answer = _text(judge, "model_answer")
        made.expected = _text(judge, "correct_answer")
        made.correct, made.declined, made.why = outcome(
            judge.get("correct"), f"question {shown(question)} of {run.source}"
        )
        percent = number(judge.get("confidence"))
        if percent is not None and not 0 <= percent <= 100:
            raise ReadError(
                f"the judge's confidence must lie in 0 … 100; {shown(question)} of {run.source} has {percent:g}",
                field="confidence",
            )
        made.numbers = {"score:confidence": percent}
        yield made


def _entries(stream: Stream) -> Iterator[tuple[str, Any]]:
    text = JsonText(stream)
    if text.peek() == "[":
        for place, entry in enumerate(elements(text, (), {})):
            name = entry.get("id", entry.get("question_id", place)) if isinstance(entry, dict) else place
            yield str(name), entry
        return
    text.need("{")
    while not text.take("}"):
        key = text.value()
        text.need(":")
        yield str(key), text.value()
        text.take(",")


def _text(entry: Any, key: str) -> str | None:
    value = entry.get(key) if isinstance(entry, dict) else None
    return None if value is None else str(value)
