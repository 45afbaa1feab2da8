# SPDX-License-Identifier: Apache-2.0
"""A document as Markdown; whatever a cell says, it stays text. Figures are given as their tables."""

from __future__ import annotations

import re

from epimeter.documents.sections import Block, Document, Grid, Items, Paragraph, Picture

MARKS = {"good": "✓ ", "mind": "! ", "bad": "✗ ", "plain": ""}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")


def markdown(document: Document) -> str:
    """The whole document as Markdown."""
    parts = [f"# {escaped(document.title)}", escaped(document.subtitle)]
    for section in document.sections:
        parts.append(f"## {escaped(section.title)}")
        parts += [_block(block) for block in section.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown does not read as markup, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return MARKS[block.tone] + escaped(block.text)
    if isinstance(block, Items):
        return "\n".join(f"- {MARKS[block.tone]}{escaped(sentence)}" for sentence in block.sentences)
    if isinstance(block, Picture):
        return f"**{escaped(block.caption)}.** {escaped(block.alt)}\n\n{_grid(block.twin)}"
    return f"**{escaped(block.caption)}**\n\n{_grid(block)}"


def _grid(grid: Grid) -> str:
    rules = ["---:" if number in grid.numeric else "---" for number in range(len(grid.columns))]
    lines = [map(escaped, grid.columns), rules, *(map(escaped, row) for row in grid.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
