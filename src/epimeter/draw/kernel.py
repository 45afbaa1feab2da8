# SPDX-License-Identifier: Apache-2.0
"""The smooth reliability curve: frequencies near each confidence, weighed by a Gaussian reflected at 0 and 1.

After Blasiok and Nakkiran 2024 ICLR: the scale of the Gaussian is the SmoothECE itself, and the curve is drawn as thick
as there are rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from epimeter.draw.bands import WEIGHED, effective, wilson
from epimeter.draw.bin_marks import marked
from epimeter.draw.canvas import BLUE, SKY, diagram, legend, number, percent, rows_text
from epimeter.draw.curve import Diagram, Floats, Level, curve, histogram_of, reading
from epimeter.draw.overlay import Look, Strand, figure
from epimeter.limits import Above, AtLeast
from epimeter.metrics.kernel.smooth import smece
from epimeter.metrics.kernel.sums import kernel_sums
from epimeter.summaries import Ordered
from epimeter.views import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAR = 9.0
"""Beyond so many scales a Gaussian is below 1e-17 of its height."""
FAINT = 1e-3
"""Where the density of the confidences is below this share of its mean the curve is a guess, and is left out; so it is
beyond the least and the greatest confidence."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SmoothCurve(Diagram):
    """One entry a confidence of the grid; NaN where no rows are near."""

    kind: ClassVar[str] = "smooth"

    at: Floats
    frequency: Floats
    density: Floats
    """Smoothed density of the confidences; its mean over [0, 1] is 1."""
    low: Floats
    high: Floats
    level: float
    interval: str
    bandwidth: float
    """Scale of the Gaussian: the SmoothECE, but no finer than the grid."""


@curve
def smooth_curve(
    view: View,
    *,
    points: Annotated[int, AtLeast(2)] = 401,
    bandwidth: Annotated[float, Above(0)] | None = None,
    level: Level = 0.95,
) -> SmoothCurve:
    """Frequency of the outcome near each confidence; summed up by smece.

    Parameters
    ----------
    points
        Points of the grid over [0, 1].
    bandwidth
        Scale of the Gaussian; None takes the SmoothECE, or the step of the grid where that is larger.
    level
        Level of the pointwise interval: Wilson's, at the effective number of rows near the point.
    """
    at = np.linspace(0.0, 1.0, points)
    levels = Ordered().of(view).levels
    value = smece.compute(view.event)
    scale = max(value, 1 / (points - 1)) if bandwidth is None else float(bandwidth)
    total = levels.weight.sum()
    came, near = reflected(levels.prob, np.stack([levels.true, levels.weight]), at, scale)
    density = near / (total * scale * math.sqrt(2 * math.pi))
    step = 0.5 / (points - 1)
    some = (density > FAINT) & (at >= levels.prob[0] - step) & (at <= levels.prob[-1] + step)
    frequency = np.clip(np.divide(came, near, out=np.full(points, np.nan), where=some), 0.0, 1.0)
    squared = np.bincount(
        np.searchsorted(levels.prob, view.event.prob.astype(np.float64)),
        weights=None if view.weight is None else view.weight**2,
        minlength=len(levels.prob),
    )
    rows = effective(near, reflected_square(levels.prob, squared.astype(np.float64), at, scale))
    low, high = wilson(np.where(some, frequency, 0.0), np.where(some, rows, 0.0), level)
    return SmoothCurve(
        n_rows=view.n_rows,
        metric="smece",
        value=value,
        convention=f"Gaussian of scale {scale:.3g}, reflected at 0 and 1; {reading(view)}",
        at=at,
        frequency=frequency,
        density=density,
        low=low,
        high=high,
        level=level,
        interval=WEIGHED,
        bandwidth=scale,
        **histogram_of(view),
    )


def images(at: Floats, scale: float) -> Floats:
    """Each point with its mirror images in 0 and 1, as far as the Gaussian reaches: shape (images, points)."""
    around = range(-math.ceil((FAR * scale + 1) / 2), math.ceil((FAR * scale + 1) / 2) + 1)
    return np.stack([sign * at + 2 * m for m in around for sign in (1, -1)])


