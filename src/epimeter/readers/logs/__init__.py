# SPDX-License-Identifier: Apache-2.0
"""Logs of language-model evaluations into rows, one an answer, and into tables.

`read_log` tells the format by its content and reads any number of files and folders. Nothing is guessed in silence: the
notes say which source of confidence was taken and which others there are, how many answers have none and why.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from epimeter.errors import LackingError, ReadError
from epimeter.readers.files import opened
from epimeter.readers.logs.answer import Abstain, LogOptions, Run, Surer, Unit
from epimeter.readers.logs.answers import Answers, flags, floats
from epimeter.readers.logs.claims import contradictions
from epimeter.readers.logs.epochs import Codes, agreement, codes, distinct, uneven
from epimeter.readers.logs.formats import Format, recognised
from epimeter.readers.logs.log_ranges import in_ranges
from epimeter.readers.logs.rows import LogRows
from epimeter.readers.logs.sources import choose, stated_sources
from epimeter.readers.table import Table
from epimeter.readers.wording import listed, shown

__all__ = ["Answers", "LogOptions", "is_log", "log_table", "read_log", "refuse_table_options"]

Source = str | os.PathLike[str]
SUFFIXES = (".eval", ".json", ".jsonl", ".ndjson", ".parquet")
"""Files of a folder that are looked into."""
FIRST = ("id", "question", "epoch", "confidence", "correct", "why", "answer", "expected")


def is_log(source: Any) -> bool:
    """Whether a path is an evaluation log, a folder with some, or a list of such paths; by their content."""
    if isinstance(source, list | tuple) and source and all(isinstance(path, str | os.PathLike) for path in source):
        return any(is_log(path) for path in source)
    if not isinstance(source, str | os.PathLike):
        return False
    path = os.fsdecode(source)
    if os.path.isdir(path):
        return any(_holds_answers(file) for file in sorted(Path(path).rglob("*")) if file.suffix.lower() in SUFFIXES)
    if path == "-" or not os.path.isfile(path):
        return False
    with opened(path) as stream:
        return recognised(stream) is not None


def _holds_answers(file: Path) -> bool:
    """Whether a file of a folder is a log; summaries and damaged files in it are passed over here."""
    try:
        return is_log(str(file))
    except ReadError:
        return False


def log_table(source: Any, columns: Any) -> Table:
    """Logs as a table, read as a `Choice` or a mapping of roles to columns says."""
    refuse_table_options(columns)
    named = getattr(columns, "columns", columns)
    options = getattr(columns, "log", None) or LogOptions()
    answers = read_log(source, options=options if named else replace(options, carry=False))
    if getattr(columns, "kind", None) == "classes":
        made = answers.matrix()
    else:
        made = answers.table(named)
    del answers
    _give_back()
    return made


def _give_back() -> None:
    """Return the memory of rows that are gone, before a report takes its own: Arrow would keep it for the next table."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def refuse_table_options(columns: Any) -> None:
    """Refuse what says how the columns of a table are to be read: a log says itself what was answered and graded."""
    said = {"--kind event": getattr(columns, "kind", None) == "event"}
    said |= {f"--{name}": bool(getattr(columns, name, None)) for name in ("positive", "classes", "logits")}
    for option in (option for option, given in said.items() if given):
        raise ReadError(f"{option} is for tables of predictions; this is an evaluation log. Leave it out", field=option)


def read_log(
    path: Source | Iterable[Source],
    *,
    options: LogOptions | None = None,
    scorer: str | None = None,
    confidence: str | None = None,
    confidence_pattern: str | None = None,
    scale: float | Surer | None = None,
    words: Mapping[str, float] | None = None,
    abstain: Abstain = "unknown",
    correct_from: float | None = None,
    filter: str | None = None,
    key: str | None = None,
    unit: Unit = "answer",
) -> Answers:
    """Read evaluation logs: inspect-ai, lm-eval, HELM, OpenAI evals, lighteval, promptfoo, deepeval, MLflow, OpenTelemetry, …

    Parameters
    ----------
    path
        A file, a folder, or several of them.
    options
        All that follows, in one object.
    scorer, confidence, confidence_pattern, scale, words, abstain, correct_from, filter, key, unit
        As the attributes of `LogOptions`.
    """
    chosen = options or LogOptions(
        scorer=scorer, confidence=confidence, confidence_pattern=confidence_pattern, scale=scale, words=words, abstain=abstain,
        correct_from=correct_from, filter=filter, key=key, unit=unit,
    )  # fmt: skip
    files = _files([path] if isinstance(path, str | os.PathLike) else list(path))
    _refuse_idle(chosen, {format.name for _, format in files})
    rows, runs, lacking = LogRows(chosen), list[Run](), list[LackingError]()
    for file, format in files:
        before = rows.mark()
        try:
            runs.append(_read(file, format, rows, chosen, len(runs)))
        except LackingError as fault:
            rows.rewind(before)
            lacking.append(fault)
    if not runs:
        raise lacking[0]
    if not rows.total:
        raise ReadError(f"{runs[0].source} has no answers")
    for left in lacking:
        runs[0].note(f"left out: {left}")
    return _finished(rows, runs, chosen)


