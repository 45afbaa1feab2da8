# SPDX-License-Identifier: Apache-2.0
"""The figures of a report, each with words and a table that say the same."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from epimeter.documents.sections import Grid, Picture
from epimeter.kinds import WORDING
from epimeter.report.curves import Curves, Reliability
from epimeter.report.svg import Board

TENTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def percent(value: float) -> str:
    """A share in percent, for an axis."""
    return f"{100 * value:g}%"


def reliability(data: Reliability, *, for_print: bool = False) -> Picture:
    """What was said against what came true: a point a bin with its interval, and how many rows it stands on."""
    board = Board(420, 420, top=22, bottom=96, for_print=for_print)
    board.axes((), TENTHS, "", "came true")
    board.line([(0, 0), (1, 1)], "soft", 1, "4 4")
    largest = max(int(data.count.max()), 1)
    rows = []
    for i, count in enumerate(data.count):
        start, end = data.edges[i], data.edges[i + 1]
        closing = "]" if i == len(data.count) - 1 else ")"
        name = f"[{start:.4g}, {end:.4g}{closing}"
        floor = board.height - 22
        tall = 46 * int(count) / largest
        x, wide = board.x(start) + 1, board.x(end) - board.x(start) - 2
        board.parts.append(
            f'<rect x="{x:.1f}" y="{floor - tall:.1f}" width="{wide:.1f}" height="{tall:.1f}" '
            f"{board.paint('line', fill=True)}/>"
        )
        if not count:
            rows.append((name, "0", "–", "–", "–"))
            continue
        said, seen, low, high = (float(c[i]) for c in (data.confidence, data.frequency, data.low, data.high))
        if not math.isnan(low):
            board.line([(said, low), (said, high)], "accent", 2)
        board.dot(said, seen, "accent")
        spread = "–" if math.isnan(low) else f"{low:.3f} to {high:.3f}"
        rows.append((name, f"{int(count):,}", f"{said:.3f}", f"{seen:.3f}", spread))
    for tick in TENTHS:
        board.word(board.x(tick), board.height - 8, f"{tick:g}")
    stated = WORDING[data.kind].said
    board.word(board.width - board.right, board.height - 74, f"{stated}; rows in each bin", anchor="end", colour="ink")
    filled = [i for i, count in enumerate(data.count) if count]
    worst = max(filled, key=lambda i: abs(data.frequency[i] - data.confidence[i]))
    alt = (
        f"Reliability diagram of {int(data.count.sum()):,} rows in {len(filled)} filled bins. The largest gap is in the bin "
        f"from {data.edges[worst]:g} to {data.edges[worst + 1]:g}: said {data.confidence[worst]:.3f}, came true "
        f"{data.frequency[worst]:.3f}. Points on the dashed diagonal would be perfectly calibrated."
    )
    twin = Grid(
        f"Bins behind the diagram; intervals: {data.interval}",
        (WORDING[data.kind].noun, "rows", "mean said", "came true", "interval"),
        tuple(rows),
        frozenset({1, 2, 3}),
    )
    return Picture("Reliability: said against seen", alt, board.svg(alt), twin)


def cumulative(data: Curves, *, for_print: bool = False) -> Picture:
    """Outcome minus what was stated for it, summed from low to high: a slope is a miscalibration."""
    reach = max(float(abs(data.difference).max()), data.band, 1e-6) * 1.1
    board = Board(420, 260, top=22, left=56, up=(-reach, reach), for_print=for_print)
    ticks = (-reach / 1.1, 0.0, reach / 1.1)
    board.bar(0, 1, -data.band, data.band, "line", 0.5)
    board.axes((0, 0.25, 0.5, 0.75, 1), ticks, "share of rows, from low to high", "summed difference",
               percent, lambda v: f"{v:.3g}")  # fmt: skip
    board.line(zip(data.share, data.difference, strict=True), "accent", 2)
    last = float(data.difference[-1])
    words = WORDING[data.kind]
    tendency = (words.too_little if last > 0 else words.too_much).format(f"{100 * abs(last):.2f}")
    far = int(abs(data.difference).argmax())
    alt = (
        f"Cumulative differences end at {last:+.4f}: on the whole the system {tendency}. The farthest point from 0 is "
        f"{float(data.difference[far]):+.4f} at {data.share[far]:.0%} of the rows; a calibrated system would end within "
        f"{data.band:.4f} of 0 in 95 of 100 cases."
    )
    step = max(1, len(data.share) // 20)
    twin = Grid(
        "Cumulative differences",
        ("share of rows", "summed outcome minus what was stated, over N"),
        tuple(
            (f"{s:.1%}", f"{d:+.5f}")
            for s, d in zip(data.share[::step].tolist(), data.difference[::step].tolist(), strict=True)
        ),
        frozenset({0, 1}),
    )
    return Picture("Cumulative differences", alt, board.svg(alt), twin)


def _by_top_label(data: Curves) -> str:
    """Whose answers these are, where the forecast itself gave none."""
    return {"event": " (answer 1 where p >= 0.5)", "classes": " (top label)"}.get(data.kind, "")


def histogram(data: Curves, *, for_print: bool = False) -> Picture:
    """Confidences of right answers upwards, of wrong ones downwards."""
    most = max(float(data.right.max()), float(data.wrong.max()), 1e-9)
    board = Board(420, 260, top=22, left=60, up=(-most * 1.05, most * 1.05), for_print=for_print)
    board.axes(TENTHS, (-most, 0, most), "confidence", "rows: right above, wrong below",
               show_y=lambda v: f"{abs(v):,.4g}" if most < 10 else f"{abs(v):,.0f}")  # fmt: skip
    bins = len(data.right)
    rows = []
    for i, (right, wrong) in enumerate(zip(data.right.tolist(), data.wrong.tolist(), strict=True)):
        start, end = i / bins, (i + 1) / bins
        board.bar(start + 0.004, end - 0.004, 0, right, "good")
        board.bar(start + 0.004, end - 0.004, 0, -wrong, "bad")
        rows.append((f"{start:.2f} to {end:.2f}", f"{right:,.10g}", f"{wrong:,.10g}"))
    wrong_total, sure_wrong = float(data.wrong.sum()), float(data.wrong[bins * 7 // 10 :].sum())
    alt = (
        f"Confidence by correctness{_by_top_label(data)}: {float(data.right.sum()):,.10g} right and "
        f"{wrong_total:,.10g} wrong answers; "
        f"{sure_wrong:,.10g} wrong answers were given with a confidence of at least 0.7."
    )
    twin = Grid("Rows by confidence", ("confidence", "right", "wrong"), tuple(rows), frozenset({1, 2}))
    return Picture("Confidence of right and wrong answers", alt, board.svg(alt), twin)


def risk_coverage(data: Curves, *, for_print: bool = False) -> Picture:
    """How many answers are wrong when only the surest are given."""
    most = max(float(data.risk.max()), 1e-6)
    top = min(1.0, math.ceil(most * 10) / 10)
    board = Board(420, 260, top=22, up=(0, top), for_print=for_print)
    board.axes((0, 0.25, 0.5, 0.75, 1), (0, top / 2, top), "coverage: share of rows answered, surest first",
               "share of these that are wrong", percent, percent)  # fmt: skip
    low, high = (np.minimum(column, top).tolist() for column in (data.risk_low, data.risk_high))
    board.band(data.coverage.tolist(), low, high, "accent", 0.2)
    board.line(zip(data.coverage, data.risk, strict=True), "accent", 2)
    half = int(abs(data.coverage - 0.5).argmin())
    alt = (
        f"Risk against coverage{_by_top_label(data)}: of all answers {float(data.risk[-1]):.1%} are wrong, of the surest "
        f"{float(data.coverage[half]):.0%} it is {float(data.risk[half]):.1%} ({float(data.risk_low[half]):.1%} to "
        f"{float(data.risk_high[half]):.1%}). Shaded: 95 % intervals, point by point."
    )
    step = max(1, len(data.coverage) // 20)
    twin = Grid(
        "Risk against coverage",
        ("coverage", "share wrong", "95 % interval"),
        tuple(
            (f"{c:.1%}", f"{r:.2%}", f"{low:.2%} to {high:.2%}")
            for c, r, low, high in zip(
                *(
                    column[::-1][::step].tolist()
                    for column in (data.coverage, data.risk, data.risk_low, data.risk_high)
                ),
                strict=True,
            )
        ),
        frozenset({0, 1}),
    )
    return Picture("Risk against coverage", alt, board.svg(alt), twin)


def gauge(
    title: str,
    value: float,
    interval: tuple[float, float] | None,
    limits: Sequence[tuple[str, float, bool]],
    span: tuple[float, float],
    shown: str,
    *,
    for_print: bool = False,
) -> Picture:
    """A number on its scale, with its interval and the limits it is held against: name, bound, met."""
    board = Board(420, 74, left=14, right=14, top=30, bottom=22, across=span, for_print=for_print)
    board.bar(*span, 0.35, 0.65, "line")
    if interval is not None:
        low, high = (min(span[1], max(span[0], end)) for end in interval)
        board.bar(low, max(high, low + (span[1] - span[0]) / 400), 0.2, 0.8, "accent", 0.35)
    for name, bound, met in limits:
        board.line([(bound, -0.1), (bound, 1.1)], "good" if met else "bad", 1.5)
        board.word(
            board.x(bound), board.height - 5, f"{name.split(maxsplit=1)[-1].replace('Level ', 'L')}: {bound:g}", size=10
        )
    board.dot(min(span[1], max(span[0], value)), 0.5, "accent", 5)
    spread = "" if interval is None else f"{interval[0]:.4g} to {interval[1]:.4g}"
    board.word(14, 16, shown, anchor="start", size=15, colour="ink")
    board.word(board.width - 14, 16, spread, anchor="end", size=12)
    verdicts = ", ".join(f"{name} at {bound:g} {'met' if ok else 'not met'}" for name, bound, ok in limits)
    alt = f"{title} is {shown}{spread and f', interval {spread}'}; {verdicts}."
    twin = Grid(
        f"{title} and its limits",
        ("limit", "bound", "verdict"),
        tuple((name, f"{bound:g}", "met" if ok else "not met") for name, bound, ok in limits),
        frozenset({1}),
    )
    return Picture(title, alt, board.svg(alt), twin)
