# SPDX-License-Identifier: Apache-2.0
"""A standard as a table of clauses: what each asks, with what force, and what in this package answers it.

An answer is the name of a function, a field of the evaluation, the passport or the liability report, a published
schema, a service address, or the statement that software cannot check it. Tests read the tables and look up every
answer, so that a name that does not exist is found.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Force = Literal["must", "should", "may", "definition", "informative"]
Kind = Literal["function", "evaluation", "passport", "liability", "schema", "service", "nobody"]

WORDS = {
    "function": "function",
    "evaluation": "field of the evaluation",
    "passport": "field of the passport",
    "liability": "field of the liability report",
    "schema": "schema",
    "service": "the service",
    "nobody": "cannot be checked by software",
}


@dataclass(frozen=True, slots=True)
class ClauseAnswer:
    """What answers a clause."""

    kind: Kind
    places: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The answer in words."""
        return f"{WORDS[self.kind]}: {', '.join(self.places)}"


@dataclass(frozen=True, slots=True)
class Clause:
    """One requirement of a standard; `test` is how it is checked, empty where nothing is to be checked."""

    id: str
    force: Force
    text: str
    test: str
    answer: ClauseAnswer

    @property
    def test_name(self) -> str:
        """How the name of its test begins: ERS-2.1-b is tested by test_ERS_2_1_b_…"""
        return "test_" + "".join(letter if letter.isalnum() else "_" for letter in self.id)


@dataclass(frozen=True)
class Standard:
    """A document and its clauses."""

    name: str
    version: str
    clauses: tuple[Clause, ...]

    def __iter__(self) -> Iterator[Clause]:
        return iter(self.clauses)

    def __getitem__(self, name: str) -> Clause:
        for found in self.clauses:
            if found.id == name:
                return found
        raise KeyError(name)


def clause(name: str, force: Force, text: str, test: str, answer: ClauseAnswer) -> Clause:
    """A row of a standard's table."""
    return Clause(name, force, text, test, answer)


def functions(*names: str) -> ClauseAnswer:
    """Answered by functions: of `epimeter.standards`, or of a module of it (`schedule.onto_due`)."""
    return ClauseAnswer("function", tuple(f"epimeter.standards.{name}" for name in names))


def trust(*names: str) -> ClauseAnswer:
    """Answered by functions of the trust room, by their full names."""
    return ClauseAnswer("function", names)


def evaluation(*paths: str) -> ClauseAnswer:
    """Answered by fields of the evaluation's JSON."""
    return ClauseAnswer("evaluation", paths)


def passport(*paths: str) -> ClauseAnswer:
    """Answered by fields of the passport."""
    return ClauseAnswer("passport", paths)


def liability_field(*paths: str) -> ClauseAnswer:
    """Answered by fields of the liability report's JSON."""
    return ClauseAnswer("liability", paths)


def schema(name: str) -> ClauseAnswer:
    """Answered by a published JSON schema."""
    return ClauseAnswer("schema", (name,))


def service(*addresses: str) -> ClauseAnswer:
    """Answered by the service, at these addresses."""
    return ClauseAnswer("service", addresses)


def nobody(reason: str) -> ClauseAnswer:
    """Not to be checked by software."""
    return ClauseAnswer("nobody", (reason,))


def function_named(name: str) -> Any:
    """The function of a full name; LookupError where there is none."""
    home, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(home), last)
    except (ImportError, AttributeError):
        raise LookupError(f"no function is called {name}") from None


def field_at(document: Mapping[str, Any], path: str) -> Any:
    """The value of a field such as `metrics.ers.ece`; LookupError where the document has none."""
    found: Any = document
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            raise LookupError(f"the document has no field {path}")
        found = found[name]
    return found
