# SPDX-License-Identifier: Apache-2.0
"""A small drawing board: axes, lines, bars and words as SVG, for the page (colours by class) or for print (by value)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

PRINT = {
    "ink": "#1c2430",
    "soft": "#5b6675",
    "line": "#c9d0d9",
    "accent": "#0b5fa5",
    "good": "#1a7f4b",
    "mind": "#a35f00",
    "bad": "#b3261e",
    "paper": "#ffffff",
}
"""Colours on paper; on a page the same names are classes, so that dark mode can change them."""


@dataclass
class Board:
    """A drawing of given size, in units of about a pixel. Data go through `x` and `y` into it."""

    width: int
    height: int
    left: int = 46
    right: int = 18
    top: int = 10
    bottom: int = 34
    across: tuple[float, float] = (0.0, 1.0)
    up: tuple[float, float] = (0.0, 1.0)
    for_print: bool = False
    parts: list[str] = field(default_factory=list)

    def x(self, value: float) -> float:
        low, high = self.across
        return self.left + (value - low) / (high - low) * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        low, high = self.up
        return self.height - self.bottom - (value - low) / (high - low) * (self.height - self.top - self.bottom)

    def paint(self, colour: str, *, fill: bool) -> str:
        """The colour of a shape: an attribute on paper, a class on a page."""
        if self.for_print:
            return f'fill="{PRINT[colour]}"' if fill else f'fill="none" stroke="{PRINT[colour]}"'
        return f'class="{"f" if fill else "s"}-{colour}"'

    def line(self, points: Iterable[tuple[float, float]], colour: str, width: float = 1.5, dash: str = "") -> None:
        """A line through points of the data."""
        path = " ".join(f"{'L' if i else 'M'}{n(self.x(a))} {n(self.y(b))}" for i, (a, b) in enumerate(points))
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path d="{path}" {self.paint(colour, fill=False)} stroke-width="{width:g}"{dashed}/>')

    def bar(self, start: float, end: float, low: float, high: float, colour: str, opacity: float = 1.0) -> None:
        """A rectangle from (start, low) to (end, high) of the data."""
        x, y = self.x(min(start, end)), self.y(max(low, high))
        wide, tall = abs(self.x(end) - self.x(start)), abs(self.y(high) - self.y(low))
        self.parts.append(
            f'<rect x="{n(x)}" y="{n(y)}" width="{n(wide)}" height="{n(tall)}" {self.paint(colour, fill=True)}'
            f"{'' if opacity == 1 else f' fill-opacity={chr(34)}{opacity:g}{chr(34)}'}/>"
        )

    def band(
        self, across: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str, opacity: float
    ) -> None:
        """What lies between two lines over the same places."""
        corners = [*zip(across, high, strict=True), *reversed(list(zip(across, low, strict=True)))]
        path = " ".join(f"{n(self.x(a))},{n(self.y(b))}" for a, b in corners)
        self.parts.append(f'<polygon points="{path}" {self.paint(colour, fill=True)} fill-opacity="{opacity:g}"/>')

    def dot(self, across: float, up: float, colour: str, radius: float = 4) -> None:
        """A point of the data."""
        self.parts.append(
            f'<circle cx="{n(self.x(across))}" cy="{n(self.y(up))}" r="{radius:g}" {self.paint(colour, fill=True)}/>'
        )

    def word(
        self, x: float, y: float, text: str, *, anchor: str = "middle", size: int = 11, colour: str = "soft"
    ) -> None:
        """Words at a place of the drawing, not of the data."""
        face = ' font-family="Libertinus Serif"' if self.for_print else ""
        self.parts.append(
            f'<text x="{n(x)}" y="{n(y)}" text-anchor="{anchor}" font-size="{size}"{face} '
            f"{self.paint(colour, fill=True)}>{escape(text)}</text>"
        )

    def axes(
        self,
        ticks_x: Sequence[float],
        ticks_y: Sequence[float],
        label_x: str,
        label_y: str,
        show_x: Callable[[float], str] = "{:g}".format,
        show_y: Callable[[float], str] = "{:g}".format,
    ) -> None:
        """Grid lines, ticks and what the axes mean."""
        for tick in ticks_y:
            self.line([(self.across[0], tick), (self.across[1], tick)], "line", 0.75)
            self.word(self.left - 6, self.y(tick) + 4, show_y(tick), anchor="end")
        for tick in ticks_x:
            self.word(self.x(tick), self.height - self.bottom + 15, show_x(tick))
        self.line([(self.across[0], self.up[0]), (self.across[1], self.up[0])], "soft", 1)
        middle = (self.left + self.width - self.right) / 2
        self.word(middle, self.height - 4, label_x, colour="ink")
        self.word(self.left, self.top - 6 if self.top > 12 else 10, label_y, anchor="start", colour="ink")

    def svg(self, title: str) -> str:
        """The drawing; its title is read aloud by those that do not see it."""
        space = ' xmlns="http://www.w3.org/2000/svg"' if self.for_print else ""
        named = f' role="img" aria-label="{escape(title, quote=True)}"'
        return f'<svg{space} viewBox="0 0 {self.width} {self.height}"{named}>{"".join(self.parts)}</svg>'


def n(value: float) -> str:
    """A coordinate with one decimal: the same digits on every machine."""
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0") if abs(value) < 0.05 else f"{value:.1f}"
