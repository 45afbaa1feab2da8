# SPDX-License-Identifier: Apache-2.0
"""Predictions held against a policy.

1. The data of a gate are read and put together; too few rows cannot be judged.
2. Every requirement is measured on all rows, and on every slice.
3. With an interval, a limit is kept where its bad end keeps it, broken where its good end breaks it, and undecided between.
   Among many slices some seem to break a limit by chance: a slice fails only where that is unlikely for all slices together
   (Holm or Bonferroni). To pass needs no such care, since every slice has to.
"""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import find
from epimeter.errors import EpimeterError, InputError, ReadError, UndefinedMetricError
from epimeter.gate.forecasts import against_forecasts, measured_forecasts, read_gate_forecasts
from epimeter.gate.policy import Gate, Requirement
from epimeter.gate.verdict import Outcome, PolicyJudgement, RequirementVerdict
from epimeter.inference import adjust_p_values, compare, compare_samples
from epimeter.inference.intervals import interval_for
from epimeter.readers import read
from epimeter.readers.assembly import joined
from epimeter.readers.forecast_table import ForecastTable
from epimeter.readers.pairing import same_rows
from epimeter.readers.table import Table
from epimeter.report.slicing import slice_names
from epimeter.results import Interval, Result
from epimeter.views import view

MOST_SLICES = 1000


def judge(gates: Iterable[Gate]) -> PolicyJudgement:
    """Hold the predictions of every gate against its requirements."""
    return PolicyJudgement([verdict for gate in gates for verdict in _judged(gate)])


def _judged(gate: Gate) -> list[RequirementVerdict]:
    try:
        table = _read(gate)
    except EpimeterError as refusal:
        return [_verdict(gate, one, "cannot judge", str(refusal)) for one in gate.requirements]
    if table.n_rows < gate.minimum_rows:
        why = f"{table.n_rows:,} rows are fewer than the {gate.minimum_rows:,} that the policy asks for"
        return [_verdict(gate, one, "cannot judge", why, n_rows=table.n_rows) for one in gate.requirements]
    try:
        parts: list[tuple[str | None, Any]] = [(None, None), *_slices(gate, table)]
    except EpimeterError as refusal:
        return [_verdict(gate, one, "cannot judge", str(refusal), n_rows=table.n_rows) for one in gate.requirements]
    made = []
    for one in gate.requirements:
        over, why = _comparable(gate, one, parts)
        verdicts = [_one(gate, one, table, name, keep) for name, keep in over]
        whole = [replace(v, reason=v.reason + why) for v in verdicts if v.slice is None]
        made += [*whole, *_together(gate, one, [v for v in verdicts if v.slice is not None])]
    return made


def _comparable(
    gate: Gate, one: Requirement, parts: list[tuple[str | None, Any]]
) -> tuple[list[tuple[str | None, Any]], str]:
    """What of all rows and their slices a baseline can be held against, and a clause on what it cannot.

    The rows of a summary are gone: it has slices where it was made with them, and is whole otherwise.
    """
    path = gate.folder / str(one.not_worse_than)
    if one.not_worse_than is None or path.suffix != ".epi" or not gate.by:
        return parts, ""
    from epimeter.summary_files import merged_files

    try:
        sliced = merged_files([str(path)]).plan.by
    except EpimeterError:  # said where it is compared
        return parts[:1], ""
    if sliced is not None:
        return parts[1:], ""
    again = f"; summarise --by {gate.by[0]} makes one that does" if len(gate.by) == 1 else ""
    return parts[:1], f" (all rows together: {path.name} holds no slices{again})"


