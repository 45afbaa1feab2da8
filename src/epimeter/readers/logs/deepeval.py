# SPDX-License-Identifier: Apache-2.0
"""Test runs of deepeval: `testCases` of `.latest_test_run.json`, or the `test_results` of `evaluate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from epimeter.errors import LackingError, ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.document import values
from epimeter.readers.logs.outcomes import outcome
from epimeter.readers.wording import listed, shown


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The test cases, one answer each."""
    inputs: dict[str, list[Any]] = {}
    for document in values(stream):
        for place, case in enumerate(_cases(document, run)):
            made = _answer(case, place, run, options)
            asked = case.get("input")
            first = inputs.setdefault(made.question, [asked, 0])
            if asked != first[0]:  # cases of one test function have its name
                made.question = f"{made.question}_{place}"
                first = inputs.setdefault(made.question, [asked, 0])
            first[1] += 1
            made.epoch = first[1]
            made.id = made.question if made.epoch == 1 else f"{made.question}_epoch_{made.epoch}"
            yield made


def _cases(document: Any, run: Run) -> list[dict[str, Any]]:
    if isinstance(document, dict) and isinstance(document.get("testRunData"), dict):
        document = document["testRunData"]
    for key in ("testCases", "test_cases", "test_results", "testResults"):
        cases = document.get(key) if isinstance(document, dict) else None
        if isinstance(cases, list) and all(isinstance(case, dict) for case in cases):
            return cases
    raise ReadError(f"a test run must hold testCases; {run.source} holds none")


def _either(entry: dict[str, Any], *names: str) -> Any:
    return next((entry[name] for name in names if entry.get(name) is not None), None)


def _answer(case: dict[str, Any], place: int, run: Run, options: LogOptions) -> Answer:
    output = _either(case, "actualOutput", "actual_output")
    expected = _either(case, "expectedOutput", "expected_output")
    metadata = _either(case, "metadata", "additionalMetadata", "additional_metadata")
    made = Answer(
        question=str(_either(case, "name", "id") or place),
        text=None if output is None else str(output),
        answer=None if output is None else str(output),
        expected=None if expected is None else str(expected),
        metadata=metadata if isinstance(metadata, dict) else {},
    )
    measures = [entry for entry in _either(case, "metricsData", "metrics_data") or [] if isinstance(entry, dict)]
    grade, failed = _either(case, "success"), False
    if options.scorer is not None:
        named = [entry for entry in measures if entry.get("name") == options.scorer]
        if not named:
            raise LackingError(
                f"{run.source} has no metric {shown(options.scorer)}; it has "
                f"{listed([str(entry.get('name')) for entry in measures])}",
                field="scorer",
            )
        grade, failed = named[0].get("success"), bool(named[0].get("error"))
    elif any(entry.get("error") for entry in measures):
        # A metric that broke off makes the case fail; wrong is what another metric found wrong.
        failed = all(entry.get("success") is not False for entry in measures if not entry.get("error"))
    if failed:
        made.why = "judge failed"
        return made
    made.correct, made.declined, made.why = outcome(grade, f"test case {shown(made.question)} of {run.source}")
    made.numbers = {f"score:{entry.get('name')}": entry.get("score") for entry in measures}
    made.numbers |= {f"metadata:{key}": value for key, value in made.metadata.items()}
    return made
