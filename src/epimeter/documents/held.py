# SPDX-License-Identifier: Apache-2.0
"""Results that one can hold: printed, shown in a notebook, turned into a frame, saved under any suffix we know.

Every result says three things: itself as plain values (`to_dict`), its lines as records (`records`), and itself as a
document of sections (`document`). Everything else follows here, so that all renderings say the same.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
from pathlib import Path
from typing import Any, ClassVar

from epimeter.documents.sections import Document
from epimeter.errors import InputError, MissingExtraError

Record = dict[str, Any]

FORMS = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".txt": "text",
    ".csv": "csv",
    ".tex": "latex",
    ".pdf": "pdf",
    ".png": "png",
    ".svg": "svg",
}
"""What a result is written as, by the suffix of the file."""
SUFFIXES = ".html, .md, .json, .txt, .csv, .tex, .pdf, .png or .svg"


def form_of(path: str | Path) -> str:
    """The form that a file's suffix asks for; text where it has none."""
    suffix = Path(path).suffix.lower()
    if suffix and suffix not in FORMS:
        raise InputError(f"a report is written as {SUFFIXES}; got {str(path)!r}", field="path")
    return FORMS.get(suffix, "text")


class Held:
    """What every report, comparison and test result can do."""

    __slots__ = ()

    painter: ClassVar[str] = ""
    """The drawing that goes with it, as module:function. Drawing stands to the right of results, so it is found by name
    when it is asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        raise NotImplementedError

    def records(self) -> list[Record]:
        """One flat record a line, all with the same names."""
        raise NotImplementedError

    def document(self, *, for_print: bool = False) -> Document:
        """The result as sections; figures in colours by value where it is for print."""
        raise NotImplementedError

    def plot(self, *, ax: Any = None) -> Any:
        """The figure that goes with the result.

        Parameters
        ----------
        ax
            Axes to draw on, instead of a page of its own.
        """
        if not self.painter:
            raise InputError(f"{type(self).__name__} has no figure of its own; epimeter.draw has many")
        module, _, name = self.painter.partition(":")
        return getattr(importlib.import_module(module), name)(self, ax=ax)

    def __str__(self) -> str:
        from epimeter.documents.terminal import terminal

        return terminal(self.document())

    def to_json(self) -> str:
        """The result as JSON, two spaces deep."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def to_csv(self) -> str:
        """The lines as CSV with a header; what is not there is empty."""
        return csv_of(self.records())

    def to_markdown(self) -> str:
        """The whole result as Markdown."""
        from epimeter.documents.markdown import markdown

        return markdown(self.document())

    def to_latex(self) -> str:
        """The tables of the result for LaTeX; they need the booktabs package."""
        from epimeter.documents.latex import latex

        return latex(self.document())

    def to_html(self) -> str:
        """The result as a page of its own: no script, no network."""
        from epimeter.documents.html import html

        return html(self.document(), footer=made_by(self))

    def to_frame(self, library: str | None = None) -> Any:
        """The lines as a data frame.

        Parameters
        ----------
        library
            ``pandas`` or ``polars``; None takes pandas where it is installed, else polars.
        """
        return frame_of(self.records(), library)

    def _repr_html_(self) -> str:
        from epimeter.documents.html import fragment

        return fragment(self.document(for_print=True))

    def rendered(self, form: str) -> str | bytes:
        """The result in one of our forms: text, html, markdown, json, csv, latex, pdf, png or svg."""
        if form in ("png", "svg"):
            made: bytes = self.plot().rendered(form)
            return made
        if form == "pdf":
            from epimeter.documents.paper import pdf

            return pdf(self.document(for_print=True))
        ways = {
            "text": self.__str__,
            "html": self.to_html,
            "markdown": self.to_markdown,
            "json": self.to_json,
            "csv": self.to_csv,
            "latex": self.to_latex,
        }
        if form not in ways:
            raise InputError(
                f"form must be one of {', '.join([*ways, 'pdf', 'png', 'svg'])}; got {form!r}", field="form"
            )
        return ways[form]()

    def save(self, path: str | Path) -> Path:
        """Write the result to a file in the form that its suffix names.

        Parameters
        ----------
        path
            .html, .md, .json, .txt, .csv, .tex, .pdf, or .png and .svg for the figure; an existing file is replaced.
        """
        target = Path(path)
        made = self.rendered(form_of(target))
        if isinstance(made, str):
            target.write_text(made, encoding="utf-8")
        else:
            target.write_bytes(made)
        return target


def made_by(result: Any) -> str:
    """The last line of a page."""
    version = getattr(result, "version", "")
    return f"Made by epimeter {version}." if version else "Made by epimeter."


def csv_of(records: list[Record]) -> str:
    """Records as CSV; the names of all of them, in the order in which they first occur."""
    names = list(dict.fromkeys(name for record in records for name in record))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if cell is None else cell for name, cell in record.items()} for record in records)
    return stream.getvalue()


def frame_of(records: list[Record], library: str | None) -> Any:
    """Records as a frame of pandas or polars."""
    if library not in (None, "pandas", "polars"):
        raise InputError(f"library must be 'pandas' or 'polars'; got {library!r}", field="library")
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: [record.get(name) for record in records] for name in names}
    for name in ("pandas", "polars") if library is None else (library,):
        try:
            if name == "pandas":
                import pandas

                return pandas.DataFrame(columns)
            import polars

            return polars.DataFrame(columns, strict=False)
        except ImportError:
            continue
    raise MissingExtraError("to_frame", library or "pandas", "frames")
