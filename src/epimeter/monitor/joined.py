# SPDX-License-Identifier: Apache-2.0
"""Collected rows as windows: which window a row is of, whether it came true, what it adds to the totals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from epimeter.errors import InputError
from epimeter.monitor.window import Unit, Window, named, of_groups, starts

OUTCOMES = {"1": 1, "true": 1, "0": 0, "false": 0}


def windows_of(rows: Sequence[Sequence[Any]], *, event: bool = False) -> dict[tuple[str, str], Window]:
    """Window totals of rows (columns as in `BEFORE`), by window and slice."""
    if not rows:
        return {}
    win, confidence, answer, slices, correct, truth, at, truth_at = zip(*rows, strict=True)
    if event or any(cell is not None for cell in truth):
        correct = tuple(event_outcome(*cells, event) for cells in zip(answer, correct, truth, strict=True))
    right = np.array(correct, np.float64)  # None becomes NaN
    awaiting = np.isnan(right)
    moments = np.array([at, truth_at], np.float64)
    delay = np.round((moments[1] - moments[0]) / 1e6)  # whole seconds: sums stay exact
    timed = ~np.isnan(delay) & ~awaiting
    known: dict[tuple[str, str], int] = {}
    code = np.fromiter((known.setdefault(key, len(known)) for key in zip(win, slices, strict=True)), np.int64, len(win))
    prob = np.array(confidence, np.float64)
    made = of_groups(prob, np.where(awaiting, 0, right), awaiting, code, len(known))
    late = np.bincount(code, weights=np.where(timed, delay, 0.0), minlength=len(known))
    many = np.bincount(code, weights=timed, minlength=len(known))
    found: dict[tuple[str, str], Window] = {}
    for (start, text), k in known.items():
        window = made[k].having(delays=int(many[k]), delay=int(late[k]))
        for part in ("", *(f"{name}={value}" for name, value in json.loads(text).items())):
            place = (start, part)
            found[place] = window if place not in found else found[place].merge(window)
    return found


def event_outcome(answer: str | None, correct: int | None, truth: str | None, event: bool) -> int | None:
    """Whether the answer was right, or outcome 1 came; None while it is not known."""
    if event:
        if correct is not None:
            raise InputError(
                "the truth about a probability of outcome 1 is told as truth, 0 or 1: whether an answer was correct says "
                "nothing about it",
                field="correct",
            )
        if truth is None:
            return None
        if truth.lower() not in OUTCOMES:
            raise InputError(
                f"the truth about a probability of outcome 1 must be 0 or 1; got {truth!r:.40}", field="truth"
            )
        return OUTCOMES[truth.lower()]
    if correct is not None:
        return correct
    if truth is None:
        return None
    if answer is None:
        raise InputError(
            f"a truth beside a confidence alone must be told as correct; {truth!r:.40} is a label: send the prediction with the "
            "confidence, or name the column probability if it is that of outcome 1",
            field="truth",
        )
    return int(answer == truth)


def windows_at(at: Sequence[int | None], unit: Unit) -> list[str | None]:
    """The window of each moment; None without one."""
    moments = np.array([np.nan if one is None else one for one in at], np.float64)
    known = ~np.isnan(moments)
    begin, code = np.unique(starts(moments[known].astype(np.int64).astype("datetime64[us]"), unit), return_inverse=True)
    names = np.array([named(start, unit) for start in begin], object)
    made = np.full(len(moments), None, object)
    made[known] = names[code] if len(names) else None
    return list(made.tolist())


def rounds(ids: list[str]) -> list[Sequence[int]]:
    """Rows in rounds without an id twice: one that comes again within a batch is a repetition or a correction."""
    if len(set(ids)) == len(ids):
        return [range(len(ids))]
    seen: dict[str, int] = {}
    made: list[list[int]] = []
    for number, name in enumerate(ids):
        turn = seen.get(name, 0)
        seen[name] = turn + 1
        if turn == len(made):
            made.append([])
        made[turn].append(number)
    return list(made)
