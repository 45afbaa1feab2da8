# SPDX-License-Identifier: Apache-2.0
"""Which source of confidence is taken: the one asked for, else the first that the log has; the others are listed."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import ReadError
from epimeter.readers.logs.answer import LogOptions, Surer
from epimeter.readers.wording import listed, shown

WORDS = ("answer_token", "choice_logprob", "sequence_logprob", "verbalised", "agreement")
SAME = {
    "verbalized": "verbalised",
    "stated": "verbalised",
    "metadata": "metadata:confidence",
    "score": "score:confidence",
}
NUMBERS = re.compile(r"confiden|certain|prob|credence|likelihood", re.IGNORECASE)
"""Names of numbers that may be a confidence."""
CONFIDENCE_NAMES = ("confidence", "certainty", "credence")
LONG = 16
"""Tokens from which a product over all of them says nothing about the answer."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Chosen:
    """The confidences taken, NaN where there is none, and what the report should say of the choice."""

    name: str
    values: Numbers
    coverage: Mapping[str, int]
    notes: tuple[str, ...]
    surer: Surer | None = None
    """For a score without bounds: which values mean surer."""


def choose(
    sources: Mapping[str, Numbers], usable: NDArray[np.bool_], lengths: Numbers, options: LogOptions, source: str
) -> Chosen:
    """Take a source of confidence.

    Parameters
    ----------
    sources
        Every source with its values, NaN where an answer has none.
    usable
        The answers that are right or wrong.
    lengths
        Tokens of each answer, NaN where not known.
    options
        What the caller asked for.
    source
        The log's name, for messages.
    """
    coverage = {name: int(np.count_nonzero(~np.isnan(values) & usable)) for name, values in sources.items()}
    coverage = {name: count for name, count in coverage.items() if count}
    total = int(np.count_nonzero(usable))
    typical = float(np.nanmedian(lengths)) if not np.isnan(lengths).all() else 0.0
    name = (
        _asked(options.confidence, coverage, source)
        if options.confidence is not None
        else _default(coverage, total, typical, source)
    )
    values = sources[name]
    notes = [f"confidence is {name}, given by {coverage[name]:,} of {total:,} answers"]
    others = [f"{other} ({count:,})" for other, count in coverage.items() if other != name and _is_confidence(other)]
    if others:
        notes[0] += f"; the log also has {', '.join(others[:8])}"
    if name == "sequence_logprob" and typical > LONG:
        notes.append(
            f"sequence_logprob multiplies the probabilities of all tokens, {typical:.0f} in a typical answer: it "
            f"falls with length and is "
            "no confidence in the answer. Prefer answer_token, choice_logprob or verbalised"
        )
    if isinstance(options.scale, str):
        if ":" not in name:
            raise ReadError(
                f"--scale {options.scale} is for a score without bounds, named with --confidence score:NAME or "
                f"metadata:NAME; {name} is a probability",
                field="scale",
            )
        return Chosen(name, values, coverage, tuple(notes), options.scale)
    if ":" in name:
        values = scaled(values, options.scale, name, source)
    return Chosen(name, values, coverage, tuple(notes))


@functools.lru_cache(1024)
def is_confidence(name: str) -> bool:
    """Whether a number of a score or of metadata may be a confidence, by its name."""
    return NUMBERS.search(name) is not None


def stated_sources(
    sources: Mapping[str, Numbers], unsaid: NDArray[np.bool_]
) -> tuple[dict[str, Numbers], dict[str, int]]:
    """The sources without the hundreds that nobody said, and how many each had.

    Scorers that take the confidence from the text log 100 where the text states none. Where such a source has another
    number for a text without a statement it does not come from the text, and its hundreds are meant.
    """
    made, dropped = dict(sources), {}
    for name, values in sources.items():
        if ":" not in name or not is_confidence(name):
            continue
        silent = unsaid & ~np.isnan(values)
        hundred = silent & (values == 100)
        if hundred.any() and (hundred == silent).all():
            made[name], dropped[name] = np.where(hundred, np.nan, values), int(hundred.sum())
    return made, dropped


def _is_confidence(name: str) -> bool:
    return name in WORDS or any(word in name.lower() for word in CONFIDENCE_NAMES)


