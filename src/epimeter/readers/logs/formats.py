# SPDX-License-Identifier: Apache-2.0
"""The formats of evaluation logs, told apart by what they hold, never by their names.

A format is recognised by keys near the beginning of a file; arrays do not count as a level. What belongs to a tool but holds
no answers (its summary of results) is recognised too, and refused with the name of the file to give instead.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from epimeter.errors import ReadError
from epimeter.readers.files import BOM, Stream, content
from epimeter.readers.logs.answer import Answer, LogOptions, Run

Reader = Callable[[Stream, Run, LogOptions], Iterator[Answer]]
Path = tuple[str, ...]

STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]')
DEEPEST = 3


@dataclass(frozen=True)
class Format:
    """A kind of log: its name, the keys that show it, and the module that reads it."""

    name: str
    title: str
    module: str
    keys: tuple[frozenset[Path], ...]
    """Alternatives; every path of one of them must be there."""

    def answers(self, stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
        """The answers, by the reader's module."""
        reader: Reader = importlib.import_module(f"epimeter.readers.logs.{self.module}").answers
        return reader(stream, run, options)


def _keys(*paths: str) -> frozenset[Path]:
    return frozenset(tuple(path.split("/")) for path in paths)


FORMATS = (
    Format(
        "inspect",
        "inspect-ai log",
        "inspect_ai",
        (
            _keys("status", "eval/task"),
            _keys("eval/task", "eval/model"),
            _keys("version", "eval/eval_id"),
            _keys("version", "eval/run_id"),
        ),
    ),
    Format(
        "lm_eval",
        "lm-evaluation-harness samples",
        "lm_eval",
        (_keys("doc_id", "filtered_resps"), _keys("doc_id", "resps", "doc")),
    ),
    Format(
        "openai_evals",
        "OpenAI evals log",
        "openai_evals",
        (_keys("spec/eval_name"), _keys("run_id", "event_id", "sample_id")),
    ),
    Format("helm", "HELM per-instance statistics", "helm", (_keys("instance_id", "stats/name"),)),
    Format("helm_states", "HELM scenario state", "helm_states", (_keys("adapter_spec/method", "request_states"),)),
    Format(
        "promptfoo",
        "promptfoo results",
        "promptfoo",
        (
            _keys("results/results"),
            _keys("results/prompts"),
            _keys("success", "testIdx"),
            _keys("success", "promptIdx"),
            _keys("results/success", "results/vars"),
            _keys("success", "vars", "response"),
        ),
    ),
    Format(
        "deepeval",
        "deepeval test run",
        "deepeval",
        (
            _keys("testCases/input"),
            _keys("testRunData/testCases"),
            _keys("test_results/input"),
            _keys("testCases", "metricsScores"),
            _keys("test_cases/actual_output"),
        ),
    ),
    Format(
        "mlflow",
        "MLflow traces",
        "mlflow_traces",
        (_keys("info/trace_id"), _keys("info/request_id"), _keys("traces/info")),
    ),
    Format("otlp", "OpenTelemetry export", "otlp", (_keys("resourceLogs"), _keys("resourceSpans"))),
    Format(
        "batch",
        "responses of the OpenAI interface",
        "batch",
        (_keys("custom_id", "response"), _keys("object", "choices", "model"), _keys("object", "output", "model")),
    ),
    Format(
        "every_eval_ever",
        "every_eval_ever instances",
        "every_eval_ever",
        (_keys("evaluation_id", "sample_id", "evaluation"), _keys("sample_id", "answer_attribution", "evaluation")),
    ),
    Format("hle", "judged answers", "hle", (_keys("judge_response"), _keys("*/judge_response"))),
)
ARCHIVE = FORMATS[0]
LIGHTEVAL = Format("lighteval", "lighteval details", "lighteval", ())

