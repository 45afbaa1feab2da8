# SPDX-License-Identifier: Apache-2.0
"""A document for a terminal: tables in columns, sentences wrapped, figures left to the other renderings."""

from __future__ import annotations

import textwrap
from itertools import zip_longest

from epimeter.documents.sections import Block, Document, Grid, Items, Paragraph, Picture

WIDTH = 110
MARKS = {"good": "✓ ", "mind": "! ", "bad": "✗ ", "plain": ""}


def terminal(document: Document) -> str:
    """The whole document as text."""
    parts = [document.title, document.subtitle]
    for section in document.sections:
        blocks = [_block(block) for block in section.blocks if not isinstance(block, Picture)]
        if blocks:
            parts += [f"{section.title}\n{'─' * len(section.title)}", *blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return _wrapped(MARKS[block.tone] + block.text, "", "")
    if isinstance(block, Items):
        return "\n".join(_wrapped(sentence, f"  {MARKS[block.tone] or '- '}", "    ") for sentence in block.sentences)
    assert isinstance(block, Grid)
    return _grid(block)


def _wrapped(text: str, first: str, further: str) -> str:
    return textwrap.fill(clean(text), WIDTH, initial_indent=first, subsequent_indent=further)


def clean(text: str) -> str:
    """Text without characters that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "�" for letter in " ".join(text.split()))


def _grid(grid: Grid) -> str:
    table = [grid.columns, *grid.rows]
    cells = [[clean(cell) for cell in row] for row in table]
    widths = [max(len(row[i]) for row in cells) for i in range(len(grid.columns))]
    tones = ("plain", *(grid.tones or ("plain",) * len(grid.rows)))
    lines = []
    for row, tone in zip_longest(cells, tones, fillvalue="plain"):
        aligned = [
            cell.rjust(width) if i in grid.numeric else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        mark = MARKS[str(tone)] if any(t != "plain" for t in tones) else ""
        lines.append(f"  {mark or ('  ' if any(t != 'plain' for t in tones) else '')}{'  '.join(aligned)}".rstrip())
    return "\n".join(lines)
