# SPDX-License-Identifier: Apache-2.0
"""A text without its markup: reasoning in tags, emphasis, LaTeX, HTML and tables, in one form of each character."""

from __future__ import annotations

import re
import unicodedata

from epimeter.readers.logs.phrases import (
    BLOCK,
    COMMAND,
    FRACTION,
    INLINE,
    LABEL,
    LINE_MARK,
    MARKS,
    OPEN_THOUGHT,
    STRUCK,
    TAG,
    THOUGHT,
    UNDER_HEADS,
    UNDERLINE,
)


def plain(text: str, low: str | None = None) -> str:
    """The text without reasoning in tags and without marks of emphasis, in one form of each character, in lower case.

    `low` is the text in lower case, where that is known; it is returned as it is where nothing has to go.
    """
    if low is not None and "<" not in text and not any(mark in text for mark in MARKS):
        return low
    if "<" in text and OPEN_THOUGHT.search(text):
        text = THOUGHT.sub("\n", text)
        cut = OPEN_THOUGHT.search(text)
        text = text[: cut.start()] if cut else text
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = text.replace("’", "'").replace("−", "-").replace("–", "-")
        text = re.sub(r"(?<=[\d%])—(?=\d)", "-", text).replace("—", " — ")
    if "~~" in text or "<" in text:
        text = STRUCK.sub("", text)
    if "<" in text:
        text = BLOCK.sub("\n", INLINE.sub("", text))
        text = TAG.sub(lambda tag: f"\n{tag['word']}: ", text)
    if "\\" in text:
        text = FRACTION.sub(r"\1/\2", text)
        text = COMMAND.sub("", text)
    for mark in ("__", "*", "`", "$"):
        if mark in text:
            text = text.replace(mark, "")
    if "_" in text:
        text = UNDERLINE.sub("", text)
    if "#" in text or ">" in text:
        text = LINE_MARK.sub("", text)
    return text.lower()


def unfolded(text: str) -> str:
    """The text with tables that have a column of confidences as lines that say them, each with what its row is about."""
    lines, made = text.split("\n"), list[str]()
    place = 0
    while place < len(lines):
        heads = _cells(lines[place]) if place + 1 < len(lines) and UNDER_HEADS.fullmatch(lines[place + 1]) else []
        column = next((i for i, head in enumerate(heads) if LABEL.match(head)), None)
        if column is None:
            made.append(lines[place])
            place += 1
            continue
        place += 2
        while place < len(lines) and "|" in lines[place]:
            cells = _cells(lines[place])
            place += 1
            if len(cells) > column:
                about = f"{cells[0]}: " if column and cells[0] else ""
                made.append(f"{about}{heads[column]}: {cells[column]}")
    return "\n".join(made)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")] if "|" in row else []
