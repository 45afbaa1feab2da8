# SPDX-License-Identifier: Apache-2.0
"""The bill of materials of the wheel, as CycloneDX 1.6: what it needs, what is compiled into it, what data it carries.

A wheel names ranges of versions and not versions, so a component has its requirement as a property and no version. There is no
time and no random number in it: one tree has one bill.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
CORE = ROOT / "src" / "epimeter" / "core"
DATA = ROOT / "src" / "epimeter" / "data"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def sbom(name: str, version: str, needs: Iterable[str], extras: Mapping[str, Iterable[str]]) -> str:
    """The document, from the project's name, version and requirements; `extras` by the extra that asks for them."""
    wanted: dict[str, list[tuple[str, str]]] = {}
    for scope, requirements in (("required", needs), *extras.items()):
        for requirement in requirements:
            found = _NAME.match(requirement)
            if found and found[0].lower() != name:
                wanted.setdefault(found[0].lower(), []).append((scope, requirement))
    components = [_library(one, asked) for one, asked in sorted(wanted.items())]
    components += [_file(path, "source compiled into the core") for path in sorted(CORE.rglob("*.[ch]"))]
    components += [_file(path, "data") for path in sorted(DATA.iterdir()) if path.suffix != ".md"]
    itself = f"pkg:pypi/{name}@{version}"
    body: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": itself,
                "name": name,
                "version": version,
                "purl": itself,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
        "dependencies": [
            {
                "ref": itself,
                "dependsOn": [one["bom-ref"] for one in components if one.get("scope") == "required"],
            }
        ],
    }
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
    return json.dumps({"serialNumber": f"urn:uuid:{uuid.UUID(bytes=digest[:16], version=4)}"} | body, indent=1) + "\n"


def _library(name: str, asked: list[tuple[str, str]]) -> dict[str, Any]:
    required = any(scope == "required" for scope, _ in asked)
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}",
        "name": name,
        "purl": f"pkg:pypi/{name}",
        "scope": "required" if required else "optional",
        "properties": [{"name": f"epimeter:{scope}", "value": requirement} for scope, requirement in asked],
    }


def _file(path: Path, what: str) -> dict[str, Any]:
    name = path.relative_to(ROOT).as_posix()
    return {
        "type": "file",
        "bom-ref": f"file:{name}",
        "name": name,
        "description": what,
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
    }