def _read(file: str, format: Format, rows: LogRows, options: LogOptions, number: int) -> Run:
    """Read one log into rows, with its number."""
    run = in_ranges(file, format, rows, number)
    if run is not None:
        return run
    with opened(file) as stream:
        run = Run(source=stream.source, format=format.name)
        graded = False
        try:
            for answer in format.answers(stream, run, options):
                graded = graded or answer.correct is not None
                rows.add(answer, run, number)
        except LackingError as fault:
            if graded:  # some answers have what others lack: the log is not left out as a whole
                raise ReadError(str(fault), field=fault.field) from None
            raise
    return run


def _refuse_idle(options: LogOptions, formats: set[str]) -> None:
    """Refuse what only one format reads where no log is of it."""
    for option, given, format, what in (
        ("--filter", options.filter, "lm_eval", "samples of lm-eval"),
        ("--answer-key", options.key, "batch", "responses without grades"),
    ):
        if given is not None and format not in formats:
            raise ReadError(f"{option} is for {what}; none of these logs is of that kind. Leave it out", field=option)


def _files(sources: list[Source]) -> list[tuple[str, Format]]:
    """The logs that are named, or lie in the folders that are; a file that is no log is refused, in a folder passed over."""
    found: list[tuple[str, Format]] = []
    for source in sources:
        path = os.fsdecode(source)
        folder = os.path.isdir(path)
        inside = sorted(str(file) for file in Path(path).rglob("*") if file.is_file()) if folder else [path]
        before = len(found)
        for file in inside:
            with opened(file) as stream:
                try:
                    format = recognised(stream)
                except ReadError:
                    if not folder:
                        raise
                    continue
            if folder and format is not None and format.name == "helm_states" and _has_statistics(file):
                continue
            if format is not None:
                found.append((file, format))
            elif not folder:
                raise ReadError(f"{Path(file).name} is no evaluation log that is known by its content", field="source")
        if len(found) == before:
            raise ReadError(f"{shown(path)} holds no evaluation log", field="source")
    return found


def _has_statistics(file: str) -> bool:
    """Whether HELM's own grades of these answers lie beside them: in a folder they are read instead."""
    return Path(file).with_name("per_instance_stats.json").is_file()


