# SPDX-License-Identifier: Apache-2.0
"""What maps would gain on rows they have not seen: cross-validation, the choice of a map, and the table of all maps.

Every row is mapped by a map that was fitted without its fold; rows of one group share a fold. What is measured on the
predictions put together is therefore held-out, for `identity` as well as for the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.calling import Metric
from epimeter.documents.held import Held, Record
from epimeter.documents.sections import Block, Document, Grid, Items, Paragraph, Section
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference.bootstrap import bootstrapped, ends
from epimeter.inference.intervals import interval_for
from epimeter.inference.scheme import scheme
from epimeter.inference.statistic import Statistic
from epimeter.kinds import WORDING
from epimeter.metrics.bin.sweep import drmsce_bcs
from epimeter.metrics.point.brier import brier_score
from epimeter.metrics.point.likelihood import nll
from epimeter.recalibration.document import maps_of
from epimeter.results import Interval, cell_text, plain
from epimeter.views import View, view

Floats = NDArray[np.float64]
METRICS = (brier_score, nll, drmsce_bcs)
FOLDS = 5


def folds_of(n_rows: int, groups: Any, folds: int, seed: int) -> NDArray[np.intp]:
    """The fold of every row: drawn by chance, as equal in size as can be; rows of one group together."""
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        raise InputError(f"folds must be a whole number of at least 2; got {folds!r:.20}", field="folds")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed must be a whole number, not negative; got {seed!r:.20}", field="seed")
    unit = (
        np.arange(n_rows)
        if groups is None
        else np.unique(np.asarray(groups).astype(str), return_inverse=True)[1].ravel()
    )
    number = int(unit.max()) + 1
    if number < folds:
        what = "rows" if groups is None else "groups"
        raise InputError(
            f"{folds} folds need at least {folds} {what}; got {number} (n_samples={n_rows})", field="folds"
        )
    draw = np.random.Generator(np.random.PCG64(seed)).random(number)
    place = np.empty(number, np.intp)
    place[np.argsort(draw, kind="stable")] = np.arange(number) % folds
    return np.asarray(place[unit])


def held_out(rows: View, name: str, fold: NDArray[np.intp]) -> Floats:
    """Every row as it is mapped by a map that has not seen its fold."""
    kind = maps_of(rows.kind)[name]
    made = np.empty(rows.prob.shape)
    for number in range(int(fold.max()) + 1):
        inside = fold == number
        try:
            made[inside] = kind.fit(rows.take(~inside))(rows.prob[inside].astype(np.float64))
        except UndefinedMetricError as reason:
            raise UndefinedMetricError(f"{reason} (without fold {number + 1})") from None
    return made


def log_losses(rows: View, prob: Floats) -> Floats:
    """Minus the logarithm of what each row gave to what came true; infinite where that was 0."""
    own = np.where(rows.true == 1, prob, 1 - prob) if prob.ndim == 1 else prob[np.arange(len(prob)), rows.true]
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(own) + 0.0)


@dataclass(frozen=True, kw_only=True)
class ChosenMap:
    """The map of least cross-validated log loss, and how clear that was."""

    name: str
    losses: dict[str, float]
    """Mean log loss by map; infinite where a map gave 0 to something that came true."""
    left_out: dict[str, str]
    """Maps that could not be fitted, with the reason."""
    next: str
    lead: float
    """By how much the chosen map beats the next, in mean log loss."""
    lead_error: float
    """Its standard error: of the differences row by row (by groups, where there are some)."""
    caution: str = ""
    """Why the rows cannot say how sure a map may make the forecasts; empty where they can."""

    @property
    def sentence(self) -> str:
        """The choice in words."""
        return f"{self._ranked}. Caution: {self.caution}" if self.caution else self._ranked

    @property
    def _ranked(self) -> str:
        if not self.next:
            return f"{self.name} is the only map that could be fitted"
        clear = "" if self.lead > 2 * self.lead_error else ", which chance alone could do"
        lead = "infinitely much" if math.isinf(self.lead) else f"{self.lead:.3g} (standard error {self.lead_error:.2g})"
        return (
            f"{self.name} has the least cross-validated log loss, {self.losses[self.name]:.6g}; it beats {self.next} by "
            f"{lead}{clear}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a document; infinite is null."""
        return {
            "by": "cross-validated log loss",
            "losses": {name: plain(loss) for name, loss in self.losses.items()},
            "left_out": self.left_out,
            "next": self.next or None,
            "lead": plain(self.lead),
            "lead_error": plain(self.lead_error),
        } | ({"caution": self.caution} if self.caution else {})


def cross_validated(
    rows: View, names: Iterable[str], fold: NDArray[np.intp]
) -> tuple[dict[str, Floats], dict[str, str]]:
    """The held-out predictions of every map, and why others have none."""
    after: dict[str, Floats] = {}
    left_out: dict[str, str] = {}
    for name in names:
        try:
            after[name] = held_out(rows, name, fold)
        except UndefinedMetricError as reason:
            left_out[name] = str(reason)
    return after, left_out