def reflected(points: Floats, columns: Floats, at: Floats, scale: float) -> Floats:
    """Sum of v_i K(c_i, t), K the reflected Gaussian scaled to height 1, for each column v."""
    mirrored = images(at, scale)
    sums = kernel_sums("gaussian", points, columns, mirrored.ravel(), scale)
    return np.asarray(sums.reshape(len(columns), *mirrored.shape).sum(axis=1))


def reflected_square(points: Floats, column: Floats, at: Floats, scale: float) -> Floats:
    """Sum of v_i K(c_i, t)^2.

    The product of two Gaussians about a and b is a narrower one about their middle, times exp(-(a - b)^2 / 4 s^2).
    """
    mirrored = images(at, scale)
    first, second = np.triu_indices(len(mirrored))
    factor = np.exp(-((mirrored[first] - mirrored[second]) ** 2) / (4 * scale**2))
    factor[first != second] *= 2
    middle = (mirrored[first] + mirrored[second]) / 2
    matters = (factor > 1e-17) & (np.abs(middle - 0.5) < 0.5 + FAR * scale)
    near = kernel_sums("gaussian", points, column[None], middle[matters], scale / math.sqrt(2))[0]
    return np.bincount(np.nonzero(matters)[1], weights=factor[matters] * near, minlength=len(at)).astype(np.float64)


def short_runs(curve: SmoothCurve, width: float = 0.025) -> NDArray[np.intp]:
    """The densest point of each stretch too short to be seen as a line."""
    some = np.concatenate([[False], np.isfinite(curve.frequency), [False]])
    begin, end = np.flatnonzero(some[1:] & ~some[:-1]), np.flatnonzero(some[:-1] & ~some[1:])
    short = curve.at[end - 1] - curve.at[begin] < width
    return np.array(
        [b + int(np.argmax(curve.density[b:e])) for b, e in zip(begin[short], end[short], strict=True)], np.intp
    )


def _strand(axes: Any, curve: SmoothCurve, look: Look) -> None:
    """One of several models: its line over its faint interval."""
    some = np.isfinite(curve.frequency)
    axes.fill_between(curve.at, curve.low, curve.high, where=some, color=look.colour, alpha=0.14, linewidth=0)
    axes.plot(
        curve.at, curve.frequency, color=look.colour, linestyle=look.dash, linewidth=1.8, label=look.name, zorder=3
    )


@figure(smooth_curve, Strand(_strand))
def smooth(curve: SmoothCurve, *, ax: Any = None, title: str = "Smooth reliability diagram") -> Figure:
    """The smooth curve, as thick as there are rows, with its interval; under it, where the rows are.

    Parameters
    ----------
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    """
    notes = [
        f"{rows_text(curve)}; smece = {number(curve.value)}: {curve.convention}",
        f"shaded: {percent(curve.level)} intervals, point by point ({curve.interval}); thickness: density of the rows",
    ]
    made, axes = diagram(curve, title, notes, ax)
    some = np.isfinite(curve.frequency)
    axes.fill_between(curve.at, curve.low, curve.high, where=some, color=SKY, alpha=0.35, linewidth=0, label="interval")
    axes.plot(curve.at, curve.frequency, color=BLUE, linewidth=1.0, label="smooth frequency", zorder=3)
    half = 0.022 * curve.density / max(float(curve.density.max()), 1e-300)
    # A frequency lies in [0, 1], and so does the ribbon that stands for it.
    below, above = np.clip(curve.frequency - half, 0.0, 1.0), np.clip(curve.frequency + half, 0.0, 1.0)
    axes.fill_between(curve.at, below, above, where=some, color=BLUE, linewidth=0, zorder=3)
    alone = short_runs(curve)
    if len(alone):
        marked(axes, curve.at[alone], curve.frequency[alone], curve.low[alone], curve.high[alone], name="with interval")
    legend(axes, inside=ax is not None)
    return made