def _finished(rows: LogRows, runs: list[Run], options: LogOptions) -> Answers:
    """Choose the confidence, judge the whole, and put the columns in order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = rows.table()
    rows.tables = []
    source = runs[0].source if len(runs) == 1 else f"{len(runs)} logs"
    table = _told_apart(table, runs, source)
    correct = floats(table, "correct")
    part = np.flatnonzero(~np.isnan(correct) & (correct != 0) & (correct != 1))
    if len(part):
        of = table.column("run").to_numpy()[part]
        elsewhere = "" if len(runs) == 1 else ", or leave this log out"
        raise ReadError(
            f"an answer must be right or wrong; {np.count_nonzero(of == of[0])} of {runs[of[0]].source} have partial credit, the "
            f"first {correct[part[0]]:.4g}. Choose another "
            f"score with --scorer, or the credit that counts as right with --correct-from 0.5{elsewhere}",
            field="scorer",
            count=len(part),
        )
    usable = ~np.isnan(correct)
    declined = flags(table, "declined")
    assert declined is not None
    questions = codes(table.column("question"))
    broken = pc.is_in(table.column("why"), pa.array(["error", "limit", "cancelled"]))
    finished = ~broken.to_numpy(zero_copy_only=False).astype(bool)
    sources = {
        name.removeprefix("source:"): floats(table, name) for name in table.column_names if name.startswith("source:")
    }
    if "agreement" not in sources:
        models = codes(table.column("model")) + 1
        asked = questions * (int(models.max()) + 1) + models
        if len(np.unique(asked)) < len(asked):
            asked = np.unique(asked, return_inverse=True)[1].ravel()
            sources["agreement"] = agreement(asked, table.column("answer"), finished, declined)
    unsaid = table.column("unsaid").fill_null(False).to_numpy() if "unsaid" in table.column_names else ~usable & usable
    sources, dropped = stated_sources(sources, unsaid)
    if not usable.any():
        raise ReadError(f"no answer of {source} is right or wrong: {_reasons(table)}")
    try:
        taken = choose(sources, usable, floats(table, "length"), options, source)
    except ReadError as refused:
        happened = [f"{count:,} times: {what}" for run in runs for what, count in run.counts.items() if count]
        if not happened:
            raise
        raise ReadError("; ".join([str(refused), *happened]), field="confidence") from None
    confidence = np.where(usable, taken.values, np.nan)
    recalibrated = None
    if taken.surer is not None:
        from epimeter.readers.logs.unbounded import recalibrate

        recalibrated = recalibrate(confidence, correct, questions, taken.name, taken.surer, source)
        confidence = recalibrated.confidence
    notes = [*taken.notes, *_notes(table, questions, rows, runs, taken.name, confidence, correct, options)]
    if dropped.get(taken.name):
        notes.append(
            f"{dropped[taken.name]:,} times: a confidence of 100 was logged where the answer states none; taken as missing"
        )
    left = ("run", "length", "declined", "unsaid")
    drop = [name for name in table.column_names if name.startswith("source:") or name in left]
    made = table.drop_columns(drop)
    without = usable & np.isnan(confidence)
    empty = np.isnan(confidence)
    columns: dict[str, Any] = {
        "confidence": pa.array(confidence, mask=empty),
        "correct": pa.array(np.nan_to_num(correct).astype(np.int8), mask=empty),
        "why": pc.if_else(pa.array(without), "no confidence", table.column("why")),
    }
    if recalibrated is not None:
        columns["score"] = pa.array(taken.values, from_pandas=True)
        notes += recalibrated.notes
    if declined.any():
        columns["detected"] = pa.array(declined)
    for name, column in columns.items():
        made = made.drop_columns([name]) if name in made.column_names else made
        made = made.append_column(name, column)
    empty_columns = [
        name for name in made.column_names if made.column(name).null_count == made.num_rows and name not in FIRST
    ]
    made = made.drop_columns(empty_columns)
    made = made.select([*FIRST, *(name for name in made.column_names if name not in FIRST)])
    if options.abstain == "leave-out":
        made = made.filter(pa.array(~declined))
    facts = {
        key: value
        for run in runs[:1]
        for key, value in (("model", run.model), ("task", run.task), *run.facts.items())
        if value is not None
    }
    answers = Answers(made, source, taken.name, tuple(dict.fromkeys(notes)), facts, taken.surer)
    if options.unit == "question":
        from epimeter.readers.logs.questions import by_question

        return by_question(answers)
    return answers


def _told_apart(table: Any, runs: list[Run], source: str) -> Any:
    """The table with ids that are unique and questions that belong to their task; a sample that came twice is refused."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = [run.facts.get("eval_id") or run.facts.get("run_id") for run in runs]
    twice = [name for name, count in Counter(name for name in known if name).items() if count > 1]
    if twice:
        names = [run.source for run, name in zip(runs, known, strict=True) if name == twice[0]]
        raise ReadError(f"a run must be given once; {listed(names, 'and')} hold the same one", field="source")
    once = distinct(table.column("id"))
    if len(runs) == 1 and not once:
        counts = Counter(table.column("id").to_pylist())
        name, count = counts.most_common(1)[0]
        raise ReadError(f"every answer must be there once; {source} has {shown(name)} {count} times", field="id")
    tasks = [task for task in pc.unique(table.column("task")).to_pylist() if task is not None]
    if len(tasks) > 1:
        question = [
            f"{task}/{name}"
            for task, name in zip(table.column("task").to_pylist(), table.column("question").to_pylist(), strict=True)
        ]
        table = table.set_column(table.schema.get_field_index("question"), "question", pa.array(question, pa.string()))
    if not once:
        names = [Path(run.source).stem for run in runs]
        names = names if len(set(names)) == len(names) else [f"{n}:{name}" for n, name in enumerate(names, 1)]
        ids = [
            f"{names[run]}/{name}"
            for run, name in zip(table.column("run").to_pylist(), table.column("id").to_pylist(), strict=True)
        ]
        if len(set(ids)) < len(ids):
            name, count = Counter(ids).most_common(1)[0]
            raise ReadError(f"every answer must be there once; {source} has {shown(name)} {count} times", field="id")
        table = table.set_column(table.schema.get_field_index("id"), "id", pa.array(ids, pa.string()))
    return table


