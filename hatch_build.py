# SPDX-License-Identifier: Apache-2.0
"""The part of the build that is not plain copying: the C core (`build_core.py`) and the bill of materials (`build_sbom.py`)."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))  # the backend runs this file by its path

import build_core
import build_sbom


class CoreHook(BuildHookInterface):
    """Compiles the core: in place for an editable install, into the wheel otherwise."""

    def dependencies(self) -> list[str]:
        return ["ziglang"] if build_core.needs_zig() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        try:
            if version == "editable":
                build_core.build(build_core.CORE / build_core.FILE)
            else:
                made = build_core.build(Path(self.directory, "core", build_core.tag(), build_core.FILE))
                build_data["force_include"][str(made)] = f"epimeter/core/{build_core.FILE}"
        except build_core.BuildError as error:
            self.app.abort(str(error))
        if version != "editable":
            facts = self.metadata.core
            told = build_sbom.sbom(facts.name, self.metadata.version, facts.dependencies, facts.optional_dependencies)
            path = Path(self.directory, "epimeter.cdx.json")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(told, "utf-8")
            build_data["sbom_files"].append(str(path))  # dist-info/sboms, after PEP 770
        build_data["pure_python"] = False
        build_data["tag"] = build_core.tag()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(Path(self.directory, "core"), ignore_errors=True)  # it is in the wheel
