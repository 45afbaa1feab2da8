# SPDX-License-Identifier: Apache-2.0
"""The published JSON schemas: data set (ERS-3.1-e), evaluation, liability report, passport."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from epimeter.standards.bands import word

SCHEMAS = ("dataset", "evaluation", "liability", "passport")


def schema(name: str) -> dict[str, Any]:
    """A schema by its name (JSON Schema 2020-12)."""
    path = files("epimeter.standards") / "schemas" / f"{word(name, SCHEMAS, 'schema')}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found
