"""Walking the options of a command: which of them change nothing of what it says and writes?"""

from __future__ import annotations

import base64
import re
import sqlite3
from collections import Counter
from contextlib import closing

import click
from click.testing import CliRunner

from epimeter.cli import epimeter as command_line
from epimeter.errors import EpimeterError

WITH_ISSUER = (
    "certify", "preregister", "renew", "certificates", "attest", "verify", "reproduce", "disclose", "revoke", "export",
    "log monitor", "log publish", "log verify", "keys init", "keys list", "keys rotate", "keys end",
)  # fmt: skip
"""Commands that need an issuer."""
STAND_INS = ("serve", "backup", "restore", "succeed", "submit", "experiment bias", "experiment ecd")
"""Commands of which the long part, a server or a study, is left out."""


def commands(found=command_line, path=()):
    """Every command by its words."""
    if not isinstance(found, click.Group):
        return {" ".join(path): found}
    made = {}
    for word in found.list_commands(None):
        made |= commands(found.get_command(None, word), (*path, word))
    return made


def options(command):
    return [option for option in commands()[command].params if isinstance(option, click.Option)]


def prepared(*lines):
    """Run commands whose files others read; 1 is an answer, too."""
    for line in lines:
        run = CliRunner().invoke(command_line, line.split())
        assert run.exit_code in (0, 1) and not isinstance(run.exception, Exception), (line, run.exception, run.output)


def text_of(path):
    """A file as text; a database by its rows."""
    if path.suffix != ".db":
        return path.read_bytes().decode("latin-1")
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        ]
        cells = [cell for name in tables for row in connection.execute(f"SELECT * FROM {name}") for cell in row]
    return " ".join(_cell(cell) for cell in cells)


def _cell(cell):
    """Bytes that are no text, such as a digest, are one word: how many marks they happen to hold must not move the others."""
    if not isinstance(cell, bytes):
        return str(cell)
    try:
        text = cell.decode()
    except UnicodeDecodeError:
        return cell.hex()
    return text if text.isprintable() else cell.hex()


def said_by(folder, arguments):
    """How often each word stands in what a command prints and writes; None where it refuses. What it changed is put back."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    run = CliRunner().invoke(command_line, arguments)
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    written = [
        path for path, data in after.items() if before.get(path) != data and not path.name.endswith(("-wal", "-shm"))
    ]
    said = {str(path.relative_to(folder)): text_of(path) for path in written}
    for path in after.keys() - before.keys():
        path.unlink()
    for path in before:
        if after.get(path) != before[path]:
            path.write_bytes(before[path])
    if run.exception is not None and not isinstance(run.exception, SystemExit):
        assert isinstance(run.exception, EpimeterError | click.ClickException | OSError), repr(run.exception)
        return None
    if run.exit_code == 2:
        return None
    said |= {"printed": run.output, "code": str(run.exit_code)}
    return Counter((name, word) for name, text in said.items() for word in _words(text))


def _words(text):
    """The words and marks of a text; what is no text is one word, a signature too; a document under a signature is read."""
    if "\0" in text:
        return [text]
    words = re.findall(r"[\w+/=]+|[^\w\s]", re.sub(r"\d\d:\d\d:\d\d[.\d]*", "time", text))
    return [inner for word in words for inner in _unfolded(word)]


def _unfolded(word):
    """The words of a text in base64, or the word itself."""
    if len(word) < 24:
        return [word]
    try:
        text = base64.b64decode(word, validate=True).decode()
    except ValueError:
        return [word]
    return _words(text) if text.isprintable() else [word]


def idle_options(folder, command, plain, value, same=(), again=True):
    """The options of a command that leave all it says as it was.

    Parameters
    ----------
    plain
        The words behind the command.
    value
        What an option that takes something is given: a function of the option.
    same
        Options that say what is so already.
    again
        Whether the command is run twice: words that differ by themselves, times and random names, count for nothing.
    """
    typed = [*command.split(), *plain]
    first = said_by(folder, typed)
    assert first is not None, f"refused: {' '.join(typed)}"
    second = said_by(folder, typed) if again else first
    steady = first & second
    idle = []
    for option in options(command):
        name = max(option.opts, key=len)
        if name in same:
            continue
        given = [name] if option.is_flag else [name, value(option, name)]
        found = said_by(folder, [*typed, *given])
        if found is not None and steady <= found and found.total() == first.total():
            idle.append(" ".join(given))
    return idle