def choose(rows: View, after: dict[str, Floats], left_out: dict[str, str], groups: Any = None) -> ChosenMap:
    """Choose a map by its log loss on held-out rows; `identity` is among them, so that nothing is changed for nothing."""
    losses = {name: log_losses(rows, prob) for name, prob in after.items()}
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    mean = {name: float(np.sum(weight * loss) / weight.sum()) for name, loss in losses.items()}
    ranked = sorted(mean, key=lambda name: mean[name])
    best, second = ranked[0], ranked[1] if len(ranked) > 1 else ""
    lead, error = math.inf, math.nan
    if second and math.isfinite(mean[second]):
        lead = mean[second] - mean[best]
        part = weight * (losses[second] - losses[best] - lead)
        if groups is not None:
            unit = np.unique(np.asarray(groups).astype(str), return_inverse=True)[1].ravel()
            part = np.asarray(np.bincount(unit, weights=part), np.float64)
        error = math.sqrt(float(np.sum(part**2))) / float(weight.sum())
    return ChosenMap(
        name=best,
        losses=mean,
        left_out=left_out,
        next=second,
        lead=lead,
        lead_error=error,
        caution=_without_exception(rows, best),
    )


def _without_exception(rows: View, best: str) -> str:
    """What to mind where no row came out otherwise: the surer a map, the smaller its loss there, without an end."""
    if rows.kind == "classes":
        every, what = bool((rows.answer.true == 1).all()), "the answer of every row was right"
    else:
        every = bool((rows.true == rows.true[0]).all())
        what = f"every row has outcome {int(rows.true[0])}"
    if not every or best == "identity":
        return ""
    # The most that the share of exceptions can be where n rows show none (95 %): 1 - 0.05^(1/n).
    share = 1 - 0.05 ** (1 / rows.n_rows)
    return (
        f"{what}, where the surest map has the least loss; up to {100 * share:.2g} % of new rows may still come out otherwise "
        "(95 % confidence). Fit it on rows that hold both, or keep the predictions as they are (--map identity)"
    )


@dataclass(frozen=True, kw_only=True)
class MapLine:
    """One map: metrics on held-out rows with intervals, and how they differ from those before."""

    name: str
    values: dict[str, float]
    intervals: dict[str, Interval | None]
    changes: dict[str, Interval | None]
    """After minus before, paired by rows; negative is better. None for `identity`, or where it is not finite."""


class MapComparison(Held):
    """All maps on one data set, before and after, cross-validated."""

    def __init__(
        self, lines: Sequence[MapLine], choice: ChosenMap, rows: View, units: int, folds: int, seed: int, source: str
    ) -> None:
        self.lines, self.choice, self.units = tuple(lines), choice, units
        self.n_rows, self.kind, self.folds, self.seed, self.source = rows.n_rows, rows.kind, folds, seed, source

    @property
    def sentence(self) -> str:
        """What the table says."""
        if self.choice.name == "identity":
            return f"No map helps: {self.choice.sentence}."
        return f"{self.choice.sentence[0].upper()}{self.choice.sentence[1:]}."

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "n_rows": self.n_rows,
            "n_units": self.units,
            "kind": self.kind,
            "folds": self.folds,
            "seed": self.seed,
            "chosen": {"map": self.choice.name} | self.choice.to_dict(),
            "maps": [
                {
                    "map": line.name,
                    **{
                        name: {
                            "value": plain(value),
                            "interval": _told(line.intervals[name]),
                            "change": _told(line.changes[name]),
                        }
                        for name, value in line.values.items()
                    },
                }
                for line in self.lines
            ],
        }

    def records(self) -> list[Record]:
        """One line a map and metric."""
        made = []
        for line in self.lines:
            for name, value in line.values.items():
                around, change = line.intervals[name], line.changes[name]
                made.append(
                    {
                        "map": line.name,
                        "metric": name,
                        "value": plain(value),
                        "low": None if around is None else plain(around.low),
                        "high": None if around is None else plain(around.high),
                        "change_low": None if change is None else plain(change.low),
                        "change_high": None if change is None else plain(change.high),
                    }
                )
        return made

    def document(self, *, for_print: bool = False) -> Document:
        names, grouped = [metric.name for metric in METRICS], self.units < self.n_rows
        rows = tuple(
            (
                line.name,
                *(
                    cell
                    for name in names
                    for cell in _cells(line.values[name], line.intervals[name], line.changes[name])
                ),
            )
            for line in self.lines
        )
        columns = ("map", *(cell for name in names for cell in (name, "95 % interval", "change")))
        tones = tuple("good" if line.name == self.choice.name else "plain" for line in self.lines)
        numeric = frozenset(range(1, len(columns)))
        blocks: list[Block] = [Paragraph(self.sentence), Grid("Maps", columns, rows, numeric, tones)]  # type: ignore[arg-type]
        if self.choice.left_out:
            blocks.append(Items(tuple(f"{name}: {why}" for name, why in self.choice.left_out.items()), "mind"))
        blocks.append(
            Paragraph(
                f"Every row is mapped by a map fitted without its fold ({self.folds} folds, seed {self.seed}"
                f"{'; rows of one group share a fold' if grouped else ''}). A change is after minus before with its 95 % interval, "
                "paired by rows; where it is below 0 the map helps."
            )
        )
        rows_said = f"{self.n_rows:,} rows" + (f" of {self.units:,} independent units" if grouped else "")
        subtitle = f"{self.source} · {rows_said} · {WORDING[self.kind].what}".strip(" ·")
        return Document("What recalibration would gain", subtitle, (Section("Before and after", tuple(blocks)),))


