# SPDX-License-Identifier: Apache-2.0
"""The evidence of a certificate without the records: counts and sums, and the digests of the parts they come from.

A company whose records may not leave its site sends this, in a summary file, and an auditor certifies from it. Whoever has the
records makes the same evidence again and compares.

`epi-parts-v1` is SHA-256 over `epi-parts-v1`, a zero byte, and for each part the 32 bytes of its `epi-col-v1` digest and its
number of records (8 bytes, little-endian); `epi-rec-parts-v1` is the same over the `epi-rec-v1` roots of the parts. Parts stand
in the order of their digests, so that the order of merging leaves no trace; no part may stand twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from epimeter.errors import InputError, MergeError
from epimeter.readers.digest import SCHEME as COLUMNS_SCHEME
from epimeter.readers.table import Table
from epimeter.standards.ers_sums import ErsTotals
from epimeter.standards.method import domain_said
from epimeter.standards.records import records_of
from epimeter.trust.disclosure import PARTS_SCHEME, Root, parts_digest, record_columns, records_root

SCHEME = "epi-parts-v1"


@dataclass(frozen=True, kw_only=True, order=True)
class EvidencePart:
    """Records that were digested together: usually a file."""

    digest: str
    root: str
    n_rows: int


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Totals of all records, and the parts they come from."""

    totals: ErsTotals
    parts: tuple[EvidencePart, ...]
    domain: str | None = None
    """What the records say of their domain; None where they say nothing."""

    def __post_init__(self) -> None:
        n_rows = sum(part.n_rows for part in self.parts)
        if n_rows != self.totals.sums.n_rows:
            raise InputError(
                f"evidence must count the same records in its parts and in its sums; they have {n_rows:,} and "
                f"{self.totals.sums.n_rows:,}",
                field="evidence",
            )

    @property
    def n_rows(self) -> int:
        """Records that it is about."""
        return self.totals.sums.n_rows

    def with_parts(self, others: Sequence[Evidence]) -> Evidence:
        """The evidence of these records and of all others; the same records twice are refused."""
        return merged([self, *others])

    @property
    def dataset_digest(self) -> str:
        """The digest of all data, as it stands in a certificate."""
        digests = [Root(root=part.digest, n_rows=part.n_rows) for part in self.parts]
        return f"{SCHEME}:sha-256:{parts_digest(SCHEME, digests)}"

    @property
    def part_digests(self) -> tuple[str, ...]:
        """The digest of each part as a certificate on its records alone would state it."""
        return tuple(f"{COLUMNS_SCHEME}:sha-256:{part.digest}" for part in self.parts)

    @property
    def roots(self) -> tuple[Root, ...]:
        """The roots of the parts, in their order."""
        return tuple(Root(root=part.root, n_rows=part.n_rows) for part in self.parts)

    @property
    def records_root(self) -> str:
        """The digest of all records' roots, as it stands in a certificate."""
        return f"{PARTS_SCHEME}:sha-256:{parts_digest(PARTS_SCHEME, self.roots)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values and summaries, for `summaries.travel`."""
        parts = [(bytes.fromhex(part.digest), bytes.fromhex(part.root), part.n_rows) for part in self.parts]
        said = {} if self.domain is None else {"domain": self.domain}
        return {"totals": self.totals.to_dict(), "parts": parts, **said}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Evidence:
        """Back from `to_dict`."""
        parts = [EvidencePart(digest=one[0].hex(), root=one[1].hex(), n_rows=one[2]) for one in found["parts"]]
        return cls(totals=ErsTotals.from_dict(found["totals"]), parts=_ordered(parts), domain=found.get("domain"))


def evidence_of(table: Table, *, at: datetime, assume_utc: bool = False) -> Evidence:
    """The evidence of one table; a record from after `at` is refused."""
    records = records_of(table, now=at, assume_utc=assume_utc)
    if records.recalibrated_by is not None:
        raise InputError(
            f"sums do not remember a recalibration; these predictions are by {records.recalibrated_by}. Certify the rows",
            field="recalibrated_by",
        )
    root = records_root(record_columns(table)).rpartition(":")[2]
    part = EvidencePart(digest=records.digest, root=root, n_rows=records.n_rows)
    return Evidence(totals=ErsTotals.of(records), parts=(part,), domain=domain_said(table))


def merged(evidence: Sequence[Evidence]) -> Evidence:
    """The evidence of all parts; the same records twice are refused."""
    totals = reduce(ErsTotals.merge, [one.totals for one in evidence])
    said = sorted({one.domain for one in evidence if one.domain is not None})
    if len(said) > 1:
        raise MergeError(f"records of one certificate must be of one domain; the parts say {', '.join(said)}")
    parts = _ordered(part for one in evidence for part in one.parts)
    return Evidence(totals=totals, parts=parts, domain=next(iter(said), None))


def _ordered(parts: Iterable[EvidencePart]) -> tuple[EvidencePart, ...]:
    made = tuple(sorted(parts))
    for before, after in zip(made, made[1:]):
        if before.digest == after.digest:
            raise MergeError(
                f"records count once; the {after.n_rows:,} with digest {after.digest[:16]}… stand in two of the parts"
            )
    return made
