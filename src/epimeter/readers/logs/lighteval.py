# SPDX-License-Identifier: Apache-2.0
"""Details of lighteval: Parquet, one document a row; the layout of doc, model_response and metric, and the flat one."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from epimeter.errors import LackingError, ReadError
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
NOT_HERE = "not graded by this score"
NO_NUMBER = re.compile(r"(?<![\w'\"])(?:nan|inf)(?![\w'\"])")


def is_layout(names: set[str]) -> bool:
    """Whether columns are those of details."""
    return names >= NEW or names >= OLD


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The documents, one answer each.

    A task that both generates and compares likelihoods has every document twice, each time with the scores of that kind.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = PurePath(stream.path or run.source)
    named = re.fullmatch(r"details_(.+?)_\d{4}-.*", path.stem)
    run.task = named[1] if named else None
    if len(path.parts) >= 4 and "details" in path.parts:
        run.model = "/".join(path.parts[path.parts.index("details") + 1 : -2]) or None
    score = options.scorer
    names, scored, left = dict[str, None](), set[str](), dict[str, Answer]()
    try:
        file = pq.ParquetFile(stream.seekable())
        place = 0
        for batch in file.iter_batches(batch_size=4096):
            for row in batch.to_pylist():
                made, score = _answer(row, place, score, run, names)
                place += 1
                if made.why == NOT_HERE:
                    made.why = "not scored"
                    left.setdefault(made.question, made)
                    continue
                scored.add(made.question)
                yield made
    except (pa.ArrowException, OSError, ValueError, KeyError) as fault:
        if isinstance(fault, ReadError):
            raise
        raise ReadError(
            f"{run.source} must be a whole Parquet file; it is damaged or was cut off ({brief(fault)})"
        ) from None
    if not scored and place:
        raise LackingError(
            f"{run.source} has no score {shown(score)}; choose one with --scorer: {listed(list(names))}", field="scorer"
        )
    yield from (made for question, made in left.items() if question not in scored)
    others = [name for name in names if name != score]
    if left and others:
        run.note(f"documents are graded by {score}; --scorer may name another: {listed(others)}")
    run.scorer = score


def _answer(row: dict[str, Any], place: int, score: str | None, run: Run, names: dict[str, None]) -> tuple[Answer, str]:
    doc, response = row.get("doc"), row.get("model_response")
    flat = not isinstance(doc, dict)
    if not isinstance(doc, dict):
        doc, response = _flat(row)
    response = response if isinstance(response, dict) else {}
    metrics = _mapping(row.get("metric") or row.get("metrics") or {})
    numeric = [name for name, value in metrics.items() if number(value) is not None or isinstance(value, bool)]
    names.update(dict.fromkeys(numeric))
    if score is None:
        plain = {name.partition(":")[0]: name for name in reversed(numeric)}
        score = next((plain[name] for name in PREFERRED if name in plain), numeric[0] if len(numeric) == 1 else None)
    if score is None:
        raise ReadError(
            f"{run.source} has {'several scores' if numeric else 'no score'}; choose one with --scorer: {listed(numeric)}",
            field="scorer",
        )
    question = doc.get("id")
    made = Answer(question=str(question) if question not in (None, "") and not flat else str(place))
    specific = _mapping(doc.get("specific") or row.get("specifics") or {})
    made.metadata = {key: value for key, value in specific.items() if value is not None}
    if score not in metrics:
        made.why = NOT_HERE
        return made, score
    made.correct, made.declined, made.why = outcome(metrics[score], f"document {shown(made.question)} of {run.source}")
    choices = [str(choice) for choice in doc.get("choices") or []]
    gold = doc.get("gold_index")
    gold = gold[0] if isinstance(gold, list) and len(gold) == 1 else gold
    if isinstance(gold, int) and 0 <= gold < len(choices):
        made.label, made.expected = gold, choices[gold]
    elif isinstance(gold, list):
        right = [choices[i] for i in gold if isinstance(i, int) and 0 <= i < len(choices)]
        made.expected = ", ".join(right) or None
    texts = [text for text in response.get("text") or [] if isinstance(text, str)]
    values = [number(value) for value in response.get("logprobs") or []]
    likelihood = [value for value in values if value is not None]
    if texts:  # what was generated; the log-probabilities beside it are those of its tokens
        made.answer = texts[0]
        made.text = texts[0] if len(texts) == 1 else None
        if len(texts) > 1:
            run.counts["a document was answered several times; its stated confidences are not joined"] += 1
        elif likelihood and len(likelihood) == len(values):
            if max(likelihood) > 1e-6:
                raise _above_one(made, likelihood, run)
            made.sources["sequence_logprob"] = math.exp(min(0.0, math.fsum(likelihood)))
            made.length = len(likelihood)
    elif len(choices) > 1 and len(likelihood) == len(values) and len(values) in (len(choices), 2 * len(choices)):
        _choices(made, choices, likelihood, response, score, run)
    made.numbers = {f"score:{name}": metrics[name] for name in numeric if name != score}
    return made, score


def _flat(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document and the response of the flat layout, whose predictions are texts, log-likelihoods, or pairs of a
    log-likelihood and «was it the greedy one»; with `pred_logits`, pairs of a text and its tokens' values.
    """
    doc = {
        "choices": _list(row.get("choices")),
        "gold_index": _list(row.get("gold_index")),
        "specific": row.get("specifics"),
    }
    said = _list(row.get("predictions"))
    said = said if isinstance(said, list) else []
    texts = [
        text for part in said for text in (part if isinstance(part, list | tuple) else [part]) if isinstance(text, str)
    ]
    values = [part[0] if isinstance(part, list | tuple) and len(part) == 2 else part for part in said]
    response = {"text": texts, "logprobs": [] if texts else values, "output_tokens": _list(row.get("cont_tokens"))}
    return doc, response