def _reasons(table: Any) -> str:
    counts = table.column("why").drop_null().value_counts().to_pylist()
    return ", ".join(f"{one['counts']:,} {one['values']}" for one in sorted(counts, key=lambda one: -one["counts"]))


def _notes(
    table: Any,
    asked: Codes,
    rows: LogRows,
    runs: list[Run],
    name: str,
    confidence: Any,
    correct: Any,
    options: LogOptions,
) -> list[str]:
    """What a report should say of the answers."""
    import pyarrow.compute as pc

    notes = []
    total = table.num_rows
    questions = int(asked.max()) + 1
    if questions < total:
        notes.append(
            f"{total:,} answers to {questions:,} questions: answers to one question are not independent, and "
            f"intervals count questions"
        )
    models = [name for name in pc.unique(table.column("model")).to_pylist() if name is not None]
    if len(models) > 1:
        notes.append(
            f"answers of {len(models):,} models are read together: {listed(models, 'and')}. Part them with --by model, or compare "
            "their logs with epimeter compare"
        )
    places, epoch = (table.column(name).to_numpy(zero_copy_only=False).astype(np.int64) for name in ("run", "epoch"))
    notes += uneven(places, asked, epoch)
    reasons = _reasons(table)
    if reasons:
        treated = {"unknown": "have no outcome", "wrong": "count as wrong", "leave-out": "are left out"}[
            options.abstain
        ]
        notes.append(
            f"answers without an outcome: {reasons}"
            + (f"; declined answers {treated}" if "declined" in reasons else "")
        )
    declined = pc.sum(table.column("declined")).as_py() or 0
    if options.abstain == "wrong" and declined:
        notes.append(f"{declined:,} declined answers count as wrong")
    missing = int(np.count_nonzero(~np.isnan(correct) & np.isnan(confidence)))
    if missing:
        notes.append(
            f"{missing:,} of {np.count_nonzero(~np.isnan(correct)):,} answers have no confidence by {name} and are "
            f"left out"
        )
    if name == "verbalised":
        refused = [
            f"{rows.statements[word]:,} {word}" for word in ("ambiguous", "out of range") if rows.statements[word]
        ]
        if refused:
            notes.append(f"stated confidences that were refused: {', '.join(refused)}")
        if rows.statements["bare"]:
            notes.append(f"{rows.statements['bare']:,} stated confidences have no unit; their size tells the scale")
    if name in ("choice_logprob", "answer_token") and "outside_options" in table.column_names:
        outside = floats(table, "outside_options")
        notes.append(
            f"probability outside the options: {np.nanmean(outside):.4f} on average, {np.nanmax(outside):.4f} at most"
        )
    both = ~np.isnan(confidence) & ~np.isnan(correct)
    if np.count_nonzero(both) > 1 and (confidence[both] == correct[both]).all():
        notes.append(
            "the confidence equals the outcome in every answer: the grade was probably taken for the confidence"
        )
    for number, run in enumerate(runs):
        if run.claims is not None:
            here = places == number
            declined_here = table.column("declined").to_numpy(zero_copy_only=False)[here]
            run.notes += contradictions(run, correct[here], declined_here, options)
        prefix = "" if len(runs) == 1 else f"{run.source}: "
        notes += [prefix + note for note in run.notes]
        notes += [f"{prefix}{count:,} times: {what}" for what, count in run.counts.items() if count]
    return notes