def _read(gate: Gate) -> Table | ForecastTable:
    """All rows of a gate's data as one table."""
    if gate.of_forecasts:
        return read_gate_forecasts(gate, paths_of(gate), gate.by)
    choice = gate.choice
    if gate.by:
        choice = replace(choice, columns={**choice.columns, "slice": ",".join(gate.by)})
    tables = [read(path, columns=choice, format=gate.format) for path in paths_of(gate)]
    if len({table.kind for table in tables}) > 1:
        raise InputError(
            f"the files of one gate must hold one kind of forecast; got {', '.join({t.kind for t in tables})}"
        )
    if len({table.y_prob.shape[1:] for table in tables}) > 1:
        raise InputError("the files of one gate must have the same classes")
    return joined(tables)


def paths_of(gate: Gate) -> list[str]:
    """The files that a gate's patterns find; a pattern that finds none is refused."""
    found: list[str] = []
    for pattern in gate.data:
        some = _called(gate, pattern)
        if not some:
            raise ReadError(f"no file is called like {pattern!r}", field="data")
        found += [path for path in some if path not in found]
    return found


def files_of(gate: Gate) -> list[str]:
    """Every file that a gate reads, baselines too, as far as they are there."""
    baselines = [one.not_worse_than for one in gate.requirements if one.not_worse_than is not None]
    return [path for pattern in gate.data for path in _called(gate, pattern)] + [
        str(gate.folder / name) for name in baselines
    ]


def _called(gate: Gate, pattern: str) -> list[str]:
    whole = str(gate.folder / pattern)
    if glob.has_magic(whole) and not os.path.exists(whole):
        return sorted(glob.glob(whole, recursive=True))
    return [whole]


def _slices(gate: Gate, table: Table | ForecastTable) -> list[tuple[str | None, NDArray[np.bool_]]]:
    if not gate.by:
        return []
    assert table.slices is not None
    label = slice_names(table.slices, gate.by)
    names, place = np.unique(label, return_inverse=True)
    if len(names) > MOST_SLICES:
        raise InputError(
            f"at most {MOST_SLICES:,} slices are judged; {', '.join(gate.by)} make {len(names):,}", field="by"
        )
    return [(str(name), place.ravel() == number) for number, name in enumerate(names)]


def held(
    one: Requirement, y_true: Any, y_prob: Any, *, kind: str | None = None, level: float = 0.95
) -> RequirementVerdict:
    """One requirement on columns in memory."""
    rows = view(y_true, y_prob, kind=kind)
    single = rows.prob.ndim == 1
    table = Table(
        source="the columns given",
        kind=rows.kind,
        label=rows.true,
        confidence=rows.prob if single else None,
        probabilities=None if single else rows.prob,
        rows=range(rows.n_rows),
    )
    gate = Gate(name="calibration", data=(), requirements=(one,), level=level)
    return _one(gate, one, table, None, None)


def _one(gate: Gate, one: Requirement, table: Table | ForecastTable, name: str | None, keep: Any) -> RequirementVerdict:
    """One requirement on all rows or on a slice."""
    rows = table if keep is None else table.take(keep)
    facts: dict[str, Any] = {"slice": name, "n_rows": rows.n_rows}
    try:
        if one.not_worse_than is None:
            wanted = one.decide != "value"
            value, around = (
                measured_forecasts(one, rows, gate.level, wanted)
                if isinstance(rows, ForecastTable)
                else measured(one, rows, gate.level, wanted)
            )
            limit = one.at_most if one.at_most is not None else one.at_least
            assert limit is not None
            sign = 1 if one.at_most is not None else -1
        else:
            against = against_forecasts if isinstance(rows, ForecastTable) else _against
            value, around = against(gate, one, rows, name)  # type: ignore[arg-type]
            limit, sign = one.margin, 1
    except (UndefinedMetricError, InputError) as refusal:
        return _verdict(gate, one, "cannot judge", str(refusal), **facts)
    facts |= {"value": value, "interval": around, "limit": limit}
    bad, good = value, value
    if one.decide != "value":
        if around is None:
            why = f'{one.metric} has no interval here; decide = "value" takes the bare number'
            return _verdict(gate, one, "cannot judge", why, **facts)
        bad, good = (around.high, around.low) if sign == 1 else (around.low, around.high)
    what = "value" if one.decide == "value" else f"{'upper' if sign == 1 else 'lower'} end"
    word = {1: "at most", -1: "at least"}[sign]
    thing = one.metric if one.not_worse_than is None else f"how much worse {one.metric} is than {one.not_worse_than}"
    if sign * bad <= sign * limit:
        return _verdict(gate, one, "pass", f"the {what} of {thing} is {bad:.4g}, {word} {limit:g}", **facts)
    if sign * good > sign * limit:
        why = f"{thing} is {value:.4g}" + ("" if around is None else f" [{around.low:.4g}, {around.high:.4g}]")
        return _verdict(gate, one, "fail", f"{why}, required {word} {limit:g}", **facts)
    why = f"{limit:g} lies within the interval of {thing}, [{good:.4g}, {bad:.4g}]: more rows would decide"
    if sign == -1:
        why = why.replace(f"[{good:.4g}, {bad:.4g}]", f"[{bad:.4g}, {good:.4g}]")
    return _verdict(gate, one, one.undecided, f"undecided: {why}", **facts)


