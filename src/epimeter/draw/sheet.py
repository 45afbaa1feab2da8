# SPDX-License-Identifier: Apache-2.0
"""The figure that every drawing returns: matplotlib's own, which shows itself in a notebook.

This module needs matplotlib and is loaded when the first figure is drawn.
"""

from __future__ import annotations

from matplotlib.figure import Figure

NOTEBOOK_DPI = 110


class Sheet(Figure):
    """A matplotlib figure that a fresh notebook shows: no pyplot, no magic word, nothing to close."""

    def _repr_png_(self) -> bytes:
        from epimeter.draw.saving import rendered

        return rendered(self, "png", dpi=NOTEBOOK_DPI)
