# SPDX-License-Identifier: Apache-2.0
"""Logs of inspect-ai: `.eval` archives (also of a run that was killed) and `.json` documents.

Layout after inspect-ai 0.3: `header.json` or, while a run goes on, `_journal/start.json`; `samples/{id}_epoch_{n}.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from epimeter.errors import LackingError, ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, Claims, LogOptions, LogRange, Run
from epimeter.readers.logs.archive import BUFFER, Archive
from epimeter.readers.logs.document import parsed
from epimeter.readers.logs.elements import JsonDocument, Range, elements
from epimeter.readers.logs.outcomes import Outcome, outcome
from epimeter.readers.logs.responses import content, labels, tokens
from epimeter.readers.wording import clean, listed, shown

ATTACHED = "attachment://"
HEADERS = (b"header.json", b"_journal/start.json")
"""What says what was evaluated; the journal's where a run was killed."""
GRADES: dict[str, Outcome] = {"C": (1.0, False, None), "I": (0.0, False, None)}
"""The marks that most answers have."""
LINK = 0o12
"""The kind of file, in an entry's attributes, that is a symbolic link."""
PLAIN = (int, float, str)
NAMES = (int, str)
"""Kinds of values: a union would be made anew for every sample."""
UNKNOWN = {
    "unknown": True, "is_unknown": True, "unanswerable": True, "answerable": False, "is_answerable": False, "known": False,
}  # fmt: skip
"""Metadata that say whether a question has an answer to know, and what says that it has none."""


class Completion(msgspec.Struct):
    """One completion; its message repeats the text and is parsed only where the text stands nowhere else."""

    message: Any = None
    logprobs: Any = None


class LeanChoice(Completion):
    """A completion whose message waits as it is written."""

    message: msgspec.Raw = msgspec.Raw(b"null")


class Output(msgspec.Struct):
    """What the model gave."""

    completion: Any = None
    choices: Any = None


class LeanOutput(Output):
    """What the model gave, with messages as they are written."""

    choices: list[LeanChoice] | None = None


class InspectSample(msgspec.Struct):
    """The parts of a sample that are read; events and messages, most of its bytes, are stepped over."""

    id: Any = None
    epoch: Any = 1
    choices: Any = None
    target: Any = None
    output: Any = None
    scores: Any = None
    score: Any = None
    metadata: Any = None
    error: Any = None
    limit: Any = None
    started_at: Any = None
    completed_at: Any = None
    attachments: Any = None


class LeanSample(InspectSample):
    """A sample as it is read from its text."""

    output: LeanOutput | None = None
    attachments: msgspec.Raw = msgspec.Raw(b"null")