def measured(one: Requirement, rows: Table, level: float, wanted: bool) -> tuple[float, Interval | None]:
    """The value of a metric on a table, and its interval where it is wanted and known."""
    metric = find(one.metric)
    columns: dict[str, Any] = {"features": rows.features, "groups": rows.group}
    extra = {
        name: columns.get(name) for name in (*metric.card.needs, *metric.card.takes) if columns.get(name) is not None
    }
    parameters = {**one.parameters, **extra}
    if rows.weight is not None:
        parameters["sample_weight"] = rows.weight
    answer = metric(rows.y_true, rows.y_prob, **parameters)
    value = answer.headline if isinstance(answer, Result) else float(answer)
    if math.isnan(value):
        raise UndefinedMetricError(f"{metric.name} has no value on these rows")
    if not wanted:
        return value, None
    groups = rows.group if rows.group is not None and len(np.unique(rows.group)) >= 20 else None
    return value, interval_for(metric, (rows.y_true, rows.y_prob), parameters, level=level, groups=groups)


def _against(gate: Gate, one: Requirement, rows: Table, name: str | None) -> tuple[float, Interval | None]:
    """How much worse a metric is than on a baseline: paired where both hold the same ids."""
    path = gate.folder / str(one.not_worse_than)
    sign = 1 if find(one.metric).card.direction == "lower" else -1
    if path.suffix == ".epi":
        return _against_summary(gate, one, rows, path, name, sign)
    choice = (
        gate.choice
        if name is None
        else replace(gate.choice, columns={**gate.choice.columns, "slice": ",".join(gate.by)})
    )
    base = read(str(path), columns=choice, format=None)
    if name is not None:
        assert base.slices is not None
        base = base.take(slice_names(base.slices, gate.by) == name)
        if not base.n_rows:
            raise UndefinedMetricError(f"{one.not_worse_than} has no rows of the slice {name}")
    if one.parameters:
        raise InputError(f"not_worse_than compares {one.metric} by its default parameters; leave parameters out")
    pair = same_rows([rows, base]) if rows.id is not None and base.id is not None else None
    options: dict[str, Any] = {"metrics": (one.metric,), "level": gate.level}
    if pair is not None:
        truth = {"now": pair[0].y_true, "before": pair[1].y_true}
        (found,) = compare(truth, {"now": pair[0].y_prob, "before": pair[1].y_prob}, groups=pair[0].group, **options)
    else:
        (found,) = compare_samples(
            (rows.y_true, rows.y_prob), (base.y_true, base.y_prob), names=("now", "before"), **options
        )
    return sign * found.value, _signed(found.interval, sign)


