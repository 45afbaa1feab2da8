# SPDX-License-Identifier: Apache-2.0
"""The tables of a document for LaTeX (needs the booktabs package); whatever a cell says, it stays text."""

from __future__ import annotations

from epimeter.documents.sections import Document, Grid

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "–": "--",
    "…": r"\ldots{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "·": r"\textperiodcentered{}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
}


def latex(document: Document) -> str:
    """Every table of the document as a table with its caption; the line under the title as a comment."""
    head = " ".join(f"{document.title}: {document.subtitle}".split())
    grids = [block for section in document.sections for block in section.blocks if isinstance(block, Grid)]
    return "\n".join([f"% {escaped(head)}", "% needs \\usepackage{booktabs}", *(_table(grid) for grid in grids)]) + "\n"


def escaped(text: str) -> str:
    """Text that LaTeX prints as it stands, on one line."""
    return "".join(SPECIAL.get(letter, letter) for letter in " ".join(text.split()))


def _table(grid: Grid) -> str:
    rule = "".join("r" if i in grid.numeric else "l" for i in range(len(grid.columns)))
    lines = [" & ".join(escaped(cell) for cell in row) + r" \\" for row in (grid.columns, *grid.rows)]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{escaped(grid.caption)}}}",
            rf"\begin{{tabular}}{{{rule}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )
