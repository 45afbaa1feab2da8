# SPDX-License-Identifier: Apache-2.0
"""A badge: level and live status in a small picture; the words come from fixed lists, never from a caller."""

from __future__ import annotations

from html import escape

GREEN, GREY, RED = "#1a7f37", "#57606a", "#b42318"
COLOURS = {"VALID": GREEN, "SUSPENDED": GREY, "SUPERSEDED": GREY, "EXPIRED": GREY, "REVOKED": RED}


def badge(level: str, status: str) -> str:
    """The badge as SVG."""
    left, right = "ONTO-ERS", f"{level} {status}"
    widths = [7 * len(text) + 14 for text in (left, right)]
    total = sum(widths)
    title = escape(f"{left}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<rect width="{widths[0]}" height="20" fill="#24292f"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{COLOURS.get(status, GREY)}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{widths[0] / 2:g}" y="14">{escape(left)}</text>'
        f'<text x="{widths[0] + widths[1] / 2:g}" y="14">{escape(right)}</text></g></svg>'
    )
