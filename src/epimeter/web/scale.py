# SPDX-License-Identifier: Apache-2.0
"""A number with its interval on a scale with limits, as SVG; colours come from the stylesheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

LEFT, RIGHT, WIDTH, HEIGHT = 8, 8, 320, 58


def scale(
    title: str, value: float, interval: Sequence[float] | None, top: float, limits: Mapping[str, float]
) -> Markup:
    """The drawing; what lies beyond the scale is drawn at its end, and the words give the number."""
    top = max(top, value, *(interval or (0.0,)))

    def x(number: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * number / top, 2)

    span = "" if interval is None else f", 95 % interval {interval[0]:.4g} to {interval[1]:.4g}"
    words = f"{title} {value:.4g}{span}; limits " + ", ".join(f"{name} {limit:g}" for name, limit in limits.items())
    parts = [
        f'<svg class="scale" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(words)}">',
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="28" y2="28"/>',
    ]
    for name, limit in limits.items():
        at = x(limit)
        parts.append(f'<line class="limit" x1="{at}" x2="{at}" y1="14" y2="42"/>')
        parts.append(f'<text class="limit-name" x="{at}" y="54" text-anchor="middle">{escape(name)} {limit:g}</text>')
    if interval is not None:
        low, high = x(interval[0]), x(interval[1])
        parts.append(f'<rect class="band" x="{low}" y="22" width="{max(high - low, 1):g}" height="12"/>')
    parts.append(f'<circle class="value" cx="{x(value)}" cy="28" r="5"/>')
    anchor = "start" if x(value) < 40 else "end" if x(value) > WIDTH - 40 else "middle"
    parts.append(f'<text class="number" x="{x(value)}" y="11" text-anchor="{anchor}">{value:.4g}</text></svg>')
    return Markup("".join(parts))
