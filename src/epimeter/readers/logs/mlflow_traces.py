# SPDX-License-Identifier: Apache-2.0
"""MLflow traces with assessments: `trace.to_json()`, several in an array or one a line.

A feedback says whether the answer was right, an expectation what it should have been.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from epimeter.errors import LackingError, ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.document import values
from epimeter.readers.logs.outcomes import outcome
from epimeter.readers.logs.responses import content
from epimeter.readers.wording import listed, shown

PREFERRED = ("correctness", "correct", "is_correct", "exact_match", "accuracy")


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The traces, one answer each."""
    names: dict[str, None] = {}
    scored = 0
    for document in values(stream):
        traces = document.get("traces") if isinstance(document, dict) and "traces" in document else [document]
        for trace in traces if isinstance(traces, list) else ():
            if not isinstance(trace, dict) or not isinstance(trace.get("info"), dict):
                raise ReadError(f"every trace must be an object with info; {run.source} has {shown(trace)}")
            made, found = _answer(trace, run, options)
            names.update(dict.fromkeys(found))
            scored += made.correct is not None or made.declined
            yield made
    if not scored:
        fault = ReadError if options.scorer is None else LackingError
        raise fault(
            f"{run.source} has no assessment of correctness; choose one with --scorer: "
            f"{listed(list(names)) or 'there is none'}",
            field="scorer",
        )


def _answer(trace: dict[str, Any], run: Run, options: LogOptions) -> tuple[Answer, list[str]]:
    info = trace["info"]
    identity = str(info.get("trace_id") or info.get("request_id"))
    feedback, expectations = {}, {}
    for entry in _standing(info.get("assessments") or trace.get("assessments"), run):
        name = str(entry.get("assessment_name") or entry.get("name"))
        if isinstance(entry.get("expectation"), dict):
            expectations[name] = entry["expectation"].get("value", _serialized(entry["expectation"]))
        elif isinstance(entry.get("feedback"), dict):
            error = entry["feedback"].get("error") or entry.get("error")
            feedback[name] = (entry["feedback"].get("value"), bool(error))
    score = options.scorer or next((name for name in PREFERRED if name in feedback), None)
    tags = info.get("tags") if isinstance(info.get("tags"), dict) else {}
    about = info.get("trace_metadata") or info.get("request_metadata") or {}
    made = Answer(
        question=str(info.get("client_request_id") or tags.get("question") or identity),
        id=identity,
        text=_output(trace, info),
        time=_time(info),
        metadata={
            key: value
            for key, value in {**(about if isinstance(about, dict) else {}), **(tags or {})}.items()
            if not str(key).startswith("mlflow.")
        },
    )
    made.answer = made.text if made.text is not None and len(made.text) <= 200 else None
    expected = next((value for name, value in expectations.items() if "expected" in name or "answer" in name), None)
    made.expected = None if expected is None else str(expected)
    if score is not None and score in feedback:
        value, failed = feedback[score]
        if failed:
            made.why = "judge failed"
        else:
            made.correct, made.declined, made.why = outcome(value, f"trace {shown(identity)} of {run.source}")
    else:
        made.why = "error" if str(info.get("state") or info.get("status")) == "ERROR" else "not scored"
    made.numbers = {f"score:{name}": value for name, (value, _) in feedback.items() if name != score}
    made.numbers |= {f"metadata:{key}": value for key, value in made.metadata.items()}
    return made, list(feedback)


def _standing(assessments: Any, run: Run) -> list[dict[str, Any]]:
    """The assessments that stand, the one that counts last: not those overridden; a person's before a judge's, a later before
    an earlier one.
    """
    entries = [entry for entry in assessments if isinstance(entry, dict)] if isinstance(assessments, list) else []
    overridden = {entry.get("overrides") for entry in entries} - {None, ""}
    entries = [
        entry for entry in entries if entry.get("valid") is not False and entry.get("assessment_id") not in overridden
    ]
    entries.sort(key=lambda entry: (_source(entry) == "HUMAN", _moment(entry)))
    names = [str(entry.get("assessment_name") or entry.get("name")) for entry in entries if entry.get("feedback")]
    run.counts["several assessments of one name: a person's counts before a judge's, the latest before others"] += len(
        names
    ) - len(set(names))
    return entries


def _source(entry: dict[str, Any]) -> str:
    source = entry.get("source")
    return str(source.get("source_type", "")).upper() if isinstance(source, dict) else ""


def _moment(entry: dict[str, Any]) -> str:
    moment = entry.get("last_update_time") or entry.get("create_time") or entry.get("last_update_time_ms") or ""
    return f"{moment:020d}" if isinstance(moment, int) else str(moment)


def _serialized(expectation: dict[str, Any]) -> Any:
    value = expectation.get("serialized_value")
    if isinstance(value, dict) and isinstance(value.get("value"), str):
        try:
            return json.loads(value["value"])
        except ValueError:
            return value["value"]
    return value


def _output(trace: dict[str, Any], info: dict[str, Any]) -> str | None:
    """What the root span gave, else the preview of the response."""
    data = trace.get("data") if isinstance(trace.get("data"), dict) else {}
    found: Any = data.get("response")  # type: ignore[union-attr]
    for span in data.get("spans") or []:  # type: ignore[union-attr]
        if isinstance(span, dict) and not (span.get("parent_span_id") or span.get("parent_id")):
            attributes = span.get("attributes") if isinstance(span.get("attributes"), dict) else {}
            found = attributes.get("mlflow.spanOutputs", span.get("outputs", found))  # type: ignore[union-attr]
            break
    if found is None:
        found = info.get("response_preview")
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except ValueError:
            return str(found)
    return _text(found)


def _text(value: Any) -> str | None:
    if isinstance(value, dict) and isinstance(value.get("choices"), list) and value["choices"]:
        first = value["choices"][0]
        return content(first.get("message", first)) if isinstance(first, dict) else None
    if isinstance(value, dict):
        for key in ("response", "output", "answer", "content", "text"):
            if key in value:
                return content(value[key]) or json.dumps(value)
        return json.dumps(value)
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


def _time(info: dict[str, Any]) -> str | None:
    moment = info.get("request_time") or info.get("timestamp_ms")
    if isinstance(moment, str):
        return moment.replace("Z", "+00:00")
    if isinstance(moment, int):
        import datetime

        return datetime.datetime.fromtimestamp(moment / 1000, datetime.UTC).isoformat()
    return None
