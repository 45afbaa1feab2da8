# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry evaluation results of generative models: OTLP JSON, as events in logs or on spans.

`gen_ai.evaluation.result` carries the name of an evaluation, its score or label, and the id of the response it is about, or it
belongs to the span of the response or to one inside it; the evaluations of one response are one answer.
"""

from __future__ import annotations

import datetime
import itertools
import json
from collections.abc import Iterator
from typing import Any

from epimeter.errors import LackingError, ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.document import values
from epimeter.readers.logs.outcomes import DECLINED, PARTLY, RIGHT, WRONG, outcome
from epimeter.readers.logs.responses import content
from epimeter.readers.wording import listed, shown

EVENT = "gen_ai.evaluation.result"
PREFERRED = ("correctness", "correct", "accuracy", "exact_match", "answer_correctness")


class _Response:
    """What is said about one response."""

    def __init__(self) -> None:
        self.evaluations: dict[str, list[tuple[int, Any, str | None, bool]]] = {}
        """By name, every time it was made: the moment, score, label, and whether it failed."""
        self.text: str | None = None
        self.model: str | None = None
        self.time: int | None = None
        self.attributes: dict[str, Any] = {}

    def take(self, other: _Response) -> None:
        """What was said of the same response elsewhere."""
        for name, made in other.evaluations.items():
            self.evaluations.setdefault(name, []).extend(made)
        self.text, self.model, self.time = self.text or other.text, self.model or other.model, self.time or other.time
        self.attributes = {**other.attributes, **self.attributes}


def _home(key: str, found: dict[str, _Response], responses: dict[str, str], parents: dict[str, str]) -> str:
    """The response that an evaluation without its id belongs to: that of its span, or of the nearest span around it."""
    span, seen = key, set[str]()
    while span not in seen:
        seen.add(span)
        if responses.get(span) in found:
            return responses[span]
        if span != key and span in found and found[span].text is not None:
            return span
        span = parents.get(span, span)
    return key


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The responses that were evaluated, one answer each."""
    found: dict[str, _Response] = {}
    responses: dict[str, str] = {}
    """The response that a span is about."""
    parents: dict[str, str] = {}
    places = itertools.count()
    for document in values(stream):
        for attributes, name, time, span, parent in _records(document, places):
            identity = attributes.get("gen_ai.response.id")
            if parent is not None:
                parents[span] = parent
            if identity and name != EVENT:
                responses.setdefault(span, str(identity))
            response = found.setdefault(str(identity or span), _Response())
            response.time = time or response.time
            model = attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")
            response.model = str(model) if model else response.model
            messages = attributes.get("gen_ai.output.messages")
            response.text = _messages(messages) or response.text
            if name == EVENT:
                evaluation = str(attributes.get("gen_ai.evaluation.name"))
                response.evaluations.setdefault(evaluation, []).append(
                    (
                        time or 0,
                        attributes.get("gen_ai.evaluation.score.value"),
                        attributes.get("gen_ai.evaluation.score.label"),
                        "error.type" in attributes,
                    )
                )
            own = {k: v for k, v in attributes.items() if not str(k).startswith(("gen_ai.", "event.", "error."))}
            response.attributes |= own
    for key in [key for key, response in found.items() if response.evaluations]:
        home = _home(key, found, responses, parents)
        if home != key:
            found[home].take(found.pop(key))
    evaluated = {key: response for key, response in found.items() if response.evaluations}
    names = list(dict.fromkeys(name for response in evaluated.values() for name in response.evaluations))
    score = options.scorer or next((name for name in PREFERRED if name in {n.lower() for n in names}), None)
    score = next((name for name in names if score is not None and name.lower() == score.lower()), None)
    if score is None:
        others = [name for name in names if "confidence" not in name.lower()]
        if len(others) != 1 or options.scorer is not None:
            fault = ReadError if options.scorer is None else LackingError
            raise fault(
                f"{run.source} has no evaluation of correctness; choose one with --scorer: "
                f"{listed(names) or 'there is none'}",
                field="scorer",
            )
        score = others[0]
    run.scorer = score
    for key, response in evaluated.items():
        yield _answer(key, response, score, run)


def _answer(key: str, response: _Response, score: str, run: Run) -> Answer:
    attributes = response.attributes
    question = next(
        (
            attributes[name]
            for name in ("question_id", "question.id", "sample_id", "dataset.item.id")
            if name in attributes
        ),
        key,
    )
    made = Answer(question=str(question), id=key, text=response.text, model=response.model, metadata=attributes)
    if response.time:
        made.time = datetime.datetime.fromtimestamp(response.time / 1e9, datetime.UTC).isoformat()
    made.answer = response.text if response.text is not None and len(response.text) <= 200 else None
    times = sorted(response.evaluations.get(score, []), key=lambda one: one[0]) or [(0, None, None, False)]
    run.counts[f"a response was evaluated again by {score}; the last counts"] += len(times) - 1
    _, value, label, failed = times[-1]
    word = label.strip().lower() if isinstance(label, str) else None
    if failed:
        made.why = "judge failed"
    else:
        grade = label if word in RIGHT | WRONG | DECLINED | PARTLY or value is None else value
        made.correct, made.declined, made.why = outcome(grade, f"response {shown(key)} of {run.source}")
    made.numbers = {f"score:{name}": others[-1][1] for name, others in response.evaluations.items() if name != score}
    made.numbers |= {f"metadata:{name}": number for name, number in attributes.items()}
    return made


def _records(
    document: Any, places: Iterator[int]
) -> Iterator[tuple[dict[str, Any], str | None, int | None, str, str | None]]:
    """Attributes, event name, time, span and the span around it of every log record, span, and event on a span."""
    if not isinstance(document, dict):
        return
    for outer, inner, leaf in (("resourceLogs", "scopeLogs", "logRecords"), ("resourceSpans", "scopeSpans", "spans")):
        for resource in document.get(outer) or ():
            for scope in resource.get(inner) or ():
                for entry in scope.get(leaf) or ():
                    attributes = _attributes(entry)
                    trace, own = entry.get("traceId", ""), entry.get("spanId", "")
                    span = f"{trace}/{own}" if own else f"{trace}/record {next(places)}"
                    around = entry.get("parentSpanId")
                    name = entry.get("eventName") or attributes.get("event.name")
                    yield attributes, name, _nanoseconds(entry), span, f"{trace}/{around}" if around else None
                    for event in entry.get("events") or ():
                        yield _attributes(event), event.get("name"), _nanoseconds(event), span, None


def _attributes(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        str(pair.get("key")): _value(pair.get("value"))
        for pair in entry.get("attributes") or ()
        if isinstance(pair, dict)
    }


def _value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    for kind, part in value.items():
        if kind == "intValue":
            return int(part)
        if kind == "arrayValue":
            return [_value(item) for item in part.get("values") or ()]
        if kind == "kvlistValue":
            return {pair.get("key"): _value(pair.get("value")) for pair in part.get("values") or ()}
        return part
    return None


def _nanoseconds(entry: dict[str, Any]) -> int | None:
    for name in ("timeUnixNano", "observedTimeUnixNano", "startTimeUnixNano"):
        if entry.get(name):
            return int(entry[name])
    return None


def _messages(messages: Any) -> str | None:
    if isinstance(messages, str):
        try:
            messages = json.loads(messages)
        except ValueError:
            return str(messages)
    if isinstance(messages, list) and messages:
        last = messages[-1]
        return content(last.get("parts", last.get("content"))) if isinstance(last, dict) else None
    return None
