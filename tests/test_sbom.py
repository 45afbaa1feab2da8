"""The bill of materials that goes into the wheel."""

import importlib.util
import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_bill_of_materials_names_every_requirement_and_every_compiled_source():
    spec = importlib.util.spec_from_file_location("build_sbom", ROOT / "build_sbom.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    facts = (project["name"], project["version"], project["dependencies"], project["optional-dependencies"])
    text = module.sbom(*facts)
    assert text == module.sbom(*facts)
    found = json.loads(text)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    required = {one["name"] for one in found["components"] if one.get("scope") == "required"}
    assert required == {"numpy", "scipy", "pyarrow", "msgspec", "cryptography", "rfc8785", "click", "cffi"}
    assert "fastapi" in {one["name"] for one in found["components"] if one.get("scope") == "optional"}
    files = {one["name"] for one in found["components"] if one["type"] == "file"}
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "src/epimeter/core").rglob("*.c")} <= files
