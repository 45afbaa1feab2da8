# SPDX-License-Identifier: Apache-2.0
"""Logs of OpenAI evals: JSON lines of a spec, events by sample, and a final report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from epimeter.errors import ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.document import lines
from epimeter.readers.logs.outcomes import number, outcome, softmax
from epimeter.readers.logs.responses import content
from epimeter.readers.wording import shown


@dataclass(slots=True)
class _Events:
    """What happened to one sample."""

    text: str | None = None
    match: dict[str, Any] | None = None
    score: Any = None
    likelihoods: list[tuple[str, float | None]] = field(default_factory=list)
    time: str | None = None
    failed: bool = False


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The samples, one answer each: `match` says whether it was right, `metrics` where there is no match."""
    samples: dict[str, _Events] = {}
    wanted = options.scorer
    for line, record in lines(stream):
        spec = record.get("spec")
        if isinstance(spec, dict):
            run.task = str(spec.get("eval_name") or "") or None
            names = spec.get("completion_fns")
            run.model = ", ".join(map(str, names)) if isinstance(names, list) else None
            run.facts |= {key: spec[key] for key in ("run_id",) if key in spec}
        data = record.get("data")
        if record.get("sample_id") is None or not isinstance(data, dict):
            continue
        events = samples.setdefault(str(record["sample_id"]), _Events())
        events.time = record.get("created_at") or events.time
        kind = record.get("type")
        if kind == "sampling":
            events.text = content(data.get("sampled")) or events.text
        elif kind == "match":
            if events.match is not None:
                raise ReadError(
                    f"a sample must have one match; {shown(record['sample_id'])} on line {line} of {run.source} has "
                    f"two",
                    field="match",
                )
            events.match = data
        elif kind == "cond_logp":
            events.likelihoods.append((str(data.get("completion")).strip(), number(data.get("logp"))))
        elif kind == "metrics":
            events.score = _metric(data, wanted) if events.score is None else events.score
        elif kind == "error":
            events.failed = True
    if not any(events.match is not None or events.score is not None for events in samples.values()):
        raise ReadError(f"an evals log must have events of type match or metrics; {run.source} has none", field="match")
    for sample, events in samples.items():
        yield _answer(sample, events, run)


def _metric(data: dict[str, Any], wanted: str | None) -> Any:
    for name in (wanted, "correct", "score", "accuracy", "choice"):
        if name is not None and name in data:
            return data[name]
    return None


def _answer(sample: str, events: _Events, run: Run) -> Answer:
    match = events.match or {}
    made = Answer(question=sample, text=events.text, time=_zoned(events.time))
    picked = match.get("picked", match.get("sampled"))
    made.answer = None if picked is None else str(picked).strip()
    expected = match.get("expected")
    made.expected = (
        None if expected is None else ", ".join(map(str, expected)) if isinstance(expected, list) else str(expected)
    )
    if events.failed and not match:
        made.why = "error"
    else:
        made.correct, made.declined, made.why = outcome(
            match.get("correct", events.score), f"sample {shown(sample)} of {run.source}"
        )
    known = [(completion, value) for completion, value in events.likelihoods if value is not None]
    if any(value > 1e-6 for _, value in known):
        raise ReadError(
            f"log-probabilities must be at most 0; sample {shown(sample)} of {run.source} has more", field="logp"
        )
    if len(known) == 1:
        made.sources["sequence_logprob"] = math.exp(min(known[0][1], 0.0))
    elif known and len(known) == len(events.likelihoods):
        shares = softmax([value for _, value in known])
        names = [completion for completion, _ in known]
        if shares is not None and made.answer is not None and names.count(made.answer) == 1:
            made.sources["choice_logprob"] = shares[names.index(made.answer)]
            made.probabilities = shares
    return made


def _zoned(time: str | None) -> str | None:
    return time if isinstance(time, str) else None
