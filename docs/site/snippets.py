# SPDX-License-Identifier: Apache-2.0
"""The code of a page: found, run from top to bottom in a folder of its own, and drawn where it draws.

| block | what is done |
|---|---|
| ```python | run; with `figure=NAME` what it leaves as `figure` is drawn below |
| ```sh | commands of epimeter and pytest are typed (`# exit 1` says another code than 0); `export NAME=VALUE` holds for the page |
| ```LANGUAGE file=NAME | written to that file |
| ```text output | every line must stand in what the last block printed; … stands for anything |
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.S | re.M)


def blocks(text: str) -> list[tuple[str, str, str]]:
    """Language, remark and content of every block that something is done with."""
    found = [(language, remark.strip(), content) for language, remark, content in FENCE.findall(text)]
    return [block for block in found if block[0] in ("python", "sh") or block[1].startswith(("file=", "output"))]


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


CAPTURED = re.compile(r"^export (\w+)=\$\((epimeter .*?) \| grep -oE '([^']+)'\)")
"""What a command printed, kept for the page: export NAME=$(epimeter … | grep -oE 'PATTERN')."""


def typed(words: list[str], expected: int) -> None:
    """Run a command of epimeter in this process; any other command is refused."""
    from epimeter.cli import main

    if words[0] == "export":
        os.environ.update(dict([word.split("=", 1) for word in words[1:]]))
        return
    if words[0] == "pytest":
        done = subprocess.run(
            [sys.executable, "-m", *words, "-p", "no:cacheprovider", "-p", "epimeter.pytest_plugin"],
            capture_output=True,
            text=True,
        )
        print(done.stdout, done.stderr)
        if done.returncode != expected:
            raise AssertionError(f"{shlex.join(words)} ended with {done.returncode}, not {expected}")
        return
    if words[0] != "epimeter":
        raise AssertionError(f"a page types only epimeter commands, export and pytest; got {words[0]}")
    try:
        main(words[1:])
        code: Any = 0
    except SystemExit as ended:
        code = ended.code or 0
    if code != expected:
        raise AssertionError(f"{shlex.join(words)} ended with {code}, not {expected}")


def type_all(content: str) -> None:
    """Every command of a shell block in turn."""
    for line in content.replace("\\\n", " ").splitlines():
        kept = CAPTURED.match(line)
        if kept is None:
            for words, expected in commands(line):
                typed(words, expected)
            continue
        with contextlib.redirect_stdout(io.StringIO()) as said:
            for words, expected in commands(kept.group(2)):
                typed(words, expected)
        os.environ[kept.group(1)] = "\n".join(re.findall(kept.group(3), said.getvalue()))


def stated(content: str, printed: str) -> None:
    """Hold the output that a page states against what was printed, line by line; runs of blanks count as one."""
    said = [" ".join(line.split()) for line in printed.splitlines()]
    for line in content.splitlines():
        shape = ".*".join(re.escape(part) for part in " ".join(line.split()).split("…"))
        if not any(re.search(shape, each) for each in said):
            raise AssertionError(f"the page states {line.strip()!r}, which was not printed")


def run(text: str, folder: Path) -> dict[str, Any]:
    """Every block of a page in turn; the names it leaves, and under `figures` what it drew."""
    names: dict[str, Any] = {"__name__": "__page__"}
    before, printed = dict(os.environ), io.StringIO()
    try:
        with in_folder(folder):
            for language, remark, content in blocks(text):
                if remark == "output":
                    stated(content, printed.getvalue())
                    continue
                if remark.startswith("file="):
                    Path(remark.removeprefix("file=")).write_text(content, "utf-8")
                    continue
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                    if language == "sh":
                        type_all(content)
                    else:
                        exec(compile(content, "page", "exec"), names)
                if remark.startswith("figure="):
                    names.setdefault("figures", {})[remark.removeprefix("figure=")] = names["figure"]
    except AssertionError as fault:
        raise AssertionError(f"{fault}\n{printed.getvalue()}") from fault
    finally:
        os.environ.clear()
        os.environ.update(before)
    return names


class Figures:
    """The figures of the pages, each drawn by the code that stands above it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages: dict[str, dict[str, Any]] = {}

    def drawn(self, path: str, name: str, text: str) -> tuple[str, str]:
        """The file of a figure and what it shows, in words."""
        if path not in self.pages:
            with tempfile.TemporaryDirectory() as folder:
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
