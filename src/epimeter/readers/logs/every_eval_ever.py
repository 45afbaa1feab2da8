# SPDX-License-Identifier: Apache-2.0
"""Instance-level results in the schema of every_eval_ever: `*_samples.jsonl`, one item a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from epimeter.errors import LackingError, ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.document import lines
from epimeter.readers.logs.outcomes import Outcome, number, outcome
from epimeter.readers.logs.responses import content
from epimeter.readers.wording import listed, shown


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The items, one answer each; an item that several metrics score is read by one of them."""
    metrics: dict[str, None] = {}
    chosen = options.scorer
    seen: dict[tuple[str, str, str], int] = {}
    for line, record in lines(stream):
        where = f"line {line} of {run.source}"
        grade = record.get("evaluation")
        if not isinstance(grade, dict):
            raise ReadError(
                f"every item must have an evaluation; {where} has {listed(list(record))}", field="evaluation"
            )
        metric = str(record.get("evaluation_result_id") or record.get("evaluation_name") or "")
        metrics[metric] = None
        if chosen is not None and metric != chosen and record.get("evaluation_name") != chosen:
            continue
        made = _answer(record, grade, where)
        key = (made.model or "", made.task or "", made.question)
        if key in seen and chosen is None and len(metrics) > 1:
            raise ReadError(
                f"{run.source} scores its items by several metrics; choose one with --scorer: {listed(list(metrics))}",
                field="scorer",
            )
        seen[key] = made.epoch = seen.get(key, 0) + 1
        made.id = made.question if made.epoch == 1 else f"{made.question}_epoch_{made.epoch}"
        yield made
    if chosen is not None and not seen:
        raise LackingError(
            f"{run.source} has no metric {shown(chosen)}; it has {listed(list(metrics))}", field="scorer"
        )


def _answer(record: dict[str, Any], grade: dict[str, Any], where: str) -> Answer:
    output = record.get("output") if isinstance(record.get("output"), dict) else {}
    raw = output.get("raw")  # type: ignore[union-attr]
    texts = raw if isinstance(raw, list) else [raw] if isinstance(raw, str) else []
    if not texts and isinstance(record.get("messages"), list):
        texts = [
            content(m.get("content"))
            for m in record["messages"]
            if isinstance(m, dict) and m.get("role") == "assistant"
        ][-1:]
    given = [a for a in record.get("answer_attribution") or [] if isinstance(a, dict)]
    final = [a for a in given if a.get("is_terminal") is True] or given
    reference = (record.get("input") or {}).get("reference")
    metadata = record.get("metadata")
    made = Answer(
        question=str(record.get("sample_id")),
        model=_text(record.get("model_id")),
        task=_text(record.get("evaluation_name")),
        text=str(texts[0]) if texts else None,
        answer=_text(final[-1].get("extracted_value")) if final else None,
        expected=", ".join(map(str, reference)) if isinstance(reference, list) else _text(reference),
        metadata=metadata if isinstance(metadata, dict) else {},
    )
    if record.get("error"):
        made.why = "error"
        return made
    made.correct, made.declined, made.why = _grade(grade, where)
    made.numbers = {f"metadata:{key}": part for key, part in made.metadata.items()}
    return made


def _grade(grade: dict[str, Any], where: str) -> Outcome:
    """Right or wrong; partial credit stays what it is: converters call it right above 0, or never.

    A full score that is not called right (a converter claims nothing for metrics that it does not know) has no outcome.
    """
    score, right = number(grade.get("score")), grade.get("is_correct")
    if not isinstance(right, bool) or (score is not None and 0 < score < 1):
        return outcome(grade.get("score"), where)
    if score in (0, 1) and right != bool(score):
        return None, False, "score and is_correct contradict"
    return outcome(right, where)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
