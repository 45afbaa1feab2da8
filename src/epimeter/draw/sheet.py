# SPDX-License-Identifier: Apache-2.0
"""The figure that every drawing returns: matplotlib's own, which shows itself in a notebook.

This module needs matplotlib and is loaded when the first figure is drawn.
"""

from __future__ import annotations

from matplotlib.figure import Figure

NOTEBOOK_DPI = 110


class Sheet(Figure):
    """A matplotlib figure that a fresh notebook shows: no pyplot, no magic word, nothing to close."""

    def rendered(self, format: str, *, dpi: float = 150) -> bytes:
        """The figure as the bytes of a png, svg or pdf file; the same figure gives the same bytes."""
        from epimeter.draw.saving import rendered

        return rendered(self, format, dpi=dpi)

    def _repr_png_(self) -> bytes:
        return self.rendered("png", dpi=NOTEBOOK_DPI)
