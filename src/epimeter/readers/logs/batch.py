# SPDX-License-Identifier: Apache-2.0
"""Responses of the OpenAI interface and its imitators (vLLM), graded by a key file: batch outputs, or one response a line."""

from __future__ import annotations

from collections.abc import Iterator

from epimeter.errors import ReadError
from epimeter.readers.files import Stream, opened
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.document import values
from epimeter.readers.logs.responses import LETTERS, body, named_answer, same
from epimeter.readers.wording import listed, shown

IDS = ("custom_id", "id", "question_id", "sample_id", "question")
KEYS = ("answer", "target", "expected", "label", "correct_answer", "gold")


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The responses, one answer each, graded by the key."""
    if options.key is None:
        raise ReadError(
            f"{run.source} holds responses without grades; name the file of right answers with --answer-key",
            field="key",
        )
    key = key_of(options.key)
    letters = _letters(key)
    seen: dict[str, int] = {}
    for place, entry in enumerate(values(stream)):
        if not isinstance(entry, dict):
            raise ReadError(f"every response must be an object; entry {place} of {run.source} is {shown(entry)}")
        name = str(entry.get("custom_id") or entry.get("id") or place)
        question = name if name in key else name.rpartition("-")[2] if name.rpartition("-")[2] in key else name
        seen[question] = seen.get(question, 0) + 1
        made = Answer(
            question=question,
            epoch=seen[question],
            id=name if seen[question] == 1 else f"{name}_epoch_{seen[question]}",
        )
        made.options = letters
        response = entry.get("response", entry)
        payload = response.get("body", response) if isinstance(response, dict) else None
        made.model = str(payload["model"]) if isinstance(payload, dict) and payload.get("model") else None
        status = response.get("status_code", 200) if isinstance(response, dict) else 200
        if entry.get("error") or status != 200 or payload is None:
            made.why = "error"
            yield made
            continue
        made.text, made.tokens = body(payload)
        if isinstance(payload.get("created"), int):
            import datetime

            made.time = datetime.datetime.fromtimestamp(payload["created"], datetime.UTC).isoformat()
        if question not in key:
            made.why = "not in the key file"
            run.counts["responses have no entry in the key file"] += 1
        elif made.text is None:
            made.why = "error"
        else:
            made.expected = key[question]
            made.answer = _chosen(named_answer(made.text), letters)
            made.correct = float(same(made.answer, made.expected))
            if letters and made.expected in letters:
                made.label = letters.index(made.expected)
        yield made
    missing = [name for name in key if name not in seen]
    if missing:
        run.note(f"{len(missing):,} questions of the key file have no response, the first is {shown(missing[0])}")


def _letters(key: dict[str, str]) -> list[str] | None:
    """The letters of the options, where the key is nothing but letters."""
    used = {value.strip().upper() for value in key.values()}
    if not used or not used <= set(LETTERS):
        return None
    return list(LETTERS[: max(4, LETTERS.index(max(used)) + 1)])


def _chosen(answer: str, letters: list[str] | None) -> str:
    """An answer that begins with an option's letter is that letter."""
    if letters:
        bare = answer.strip(" (*[")
        if bare[:1] in letters and not bare[1:2].isalnum():
            return bare[0]
    return answer


def key_of(path: str) -> dict[str, str]:
    """The right answers by id, from CSV, JSON or JSON lines."""
    with opened(path) as stream:
        source = stream.source
        if stream.head.lstrip()[:1] in (b"{", b"["):
            rows = list(values(stream))
            if len(rows) == 1 and isinstance(rows[0], dict) and not any(name in rows[0] for name in KEYS):
                return {str(name): str(value) for name, value in rows[0].items()}
        else:
            import csv
            import io

            rows = list(csv.DictReader(io.StringIO(stream.read().decode("utf-8-sig", "strict"))))
    made: dict[str, str] = {}
    for place, row in enumerate(rows):
        name = next((row[word] for word in IDS if isinstance(row, dict) and row.get(word) is not None), None)
        value = next((row[word] for word in KEYS if isinstance(row, dict) and row.get(word) is not None), None)
        if name is None or value is None:
            has = listed(list(row)) if isinstance(row, dict) else shown(row)
            raise ReadError(
                f"a key file needs an id and an answer in every row; row {place} of {source} has {has}", field="key"
            )
        made[str(name)] = str(value)
    if not made:
        raise ReadError(f"the key file {source} is empty", field="key")
    return made
