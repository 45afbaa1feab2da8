# SPDX-License-Identifier: Apache-2.0
"""From whatever a caller holds to the jobs of a pass on one machine."""

from __future__ import annotations

import os
import re
from typing import Any

from epimeter.errors import ReadError
from epimeter.sources.files import of_files
from epimeter.sources.frames import of_dataset, of_frame, of_lazy_frame, of_query, of_relation
from epimeter.sources.paths import places
from epimeter.sources.route import Ask, Route

SQL = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)


def route(source: Any, ask: Ask) -> Route:
    """The way to the rows of a source."""
    if isinstance(source, str) and SQL.match(source) and not os.path.exists(source):
        return of_query(source, ask)
    if isinstance(source, str | os.PathLike):
        return of_files(places([source]), os.fsdecode(source), ask)
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | os.PathLike) for item in source):
        paths = places(source)
        return of_files(paths, f"{len(paths)} files", ask)
    module = type(source).__module__.partition(".")[0]
    if isinstance(source, list | tuple) and not source:
        raise ReadError("a list of files must name at least one", field="source")
    if module in ("duckdb", "_duckdb"):
        return of_relation(source, ask)
    if module == "pyarrow" and hasattr(source, "to_batches") and hasattr(source, "scanner"):
        return of_dataset(source, ask)
    if module == "polars" and hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return of_lazy_frame(source, ask)
    return of_frame(source, ask)
