# SPDX-License-Identifier: Apache-2.0
"""The folder of a study: what was asked for, and every cell that is done.

`experiment.json` says which study it is and with what settings; `cells.jsonl` has one line a cell, written when the cell is
done. A study that was stopped goes on where it stopped; a folder takes one study, one seed and one process at a time.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from epimeter.errors import InputError

SETTINGS = "experiment.json"
CELLS = "cells.jsonl"
LOCK = "lock"


class Folder:
    """A study on disk; made by `opened`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def results(self) -> dict[str, dict[str, Any]]:
        """Every cell that is done, by its key; a line that was cut off while it was written is not."""
        done: dict[str, dict[str, Any]] = {}
        if (self.path / CELLS).exists():
            for line in (self.path / CELLS).read_text("utf-8").splitlines():
                try:
                    cell = json.loads(line)
                    done[cell["key"]] = cell["result"]
                except (ValueError, KeyError, TypeError):
                    continue
        return done

    def keep(self, key: str, result: Mapping[str, Any]) -> None:
        """Write a cell that is done; it is on disk when this returns."""
        line = json.dumps({"key": key, "result": result}, allow_nan=False)
        with open(self.path / CELLS, "ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def opened(path: str | Path, experiment: str, settings: Mapping[str, Any]) -> Iterator[Folder]:
    """The folder of a study, for this process alone; refused if it holds another study or another process works in it."""
    place = Path(path)
    asked = json.loads(json.dumps({"experiment": experiment, "settings": dict(settings)}))
    if place.exists() and not place.is_dir():
        raise InputError(f"a study needs a folder; {place} is a file", field="folder")
    if place.is_dir() and any(place.iterdir()) and not (place / SETTINGS).exists():
        raise InputError(
            f"folder {place} holds other things than a study; choose an empty or a new one", field="folder"
        )
    place.mkdir(parents=True, exist_ok=True)
    with open(place / LOCK, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"folder {place} belongs to a study that is running; wait for it, or choose another folder",
                field="folder",
            ) from None
        if (place / SETTINGS).exists():
            _refuse_another(place, asked)
        else:
            fresh = place / f"{SETTINGS}.new"
            fresh.write_text(json.dumps(asked, indent=2) + "\n", "utf-8")
            fresh.replace(place / SETTINGS)
        folder = Folder(place)
        _mend(folder)
        yield folder


def _refuse_another(place: Path, asked: dict[str, Any]) -> None:
    try:
        held = json.loads((place / SETTINGS).read_text("utf-8"))
        settings = dict(held["settings"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{place / SETTINGS} cannot be read; choose another folder", field="folder") from None
    if held.get("experiment") != asked["experiment"]:
        raise InputError(
            f"folder {place} holds the study {held.get('experiment')!r}; got {asked['experiment']!r}. Choose another folder",
            field="folder",
        )
    for name in sorted({*settings, *asked["settings"]}):
        before, now = settings.get(name), asked["settings"].get(name)
        if before != now:
            raise InputError(
                f"folder {place} holds a study with {name} {before}; got {name} {now}, and two studies cannot be merged. "
                "Choose another folder",
                field=name,
            )


def _mend(folder: Folder) -> None:
    """Drop a last line that was cut off, so that the next one is not written behind it."""
    cells = folder.path / CELLS
    if cells.exists():
        raw = cells.read_bytes()
        if raw and not raw.endswith(b"\n"):
            os.truncate(cells, raw.rfind(b"\n") + 1)