def _asked(wanted: str, coverage: Mapping[str, int], source: str) -> str:
    name = SAME.get(wanted, wanted)
    if name not in WORDS and not name.startswith(("score:", "metadata:")):
        raise ReadError(
            f"no source of confidence is called {shown(wanted)}; they are {', '.join(WORDS)}, score:NAME and "
            f"metadata:NAME",
            field="confidence",
        )
    if name not in coverage:
        there = f"it has {listed(list(coverage))}" if coverage else "it has no confidence at all"
        raise ReadError(f"{source} has no confidence by {shown(name)}; {there}. {_remedy(name)}", field="confidence")
    return name


def _default(coverage: Mapping[str, int], total: int, typical: float, source: str) -> str:
    """The scorer's own number first, then what the text states, then the tokens, then agreement."""
    own = [
        name
        for name in coverage
        if name.startswith(("score:", "metadata:"))
        and name.rpartition(":")[2].rpartition(".")[2].lower() in CONFIDENCE_NAMES
    ]
    order = [*own, "verbalised", "answer_token", "choice_logprob", "agreement"]
    if typical <= LONG:
        order.append("sequence_logprob")
    there = [name for name in order if name in coverage]
    whole = [name for name in there if coverage[name] == total]
    if whole or there:
        return whole[0] if whole else max(there, key=lambda name: coverage[name])
    if "sequence_logprob" in coverage:
        raise ReadError(
            f"{source} has no confidence but the product over all tokens, {typical:.0f} in a typical answer, which "
            f"says little about the answer. "
            "Take it knowingly with --confidence sequence_logprob, or run again and ask for a stated confidence",
            field="confidence",
        )
    numbers = [name for name in coverage if ":" in name]
    also = f". Numbers that could serve: {listed(numbers)}; choose with --confidence NAME" if numbers else ""
    raise ReadError(
        f"{source} has no confidence: no log-probabilities, none stated in the answers, none in scores or metadata, "
        f"no epochs to compare{also}. "
        'Run again with log-probabilities (--logprobs --top-logprobs 5), or ask for "Confidence: NN%" in the '
        "prompt, or with --epochs 5",
        field="confidence",
    )


def _remedy(name: str) -> str:
    return {
        "answer_token": "Log-probabilities of the answer's token are needed: run again with --logprobs",
        "choice_logprob": "Log-probabilities of all options are needed: run again with --logprobs --top-logprobs 5",
        "sequence_logprob": "Log-probabilities are needed: run again with --logprobs",
        "verbalised": 'Ask for "Confidence: NN%" in the prompt, or give --confidence-pattern',
        "agreement": "Several answers to each question are needed: run again with --epochs 5",
    }.get(name, "Name another")


def scaled(values: Numbers, scale: float | None, name: str, source: str) -> Numbers:
    """Numbers of scores and metadata in 0..1: by the scale that was given, or the one that their sizes prove."""
    known = values[~np.isnan(values)]
    if scale is None and len(known):
        top, some_share = float(known.max()), bool(((known > 0) & (known < 1)).any())
        if known.min() < 0:
            raise _unbounded(name, source, "least", float(known.min()))
        if top <= 1:
            scale = 1.0
        elif some_share and top > 1:
            raise ReadError(
                f"{name} must have one scale; {source} has {known[(known > 0) & (known < 1)][0]:g} and {top:g}. Mend the log, or "
                f"say with --scale 100 that all of them are out of 100, or of a score without bounds with --scale higher or lower "
                "which values mean surer",
                field="confidence",
            )
        elif 10 < top <= 100:
            scale = 100.0
        elif top <= 10:
            raise ReadError(
                f"the scale of {name} cannot be told: its largest value in {source} is {top:g}. Say it with --scale "
                f"10 or --scale 100, or of a score without bounds with --scale higher or lower which values mean surer",
                field="confidence",
            )
        else:
            raise _unbounded(name, source, "largest", top)
    made = values / (scale or 1.0)
    beyond = np.flatnonzero((made < 0) | (made > 1))
    if len(beyond):
        raise ReadError(
            f"{name} must lie in 0 … {scale or 1:g}; {len(beyond)} values of {source} do not, the first is "
            f"{values[beyond[0]]:g}",
            field="confidence",
            count=len(beyond),
        )
    return made


def _unbounded(name: str, source: str, which: str, value: float) -> ReadError:
    return ReadError(
        f"{name} must be a confidence; its {which} value in {source} is {value:g}. If it is a score without bounds, say "
        f"with --scale higher or --scale lower which values mean surer: its order is measured as it is, its calibration "
        f"after a cross-fitted recalibration",
        field="confidence",
    )
