# SPDX-License-Identifier: Apache-2.0
"""Answers into rows: every source of confidence that an answer has is read as it goes by, so that its text can be forgotten."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from epimeter.errors import ReadError
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.outcomes import PARTLY_RIGHT, declines, number
from epimeter.readers.logs.sources import is_confidence
from epimeter.readers.logs.tokens import above_one, at_answer, sequence_probability
from epimeter.readers.wording import brief, shown

if TYPE_CHECKING:
    from epimeter.readers.logs.quantity import Stated

BATCH = 1 << 13
LONGEST = 500
"""Characters of a metadata value, or an answer, that are carried along."""
LONGEST_NAME = 2000
PLAIN = {bool, float}
"""Kinds of metadata values that are carried as they are."""
SHORT = 60
"""Characters up to which a whole text can be a refusal to answer."""


class LogRows:
    """The rows of one or more logs, in Arrow tables of some thousand rows each."""

    def __init__(self, options: LogOptions) -> None:
        self.options = options
        self.tables: list[Any] = []
        self.waiting: list[dict[str, Any]] = []
        self.total = 0
        self.statements: Counter[str] = Counter()
        self.grammar: Callable[..., Stated] | None = None
        self.pattern = _compiled(options.confidence_pattern)
        self.scale = None if isinstance(options.scale, str) else options.scale

    def add(self, answer: Answer, run: Run, number_of_run: int) -> None:
        """Read one answer's confidences and keep its row."""
        options = self.options
        if len(answer.question) > LONGEST_NAME:
            raise ReadError(
                f"the name of a question must have at most {LONGEST_NAME:,} characters; {run.source} has one of "
                f"{len(answer.question):,}",
                field="id",
            )
        if answer.correct != 1 and not answer.declined:
            said = answer.answer or answer.text  # a scorer that finds no letter writes an empty answer
            answer.declined = said is not None and len(said) <= SHORT and declines(said, answer.expected)
        correct, why = answer.correct, answer.why
        if answer.declined:
            why, correct = ("declined", None) if options.abstain != "wrong" else (None, 0.0)
        elif why == PARTLY_RIGHT and options.correct_from is not None:
            why = None
        elif why == PARTLY_RIGHT:
            correct = None
        if correct is not None and options.correct_from is not None:
            correct = float(correct >= options.correct_from)
        if correct is None and why is None:
            why = "not scored"
        row: dict[str, Any] = {
            "id": answer.id if answer.id is not None else answer.question,
            "question": answer.question,
            "epoch": answer.epoch,
            "answer": _short(answer.answer),
            "expected": _short(answer.expected),
            "correct": correct,
            "declined": answer.declined,
            "unknown": answer.unknown,
            "why": why,
            "model": answer.model or run.model,
            "task": answer.task or run.task,
            "timestamp": answer.time,
            "run": number_of_run,
            "length": answer.length,
        }
        self._confidences(answer, run, row)
        for name, value in answer.metadata.items() if options.carry else ():
            kept = value if type(value) in PLAIN else _scalar(value)
            if kept is not None:
                row["metadata." + name] = kept
        self._keep(row)

    def _confidences(self, answer: Answer, run: Run, row: dict[str, Any]) -> None:
        """Every confidence this answer has, under the word of its source."""
        for name, value in answer.sources.items():
            row["source:" + name] = value
        text = answer.text
        said = self._stated(text, answer.answer) if text is not None else None
        if said is not None:
            self.statements[said.status] += 1
            if said.value is not None:
                row["source:verbalised"] = said.value
                self.statements["bare"] += said.bare
        for name, value in answer.numbers.items():
            found = number(value)
            if found is None or math.isnan(found):
                continue
            if "unsaid" not in row and text is not None and is_confidence(name):
                from epimeter.readers.logs.stated import speaks_of_confidence

                row["unsaid"] = not (speaks_of_confidence(text) or "100" in text)
            row["source:" + name] = found
        probabilities = answer.probabilities
        if answer.tokens:
            wrong = above_one(answer.tokens)
            if wrong is not None:
                raise ReadError(
                    f"log-probabilities must be at most 0; sample {shown(answer.question)} of {run.source} has "
                    f"{wrong:g}",
                    field="logprobs",
                )
            row["source:sequence_logprob"] = sequence_probability(answer.tokens)
            row["length"] = len(answer.tokens)
            here = at_answer(answer.tokens, answer.answer, answer.options or ()) if answer.answer else None
            if here is not None:
                row["source:answer_token"] = here.chosen
                mass = here.mass  # summed once: a question may have a hundred thousand options
                if answer.options and here.ranked > 1 and mass > 0:
                    row["source:choice_logprob"] = here.chosen / mass
                    row["outside_options"] = max(0.0, 1 - mass)
                    probabilities = [here.options[name] / mass for name in answer.options]
        if probabilities is not None:
            row["option_probabilities"] = probabilities
            if answer.label is not None:
                row["option"] = answer.label

    def _stated(self, text: str, answer: str | None) -> Stated | None:
        if self.pattern is None:
            if self.grammar is None:
                # The grammar takes longer to compile than a small file to evaluate: it waits for the first text.
                from epimeter.readers.logs.stated import stated

                self.grammar = stated
            return self.grammar(text, scale=self.scale, words=self.options.words, answer=answer)
        from epimeter.readers.logs.quantity import Stated

        matches = list(self.pattern.finditer(text))
        if not matches:
            return Stated(None, "none")
        found = number(matches[-1][1].replace(",", ".")) if matches[-1][1] else None
        if found is None:
            return Stated(None, "ambiguous")
        value = found / (self.scale or 1.0)
        return Stated(value, "stated") if 0 <= value <= 1 else Stated(None, "out of range")

    def _keep(self, row: dict[str, Any]) -> None:
        self.waiting.append(row)
        self.total += 1
        if len(self.waiting) == BATCH:
            self.flush()

    def take(self, tables: list[Any], total: int, statements: Counter[str]) -> None:
        """Rows that another process has read."""
        self.flush()
        self.tables += tables
        self.total += total
        self.statements.update(statements)

    def mark(self) -> tuple[int, int, Counter[str]]:
        """Where the rows of the next log begin."""
        self.flush()
        return len(self.tables), self.total, Counter(self.statements)

    def rewind(self, mark: tuple[int, int, Counter[str]]) -> None:
        """Forget the rows since a mark."""
        tables, self.total, self.statements = mark
        self.waiting = []
        del self.tables[tables:]

    def flush(self) -> None:
        """The rows that wait become an Arrow table."""
        import pyarrow as pa

        if not self.waiting:
            return
        names: dict[str, Any] = {}
        for row in self.waiting:
            names.update(row)
        self.tables.append(pa.table({name: _column(name, [row.get(name) for row in self.waiting]) for name in names}))
        self.waiting = []

    def table(self) -> Any:
        """All rows as one Arrow table."""
        import pyarrow as pa

        self.flush()
        tables = self.tables
        types: dict[str, set[Any]] = {}
        for table in tables:
            for field in table.schema:
                types.setdefault(field.name, set()).add(field.type)
        for name, found in types.items():  # metadata of two kinds in two batches
            found -= {pa.null()}
            if len(found) < 2:
                continue
            common = pa.float64() if found == {pa.int64(), pa.float64()} else pa.string()
            tables = [_recast(table, name, common) if name in table.schema.names else table for table in tables]
        return pa.concat_tables(tables, promote_options="default")


