# SPDX-License-Identifier: Apache-2.0
"""Paper and ink: how every figure is laid out and coloured.

matplotlib is loaded when the first figure is drawn. Figures are made by themselves, without pyplot, so nothing is
registered anywhere, nothing needs to be closed, and no window system is asked for. All places are in inches.
Colours are those of Okabe and Ito, told apart by colour-blind readers and, by their lightness, in grey.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from epimeter.draw.curve import Curve, Diagram, Floats
from epimeter.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, FAINT = "#1a1a1a", "#595959", "#d9d9d9"
BLUE, VERMILION, SKY, GREEN, ORANGE = "#0072B2", "#D55E00", "#56B4E9", "#009E73", "#E69F00"
PURPLE, GREY = "#CC79A7", "#b3b3b3"

TITLE, TEXT, SMALL = 11.5, 9.0, 7.5
LEFT, RIGHT, LINE = 0.72, 0.24, 0.165
LETTERS, TITLE_LETTERS = 18.2, 10.0
"""Letters of small text, and of a title, to an inch."""
NUMBERED = 20
"""Histograms of up to so many cells have their counts written on them."""
DIGIT = 0.64
"""Width of a digit, as a share of the size of its letters."""


def page(width: float, height: float, title: str, notes: list[str]) -> tuple[Figure, float]:
    """An empty figure with its title and notes; and the place below them, from the bottom.

    The figure grows by the lines of its notes, so `height` is what is left for the drawing.
    """
    from epimeter.draw.sheet import Sheet

    letters = int((width - LEFT - RIGHT + 0.5) * LETTERS)
    lines = [line for note in notes for line in textwrap.wrap(note, letters)]
    titles = textwrap.wrap(title, int((width - 0.3) * TITLE_LETTERS)) or [""]
    below = 0.2 + 0.22 * len(titles)
    whole = height + 0.08 + below + LINE * len(lines)
    made = Sheet(figsize=(width, whole), facecolor="white")
    made.set_layout_engine("none")
    made.set_label("; ".join([title, *notes]))
    made.text(0.16 / width, 1 - 0.16 / whole, "\n".join(titles), size=TITLE, weight="bold", color=INK, va="top")
    for number, line in enumerate(lines):
        made.text(0.16 / width, 1 - (below + LINE * number) / whole, line, size=SMALL, color=SOFT, va="top")
    return made, height


def panel(made: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place in inches, with thin dark lines on two sides."""
    across, up = made.get_size_inches()
    axes = made.add_axes((left / across, bottom / up, width / across, height / up), facecolor="white")
    return lined(axes)


def lined(axes: Axes) -> Axes:
    """Axes with thin dark lines on two sides."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set(color=SOFT, linewidth=0.8)
    axes.tick_params(colors=INK, labelsize=SMALL + 0.5, width=0.8, length=3, color=SOFT)
    return axes


def stage(
    ax: Any,
    title: str,
    notes: list[str],
    brief: str,
    *,
    width: float = 4.6,
    height: float,
    left: float = LEFT,
    above: float = 0.4,
) -> tuple[Figure, Axes]:
    """One panel on a page of its own, or the axes of somebody's figure with the title and a brief note over them."""
    if ax is not None:
        axes = dressed(ax, title, brief)
        holder: Figure = ax.figure
        return holder, axes
    made, top = page(left + width + RIGHT, height, title, notes)
    return made, panel(made, left, 0.55, width, top - 0.55 - above)


def dressed(ax: Any, title: str, brief: str = "") -> Axes:
    """Given axes in our lines, with the title over them and under it what is summed up."""
    if not (hasattr(ax, "plot") and hasattr(ax, "figure")):
        raise InputError(f"ax must be the axes of a matplotlib figure; got {type(ax).__name__}", field="ax")
    ax.set_title(f"{title}\n{brief}".strip(), loc="left", size=TEXT, color=INK)
    return lined(ax)


def named(axes: Axes, across: str = "", up: str = "") -> None:
    """Names of the axes, in dark ink."""
    axes.set_xlabel(across, size=TEXT, color=INK)
    axes.set_ylabel(up, size=TEXT, color=INK)


def unit_square(axes: Axes, room: float = 0.025) -> None:
    """Both axes from 0 to 1, with room for marks on the rim, and the diagonal of perfect calibration."""
    axes.set(xlim=(-room, 1 + room), ylim=(-room, 1 + room), aspect="equal")
    ticks = np.arange(6) / 5
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)
    axes.plot([0, 1], [0, 1], color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), label="perfect", zorder=1.5)


def legend(axes: Axes, columns: int = 4, *, inside: bool = False) -> None:
    """What the marks mean: in a row above the axes, where it hides nothing; inside where the axes are another's."""
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1.0), "ncols": columns, "frameon": False}
    axes.legend(
        **({"loc": "best", "framealpha": 0.8, "edgecolor": "none"} if inside else place),
        fontsize=SMALL,
        labelcolor=INK,
        handlelength=1.6,
        handletextpad=0.5,
        columnspacing=1.1,
        borderaxespad=0.2,
    )


