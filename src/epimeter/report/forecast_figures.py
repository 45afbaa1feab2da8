# SPDX-License-Identifier: Apache-2.0
"""The figures of a report on forecasts, each with words and a table that say the same."""

from __future__ import annotations

import math

from epimeter.documents.sections import Grid, Picture
from epimeter.metrics.distribution.transform import Ranks
from epimeter.report.figures import TENTHS, percent
from epimeter.report.forecast_curves import Fan, ForecastCurves, QuantileCurve, Strata
from epimeter.report.svg import Board


def forecast_pictures(data: ForecastCurves, *, for_print: bool = False) -> tuple[Picture, ...]:
    """Those figures that the kind of forecast has."""
    made = []
    if data.ranks is not None:
        made.append(rank_histogram(data.ranks, for_print=for_print))
    if data.quantiles is not None:
        made.append(quantile_calibration(data.quantiles, for_print=for_print))
    if data.fan is not None:
        made.append(fan(data.fan, for_print=for_print))
    if data.strata is not None:
        made.append(strata(data.strata, data.level, for_print=for_print))
    return tuple(made)


def round_ticks(low: float, high: float) -> list[float]:
    """About five round numbers between two ends."""
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if (high - low) / (step * factor) <= 6)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 12) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def rank_histogram(data: Ranks, *, for_print: bool = False) -> Picture:
    """How often the truth falls into each part of the stated distribution, against how often it should."""
    total = float(data.expected.sum())
    chance = data.expected / total
    ratio = data.count / data.expected
    spread = [1.96 * math.sqrt((1 - share) / (total * share)) for share in chance.tolist()]
    most = max(float(ratio.max()), 1 + max(spread), 1.2) * 1.08
    board = Board(420, 300, top=22, left=46, up=(0.0, most), for_print=for_print)
    whole = [tick for tick in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0) if tick <= most]
    board.axes(TENTHS, whole if len(whole) < 7 else whole[::2], "where the truth fell in the stated distribution",
               "rows, in units of what is expected")  # fmt: skip
    rows = []
    for i, (start, end) in enumerate(zip(data.edges[:-1].tolist(), data.edges[1:].tolist(), strict=True)):
        gap = min(0.004, (end - start) / 8)
        board.bar(start + gap, end - gap, 0, float(ratio[i]), "accent", 0.75)
        board.bar(start, end, max(0.0, 1 - spread[i]), 1 + spread[i], "line", 0.55)
        rows.append(
            (f"{start:.3g} to {end:.3g}", f"{data.count[i]:,.6g}", f"{data.expected[i]:,.6g}", f"{ratio[i]:.3f}")
        )
    board.line([(0, 1), (1, 1)], "ink", 1, "4 4")
    ends, middle = (ratio[0] + ratio[-1]) / 2, float(ratio[len(ratio) // 2])
    shape = "truths fall too often into the tails: the forecasts are too sure" if ends > 1.2 * middle else (
        "truths fall too often into the middle: the forecasts are not sure enough" if middle > 1.2 * ends else
        "neither the tails nor the middle stand out")  # fmt: skip
    alt = (
        f"Histogram of the probability integral transform of {total:,.0f} rows in {len(rows)} classes; {shape}. Flat, within "
        "the grey band, would be calibrated: in 95 of 100 cases a class lies in the band."
    )
    twin = Grid(
        "Classes behind the histogram", ("class", "rows", "expected", "ratio"), tuple(rows), frozenset({1, 2, 3})
    )
    return Picture("Probability integral transform", alt, board.svg(alt), twin)


def quantile_calibration(data: QuantileCurve, *, for_print: bool = False) -> Picture:
    """The share of truths at or below the quantile of each level."""
    board = Board(420, 300, top=22, for_print=for_print)
    board.axes(TENTHS, TENTHS, "level of the quantile", "truths at or below it", percent, percent)
    board.line([(0, 0), (1, 1)], "soft", 1, "4 4")
    for level, seen, low, high in zip(data.level, data.observed, data.low, data.high, strict=True):
        board.line([(level, low), (level, high)], "accent", 2)
        board.dot(float(level), float(seen), "accent", 3.5)
    worst = int(abs(data.observed - data.level).argmax())
    alt = (
        f"Calibration of {len(data.level)} quantiles. The largest gap is at level {data.level[worst]:g}: "
        f"{data.observed[worst]:.1%} of the truths lie at or below it. Points on the dashed diagonal would be calibrated."
    )
    rows = tuple(
        (f"{level:g}", f"{seen:.4f}", f"{low:.4f} to {high:.4f}")
        for level, seen, low, high in zip(data.level, data.observed, data.low, data.high, strict=True)
    )
    twin = Grid(
        "Quantiles; intervals: Wilson 95 %", ("level", "truths at or below", "interval"), rows, frozenset({0, 1})
    )
    return Picture("Calibration of the quantiles", alt, board.svg(alt), twin)


def fan(data: Fan, *, for_print: bool = False) -> Picture:
    """Some rows from low to high forecasts: intervals as bars, truths as points."""
    low = min(float(data.lower.min()), float(data.true.min()))
    high = max(float(data.upper.max()), float(data.true.max()))
    reach = max(high - low, 1e-9 * max(abs(low), abs(high))) or 1.0
    low, high = low - 0.04 * reach, high + 0.04 * reach
    count = len(data.true)
    board = Board(420, 300, top=22, left=60, across=(-1.0, float(count)), up=(low, high), for_print=for_print)
    ticks = round_ticks(low, high)
    board.axes((), ticks, f"{count} of {data.n_rows:,} rows, from low to high forecasts", "forecast and truth",
               show_y=lambda v: f"{v:.6g}")  # fmt: skip
    missed, rows = 0, []
    for i in range(count):
        board.bar(i - 0.4, i + 0.4, float(data.lower[i]), float(data.upper[i]), "accent", 0.25)
        if data.inner is not None:
            board.bar(i - 0.4, i + 0.4, float(data.inner[0][i]), float(data.inner[1][i]), "accent", 0.35)
        out = not data.lower[i] <= data.true[i] <= data.upper[i]
        missed += out
        board.dot(i, float(data.true[i]), "bad" if out else "ink", 2.5)
        rows.append((f"{data.lower[i]:.6g}", f"{data.upper[i]:.6g}", f"{data.true[i]:.6g}", "outside" if out else ""))
    dark = "" if data.inner is None else ", 50 % intervals darker"
    alt = (
        f"{count} rows with their {data.outer_level:.0%} intervals{dark}; {missed} truths lie outside, in red, where about "
        f"{count * (1 - data.outer_level):.0f} are expected."
    )
    twin = Grid("Rows shown", ("lower", "upper", "truth", ""), tuple(rows), frozenset({0, 1, 2}))
    return Picture("Intervals and what came true", alt, board.svg(alt), twin)


def strata(data: Strata, level: float, *, for_print: bool = False) -> Picture:
    """Coverage where intervals are narrow and where they are wide, or by the number of labels of a set."""
    count = len(data.names)
    floor = max(0.0, min(float(data.low.min()), level) - 0.08)
    board = Board(420, 300, top=22, left=56, across=(-0.6, count - 0.4), up=(floor, 1.0), for_print=for_print)
    ticks = round_ticks(floor, 1.0)
    board.axes((), ticks, "from the narrowest to the widest", "coverage", show_y=lambda v: f"{v:.0%}")
    rows = []
    for i in range(count):
        board.line([(i, float(data.low[i])), (i, float(data.high[i]))], "accent", 3)
        board.dot(i, float(data.coverage[i]), "accent", 4.5)
        if count <= 5:
            board.word(board.x(i), board.height - board.bottom + 15, data.names[i], size=9)
        rows.append((data.names[i], f"{int(data.rows[i]):,}", f"{data.coverage[i]:.4f}",
                     f"{data.low[i]:.4f} to {data.high[i]:.4f}"))  # fmt: skip
    board.line([(-0.6, level), (count - 0.4, level)], "ink", 1, "4 4")
    worst = int(abs(data.coverage - level).argmax())
    alt = (
        f"Coverage in {count} strata by size; the dashed line is the level, {level:.0%}. Farthest from it is "
        f"{data.names[worst]}: {data.coverage[worst]:.1%} of {int(data.rows[worst]):,} rows."
    )
    twin = Grid(
        "Strata; intervals: Wilson 95 %", ("size", "rows", "coverage", "interval"), tuple(rows), frozenset({1, 2})
    )
    return Picture("Coverage by size", alt, board.svg(alt), twin)
