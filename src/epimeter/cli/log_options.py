# SPDX-License-Identifier: Apache-2.0
"""The options by which a command is told how to read an evaluation log."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from epimeter.errors import InputError
from epimeter.readers.logs.answer import LogOptions

F = TypeVar("F", bound=Callable[..., Any])


def scale_of(_: click.Context, __: click.Parameter, value: str | None) -> float | str | None:
    """A number, or which values of a score without bounds mean surer."""
    if value is None or value in ("higher", "lower"):
        return value
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise click.BadParameter(f"a scale is a number above 0, or higher or lower; got {value}")
    return number


LOG_OPTIONS = (
    click.option("--scorer", help="Logs: which scorer, metric or assessment says whether an answer is right."),
    click.option("--confidence", metavar="SOURCE",
                 help="Logs: answer_token, choice_logprob, sequence_logprob, verbalised, agreement, score:NAME, metadata:NAME."),
    click.option("--confidence-pattern", metavar="REGEX", help="Logs: how confidence is stated, as 'sure: ([0-9]+)'."),
    click.option("--scale", metavar="NUMBER|higher|lower", callback=scale_of,
                 help="Logs: what a confidence without a unit is out of (1, 10, 100); for a score without bounds which values "
                 "mean surer (higher, lower)."),
    click.option("--words", type=click.Path(dir_okay=False), help="Logs: JSON file of words and the confidence each is."),
    click.option("--abstain", type=click.Choice(["unknown", "wrong", "leave-out"]), default="unknown", show_default=True,
                 help="Logs: what a declined answer is."),
    click.option("--correct-from", type=float, metavar="CREDIT", help="Logs: partial credit from which an answer is right."),
    click.option("--filter", "filter", help="Logs of lm-eval: which filter."),
    click.option("--answer-key", type=click.Path(dir_okay=False), help="Logs of responses: file of right answers by id."),
    click.option("--unit", type=click.Choice(["answer", "question"]), default="answer", show_default=True,
                 help="Logs: one row an answer, or one a question with its majority answer."),
)  # fmt: skip
NAMES = ("scorer", "confidence", "confidence_pattern", "scale", "abstain", "correct_from", "filter", "unit")


def log_of(options: dict[str, Any]) -> LogOptions:
    """How logs are to be read; takes its options out of those of the command."""
    said = {name: options.pop(name) for name in NAMES}
    words, key = options.pop("words"), options.pop("answer_key")
    return LogOptions(words=words_of(words), key=key, **said)


def log_options(command: F) -> F:
    """A command with the options about logs; they arrive as `log`."""

    @functools.wraps(command)
    def told(*args: Any, **options: Any) -> Any:
        log = log_of(options)
        return command(*args, log=log, **options)

    for option in reversed(LOG_OPTIONS):
        told = option(told)
    return told  # type: ignore[return-value]


def words_of(path: str | None) -> Mapping[str, float] | None:
    """The table of words and the confidence that each stands for."""
    if path is None:
        return None
    try:
        found = json.loads(Path(path).read_text("utf-8"))
    except (ValueError, UnicodeDecodeError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(v, int | float) and 0 <= v <= 1 for v in found.values()):
        raise InputError(f"words must be a JSON object of numbers in 0 … 1; {Path(path).name} is not", field="words")
    return {str(word): float(value) for word, value in found.items()}
