# SPDX-License-Identifier: Apache-2.0
"""Which files a path, a pattern or a folder stands for, and what the names of folders say (``day=2026-01-01``)."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from epimeter.errors import ReadError
from epimeter.readers.files import PACKED, SAME
from epimeter.readers.wording import clean, shown

SUFFIXES = frozenset({"parquet", "csv", "tsv", "ndjson", "json", "arrow", "npz", "xlsx", *SAME})
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""How a folder is called whose rows have no value."""


@dataclass(frozen=True)
class SourceFile:
    """A file, the name it goes by in messages, and what its folders say."""

    path: str
    name: str
    folders: Mapping[str, Any] = field(default_factory=dict)

    @property
    def format(self) -> str:
        """What the suffix says; that of a packed file is the one before the packing."""
        suffix = suffix_of(self.path)
        return SAME.get(suffix, suffix)


def suffix_of(path: str) -> str:
    """The suffix that says the format: `csv` for `rows.csv` and for `rows.csv.gz`."""
    stem, suffix = os.path.splitext(path.lower())
    return (os.path.splitext(stem)[1] if suffix in PACKED else suffix).lstrip(".")


def several(source: str | os.PathLike[str]) -> bool:
    """Whether a path stands for several files: a pattern that is no file itself, or a folder."""
    path = os.fsdecode(source)
    return path != "-" and (os.path.isdir(path) or (glob.has_magic(path) and not os.path.exists(path)))


def places(sources: Iterable[str | os.PathLike[str]]) -> list[SourceFile]:
    """The files of paths, patterns and folders, in order."""
    files = [place for source in sources for place in _places(os.fsdecode(source))]
    if len({place.path for place in files}) > 1:
        files = _told_apart(files)
    keys = {key for place in files for key in place.folders}
    for key in keys:
        values = [place.folders.get(key) for place in files]
        if all(value is None or _whole(value) for value in values):  # a folder year=2026 is a number, as Arrow reads it
            files = [
                SourceFile(
                    p.path, p.name, {k: int(v) if k == key and v is not None else v for k, v in p.folders.items()}
                )
                for p in files
            ]
    return files


def matching(patterns: Iterable[str]) -> list[str]:
    """Files by their names, patterns and folders, in order."""
    return [place.path for place in places(patterns)]


def _whole(value: str) -> bool:
    return value.isascii() and value.removeprefix("-").isdigit() and str(int(value)) == value


def _places(path: str) -> list[SourceFile]:
    if "\0" in path:
        raise ReadError(f"no file can be called {shown(path)}; a name has no zero byte", field="source")
    if os.path.isdir(path):
        return _folder(path)
    if path == "-" or os.path.exists(path) or not glob.has_magic(path):
        return [SourceFile(path, _short(path), _folders(path))]
    matches = sorted(match for match in glob.glob(path, recursive=True) if os.path.isfile(match))
    if not matches:
        raise ReadError(f"no file matches {shown(path)}", field="source")
    return [SourceFile(match, _short(match), _folders(match)) for match in matches]


def _folder(root: str) -> list[SourceFile]:
    inside = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(files):
            path = os.path.join(folder, name)
            if not name.startswith((".", "_")) and suffix_of(name) in SUFFIXES:
                inside.append(
                    SourceFile(path, clean(os.path.relpath(path, root)), _folders(os.path.relpath(path, root)))
                )
    if not inside:
        raise ReadError(
            f"{shown(root)} holds no file of a known format ({', '.join(sorted(SUFFIXES))})", field="source"
        )
    return sorted(inside, key=lambda place: place.path)


def _folders(path: str) -> dict[str, Any]:
    """The key=value names on the way to a file."""
    values: dict[str, Any] = {}
    for part in os.path.normpath(path).split(os.sep)[:-1]:
        key, sign, value = part.partition("=")
        if sign and key:
            values[unquote(key)] = None if value == NO_VALUE else unquote(value)
    return values


def _short(path: str) -> str:
    return "standard input" if path == "-" else clean(os.path.basename(path) or path)


def _told_apart(files: list[SourceFile]) -> list[SourceFile]:
    """Files of one name get their whole path in messages."""
    paths: dict[str, set[str]] = {}
    for place in files:
        paths.setdefault(place.name, set()).add(place.path)
    return [SourceFile(p.path, p.path if len(paths[p.name]) > 1 else p.name, p.folders) for p in files]