SIMPLE_EVALS = (
    "the results of simple-evals say no answer's grade; write a line an answer with its confidence and correct (the score of "
    "each SingleEvalResult), or run the task with inspect-ai"
)
SUMMARIES = (
    (
        _keys("name/name", "count", "sum"),
        "HELM's statistics over all instances hold no answers; give per_instance_stats.json",
    ),
    (
        _keys("results", "configs", "versions"),
        "the results of lm-eval hold no answers; give the samples_….jsonl files (--log_samples)",
    ),
    (
        _keys("results", "config_general"),
        "the results of lighteval hold no answers; give details_….parquet (--save-details)",
    ),
    (_keys("score", "metrics", "htmls", "convos"), SIMPLE_EVALS),
    (_keys("score", "score:std"), SIMPLE_EVALS),
    (
        _keys("schema_version", "evaluation_results"),
        "an aggregate of every_eval_ever holds no answers; give its …_samples.jsonl",
    ),
)
NAMES = ("lighteval", *(format.name for format in FORMATS))


def recognised(stream: Stream) -> Format | None:
    """The format of a log; None for what is none."""
    head = stream.head
    if head.startswith(b"PK"):
        return ARCHIVE if _is_inspect_archive(stream) else None
    if head.startswith(b"PAR1"):
        return LIGHTEVAL if _is_details(stream) else None
    text = head.removeprefix(BOM).lstrip()
    if text[:1] not in (b"{", b"["):
        _refuse_name(stream)
        return None
    found = paths(text.decode("utf-8", "replace"))
    for keys, why in SUMMARIES:
        if keys <= found and not any(alternative <= found for format in FORMATS for alternative in format.keys):
            raise ReadError(f"{stream.source} is a summary: {why}", field="source")
    for format in FORMATS:
        if any(alternative <= found for alternative in format.keys):
            return format
    _refuse_name(stream)
    return None


def _refuse_name(stream: Stream) -> None:
    """Refuse what is no log where the name says that it is one."""
    if stream.named.lower().endswith(".eval"):
        raise ReadError(
            f"{stream.source} must be an inspect log, as its name says; it holds {content(stream.head)}", field="source"
        )


def paths(text: str) -> set[Path]:
    """Paths of keys in the beginning of a JSON text, a few levels deep; under `*` too, for objects whose keys are data."""
    found: set[Path] = set()
    levels: list[str | None] = []
    """The key that each open object stands under; None for an array or the outermost object."""
    objects: list[bool] = []
    key = last = None
    for match in STRUCTURE.finditer(text):
        sign = match[0]
        if sign[0] == '"':
            last = sign[1:-1]
        elif sign == ":" and last is not None and objects and objects[-1]:
            key, last = last, None
            path = tuple(level for level in levels if level is not None)
            if len(path) < DEEPEST:
                found.add((*path, key))
                if len(path) == 1:
                    found.add(("*", key))
        elif sign in "{[":
            levels.append(key)
            objects.append(sign == "{")
            key = None
        elif sign in "}]" and levels:
            levels.pop()
            objects.pop()
            key = None
        elif sign == ",":
            key = last = None
    return found


def _is_inspect_archive(stream: Stream) -> bool:
    from epimeter.readers.logs.archive import Archive

    place = stream.seekable()
    if not isinstance(place, str):
        return False
    with open(place, "rb") as file:
        try:
            archive = Archive(file, stream.source)
        except ReadError:
            if place.lower().endswith(".eval"):
                raise
            return False
        for member in archive.members():
            if member.name in ("header.json", "_journal/start.json") or member.name.startswith("samples/"):
                return True
            if member.name.endswith(".npy"):
                return False
    if place.lower().endswith(".eval"):
        raise ReadError(
            f"{stream.source} must be an inspect log, as its name says; it holds no header.json", field="source"
        )
    return False


def _is_details(stream: Stream) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from epimeter.readers.logs.lighteval import is_layout

    if stream.path is None:
        return False
    try:
        return is_layout(set(pq.read_schema(stream.path).names))
    except (pa.ArrowException, OSError, ValueError):
        return False