def _recast(table: Any, name: str, common: Any) -> Any:
    """A table with one column of another type, as it would be had all rows come in one batch."""
    import pyarrow as pa

    column = table[name]
    made = (
        pa.array([_text(value) for value in column.to_pylist()], common)
        if common == pa.string()
        else column.cast(common)
    )
    return table.set_column(table.schema.get_field_index(name), name, made)


def _column(name: str, values: list[Any]) -> Any:
    import pyarrow as pa

    fixed = {
        "correct": pa.float64(), "epoch": pa.int64(), "declined": pa.bool_(), "unknown": pa.bool_(),
        "unsaid": pa.bool_(), "run": pa.int32(),
        "length": pa.int64(), "option": pa.int64(), "outside_options": pa.float64(),
        "option_probabilities": pa.list_(pa.float64()),
    }  # fmt: skip
    if name in fixed:
        return pa.array(values, fixed[name])
    if name == "timestamp":
        return _moments(values)
    if name.startswith("source:"):
        return pa.array(values, pa.float64())
    if not name.startswith("metadata."):
        return pa.array(values, pa.string())
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool} or kinds <= {str} or kinds <= {int, float}:
        return pa.array([float(v) if kinds == {int, float} and v is not None else v for v in values])
    return pa.array([_text(value) for value in values], pa.string())


def _text(value: Any) -> str | None:
    """A metadata value among others of another kind; 1.0 is written as 1, since a batch of numbers forgets which it was."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)


def _scalar(value: Any) -> Any:
    """A metadata value as a cell: scalars as they are, small structures as JSON, long ones left out."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 62 else str(value)
    if isinstance(value, str):
        return value if len(value) <= LONGEST else None
    try:
        text = json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if len(text) <= LONGEST else None


def _short(text: str | None) -> str | None:
    return None if text is None else text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _moments(texts: list[Any]) -> Any:
    """Times written after ISO 8601, all at once where each names its zone; what is no time is left out."""
    import pyarrow as pa

    kind = pa.timestamp("us", "UTC")
    try:
        return pa.array(texts, pa.string()).cast(kind)
    except (pa.ArrowException, TypeError):
        return pa.array([_moment(text) for text in texts], kind)


def _moment(text: Any) -> datetime.datetime | None:
    if text is None:
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=datetime.UTC)


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    if pattern is None:
        return None
    try:
        made = re.compile(pattern)
    except re.error as fault:
        raise ReadError(
            f"the pattern of confidence must be a regular expression ({brief(fault)})", field="confidence_pattern"
        ) from None
    if not made.groups:
        raise ReadError(
            f"the pattern of confidence must have a group around the number, as 'Confidence: (\\d+)%'; got "
            f"{shown(pattern)}",
            field="confidence_pattern",
        )
    return made
