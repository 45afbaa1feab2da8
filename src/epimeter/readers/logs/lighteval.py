# SPDX-License-Identifier: Apache-2.0
"""Details of lighteval: Parquet, one document a row; the layout of doc, model_response and metric, and the flat one."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from epimeter.errors import ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.outcomes import number, outcome, softmax
from epimeter.readers.wording import brief, listed, shown

PREFERRED = (
    "acc",
    "em",
    "exact_match",
    "pem",
    "extractive_match",
    "loglikelihood_acc",
    "acc_norm",
    "loglikelihood_acc_norm",
)
NEW = {"doc", "model_response"}
OLD = {"full_prompt", "predictions", "gold_index"}


def is_layout(names: set[str]) -> bool:
    """Whether columns are those of details."""
    return names >= NEW or names >= OLD


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The documents, one answer each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = PurePath(stream.path or run.source)
    named = re.fullmatch(r"details_(.+?)_\d{4}-.*", path.stem)
    run.task = named[1] if named else None
    if len(path.parts) >= 4 and "details" in path.parts:
        run.model = "/".join(path.parts[path.parts.index("details") + 1 : -2]) or None
    score = options.scorer
    try:
        file = pq.ParquetFile(stream.seekable())
        for batch in file.iter_batches(batch_size=4096):
            for row in batch.to_pylist():
                made, score = _answer(row, score, run)
                yield made
    except (pa.ArrowException, OSError, ValueError, KeyError) as fault:
        if isinstance(fault, ReadError):
            raise
        raise ReadError(
            f"{run.source} must be a whole Parquet file; it is damaged or was cut off ({brief(fault)})"
        ) from None
    run.scorer = score


def _answer(row: dict[str, Any], score: str | None, run: Run) -> tuple[Answer, str]:
    doc, response = row.get("doc"), row.get("model_response")
    if not isinstance(doc, dict):
        doc = {
            "query": row.get("example") or row.get("full_prompt"),
            "choices": _list(row.get("choices")),
            "gold_index": _list(row.get("gold_index")),
            "gold": _list(row.get("gold")),
        }
        response = {"text": _list(row.get("predictions")), "logprobs": _list(row.get("pred_logits"))}
    response = response if isinstance(response, dict) else {}
    metrics = row.get("metric") or row.get("metrics") or {}
    metrics = _mapping(metrics)
    numeric = [name for name, value in metrics.items() if number(value) is not None or isinstance(value, bool)]
    if score is None:
        score = next((name for name in PREFERRED if name in numeric), numeric[0] if len(numeric) == 1 else None)
    if score is None or score not in metrics:
        raise ReadError(
            f"{run.source} has no score {shown(score)}; choose one with --scorer: {listed(numeric)}", field="scorer"
        )
    question = doc.get("id")
    place = run.facts.setdefault("documents", 0)
    run.facts["documents"] = place + 1
    made = Answer(question=str(question) if question not in (None, "") else str(place))
    specific = doc.get("specific") or row.get("specifics")
    made.metadata = (
        {key: value for key, value in specific.items() if value is not None} if isinstance(specific, dict) else {}
    )
    made.correct, made.declined, made.why = outcome(metrics[score], f"document {shown(made.question)} of {run.source}")
    choices = [str(choice) for choice in doc.get("choices") or []]
    gold = doc.get("gold_index")
    gold = gold[0] if isinstance(gold, list) and gold else gold
    if isinstance(gold, int) and 0 <= gold < len(choices):
        made.label, made.expected = gold, choices[gold]
    values = [number(value) for value in response.get("logprobs") or []]
    likelihood = [value for value in values if value is not None]
    texts = [text for text in response.get("text") or [] if isinstance(text, str)]
    if len(choices) > 1 and len(likelihood) == len(choices) == len(values):
        _choices(made, choices, likelihood, score, run)
    elif len(texts) == 1:
        made.text = made.answer = texts[0]
        if len(likelihood) == 1 and likelihood[0] <= 0:
            made.sources["sequence_logprob"] = math.exp(likelihood[0])
    elif texts:
        made.answer = texts[0]
        run.counts["a document was answered several times; its stated confidences are not joined"] += 1
    made.numbers = {f"score:{name}": metrics[name] for name in numeric if name != score}
    return made, score


def _choices(made: Answer, choices: list[str], likelihood: list[float], score: str, run: Run) -> None:
    if max(likelihood) > 1e-6:
        raise ReadError(
            f"log-probabilities must be at most 0; document {shown(made.question)} of {run.source} has "
            f"{max(likelihood):g}",
            field="logprobs",
        )
    if "norm" in score:
        lengths = [len(choice.removeprefix(" ")) for choice in choices]
        if not all(lengths):
            raise ReadError(
                f"{score} needs every choice's text; document {shown(made.question)} of {run.source} has an empty one",
                field="choices",
            )
        likelihood = [value / length for value, length in zip(likelihood, lengths, strict=True)]
    shares = softmax(likelihood)
    if shares is None:
        raise ReadError(
            f"log-probabilities must be numbers; document {shown(made.question)} of {run.source} has none that is",
            field="logprobs",
        )
    best = max(range(len(shares)), key=likelihood.__getitem__)
    made.answer, made.probabilities = choices[best], shares
    made.sources["choice_logprob"] = shares[best]


def _list(value: Any) -> Any:
    """A list, also one that was written as text."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [value]
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return value


def _mapping(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return {}
    if isinstance(value, list):
        value = dict(entry for entry in value if isinstance(entry, tuple) and len(entry) == 2)
    return {key: part for key, part in value.items() if part is not None} if isinstance(value, dict) else {}
