# SPDX-License-Identifier: Apache-2.0
"""What numbers cannot say: who runs the system, what it calls unknown, how it detects it, what is kept and verified.

A declaration comes from a TOML file or from options. Every field that a requirement asks for is named with it.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from epimeter.errors import InputError
from epimeter.standards.bands import word
from epimeter.standards.unknowns import taxonomy_of

CONFIDENCE_SOURCES = ("softmax", "calibrated", "ensemble_variance", "confidence_head", "other")
"""42001-B.2.1-a."""
RECALIBRATIONS = ("none", "temperature", "platt", "isotonic", "histogram")
"""42001-B.2.2-a; never fitted on the evaluation data."""
CONTENTS = ("in_distribution", "known_unknowns", "edge_cases")
"""What the data should include, yes or no (42001-B.1.2-a)."""
FLAGS = ("frequency_kept", "third_party_verification", "continuous_monitoring")
"""What only people can confirm (42001-8.1-b, c)."""
TEXT_LIMIT = 2000


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """Statements of the operator; the report says that they are statements."""

    organization: str = ""
    system_id: str = ""
    model_version: str = ""
    scope: str = ""
    pre_deployment: bool = False
    taxonomy: tuple[str, ...] = ()
    taxonomy_text: str = ""
    method: str = ""
    threshold: str = ""
    validation: str = ""
    confidence_source: str = ""
    recalibration: str = ""
    contents: Mapping[str, bool | None] = field(default_factory=lambda: dict.fromkeys(CONTENTS))
    flags: Mapping[str, bool] = field(default_factory=lambda: dict.fromkeys(FLAGS, False))
    verification: str = ""
    notes: str = ""
    liability: Mapping[str, Any] | None = None

    @property
    def taxonomy_documented(self) -> bool:
        """42001-6.1-c."""
        return bool(self.taxonomy)

    @property
    def mechanism_documented(self) -> bool:
        """42001-6.3.2-a: method, threshold and validation."""
        return all((self.method, self.threshold, self.validation))

    def updated(self, **given: Any) -> Declaration:
        """The declaration with what options say on top; empty options say nothing."""
        return replace(self, **{name: value for name, value in given.items() if value})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the liability inputs aside."""
        made = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "liability"}
        return made | {
            "taxonomy": list(self.taxonomy),
            "contents": dict(self.contents),
            "flags": dict(self.flags),
        }


TABLES = {
    "system": ("organization", "system_id", "model_version", "scope", "pre_deployment", "verification", "notes"),
    "unknowns": ("taxonomy", "taxonomy_text", "method", "threshold", "validation"),
    "methodology": ("confidence_source", "recalibration"),
    "contents": CONTENTS,
    "flags": FLAGS,
}
"""Tables of a declaration file and the fields of each; `liability` is read by the liability report."""


def read_declaration(path: str | Path) -> Declaration:
    """The declaration in a TOML file; an unknown table or field is refused, so that a misspelt one is not lost."""
    return declaration(_tables(path), Path(path).name)


def read_tables(path: str | Path) -> dict[str, Any]:
    """The tables of a declaration file that was doubted, for a service."""
    read_declaration(path)
    return _tables(path)


def _tables(path: str | Path) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_bytes().decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise InputError(f"{Path(path).name} must be TOML in UTF-8; {fault}") from None


def declaration(found: Mapping[str, Any], source: str = "declaration") -> Declaration:
    """A declaration from tables of plain values."""
    facts: dict[str, Any] = {}
    for table, values in found.items():
        if table == "liability":
            facts["liability"] = values
            continue
        if table not in TABLES or not isinstance(values, Mapping):
            raise InputError(f"{source} has no table {table!r}; its tables are {', '.join(TABLES)}, liability")
        for name, value in values.items():
            if name not in TABLES[table]:
                raise InputError(
                    f"[{table}] of {source} has no field {name!r}; its fields are {', '.join(TABLES[table])}",
                    field=name,
                )
            if table in ("contents", "flags"):
                if not isinstance(value, bool):
                    raise InputError(f"{name} of {source} must be true or false; got {value!r:.40}", field=name)
                default = dict.fromkeys(CONTENTS) if table == "contents" else dict.fromkeys(FLAGS, False)
                facts[table] = {**facts.get(table, default), name: value}
            else:
                facts[name] = value
    return checked(facts)


def checked(facts: dict[str, Any]) -> Declaration:
    """A declaration whose words are known and whose texts can be printed."""
    facts = dict(facts)
    if isinstance(facts.get("taxonomy"), list):
        facts["taxonomy"] = ",".join(map(str, facts["taxonomy"]))
    if isinstance(facts.get("taxonomy"), str):
        facts["taxonomy"] = taxonomy_of(facts["taxonomy"])
    words = {"confidence_source": CONFIDENCE_SOURCES, "recalibration": RECALIBRATIONS}
    for name, known in words.items():
        if facts.get(name):
            word(facts[name], known, name)
    for name, value in facts.items():
        if name not in ("taxonomy", "contents", "flags", "liability", "pre_deployment"):
            facts[name] = printable(value, name)
    return Declaration(**facts)


def printable(value: Any, name: str) -> str:
    """A text that looks the same to everyone: NFC, no control or direction-changing characters, not endless."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be text; got {value!r:.40}", field=name)
    if len(value) > TEXT_LIMIT:
        raise InputError(f"{name} must have at most {TEXT_LIMIT} characters; got {len(value)}", field=name)
    made = unicodedata.normalize("NFC", value)
    for place, letter in enumerate(made):
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn") and letter not in "\n\t":
            raise InputError(
                f"{name} must not hold control or invisible characters; character {place} is U+{ord(letter):04X}",
                field=name,
            )
    return made
