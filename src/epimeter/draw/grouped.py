# SPDX-License-Identifier: Apache-2.0
"""The grouping diagram: within a bin of confidence, how often each group of rows came true.

After Perez-Lebel, Le Morvan and Varoquaux 2023 ICLR (Lane 2025, section 2.2). A calibrated bin may hide groups that
are far above and far below it: the spread of their frequencies is the grouping loss that the groups explain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from epimeter.draw.bins import CUTS
from epimeter.draw.canvas import BLUE, INK, SKY, VERMILION, diagram, legend, number, rows_text
from epimeter.draw.curve import Count, Diagram, Floats, Integers, counted, curve, histogram_of, reading
from epimeter.draw.overlay import figure
from epimeter.errors import InputError
from epimeter.limits import AtLeast
from epimeter.summaries.cuts import Cut, bin_index
from epimeter.views import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupingCurve(Diagram):
    """One row a bin, one column a group; NaN where no rows of a group are in a bin."""

    kind: ClassVar[str] = "grouping"

    groups: tuple[str, ...]
    count: Integers
    """Rows of each group in each bin."""
    frequency: Floats
    confidence: Floats
    """Mean confidence of each bin."""
    overall: Floats
    """Frequency of each bin, all groups together."""
    plugin: float
    """The grouping loss before the part that chance adds is taken away."""


@curve(columns=("groups",))
def grouping_curve(
    view: View, *, bins: Count = 10, binning: Cut = "width", cells: Annotated[int, AtLeast(2)] = 4
) -> GroupingCurve:
    """Frequency of each group within each bin; summed up by the grouping loss that the groups explain.

    The loss is the mean squared distance of a group's frequency from its bin's, less the part that chance adds to it
    (Perez-Lebel et al. 2023, section 4); it is a lower bound of the whole grouping loss, and may come out below 0.

    Parameters
    ----------
    bins, binning
        As for `reliability_curve`.
    cells
        A column of numbers with more than twelve values is cut into so many groups of equal size.
    """
    if view.weight is not None:
        raise InputError("grouping_curve takes no sample weights; leave them out", field="sample_weight")
    event = view.event
    names, group = grouped(view.columns["groups"], cells)
    index = bin_index(event.prob, None, bins, binning)
    place = index * len(names) + group
    shape = (bins, len(names))
    count = np.bincount(place, minlength=bins * len(names)).reshape(shape)
    came = np.bincount(place, weights=event.true, minlength=bins * len(names)).reshape(shape)
    said = np.bincount(index, weights=event.prob.astype(np.float64), minlength=bins)
    frequency = np.divide(came, count, out=np.full(shape, np.nan), where=count > 0)
    rows = count.sum(axis=1)
    nothing = np.full(bins, np.nan)
    overall = np.divide(came.sum(axis=1), rows, out=nothing.copy(), where=rows > 0)
    plugin = np.nansum(count * (frequency - overall[:, None]) ** 2) / view.n_rows
    # What chance adds: the variance of a group's mean, less that of the bin's; one row alone has none to estimate.
    spare = np.nansum(np.where(count > 1, count * frequency * (1 - frequency) / np.maximum(count - 1, 1), 0.0))
    spare -= np.nansum(np.where(rows > 1, rows * overall * (1 - overall) / np.maximum(rows - 1, 1), 0.0))
    return GroupingCurve(
        n_rows=view.n_rows,
        metric="grouping loss explained",
        value=float(plugin - spare / view.n_rows),
        convention=f"{CUTS[binning].format(counted(bins, 'bin'))}, {counted(len(names), 'group')}; {reading(view)}",
        groups=names,
        count=count,
        frequency=frequency,
        confidence=np.divide(said, rows, out=nothing, where=rows > 0),
        overall=overall,
        plugin=float(plugin),
        **histogram_of(view),
    )


MOST_VALUES = 12


def grouped(column: NDArray[Any], cells: int) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Names of the groups, and the group of each row; many numbers are cut into groups of equal size."""
    if column.ndim != 1:
        raise InputError(f"groups must be one column; got shape {column.shape}", field="groups")
    values, group = np.unique(column, return_inverse=True)
    if column.dtype.kind not in "fiu" or len(values) <= MOST_VALUES:
        return tuple(str(value) for value in values), group.ravel()
    borders = np.unique(np.quantile(column, np.arange(1, cells) / cells))
    index = np.searchsorted(borders, column, side="right")
    ends = [f"{border:.3g}" for border in borders]
    names = [f"below {ends[0]}", *(f"{a} to {b}" for a, b in zip(ends, ends[1:])), f"{ends[-1]} and above"]
    return tuple(names), index


@figure(grouping_curve)
def grouping(curve: GroupingCurve, *, ax: Any = None, title: str = "Grouping diagram") -> Figure:
    """Each group within each bin, as large as it has rows, around the frequency of the bin.

    Parameters
    ----------
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    """
    notes = [
        f"{rows_text(curve)}; grouping loss explained by the groups = {number(curve.value)} "
        f"({number(curve.plugin)} before what chance adds is taken away)",
        curve.convention,
        "dots: groups within a bin, as large as they have rows; far from the line: the bin hides a difference",
    ]
    made, axes = diagram(curve, title, notes, ax)
    x = np.repeat(curve.confidence[:, None], len(curve.groups), axis=1)
    some = curve.count > 0
    size = 6 + 90 * curve.count[some] / curve.count.max()
    above = (curve.frequency >= curve.overall[:, None])[some]
    axes.vlines(
        curve.confidence,
        np.nanmin(np.where(some, curve.frequency, np.inf), axis=1, initial=np.inf),
        np.nanmax(np.where(some, curve.frequency, -np.inf), axis=1, initial=-np.inf),
        SKY,
        linewidth=1.0,
        zorder=1,
    )
    for where, colour, name in ((above, BLUE, "group above its bin"), (~above, VERMILION, "group below")):
        axes.scatter(
            x[some][where], curve.frequency[some][where], s=size[where], color=colour, alpha=0.55, linewidth=0,
            label=name, zorder=2,
        )  # fmt: skip
    filled = np.isfinite(curve.overall)
    axes.plot(
        curve.confidence[filled], curve.overall[filled], color=INK, linewidth=1.6, marker="o", markersize=3.5,
        label="bins", zorder=3,
    )  # fmt: skip
    legend(axes, inside=ax is not None)
    return made
