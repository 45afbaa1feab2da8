# SPDX-License-Identifier: Apache-2.0
"""The changelog of the next release, put together from the notes in changelog.d.

A note is a file of its own, so that parallel work does not collide: sentences, under a heading where they are not additions.
`python changelog.py` prints what the next release will say; `python changelog.py 0.2.0` writes it into CHANGELOG.md under that
version and removes the notes.
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
HEADINGS = ("Values changed", "Added", "Changed", "Removed", "Fixed")
"""In the order of a release; what stands before the first heading of a note was added."""
MARK = "<!-- releases -->"
"""Below this line CHANGELOG.md holds one section a release, the newest first."""


def parts(note: Path) -> dict[str, list[str]]:
    """The paragraphs of a note under each heading."""
    found: dict[str, list[str]] = {}
    heading = "Added"
    for line in note.read_text("utf-8").splitlines():
        if line.startswith("#"):
            heading = line.strip("# ").replace("Value changed", "Values changed")
            if heading not in HEADINGS:
                raise ValueError(f"{note.name} must have headings among {', '.join(HEADINGS)}; it has {heading!r}")
        elif line.strip():
            found.setdefault(heading, []).append(line.rstrip())
    return found


def assembled(folder: Path) -> str:
    """All notes of a folder as one section."""
    notes = [parts(note) for note in sorted(folder.glob("*.md"))]
    sections = []
    for heading in HEADINGS:
        lines = [line for note in notes for line in note.get(heading, ())]
        if lines:
            sections.append("\n".join([f"### {heading}", "", *lines]))
    return "\n\n".join(sections) + "\n"


def release(version: str, root: Path, day: date) -> None:
    """Write the notes into the changelog as a version, and remove them."""
    changelog, folder = root / "CHANGELOG.md", root / "changelog.d"
    before, mark, after = changelog.read_text("utf-8").partition(MARK)
    if not mark:
        raise ValueError(f"CHANGELOG.md must have a line {MARK}; it has none")
    section = assembled(folder)
    changelog.write_text(f"{before}{mark}\n\n## {version} ({day.isoformat()})\n\n{section.rstrip()}{after}", "utf-8")
    for note in folder.glob("*.md"):
        note.unlink()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        release(sys.argv[1], HERE, date.today())
    else:
        print(assembled(HERE / "changelog.d"), end="")