def compare_maps(
    rows: View,
    *,
    groups: Any = None,
    names: Iterable[str] | None = None,
    folds: int = FOLDS,
    draws: int = 499,
    seed: int = 0,
    source: str = "",
) -> MapComparison:
    """Every map cross-validated on these rows: Brier score, log loss and debiased error, with intervals.

    Parameters
    ----------
    rows
        Validated rows without weights.
    groups
        One label a row; rows of one label share a fold and count as one piece of evidence.
    names
        Maps; all of the kind unless given. `identity` is always among them.
    folds, draws, seed
        Folds, replicates of the paired bootstrap, and where both begin.
    source
        Where the rows came from.
    """
    if rows.weight is not None:
        raise InputError("a comparison of maps takes no weights; leave them out", field="sample_weight")
    wanted = known_maps(rows.kind, names)
    fold = folds_of(rows.n_rows, groups, folds, seed)
    after, left_out = cross_validated(rows, wanted, fold)
    choice = choose(rows, after, left_out, groups)
    plan = scheme(rows.n_rows, None, groups)
    lines = {name: MapLine(name=name, values={}, intervals={}, changes={}) for name in after}
    for metric in METRICS:
        # Of an infinite loss there is nothing to draw again.
        able = [name for name in after if metric is not nll or math.isfinite(choice.losses[name])]
        statistic = Statistic.of(metric.name, None)
        views = [view(rows.true, after[name], kind=rows.kind) for name in able]
        drawn = bootstrapped(views, [statistic], plan, draws, seed)[:, :, 0] if views else np.empty((0, 0))
        values = {name: statistic.of_view(v) for name, v in zip(able, views, strict=True)}
        for name, line in lines.items():
            line.values[metric.name] = values.get(name, math.inf)
            line.intervals[metric.name] = line.changes[metric.name] = None
            if name not in values:
                continue
            own = drawn[:, able.index(name)]
            line.intervals[metric.name] = _interval(metric, rows.true, after[name], groups)
            if name != "identity" and "identity" in values:
                before = drawn[:, able.index("identity")]
                line.changes[metric.name] = _around(values[name] - values["identity"], own - before, plan.width)
    return MapComparison(list(lines.values()), choice, rows, plan.width, folds, seed, source)


def known_maps(kind: Any, names: Iterable[str] | None) -> list[str]:
    """Names of maps, each known for this kind; `identity` in front."""
    known = maps_of(kind)
    wanted = list(known) if names is None else ["identity", *(name for name in names if name != "identity")]
    for name in wanted:
        if name not in known:
            raise InputError(f"the maps of {kind} are {', '.join(known)}; got {name!r:.40}", field="map")
    return list(dict.fromkeys(wanted))


def _interval(metric: Metric[Any], true: Any, prob: Floats, groups: Any) -> Interval | None:
    """The interval that a report has; mirrored draws would put an error of 0 at 0 for certain."""
    try:
        made = interval_for(metric, (true, prob), {}, method="asymptotic", groups=groups)
    except UndefinedMetricError:
        return None
    return None if made.empty else made


def _around(value: float, drawn: Floats, units: int) -> Interval | None:
    if not np.isfinite(drawn).all():
        return None
    low, high = ends(value, drawn, 0.95, "basic")
    return Interval(low=low, high=high, level=0.95, method="paired bootstrap", units=units)


def _cells(value: float, around: Interval | None, change: Interval | None) -> tuple[str, str, str]:
    return (
        "infinite" if math.isinf(value) else cell_text(value),
        "–" if around is None else f"[{around.low:.4g}, {around.high:.4g}]",
        "–" if change is None else f"[{change.low:+.3g}, {change.high:+.3g}]",
    )


def _told(found: Interval | None) -> dict[str, Any] | None:
    return None if found is None else found.to_dict()
