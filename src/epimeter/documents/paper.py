# SPDX-License-Identifier: Apache-2.0
"""A document as PDF, by the Typst compiler.

The template reads data, never markup: a name such as `#panic()` is printed as it stands. The bytes depend on the
document and the compiler's version alone: fonts are the compiler's own, and no date is written.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from epimeter.documents.sections import Block, Document, Grid, Items, Paragraph
from epimeter.errors import EpimeterError, MissingExtraError

TEMPLATE = "paper.typ"


def pdf(document: Document) -> bytes:
    """The document on A4 pages; its figures must be drawn for print."""
    try:
        import typst
    except ImportError:
        raise MissingExtraError("a report as PDF", "typst", "pdf") from None
    told = {
        "title": document.title,
        "subtitle": document.subtitle,
        "sections": [
            {"title": section.title, "blocks": [_plain(block) for block in section.blocks]}
            for section in document.sections
        ],
    }
    try:
        compiled = compiler().compile(
            (files("epimeter.documents") / TEMPLATE).read_bytes(),
            sys_inputs={"document": json.dumps(told, ensure_ascii=False)},
            format="pdf",
            timestamp=0,
        )
    except typst.TypstError as fault:
        raise EpimeterError(f"the report could not be typeset: {fault.message}") from None
    assert isinstance(compiled, bytes)
    return compiled


@cache
def compiler() -> Any:
    """The compiler with its own fonts; made once, since it reads them then."""
    import typst

    return typst.Compiler(font_paths=typst.Fonts(include_system_fonts=False, include_embedded_fonts=True))


def _plain(block: Block) -> dict[str, Any]:
    """A block as the template reads it."""
    if isinstance(block, Paragraph):
        return {"is": "paragraph", "text": block.text, "tone": block.tone}
    if isinstance(block, Items):
        return {"is": "items", "sentences": list(block.sentences), "tone": block.tone}
    if isinstance(block, Grid):
        align = ["right" if i in block.numeric else "left" for i in range(len(block.columns))]
        rows = [list(row) for row in block.rows]
        return {"is": "grid", "caption": block.caption, "columns": list(block.columns), "rows": rows, "align": align}
    return {"is": "picture", "caption": block.caption, "alt": block.alt, "svg": block.svg}
