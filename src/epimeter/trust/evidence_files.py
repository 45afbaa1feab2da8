# SPDX-License-Identifier: Apache-2.0
"""The evidence for a certificate, gathered where the records are: a part a file, one file in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from epimeter.errors import InputError
from epimeter.inference.intervals import FEW_UNITS
from epimeter.readers import Choice, read
from epimeter.sources.paths import matching
from epimeter.trust.evidence import Evidence, evidence_of, merged


def gathered(
    files: Iterable[str],
    *,
    at: datetime,
    columns: Choice | Mapping[str, str] | None = None,
    format: str | None = None,
    assume_utc: bool = False,
    done: Callable[[int], None] | None = None,
) -> Evidence:
    """The evidence of files, patterns and folders.

    Parameters
    ----------
    at
        The moment of the evaluation; a record after it is refused.
    columns, format
        As for a reader.
    assume_utc
        Take times without a zone as UTC.
    done
        Told the rows of each file when they are digested.
    """
    found = []
    for path in matching(files):
        table = read(path, columns=columns, format=format)
        clusters = table.clusters
        if clusters is not None and len(set(clusters)) >= FEW_UNITS:
            raise InputError(
                f"the records of a summary must stand for themselves, since it counts records; {table.source} has "
                f"{table.evidence}. Certify from the file itself, which counts what is independent; of a log "
                "--unit question makes one record a question",
                field="group",
            )
        found.append(evidence_of(table, at=at, assume_utc=assume_utc))
        if done is not None:
            done(table.n_rows)
    return merged(found)
