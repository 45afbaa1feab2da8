# SPDX-License-Identifier: Apache-2.0
"""Figures into files: the same figure gives the same bytes."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epimeter.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
_SAVING = threading.Lock()


def require_matplotlib() -> None:
    """Say how to get matplotlib where it is missing, before any work is done."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("drawing", "matplotlib", "plots") from None


def rendered(figure: Figure, format: str = "svg", *, dpi: float = 150) -> bytes:
    """A figure as the bytes of a file; the same figure gives the same bytes.

    Parameters
    ----------
    figure
        What a function of this room returned.
    format
        ``png``, ``svg`` or ``pdf``.
    dpi
        Points to an inch, for png.
    """
    require_matplotlib()
    import matplotlib

    if format not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}; got {format!r}", field="format")
    # No dates, no random ids: a figure is a function of its data. The salt is the one setting matplotlib reads from
    # its global table alone, so it is set for the moment of saving, by one thread at a time.
    nothing = {"png": ("Software",), "svg": ("Date", "Creator"), "pdf": ("CreationDate", "Creator", "Producer")}[format]
    facts: dict[str, Any] = dict.fromkeys(nothing) | {"Title": figure.get_label()}
    stream = io.BytesIO()
    with _SAVING, matplotlib.rc_context({"svg.hashsalt": "epimeter", "svg.fonttype": "path", "pdf.fonttype": 42}):
        figure.savefig(stream, format=format, dpi=dpi, metadata=facts, facecolor="white")
    return stream.getvalue()


def format_of(path: str | Path) -> str:
    """The format a file's name asks for."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise InputError(f"a figure is saved as .png, .svg or .pdf; got {str(path)!r}", field="path")
    return suffix


def save(figure: Figure, path: str | Path, *, dpi: float = 150) -> Path:
    """Write a figure to a file; its suffix says whether as png, svg or pdf.

    Parameters
    ----------
    figure
        What a function of this room returned.
    path
        Where to; an existing file is replaced.
    dpi
        Points to an inch, for png.
    """
    target = Path(path)
    target.write_bytes(rendered(figure, format_of(target), dpi=dpi))
    return target