def diagram(curve: Diagram, title: str, notes: list[str], ax: Any = None) -> tuple[Figure, Axes]:
    """The square of a curve over the confidence, and under it the histogram of the rows; the square alone on `ax`."""
    made, axes, under = square(title, notes, ax, summed(curve))
    named(axes, curve.said if under is None else "", curve.outcome)
    if under is not None:
        histogram_bars(under, curve.cell_edges, curve.cell_rows)
        named(under, curve.said, "weight" if curve.weighted else "rows")
    return made, axes


def square(title: str, notes: list[str], ax: Any = None, brief: str = "") -> tuple[Figure, Axes, Axes | None]:
    """An empty diagram: the unit square with its diagonal, and the strip under it unless the axes are given."""
    if ax is not None:
        unit_square(dressed(ax, title, brief))
        return ax.figure, ax, None
    side, below = 4.0, 0.85
    made, _ = page(LEFT + side + RIGHT, 0.55 + below + 0.2 + side + 0.3, title, notes)
    axes = panel(made, LEFT, 0.55 + below + 0.2, side, side)
    unit_square(axes)
    axes.tick_params(labelbottom=False)
    under = panel(made, LEFT, 0.55, side, below)
    under.set_xlim(axes.get_xlim())
    under.set_xticks(axes.get_xticks())
    return made, axes, under


def histogram_bars(axes: Axes, edges: Floats, rows: Floats, numbered: bool = True) -> None:
    """Bars as high as there are rows, with their numbers where they have room."""
    axes.bar(edges[:-1], rows, np.diff(edges), align="edge", color=GREY, edgecolor="white", linewidth=0.6)
    top = float(rows.max(initial=0.0)) or 1.0
    axes.set_ylim(0, top * 1.28)
    axes.set_yticks([0, top], ["0", amount(top)])
    if numbered and len(rows) <= NUMBERED:
        numbers_on(axes, edges, rows, SMALL - (0.8 if len(rows) <= 12 else 1.8))


def numbers_on(axes: Axes, edges: Floats, rows: Floats, size: float, *, turned: bool = False) -> None:
    """The numbers of rows over the bars that are wide enough for them; `turned` writes upwards where they are not."""
    inches = float(axes.bbox.width / axes.figure.dpi)
    left, right = axes.get_xlim()
    texts = [amount(here) if here > 0 else "" for here in rows]
    fits = [
        len(text) * size * DIGIT / 72 <= (b - a) / (right - left) * inches
        for text, a, b in zip(texts, edges[:-1], edges[1:], strict=True)
    ]
    upright = turned and not all(fits)
    for text, a, b, here, room in zip(texts, edges[:-1], edges[1:], rows, fits, strict=True):
        if text and (room or upright):
            axes.annotate(
                text,
                ((a + b) / 2, here),
                (0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                size=size,
                color=INK,
                rotation=90 if upright else 0,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.85} if turned else None,
                zorder=5,
            )


def amount(rows: float) -> str:
    """A number of rows in few letters: 8,912 or 12.3k; a weight with two digits."""
    if rows >= 1e9:
        return f"{rows / 1e9:.3g}G"
    if rows >= 1e6:
        return f"{rows / 1e6:.3g}M"
    if rows >= 1e4:
        return f"{rows / 1e3:.3g}k"
    return f"{rows:,.0f}" if rows == round(rows) else f"{rows:.2g}" if rows < 10 else f"{rows:,.0f}"


def number(value: float) -> str:
    """A value in four digits, never as 1e-05 where it is as good as 0."""
    if not np.isfinite(value):
        return "not defined" if np.isnan(value) else "infinite"
    return f"{value:.4f}" if abs(value) >= 5e-4 or value == 0 else f"{value:.2g}"


def p_text(p_value: float) -> str:
    """A p-value, never as 0."""
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.4f}"


def percent(level: float) -> str:
    """A level as a percentage."""
    return f"{100 * level:g} %"


def rows_text(curve: Curve) -> str:
    """How many rows there are."""
    return f"N = {curve.n_rows:,}"


def summed(curve: Curve) -> str:
    """How many rows there are, and the number that sums the curve up."""
    return f"{rows_text(curve)}; {curve.metric} = {number(curve.value)}"


def thinned(x: Floats, y: Floats, columns: int = 1600) -> tuple[Floats, Floats]:
    """A long line without the points that no picture could show: of each column its first, last, lowest, highest."""
    if len(x) <= 4 * columns:
        return x, y
    span = float(x[-1] - x[0]) or 1.0
    column = np.minimum(((x - x[0]) / span * columns).astype(np.int64), columns - 1)
    starts = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
    ends = np.append(starts[1:], len(x)) - 1
    extremes = (np.repeat(extreme.reduceat(y, starts), ends - starts + 1) for extreme in (np.minimum, np.maximum))
    reached = [np.flatnonzero(y == value) for value in extremes]
    first = [places[np.searchsorted(places, starts)] for places in reached]
    kept = np.unique(np.concatenate([starts, ends, *first]))
    return x[kept], y[kept]
