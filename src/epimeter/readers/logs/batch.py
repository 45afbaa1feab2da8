# SPDX-License-Identifier: Apache-2.0
"""Responses of the OpenAI interface and its imitators (vLLM), graded by a key file: batch outputs, or one response a line."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

from epimeter.errors import ReadError
from epimeter.readers.files import Stream, opened
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.document import values
from epimeter.readers.logs.responses import LETTERS, Said, bodies, named_answer, same
from epimeter.readers.wording import brief, listed, shown

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
    prefixes: dict[str, None] = {}
    for place, entry in enumerate(values(stream)):
        if not isinstance(entry, dict):
            raise ReadError(f"every response must be an object; entry {place} of {run.source} is {shown(entry)}")
        name = str(entry.get("custom_id") or entry.get("id") or place)
        question = name
        prefix, _, end = name.rpartition("-")
        if name not in key and end in key:
            question = end
            prefixes[prefix] = None
            if len(prefixes) > 1:  # «math-1» and «law-1» are not one question
                raise ReadError(
                    f"the key file must name the responses; it has {shown(end)}, {run.source} has ids that begin with "
                    f"{listed(list(prefixes), 'and')}. Write the whole custom_id into it",
                    field="key",
                )
        response = entry.get("response", entry)
        payload: Any = response.get("body", response) if isinstance(response, dict) else None
        status = response.get("status_code", 200) if isinstance(response, dict) else 200
        broken = bool(entry.get("error")) or status != 200 or not isinstance(payload, dict)
        for said in [Said(None, None, "error")] if broken else bodies(payload):
            seen[question] = seen.get(question, 0) + 1
            made = Answer(
                question=question,
                epoch=seen[question],
                id=name if seen[question] == 1 else f"{name}_epoch_{seen[question]}",
                text=said.text,
                tokens=said.tokens,
                why=said.why,
                options=letters,
            )
            if isinstance(payload, dict):
                _about(made, payload)
            right = key.get(question, [])
            made.expected = " | ".join(right) or None
            if question not in key:
                made.why = "not in the key file"
                run.counts["responses have no entry in the key file"] += 1
            elif said.refused:
                made.declined = True
            elif said.text is not None and said.why is None:
                made.answer = _chosen(named_answer(said.text), letters)
                made.correct = float(any(same(made.answer, one) for one in right))
                if letters and right[0] in letters:
                    made.label = letters.index(right[0])
            elif made.why is None:
                made.why = "error"
            yield made
    missing = [name for name in key if name not in seen]
    if missing:
        run.note(f"{len(missing):,} questions of the key file have no response, the first is {shown(missing[0])}")


def _about(made: Answer, payload: dict[str, Any]) -> None:
    made.model = str(payload["model"]) if payload.get("model") else None
    moment = payload.get("created") or payload.get("created_at")
    if isinstance(moment, int | float):
        made.time = datetime.datetime.fromtimestamp(moment, datetime.UTC).isoformat()


def _letters(key: dict[str, list[str]]) -> list[str] | None:
    """The letters of the options, where the key is nothing but letters, one a question."""
    if any(len(right) > 1 for right in key.values()):
        return None
    used = {right[0].strip().upper() for right in key.values()}
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


def key_of(path: str) -> dict[str, list[str]]:
    """The right answers by id, from CSV, JSON or JSON lines; several where a list of them is given."""
    with opened(path) as stream:
        source = stream.source
        if stream.head.lstrip()[:1] in (b"{", b"["):
            rows = list(values(stream))
            if len(rows) == 1 and isinstance(rows[0], dict) and not any(name in rows[0] for name in KEYS):
                return {str(name): _right(value, source) for name, value in rows[0].items()}
        else:
            import csv
            import io

            try:
                text = stream.read().decode("utf-8-sig", "strict")
                rows = list(csv.DictReader(io.StringIO(text)))
            except (UnicodeDecodeError, csv.Error) as fault:
                raise ReadError(
                    f"a key file must be CSV or JSON in UTF-8; {source} is not ({brief(fault)})", field="key"
                ) from None
    made: dict[str, list[str]] = {}
    for place, row in enumerate(rows):
        name = next((row[word] for word in IDS if isinstance(row, dict) and row.get(word) is not None), None)
        value = next((row[word] for word in KEYS if isinstance(row, dict) and row.get(word) is not None), None)
        if name is None or value is None:
            has = listed(list(row)) if isinstance(row, dict) else shown(row)
            raise ReadError(
                f"a key file needs an id and an answer in every row; row {place} of {source} has {has}", field="key"
            )
        right = _right(value, source)
        if made.setdefault(str(name), right) != right:
            raise ReadError(
                f"a key file must have one answer an id; {source} has {shown(made[str(name)][0])} and {shown(right[0])} for "
                f"{shown(name)}",
                field="key",
            )
    if not made:
        raise ReadError(f"the key file {source} is empty", field="key")
    return made


def _right(value: Any, source: str) -> list[str]:
    right = [str(one) for one in value] if isinstance(value, list) else [str(value)]
    if not right:
        raise ReadError(f"every answer of a key file must be there; {source} has an empty list", field="key")
    return right
