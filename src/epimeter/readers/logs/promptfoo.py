# SPDX-License-Identifier: Apache-2.0
"""Outputs of promptfoo: `results.results[]` of `promptfoo eval --output results.json`, or one result a line.

`success` says whether all assertions held; a test case asked of several prompts or providers, or with `--repeat`, is one question:
a repeated case has a new `testIdx` and the same `vars`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from epimeter.errors import LackingError, ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.document import JsonText, elements
from epimeter.readers.logs.outcomes import outcome
from epimeter.readers.logs.responses import tokens
from epimeter.readers.wording import listed, shown

ERRED = 2
"""`failureReason` of a result whose provider failed."""


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The results, one answer each."""
    head: dict[str, Any] = {}
    questions: dict[bytes, str] = {}
    asked: Counter[tuple[str, Any, str | None]] = Counter()
    for place, result in enumerate(_results(stream, head)):
        if not isinstance(result, dict) or "success" not in result:
            raise ReadError(
                f"every result must be an object with success; result {place} of {run.source} is {shown(result)}"
            )
        made = _answer(result, place, run, options)
        made.question = questions.setdefault(_case(result) or made.question.encode(), made.question)
        key = (made.question, result.get("promptIdx", 0), made.model)
        asked[key] += 1
        made.epoch = asked[key]
        yield made
    run.facts |= {"run_id": head["evalId"]} if isinstance(head.get("evalId"), str) else {}


def _case(result: dict[str, Any]) -> bytes | None:
    """What tells a test case from others, however often it is asked; None where it has no variables."""
    case = result.get("testCase")
    variables = result.get("vars") or (case.get("vars") if isinstance(case, dict) else None)
    if not isinstance(variables, dict) or not variables:
        return None
    return hashlib.blake2b(json.dumps(variables, sort_keys=True, default=str).encode(), digest_size=16).digest()


def _results(stream: Stream, head: dict[str, Any]) -> Iterator[Any]:
    text = JsonText(stream)
    if text.peek() == "[":
        yield from elements(text, (), head)
        return
    if b'"results"' in stream.head[:4096] or b'"evalId"' in stream.head[:256]:
        yield from elements(
            text,
            ("results", "results")
            if b'"results":{' in stream.head.replace(b" ", b"").replace(b"\n", b"")
            else ("results",),
            head,
        )
        return
    while text.peek():
        yield text.value()


def _answer(result: dict[str, Any], place: int, run: Run, options: LogOptions) -> Answer:
    test, prompt = result.get("testIdx", place), result.get("promptIdx", 0)
    provider = result.get("provider")
    model = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
    response = result.get("response") if isinstance(result.get("response"), dict) else {}
    case = result.get("testCase") if isinstance(result.get("testCase"), dict) else {}
    variables = result.get("vars") if isinstance(result.get("vars"), dict) else case.get("vars") or {}  # type: ignore[union-attr]
    metadata = {**(variables or {}), **(case.get("metadata") or {}), **(result.get("metadata") or {})}  # type: ignore[union-attr]
    output = response.get("output")  # type: ignore[union-attr]
    made = Answer(
        question=str(test),
        id=str(result.get("id") or f"{test}_{prompt}_{model}"),
        model=None if model is None else str(model),
        metadata=metadata,
        text=output if isinstance(output, str) else None if output is None else json.dumps(output),
    )
    made.answer = made.text
    for name in ("expected", "answer", "target", "reference"):
        if isinstance(variables, dict) and isinstance(variables.get(name), str | int | float):
            made.expected = str(variables[name])
            break
    if result.get("failureReason") == ERRED or (result.get("error") and output is None):
        made.why = "error"
        return made
    grade = result.get("success") if options.scorer is None else _named(result, options.scorer, run)
    made.correct, made.declined, made.why = outcome(grade, f"result {place} of {run.source}")
    made.numbers = {f"score:{name}": value for name, value in (result.get("namedScores") or {}).items()}
    made.numbers |= {f"metadata:{key}": value for key, value in metadata.items()}
    if isinstance(output, dict):
        made.numbers |= {f"score:{key}": value for key, value in output.items() if isinstance(value, int | float)}
    logprobs = response.get("logProbs")  # type: ignore[union-attr]
    if isinstance(logprobs, list) and logprobs and all(isinstance(value, int | float) for value in logprobs):
        if max(logprobs) > 1e-6:
            raise ReadError(
                f"log-probabilities must be at most 0; result {place} of {run.source} has {max(logprobs):g}",
                field="logProbs",
            )
        made.sources["sequence_logprob"] = math.exp(min(0.0, math.fsum(logprobs)))
        made.length = len(logprobs)
    else:
        made.tokens = tokens(logprobs)
    return made


def _named(result: dict[str, Any], name: str, run: Run) -> Any:
    """The score of one metric, as `namedScores` has it."""
    scores = result.get("namedScores") or {}
    if name not in scores:
        raise LackingError(
            f"{run.source} has no score {shown(name)}; it has success and {listed(list(scores)) or 'no other'}",
            field="scorer",
        )
    return scores[name]