LEAN = msgspec.json.Decoder(LeanSample)


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The samples of a log, one answer each."""
    scorer: str | None = options.scorer
    names: list[str] | None = None
    seen: dict[str, None] = {}
    empty = True
    for sample in _samples(stream, run):
        empty = False
        scores = _scores(sample)
        seen.update(dict.fromkeys(scores))
        if scorer is None and scores:
            if len(scores) > 1:
                names = list(scores)
                raise ReadError(
                    f"{run.source} has several scorers; choose one with --scorer: {listed(names)}", field="scorer"
                )
            scorer = next(iter(scores))
        yield _answer(sample, scores, scorer, run)
    if empty:
        status = run.facts.get("status")
        why = f"its status is {shown(status)}" if status is not None else "the run was stopped before one was finished"
        raise ReadError(f"{run.source} has no samples; {why}")
    if not seen:
        raise ReadError(f"{run.source} has no scores; score the log first: inspect score", field="scores")
    if scorer not in seen:
        raise LackingError(f"{run.source} has no scorer {shown(scorer)}; it has {listed(list(seen))}", field="scorer")
    run.scorer = scorer


def _samples(stream: Stream, run: Run) -> Iterator[InspectSample]:
    if stream.head.startswith(b"PK"):
        place = stream.seekable()
        if isinstance(place, str):
            with open(place, "rb", buffering=BUFFER) as file:
                yield from _archived(Archive(file, run.source), run)
        else:
            yield from _archived(Archive(place, run.source), run)
        return
    document = JsonDocument(stream, run.source)
    _about(document.enter("samples"), run)
    begun = run.part.before if run.part else 0
    for place, text in enumerate(_elements(document, stream, run), begun + 1):
        yield _decoded(text, f"sample {place} of {run.source}")


def _elements(document: JsonDocument, stream: Stream, run: Run) -> Iterator[bytes]:
    if run.part is None:
        yield from elements(document)
        return
    assert stream.path is not None
    with open(stream.path, "rb") as file:
        part = Range(file, run.part.start, run.part.size)
        yield from elements(JsonDocument(part, run.source, run.part.start), whole=False)


def _decoded(text: bytes, where: str) -> InspectSample:
    """A sample, of which only what is read becomes objects."""
    try:
        return LEAN.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # NaN, another shape, or no JSON
        element = parsed(text, where)
    if not isinstance(element, dict):
        raise ReadError(f"every sample must be an object; {clean(where)} is none") from None
    sample = InspectSample(**{name: element[name] for name in InspectSample.__struct_fields__ if name in element})
    output = sample.output if isinstance(sample.output, dict) else {}
    choices = output.get("choices")
    given = [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
    made = [Completion(one.get("message"), one.get("logprobs")) for one in given]
    sample.output = Output(output.get("completion"), made)
    return sample


def header_entry(archive: Archive) -> int:
    """The place of the header's entry in the directory: `header.json`, or the journal's start where the run was killed."""
    found: dict[bytes, int] = {}
    check: dict[bytes, int] = {}
    names: list[str] = []
    for place, entry, tail in archive.entries():
        name = tail[: entry[10]]
        if name[:1] in (b"/", b"\\") or b"/../" in b"/" + name or entry[15] >> 28 == LINK:
            raise ReadError(
                f"the members of a log must be files in it; {clean(name.decode('utf-8', 'replace'))} of {archive.source} points "
                "elsewhere"
            )
        if name in HEADERS:
            if check.setdefault(name, entry[7]) != entry[7]:
                raise ReadError(
                    f"an inspect log must hold {name.decode()} once; {archive.source} holds two that differ. Which of them counts "
                    "cannot be told: take one out",
                    field="source",
                )
            found[name] = place
        elif len(names) < 9:
            names.append(clean(name.decode("utf-8", "replace")))
    for name in HEADERS:
        if name in found:
            return found[name]
    raise ReadError(f"an inspect log must hold header.json; {archive.source} holds {listed(names) or 'nothing'}")


def _archived(archive: Archive, run: Run) -> Iterator[InspectSample]:
    """The samples of an archive; the header is read first, wherever it stands."""
    part = run.part or LogRange(archive.start, archive.count, header_entry(archive))
    (header,) = archive.members(part.before, 1)
    about = parsed(archive.read(header), f"{header.name} of {run.source}")
    if not isinstance(about, dict):
        raise ReadError(f"the header of an inspect log must be an object; {run.source} has {shown(about)}")
    if header.name.encode() != HEADERS[0]:
        run.note("the run was not finished: the log has a journal and no header; its finished samples are read")
    _about(about, run)
    samples = (
        member
        for member in archive.members(part.start, part.size)
        if member.name.startswith("samples/") and member.name.endswith(".json")
    )
    for member, text in archive.texts(samples):
        yield _decoded(text, f"{member.name} of {run.source}")


def _about(head: dict[str, Any], run: Run) -> None:
    about = head.get("eval")
    if not isinstance(about, dict):
        raise ReadError(f"an inspect log must say what was evaluated; {run.source} has no `eval`")
    run.model = str(about["model"]) if about.get("model") else None
    run.task = str(about["task"]) if about.get("task") else None
    run.facts |= {key: about[key] for key in ("run_id", "eval_id", "created") if isinstance(about.get(key), str)}
    status = head.get("status")
    run.facts["status"] = status
    if status not in (None, "success"):
        run.note(f"the run ended with status {shown(status)}")
    if head.get("invalidated"):
        run.note("the log is marked as invalidated")
    results = head.get("results")
    if isinstance(results, dict):
        run.claims = Claims(
            results.get("completed_samples"), results.get("total_samples"), _accuracies(results.get("scores"))
        )


def _accuracies(scores: Any) -> dict[str, float]:
    """The accuracy of every scorer, as the tool computed it."""
    found = {}
    for score in scores if isinstance(scores, list) else ():
        metrics = score.get("metrics") if isinstance(score, dict) else None
        accuracy = metrics.get("accuracy") if isinstance(metrics, dict) else None
        value = accuracy.get("value") if isinstance(accuracy, dict) else None
        if (
            isinstance(value, int | float)
            and score.get("reducer") in (None, "mean")
            and isinstance(score.get("name"), str)
        ):
            found[score["name"]] = float(value)
    return found


def _is_cancelled(error: Any) -> bool:
    """Whether a sample broke off because its run was stopped, and not by a fault of its own."""
    said = error.get("message") if isinstance(error, dict) else error
    return (
        isinstance(said, str)
        and re.match(r"(?:asyncio\.|anyio\.)?(?:Cancelled\w*|KeyboardInterrupt)\b", said) is not None
    )


def _scores(sample: InspectSample) -> dict[str, Any]:
    scores = sample.scores if isinstance(sample.scores, dict) else {}
    if not scores and isinstance(sample.score, dict):  # one score, as older versions wrote it
        return {"score": sample.score}
    return scores


def _answer(sample: InspectSample, scores: dict[str, Any], scorer: str | None, run: Run) -> Answer:
    if not isinstance(sample.id, NAMES):
        raise ReadError(f"every sample must have an id; one of {run.source} has {shown(sample.id)}", field="id")
    question, epoch = str(sample.id), sample.epoch if isinstance(sample.epoch, int) else 1
    score = scores.get(scorer) if scorer is not None else None
    score = score if isinstance(score, dict) else {}
    made = Answer(
        question=question,
        epoch=epoch,
        id=f"{question}_epoch_{epoch}",
        metadata=sample.metadata if isinstance(sample.metadata, dict) else {},
        time=sample.completed_at or sample.started_at,
        options=labels(len(sample.choices)) if isinstance(sample.choices, list) and sample.choices else None,
    )
    if made.options and len(set(map(str, sample.choices))) < len(sample.choices):
        run.note("some questions have options of equal text: which of them was meant only the letter tells")
    target = sample.target
    made.expected = (
        target
        if isinstance(target, str)
        else ", ".join(map(str, target))
        if isinstance(target, list) and target
        else None
    )
    made.unknown = _unknown(made.metadata)
    given = score.get("answer")
    made.answer = given.strip() if isinstance(given, str) else None if given is None else str(given)
    if made.options and made.expected in made.options:
        made.label = made.options.index(made.expected)
    _output(sample, made)
    if sample.error is not None:
        made.why = "cancelled" if _is_cancelled(sample.error) else "error"
        return made
    if not score:
        made.why = "limit" if sample.limit is not None else "not scored"
        return made
    value = score.get("value")
    known = GRADES.get(value) if isinstance(value, str) else None
    made.correct, made.declined, made.why = known or outcome(
        value, f"sample {shown(sample.id)}, epoch {epoch}, of {run.source}"
    )
    made.numbers = _numbers(scores, scorer, score, made.metadata)
    if made.correct is None and not made.declined and sample.limit is not None:
        made.why = "limit"
    return made


def _output(sample: InspectSample, made: Answer) -> None:
    output = sample.output
    if output is None:
        return
    first = output.choices[0] if output.choices else None
    text = output.completion
    if not isinstance(text, str) and first is not None:
        text = content(_whole(first.message))
    if isinstance(text, str) and text.startswith(ATTACHED):
        attachments = _whole(sample.attachments)
        if isinstance(attachments, dict):
            text = attachments.get(text.removeprefix(ATTACHED), text)
    made.text = text or None
    if first is not None and first.logprobs is not None:
        made.tokens = tokens(first.logprobs)


def _whole(part: Any) -> Any:
    """A part that waited as it is written, as objects."""
    return msgspec.json.decode(part) if isinstance(part, msgspec.Raw) else part


def _numbers(scores: dict[str, Any], scorer: str | None, score: dict[str, Any], metadata: Any) -> dict[str, Any]:
    """Numbers beside the grade: parts of the score, other scorers, metadata of score and sample."""
    found: dict[str, Any] = {
        f"metadata:{key}": value for key, value in metadata.items() if isinstance(value, int | float | str)
    }
    own = score.get("metadata")
    if isinstance(own, dict):
        found |= {f"metadata:{key}": value for key, value in own.items() if isinstance(value, PLAIN)}
    for name, other in scores.items():
        value = other.get("value") if isinstance(other, dict) else None
        if isinstance(value, dict):
            found |= {f"score:{key}" if name == scorer else f"score:{name}.{key}": part for key, part in value.items()}
        elif name != scorer:
            found[f"score:{name}"] = value
    return found


def _unknown(metadata: Any) -> bool | None:
    """Whether a question has no answer to know, where the dataset says so."""
    for name, unknown in UNKNOWN.items():
        if name in metadata and isinstance(metadata[name], int):
            return bool(metadata[name]) is unknown
    return None
