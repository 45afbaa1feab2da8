# SPDX-License-Identifier: Apache-2.0
"""A fitted map as a small JSON document: its numbers, what it was fitted on, and a digest over all of it.

format      "epimeter-recalibration-map"
version     1
map         temperature, platt, beta, isotonic, histogram, spline, venn_abers, intra_order, vector, dirichlet, identity
kind        event, answer or classes: what it maps, and nothing else
classes     number of classes; names of them where the data had any
numbers     coefficients or knots
formula     how to apply them, in words for a program in another language
fitted_on   the `epi-col-v1` digest of the rows, and how many they were
chosen      where the map was chosen among several: each with its cross-validated log loss
digest      SHA-256 over the RFC 8785 form of everything else
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rfc8785

import epimeter
from epimeter.errors import InputError
from epimeter.kinds import Kind, kind_of
from epimeter.recalibration.curves import CURVES, Map
from epimeter.recalibration.matrices import MATRICES

FORMAT, VERSION = "epimeter-recalibration-map", 1
SIZE_LIMIT = 64 << 20
"""Bytes of a map that are read at most."""
KEYS = {"format", "version", "map", "kind", "classes", "numbers", "formula", "fitted_on", "chosen", "made_by", "digest"}


def maps_of(kind: Kind) -> dict[str, type[Map]]:
    """The maps of a kind of forecast, by name; `identity` is the first."""
    return {made.name: made for made in (MATRICES if kind == "classes" else CURVES)}


@dataclass(frozen=True, kw_only=True)
class MapDocument:
    """A map with what a stranger must know to use it."""

    map: Map
    kind: Kind
    n_classes: int = 2
    class_names: tuple[str, ...] | None = None
    fitted_on: Mapping[str, Any] = field(default_factory=dict)
    chosen: Mapping[str, Any] | None = None
    made_by: str = f"epimeter {epimeter.__version__}"

    def to_dict(self) -> dict[str, Any]:
        """The document, digest included."""
        made = {
            "format": FORMAT,
            "version": VERSION,
            "map": self.map.name,
            "kind": self.kind,
            "classes": {
                "number": self.n_classes,
                "names": None if self.class_names is None else list(self.class_names),
            },
            "numbers": self.map.numbers(),
            "formula": self.map.formula,
            "fitted_on": dict(self.fitted_on),
            "chosen": None if self.chosen is None else dict(self.chosen),
            "made_by": self.made_by,
        }
        return made | {"digest": digest_of(made)}

    @property
    def digest(self) -> str:
        """What names this map in reports and certificates."""
        return str(self.to_dict()["digest"])

    @property
    def mark(self) -> str:
        """Name and digest in one word, as recalibrated rows carry it."""
        return f"{self.map.name}:{self.digest}"

    def save(self, path: str | Path) -> Path:
        """Write the document."""
        target = Path(path)
        target.write_text(json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        return target


def digest_of(document: Mapping[str, Any]) -> str:
    """SHA-256 over the canonical form of a document without its digest."""
    rest = {name: value for name, value in document.items() if name != "digest"}
    return "sha256:" + hashlib.sha256(rfc8785.dumps(rest)).hexdigest()


def load(path: str | Path, *, edited: bool = False) -> MapDocument:
    """Read a map; one that was changed after it was written is refused unless `edited` says that this is meant."""
    name = Path(path).name
    with open(path, "rb") as file:
        data = file.read(SIZE_LIMIT + 1)
    if len(data) > SIZE_LIMIT:
        raise InputError(f"a recalibration map has at most {SIZE_LIMIT >> 20} MiB; {name} is larger")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError(f"a recalibration map must be JSON; {name} is not") from None
    return read(found, name, edited=edited)


def read(found: Any, name: str, *, edited: bool = False) -> MapDocument:
    """The map of a document."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f"{name} is no recalibration map: it must be an object whose format is {FORMAT!r}")
    if found.get("version") != VERSION:
        raise InputError(
            f"this epimeter reads recalibration maps of version {VERSION}; {name} has version {found.get('version')!r:.20}"
        )
    if set(found) != KEYS:
        strange = sorted(set(found) ^ KEYS)
        raise InputError(
            f"a recalibration map has the fields {', '.join(sorted(KEYS))}; {name} differs in {strange[0]!r}"
        )
    kind = kind_of(found["kind"])
    known = maps_of(kind)
    if found["map"] not in known:
        raise InputError(f"the maps of {kind} are {', '.join(known)}; {name} has {found['map']!r:.40}", field="map")
    try:
        right = found["digest"] == digest_of(found)
    except (rfc8785.CanonicalizationError, ValueError):
        right = False
    if not right and not edited:
        raise InputError(
            f"the digest of {name} is not that of its content: it was changed after it was fitted. Fit it again, or accept "
            "the change with --edited (edited=True in Python)",
            field="digest",
        )
    made = known[found["map"]].read(found["numbers"])
    classes = found["classes"]
    number, names = (classes.get("number"), classes.get("names")) if isinstance(classes, dict) else (None, None)
    if not isinstance(number, int) or number < 2 or number != getattr(made, "n_classes", 2):
        raise InputError(
            f"the numbers of {name} are not for the {number!r:.20} classes that it states", field="classes"
        )
    if names is not None and (not isinstance(names, list) or len(names) != number):
        raise InputError(f"{name} must name {number} classes, or none", field="classes")
    fitted = found["fitted_on"] if isinstance(found["fitted_on"], dict) else {}
    return MapDocument(
        map=made,
        kind=kind,
        n_classes=number,
        class_names=None if names is None else tuple(map(str, names)),
        fitted_on=fitted,
        chosen=found["chosen"] if isinstance(found["chosen"], dict) else None,
        made_by=str(found["made_by"]),
    )
