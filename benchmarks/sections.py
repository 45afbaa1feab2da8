"""Writes one section of docs/benchmarks.md and leaves the others as they are."""

from __future__ import annotations

import platform
import re
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Every figure was measured by a script in `benchmarks/`, all contenders in one run on one machine; ratios matter, seconds
depend on the machine. Each script rewrites its own section.
"""


def machine() -> str:
    """The machine in words."""
    names = (
        re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()) if Path("/proc/cpuinfo").exists() else []
    )
    return f"{len(names)} cores ({names[0] if names else platform.processor()}), Python {platform.python_version()}"


def write(title: str, body: str) -> None:
    """Replace the section of that title, or append it."""
    text = PAGE.read_text() if PAGE.exists() else HEAD
    section = f"## {title}\n\n{body.strip()}\n"
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.S | re.M)
    if pattern.search(text):
        text = pattern.sub(lambda _: section + "\n", text)
    else:
        text = text.rstrip() + "\n\n" + section
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text.rstrip() + "\n")