def _choices(
    made: Answer, choices: list[str], likelihood: list[float], response: dict[str, Any], score: str, run: Run
) -> None:
    """A document with a likelihood a choice; each score by its own: a name says how its likelihoods were weighed."""
    count = len(choices)
    alone = likelihood[count:] or [
        value for value in map(number, response.get("unconditioned_logprobs") or []) if value is not None
    ]
    likelihood = likelihood[:count]
    if max(likelihood) > 1e-6:
        raise _above_one(made, likelihood, run)
    name = score.lower()
    if "pmi" in name:
        if len(alone) != count:
            raise _lacking(made, score, "every choice's log-probability without its question", run)
        likelihood = [value - other for value, other in zip(likelihood, alone, strict=True)]
    elif "norm_token" in name or "tokennorm" in name:
        tokens = response.get("output_tokens")
        lengths = [len(part) for part in tokens[:count] if isinstance(part, list)] if isinstance(tokens, list) else []
        if len(lengths) != count or not all(lengths):
            raise _lacking(made, score, "every choice's tokens", run)
        likelihood = [value / length for value, length in zip(likelihood, lengths, strict=True)]
    elif "norm" in name:
        without = "ignore_first_space=true" in name
        lengths = [len(choice.removeprefix(" ") if without else choice) for choice in choices]
        if not all(lengths):
            raise _lacking(made, score, "every choice's text", run)
        if "first_space" not in name and any(choice.startswith(" ") for choice in choices):
            run.note(
                f"{score} is by all characters of a choice; the log does not say whether the space before it counted"
            )
        likelihood = [value / length for value, length in zip(likelihood, lengths, strict=True)]
    shares = softmax(likelihood)
    if shares is None:
        raise ReadError(
            f"log-probabilities must be numbers; document {shown(made.question)} of {run.source} has none that is",
            field="logprobs",
        )
    best = max(range(count), key=likelihood.__getitem__)
    made.answer, made.probabilities = choices[best], shares
    made.sources["choice_logprob"] = shares[best]
    if made.label is not None and made.correct in (0.0, 1.0) and (best == made.label) != bool(made.correct):
        run.counts[f"the likeliest choice and {score} disagree"] += 1


def _above_one(made: Answer, values: list[float], run: Run) -> ReadError:
    return ReadError(
        f"log-probabilities must be at most 0; document {shown(made.question)} of {run.source} has {max(values):g}",
        field="logprobs",
    )


def _lacking(made: Answer, score: str, what: str, run: Run) -> ReadError:
    return ReadError(
        f"{score} needs {what}; document {shown(made.question)} of {run.source} lacks it. Choose another score with --scorer",
        field="scorer",
    )


def _list(value: Any) -> Any:
    """A list, also one that was written as text."""
    value = _written(value, "[")
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return value


def _mapping(value: Any) -> dict[str, Any]:
    value = _written(value, "{")
    if isinstance(value, list):
        value = dict(entry for entry in value if isinstance(entry, tuple) and len(entry) == 2)
    return {key: part for key, part in value.items() if part is not None} if isinstance(value, dict) else {}


def _written(value: Any, sign: str) -> Any:
    """What a text says as Python would write it, numbers that are none among it; any other value as it is."""
    if not isinstance(value, str) or not value.startswith(sign):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    try:
        return ast.literal_eval(NO_NUMBER.sub(lambda word: "None" if word[0] == "nan" else "1e999", value))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [value] if sign == "[" else {}