def _against_summary(
    gate: Gate, one: Requirement, rows: Table, path: Path, name: str | None, sign: int
) -> tuple[float, Interval | None]:
    """Against a summary, whose rows are gone: two intervals into one of the difference (Zou and Donner 2008)."""
    from epimeter.report.building import reports
    from epimeter.report.measurement import Report
    from epimeter.summary_files import merged_files

    level = gate.level
    ledger = merged_files([str(path)])
    found = reports(ledger, level=level)
    if not isinstance(found, Report):
        if gate.by != (ledger.plan.by,):
            by = " and ".join(gate.by) or "none"
            raise InputError(
                f"the slices of a baseline must be those of the gate; {path.name} has {ledger.plan.by}, not {by}"
            )
        by_word = {str(value): value for value in found}
        if name not in by_word:
            raise UndefinedMetricError(f"{path.name} has no rows of the slice {name}")
        found = found[by_word[name]]
    if one.metric not in found:
        raise InputError(f"{path.name} does not hold {one.metric}; summarise with --metric {one.metric}")
    before = found[one.metric]
    if before.value is None:
        raise UndefinedMetricError(f"{one.metric} of {path.name} is undefined: {before.undefined}")
    value, around = measured(one, rows, level, one.decide != "value")
    change = value - before.value
    if around is None or before.interval is None:
        return sign * change, None
    low = change - math.hypot(value - around.low, before.interval.high - before.value)
    high = change + math.hypot(around.high - value, before.value - before.interval.low)
    return sign * change, _signed(Interval(low=low, high=high, level=level, method="two intervals, independent"), sign)


def _signed(around: Interval, sign: int) -> Interval:
    return around if sign == 1 else replace(around, low=-around.high, high=-around.low)


def _together(gate: Gate, one: Requirement, verdicts: list[RequirementVerdict]) -> list[RequirementVerdict]:
    """The verdicts of slices, those that fail by what chance does among so many taken back to undecided."""
    if gate.multiplicity == "none" or one.decide == "value" or len(verdicts) < 2:
        return verdicts
    able = [v for v in verdicts if v.interval is not None and v.value is not None and v.limit is not None]
    if not able:
        return verdicts
    adjusted = adjust_p_values([_violation(v, one, gate.level) for v in able], method=gate.multiplicity).adjusted
    chance = {id(v): float(p) for v, p in zip(able, adjusted, strict=True)}
    made = []
    for verdict in verdicts:
        p = chance.get(id(verdict))
        verdict = replace(verdict, p_value=p)
        if (
            verdict.outcome == "fail"
            and p is not None
            and p > (1 - gate.level) / 2
            and "undecided" not in verdict.reason
        ):
            often = f"among {len(able)} slices chance does that (p = {p:.3f} after {gate.multiplicity})"
            why = f"undecided: {verdict.reason}, but {often}"
            verdict = replace(verdict, outcome=one.undecided, reason=why)
        made.append(verdict)
    return made


def _violation(verdict: RequirementVerdict, one: Requirement, level: float) -> float:
    """How likely so bad a value is where the limit is just kept, from the good half of the interval."""
    from statistics import NormalDist

    assert verdict.value is not None and verdict.limit is not None and verdict.interval is not None
    sign = -1 if one.at_least is not None else 1
    away = sign * (verdict.value - verdict.limit)
    reach = sign * (verdict.value - (verdict.interval.low if sign == 1 else verdict.interval.high))
    if reach <= 0:
        return 0.0 if away > 0 else 1.0
    return 1 - NormalDist().cdf(away / reach * NormalDist().inv_cdf((1 + level) / 2))


def _verdict(gate: Gate, one: Requirement, outcome: Outcome, reason: str, **facts: Any) -> RequirementVerdict:
    return RequirementVerdict(
        gate=gate.name,
        requirement=one.text,
        metric=one.metric,
        outcome=outcome,
        reason=reason,
        source=gate.source,
        line=one.line,
        **facts,
    )
