# SPDX-License-Identifier: Apache-2.0
"""A document as sections of few kinds of blocks, so that terminal, Markdown and HTML render one and the same thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["good", "mind", "bad", "plain"]


@dataclass(frozen=True)
class Paragraph:
    """A few sentences."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Items:
    """Sentences that stand side by side."""

    sentences: tuple[str, ...]
    tone: Tone = "plain"


@dataclass(frozen=True)
class Grid:
    """A table. `numeric` names the columns whose cells are numbers, `tones` colours a row."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    tones: tuple[Tone, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A figure as SVG, in words, and as a table: nobody has to see it to read it."""

    caption: str
    alt: str
    svg: str
    twin: Grid


Block = Paragraph | Items | Grid | Picture


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """A title, a line under it, sections."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]


def rows_of(*rows: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Rows of a grid."""
    return tuple(tuple(row) for row in rows)
