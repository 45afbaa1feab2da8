# SPDX-License-Identifier: Apache-2.0
"""The isotonic reliability curve: frequencies that never fall as the confidence grows; no bins to choose.

After Dimitriadis, Gneiting and Jordan 2021, PNAS 118(8) (CORP). Pooling adjacent violators finds the blocks; between
two blocks the curve is joined by a straight line, as there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from epimeter.draw.bands import redrawn_band
from epimeter.draw.canvas import BLUE, FAINT, SKY, diagram, legend, number, percent, rows_text
from epimeter.draw.curve import Diagram, Floats, Level, curve, histogram_of, reading
from epimeter.draw.overlay import Look, Strand, figure
from epimeter.limits import AtLeast
from epimeter.metrics.curve.isotonic import corp, isotonic
from epimeter.summaries import Ordered
from epimeter.summaries.rows import Levels
from epimeter.views import Binary, View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWS = 199
MANY = 200_000
"""Rows above which no band is drawn unless it is asked for."""
PLACES = 201
"""Confidences at which the band is kept: so many spread by rank, so many by value."""

Band = Literal["consistency", "confidence"]


@dataclass(frozen=True, kw_only=True, eq=False)
class IsotonicCurve(Diagram):
    """One entry a block of equal frequency; the band stands at confidences of its own."""

    kind: ClassVar[str] = "isotonic"

    first: Floats
    last: Floats
    """The smallest and the largest confidence of each block."""
    frequency: Floats
    weight: Floats
    """Rows of each block, or their weight."""
    mcb: float
    dsc: float
    unc: float
    score: float
    """Brier score = mcb - dsc + unc."""
    band: str
    level: float
    draws: int
    band_at: Floats | None = None
    band_low: Floats | None = None
    band_high: Floats | None = None

    @property
    def corners(self) -> tuple[Floats, Floats]:
        """Where the line goes: both ends of every block."""
        return np.stack([self.first, self.last], axis=1).ravel(), np.repeat(self.frequency, 2)


@curve
def isotonic_curve(
    view: View,
    *,
    band: Band = "consistency",
    level: Level = 0.95,
    draws: Annotated[int, AtLeast(0)] | None = None,
    seed: int = 0,
) -> IsotonicCurve:
    """Isotonic regression of the outcome on the confidence; summed up by the miscalibration part of corp.

    Parameters
    ----------
    band
        ``consistency`` redraws labels from the confidences: where the curve of a calibrated model would lie.
        ``confidence`` redraws them from the curve: how far it may be from the truth.
    level
        Level of the band, point by point.
    draws
        How often labels are redrawn; 0 leaves the band out. None: 199, and 0 above 200,000 rows.
    seed
        Seed of the redrawn labels.
    """
    rows = Ordered().of(view)
    levels = rows.levels
    fitted = isotonic(levels)
    starts = np.flatnonzero(np.concatenate([[True], fitted[1:] != fitted[:-1]]))
    parts = corp.compute(rows)
    repeats = (DRAWS if view.n_rows <= MANY else 0) if draws is None else draws
    return IsotonicCurve(
        n_rows=view.n_rows,
        metric="corp",
        value=parts.mcb,
        convention=f"isotonic regression, ties joined; {reading(view)}",
        first=levels.prob[starts],
        last=levels.prob[np.append(starts[1:], len(fitted)) - 1],
        frequency=fitted[starts],
        weight=np.add.reduceat(levels.weight, starts),
        mcb=parts.mcb,
        dsc=parts.dsc,
        unc=parts.unc,
        score=parts.score,
        band=band,
        level=level,
        draws=repeats,
        **(_band(view.event, levels, fitted, band, level, repeats, seed) if repeats else {}),
        **histogram_of(view),
    )


def _band(
    event: Binary, levels: Levels, fitted: Floats, band: Band, level: float, draws: int, seed: int
) -> dict[str, Any]:
    """The isotonic curves of redrawn labels, at some of the confidences."""
    place = np.searchsorted(levels.prob, event.prob.astype(np.float64))
    # Evenly by rank and evenly by confidence: a sparse stretch must not be bridged by a straight line.
    by_rank = np.linspace(0, len(fitted) - 1, PLACES).astype(np.intp)
    evenly = np.linspace(levels.prob[0], levels.prob[-1], PLACES)
    kept = np.unique(np.concatenate([by_rank, np.searchsorted(levels.prob, evenly, side="right") - 1]))
    drawn_from = event.prob.astype(np.float64) if band == "consistency" else fitted[place]

    def at_places(label: Floats) -> Floats:
        weighed = label if event.weight is None else label * event.weight
        seen = np.bincount(place, weights=weighed, minlength=len(fitted)).astype(np.float64)
        return np.asarray(isotonic(Levels(levels.prob, levels.weight, seen))[kept])

    low, high = redrawn_band(drawn_from, draws, seed, level, at_places)
    return {"band_at": levels.prob[kept], "band_low": low, "band_high": high}


def _strand(axes: Any, curve: IsotonicCurve, look: Look) -> None:
    """One of several models: its steps."""
    x, y = curve.corners
    axes.plot(x, y, color=look.colour, linestyle=look.dash, linewidth=1.6, label=look.name, zorder=3)


@figure(isotonic_curve, Strand(_strand))
def isotonic_diagram(
    curve: IsotonicCurve, *, ax: Any = None, title: str = "Isotonic reliability diagram (CORP)"
) -> Figure:
    """The isotonic curve with its band, and under it where the rows are.

    Parameters
    ----------
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    """
    notes = [
        f"{rows_text(curve)}; corp: mcb = {number(curve.mcb)} - dsc {number(curve.dsc)} + unc {number(curve.unc)} "
        f"= Brier score {number(curve.score)}",
        curve.convention,
    ]
    around = curve.band == "consistency"
    if curve.band_at is None:
        notes.append("no band: labels were not redrawn")
    else:
        what = "of calibrated models" if around else "band of the curve"
        notes.append(f"shaded: {percent(curve.level)} {what}, point by point, {curve.draws:,} draws")
    made, axes = diagram(curve, title, notes, ax)
    if curve.band_at is not None and curve.band_low is not None and curve.band_high is not None:
        if len(curve.band_at) == 1:
            axes.vlines(curve.band_at, curve.band_low, curve.band_high, FAINT if around else SKY, linewidth=9, zorder=1)
        axes.fill_between(
            curve.band_at,
            curve.band_low,
            curve.band_high,
            color=FAINT if around else SKY,
            alpha=1.0 if around else 0.45,
            linewidth=0,
            label="if calibrated" if around else "band",
            zorder=1,
        )
    x, y = curve.corners
    axes.plot(x, y, color=BLUE, linewidth=1.6, label="isotonic frequency", zorder=3)
    flat = curve.last > curve.first
    axes.scatter(curve.first[~flat], curve.frequency[~flat], s=18, color=BLUE, zorder=3.5)
    legend(axes, inside=ax is not None)
    return made
