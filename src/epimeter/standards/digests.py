# SPDX-License-Identifier: Apache-2.0
"""What an evaluation was made with, as a digest: the files of the package (C-15)."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from epimeter import __version__


@cache
def code_digest() -> str:
    """The digest of the version and of every file of the installed package, in hex.

    The C core counts by its source, as everything else does: compiled, it is other bytes on every machine.
    """
    root = Path(__file__).parent.parent
    paths = sorted(
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".so", ".pyd")
    )
    lines = [f"{path}, {hashlib.sha256((root / path).read_bytes()).hexdigest()}" for path in paths]
    return hashlib.sha256("\n".join([__version__, *lines]).encode()).hexdigest()
