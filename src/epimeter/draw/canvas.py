# SPDX-License-Identifier: Apache-2.0
"""Paper and ink: how every figure is laid out, coloured and saved.

matplotlib is loaded when the first figure is drawn. Figures are made by themselves, without pyplot, so nothing is
registered anywhere, nothing needs to be closed, and no window system is asked for. All places are in inches.
Colours are those of Okabe and Ito, told apart by colour-blind readers and, by their lightness, in grey.
"""

from __future__ import annotations

import functools
import inspect
import io
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from epimeter.draw.curve import Curve, Diagram, Floats
from epimeter.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, FAINT = "#1a1a1a", "#595959", "#d9d9d9"
BLUE, VERMILION, SKY, GREEN, ORANGE = "#0072B2", "#D55E00", "#56B4E9", "#009E73", "#E69F00"

FORMATS = ("png", "svg", "pdf")
TITLE, TEXT, SMALL = 11.5, 9.0, 7.5
LEFT, RIGHT, LINE = 0.72, 0.24, 0.165
LETTERS, TITLE_LETTERS = 18.2, 10.0
"""Letters of small text, and of a title, to an inch."""
NUMBERED = 20
"""Histograms of up to so many cells have their counts written on them."""

C = TypeVar("C", bound=Curve)
_SAVING = threading.Lock()


def figure(compute: Callable[..., C]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A drawing of a curve that may be called with the curve, with a view or with columns.

    Keywords that the drawing does not have are parameters of the curve.
    """

    def wrap(paint: Callable[..., Any]) -> Callable[..., Any]:
        mine = [p for p in inspect.signature(paint).parameters.values() if p.kind is p.KEYWORD_ONLY]
        own = {p.name for p in mine}
        kind = inspect.signature(paint, eval_str=False).parameters["curve"].annotation

        @functools.wraps(paint)
        def drawn(data: Any, y_prob: Any = None, **choices: Any) -> Any:
            require_matplotlib()
            looks = {name: choices.pop(name) for name in list(choices) if name in own}
            if not isinstance(data, Curve):
                data = compute(data, y_prob, **choices)
            elif type(data).__name__ != kind:
                raise InputError(f"{paint.__name__} draws a {kind}; got a {type(data).__name__}")
            elif y_prob is not None or choices:
                extra = ", ".join(["y_prob"] * (y_prob is not None) + list(choices))
                raise InputError(f"{paint.__name__} takes a curve alone; {extra} came beside it")
            return paint(data, **looks)

        taken = inspect.signature(compute).parameters.values()
        drawn.__signature__ = inspect.Signature([*taken, *mine])  # type: ignore[attr-defined]
        return drawn

    return wrap


def require_matplotlib() -> None:
    """Say how to get matplotlib where it is missing, before any work is done."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("drawing", "matplotlib", "plots") from None


def page(width: float, height: float, title: str, notes: list[str]) -> tuple[Figure, float]:
    """An empty figure with its title and notes; and the place below them, from the bottom.

    The figure grows by the lines of its notes, so `height` is what is left for the drawing.
    """
    from matplotlib.figure import Figure

    letters = int((width - LEFT - RIGHT + 0.5) * LETTERS)
    lines = [line for note in notes for line in textwrap.wrap(note, letters)]
    titles = textwrap.wrap(title, int((width - 0.3) * TITLE_LETTERS)) or [""]
    below = 0.2 + 0.22 * len(titles)
    whole = height + 0.08 + below + LINE * len(lines)
    made = Figure(figsize=(width, whole), facecolor="white")
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
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set(color=SOFT, linewidth=0.8)
    axes.tick_params(colors=INK, labelsize=SMALL + 0.5, width=0.8, length=3, color=SOFT)
    return axes


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


def legend(axes: Axes, columns: int = 4) -> None:
    """What the marks mean, in a row above the axes, where it hides nothing."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        ncols=columns,
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        handlelength=1.6,
        handletextpad=0.5,
        columnspacing=1.1,
        borderaxespad=0.2,
    )


def diagram(curve: Diagram, title: str, notes: list[str]) -> tuple[Figure, Axes]:
    """The page of a curve over the confidence: a square, and under it the histogram of the rows."""
    side, below = 4.0, 0.85
    made, _ = page(LEFT + side + RIGHT, 0.55 + below + 0.2 + side + 0.3, title, notes)
    axes = panel(made, LEFT, 0.55 + below + 0.2, side, side)
    unit_square(axes)
    axes.tick_params(labelbottom=False)
    named(axes, up=curve.outcome)
    under = panel(made, LEFT, 0.55, side, below)
    histogram_bars(under, curve.cell_edges, curve.cell_rows)
    under.set_xlim(axes.get_xlim())
    under.set_xticks(axes.get_xticks())
    named(under, "confidence", "weight" if curve.weighted else "rows")
    return made, axes


def histogram_bars(axes: Axes, edges: Floats, rows: Floats, numbered: bool = True) -> None:
    """Bars as high as there are rows, with their numbers where there is room."""
    axes.bar(edges[:-1], rows, np.diff(edges), align="edge", color="#b3b3b3", edgecolor="white", linewidth=0.6)
    top = float(rows.max(initial=0.0)) or 1.0
    axes.set_ylim(0, top * 1.28)
    axes.set_yticks([0, top], ["0", amount(top)])
    if not numbered or len(rows) > NUMBERED:
        return
    size = SMALL - (0.8 if len(rows) <= 12 else 1.8)
    for left, right, here in zip(edges[:-1], edges[1:], rows, strict=True):
        if here > 0:
            axes.annotate(
                amount(here),
                ((left + right) / 2, here),
                (0, 1.5),
                textcoords="offset points",
                ha="center",
                size=size,
                color=INK,
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


def rendered(figure: Figure, format: str = "svg", *, dpi: float = 150) -> bytes:
    """A figure as the bytes of a file; the same figure gives the same bytes.

    Parameters
    ----------
    figure
        What a function of this room returned.
    format
        ``png``, ``svg`` or ``pdf``.
    dpi
        Points to an inch, for png.
    """
    require_matplotlib()
    import matplotlib

    if format not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}; got {format!r}", field="format")
    # No dates, no random ids: a figure is a function of its data. The salt is the one setting matplotlib reads from
    # its global table alone, so it is set for the moment of saving, by one thread at a time.
    nothing = {"png": ("Software",), "svg": ("Date", "Creator"), "pdf": ("CreationDate", "Creator", "Producer")}[format]
    facts: dict[str, Any] = dict.fromkeys(nothing) | {"Title": figure.get_label()}
    stream = io.BytesIO()
    with _SAVING, matplotlib.rc_context({"svg.hashsalt": "epimeter", "svg.fonttype": "path", "pdf.fonttype": 42}):
        figure.savefig(stream, format=format, dpi=dpi, metadata=facts, facecolor="white")
    return stream.getvalue()


def format_of(path: str | Path) -> str:
    """The format a file's name asks for."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise InputError(f"a figure is saved as .png, .svg or .pdf; got {str(path)!r}", field="path")
    return suffix


def save(figure: Figure, path: str | Path, *, dpi: float = 150) -> Path:
    """Write a figure to a file; its suffix says whether as png, svg or pdf.

    Parameters
    ----------
    figure
        What a function of this room returned.
    path
        Where to; an existing file is replaced.
    dpi
        Points to an inch, for png.
    """
    target = Path(path)
    target.write_bytes(rendered(figure, format_of(target), dpi=dpi))
    return target
