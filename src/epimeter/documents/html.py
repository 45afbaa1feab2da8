# SPDX-License-Identifier: Apache-2.0
"""A document as one self-contained HTML file: no script, no network, readable on a phone, in the dark and on paper.

Every text goes through `escape`; the only markup that is passed on is the SVG that we draw ourselves. The page
forbids itself everything else by its own content security policy.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files

from epimeter.documents.sections import Block, Document, Grid, Items, Paragraph, Picture

MARKS = {"good": "✓", "mind": "!", "bad": "✗", "plain": ""}
WORDS = {"good": "met", "mind": "mind", "bad": "not met", "plain": ""}


@cache
def style() -> str:
    """The style sheet of a page: that of its blocks, and that of the page around them."""
    return "\n".join(_sheet(name) for name in ("blocks.css", "page.css"))


def _sheet(name: str) -> str:
    return (files("epimeter.documents") / name).read_text("utf-8").strip()


def html(document: Document, *, footer: str = "") -> str:
    """The whole document as a page."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=True)}">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>{escape(document.title)}</title><style>{style()}</style></head><body>",
        f"<header><h1>{escape(document.title)}</h1><p>{escape(document.subtitle)}</p></header><main>",
    ]
    parts += [sections(document), f"</main><footer>{escape(footer)}</footer></body></html>\n"]
    return "".join(parts)


def sections(document: Document, prefix: str = "s") -> str:
    """The sections alone, for a page that has its own head and `blocks.css` among its styles; ids begin with the prefix."""
    parts = []
    for number, section in enumerate(document.sections):
        name = f"{prefix}{number}"
        parts.append(f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(section.title)}</h2>')
        parts += _blocks(section.blocks, section.title)
        parts.append("</section>")
    return "".join(parts)


@cache
def notebook_style() -> str:
    """The style of a fragment; every rule begins with its class, so that it changes nothing around it."""
    return _sheet("notebook.css")


def fragment(document: Document) -> str:
    """The document inside somebody's page, a notebook's for one: light, one figure a section, nothing that runs."""
    parts = [
        f'<div class="epimeter"><style>{notebook_style()}</style>',
        f'<p class="title"><b>{escape(document.title)}</b> <span>{escape(document.subtitle)}</span></p>',
    ]
    for section in document.sections:
        first = next((block for block in section.blocks if isinstance(block, Picture)), None)
        for block in section.blocks:
            if isinstance(block, Picture):
                if block is first:
                    parts.append(f"<figure>{block.svg}</figure>")
            else:
                parts.append(_block(block))
    return "".join([*parts, "</div>"])


def _blocks(blocks: tuple[Block, ...], title: str) -> list[str]:
    """Blocks in order; figures that follow each other share one grid. What the title says, no table says again."""
    made: list[str] = []
    open_figures = False
    for block in blocks:
        is_figure = isinstance(block, Picture)
        if is_figure != open_figures:
            made.append('<div class="figures">' if is_figure else "</div>")
            open_figures = is_figure
        made.append(_grid(block, named=block.caption != title) if isinstance(block, Grid) else _block(block))
    return [*made, "</div>"] if open_figures else made


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return f"<p{_tone(block.tone)}>{escape(block.text)}</p>"
    if isinstance(block, Items):
        return f"<ul{_tone(block.tone)}>{''.join(f'<li>{escape(s)}</li>' for s in block.sentences)}</ul>"
    if isinstance(block, Picture):
        return (
            f"<figure><figcaption>{escape(block.caption)}</figcaption>{block.svg}"
            f"<details><summary>In words and as a table</summary><p>{escape(block.alt)}</p>{_grid(block.twin)}"
            "</details></figure>"
        )
    return _grid(block)


def _tone(tone: str) -> str:
    return "" if tone == "plain" else f' class="{tone}"'


def _grid(grid: Grid, *, named: bool = True) -> str:
    marked = bool(grid.tones)
    heads = "".join(f'<th scope="col"{_number(i, grid)}>{escape(name)}</th>' for i, name in enumerate(grid.columns))
    body = []
    for place, row in enumerate(grid.rows):
        tone = grid.tones[place] if marked else "plain"
        mark = f'<td class="mark" aria-label="{WORDS[tone]}">{MARKS[tone]}</td>' if marked else ""
        cells = "".join(f"<td{_number(i, grid)}>{escape(cell)}</td>" for i, cell in enumerate(row))
        body.append(f"<tr{f' class={chr(34)}t-{tone}{chr(34)}' if tone != 'plain' else ''}>{mark}{cells}</tr>")
    first = '<td class="mark"></td>' if marked else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Table: {escape(grid.caption, quote=True)}">'
        f"<table>{f'<caption>{escape(grid.caption)}</caption>' if named else ''}"
        f"<thead><tr>{first}{heads}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _number(column: int, grid: Grid) -> str:
    return ' class="n"' if column in grid.numeric else ""
