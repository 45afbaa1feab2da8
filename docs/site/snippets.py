# SPDX-License-Identifier: Apache-2.0
"""The code of a page: found, run from top to bottom in a folder of its own, and drawn where it draws."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(python|sh)([^\n]*)\n(.*?)^```", re.S | re.M)


def blocks(text: str) -> list[tuple[str, str, str]]:
    """Language, remark and content of every block that can be run."""
    return [(language, remark.strip(), content) for language, remark, content in FENCE.findall(text)]


@contextlib.contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def commands(content: str) -> Iterator[tuple[list[str], int]]:
    """The words of every command of a shell block, and the exit code that its remark announces (`# exit 1`)."""
    for line in content.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            announced = re.search(r"#.*exit(?: code)? (\d)", line)
            words = [os.path.expandvars(word) for word in shlex.split(line, comments=True)]
            yield words, int(announced.group(1)) if announced else 0


def typed(words: list[str], expected: int) -> None:
    """Run a command of epimeter in this process; any other command is refused."""
    from epimeter.cli import main

    if words[0] != "epimeter":
        raise AssertionError(f"a page types only epimeter commands; got {words[0]}")
    try:
        main(words[1:])
        code: Any = 0
    except SystemExit as ended:
        code = ended.code or 0
    if code != expected:
        raise AssertionError(f"{shlex.join(words)} ended with {code}, not {expected}")


def run(text: str, folder: Path) -> dict[str, Any]:
    """Every block of a page in turn; the names it leaves, and under `figures` what it drew."""
    names: dict[str, Any] = {"__name__": "__page__"}
    with in_folder(folder):
        for language, remark, content in blocks(text):
            if language == "sh":
                for words, expected in commands(content):
                    typed(words, expected)
            else:
                exec(compile(content, "page", "exec"), names)
            if remark.startswith("figure="):
                names.setdefault("figures", {})[remark.removeprefix("figure=")] = names["figure"]
    return names


class Figures:
    """The figures of the pages, each drawn by the code that stands above it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages: dict[str, dict[str, Any]] = {}

    def drawn(self, path: str, name: str, text: str) -> tuple[str, str]:
        """The file of a figure and what it shows, in words."""
        if path not in self.pages:
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
                try:
                    self.pages[path] = run(text, Path(folder))["figures"]
                except Exception as fault:
                    raise AssertionError(
                        f"the code of docs/{path} does not run: {type(fault).__name__}: {fault}"
                    ) from fault
        from epimeter import draw

        self.folder.mkdir(parents=True, exist_ok=True)
        file = f"{Path(path).stem}-{name}.svg"
        figure = self.pages[path][name]
        draw.save(figure, self.folder / file)
        return file, str(figure.get_label() or name)
