# SPDX-License-Identifier: Apache-2.0
"""A Merkle tree over the records of an evaluation: one record can be shown and proven, and the others stay hidden.

`epi-rec-v1`: the entry of a record is the canonical JSON of its columns (confidence, correct, id, index, and those of
timestamp, unknown, detected that there are) and a salt; the entries, in row order, make the tree of RFC 6962.

Without the salt a neighbour's hash could be undone by trying the few values a record can have. The salt of record i is
HMAC-SHA-256(k, i), cut to 16 bytes, where k is the SHA-256 of all records without their salts: whoever has the data
computes the tree again and needs no secret from anyone, and whoever has not learns nothing from a record shown to him.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, VerificationError
from epimeter.readers.table import Table
from epimeter.standards.records import records_of
from epimeter.trust.canonical import canonical_json, from_base64, load_canonical, to_base64
from epimeter.trust.merkle import inclusion_proof, leaf_hash, nodes_of, root_of, verify_inclusion
from epimeter.trust.shape import check_shape, count, each, maybe, pattern
from epimeter.trust.strict_json import malformed, text_of
from epimeter.views import Binary

SCHEME = "epi-rec-v1"
PARTS_SCHEME = "epi-rec-parts-v1"
"""The roots of several parts under one digest: see `evidence`."""
MOST_PARTS = 100_000
_BLOCK = 1 << 16  # rows turned into text at a time
_HEX = pattern("[0-9a-f]{32}", "a salt of 32 hexadecimal digits")
_DIGEST = pattern("[0-9a-f]{64}", "64 hexadecimal digits")


@dataclass(frozen=True, kw_only=True)
class Root:
    """The root over the records of a part, in hex, and how many they are."""

    root: str
    n_rows: int


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordColumns:
    """The columns of the records, in row order; ids are unique."""

    confidence: NDArray[np.float64]
    correct: NDArray[np.uint8]
    ids: Sequence[str]
    timestamp: NDArray[np.datetime64] | None = None
    unknown: NDArray[np.bool_] | None = None
    detected: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if len(set(self.ids)) < len(self.ids):
            seen: set[str] = set()
            for row, name in enumerate(self.ids):
                if name in seen:
                    raise InputError(
                        f"id must be unique, so that a record can be named; {name[:60]!r} stands twice, again in "
                        f"record {row}",
                        field="id",
                        row=row,
                    )
                seen.add(name)

    def __len__(self) -> int:
        return len(self.ids)

    def bodies(self) -> Iterator[tuple[str, str]]:
        """Each record as canonical JSON, the part before and the part after its salt."""
        for index, name in enumerate(self.ids):
            if index % _BLOCK == 0:
                part = slice(index, index + _BLOCK)
                confidence, correct = (self.confidence[part] + 0.0).tolist(), self.correct[part].tolist()
                times = [] if self.timestamp is None else np.datetime_as_string(self.timestamp[part], "us").tolist()
            # The keys in their canonical order; a slow twin in the tests holds this to canonical_json.
            row = index % _BLOCK
            detected = "" if self.detected is None else f'"detected":{int(self.detected[index])},'
            time = "" if self.timestamp is None else f',"timestamp":"{times[row]}Z"'
            unknown = "" if self.unknown is None else f',"unknown":{int(self.unknown[index])}'
            yield (
                f'{{"confidence":{_number(confidence[row])},"correct":{correct[row]},{detected}'
                f'"id":{json.dumps(name, ensure_ascii=False)},"index":{index},"salt":"',
                f'"{time}{unknown}}}',
            )

    def entries(self) -> Iterator[bytes]:
        """The entries of the tree, one after the other; the columns are gone through twice, nothing else is kept."""
        key = hashlib.sha256(SCHEME.encode() + b"\0")
        for before, after in self.bodies():
            key.update(f"{before}{after}\n".encode())
        secret = key.digest()
        for index, (before, after) in enumerate(self.bodies()):
            salt = hmac.digest(secret, b"%d" % index, "sha256")[:16].hex()
            yield f"{before}{salt}{after}".encode()


def record_columns(table: Table, answers: Binary | None = None) -> RecordColumns:
    """The columns of the records tree; a table without ids counts its records from 0.

    `answers` are the table's, where its records have been doubted already.
    """
    event = records_of(table, assume_utc=True).answer if answers is None else answers
    return RecordColumns(
        confidence=event.prob.astype(np.float64),
        correct=event.true,
        ids=_ids(table),
        timestamp=table.timestamp,
        unknown=table.unknown,
        detected=table.detected,
    )


def _ids(table: Table) -> list[str]:
    if table.id is None:
        return [str(row) for row in range(table.n_rows)]
    given = table.id.tolist() if isinstance(table.id, np.ndarray) else table.id.to_pylist()
    for row, name in enumerate(given):
        if name is None:
            raise InputError(f"id must be present in every record; {table.place(row)} has none", field="id", row=row)
    return [str(name) for name in given]


def parts_digest(scheme: str, parts: Iterable[Root]) -> str:
    """SHA-256 over the scheme's name, a zero byte, and for each part 32 bytes and its number of records (8, little-endian)."""
    made = hashlib.sha256(scheme.encode() + b"\0")
    for part in parts:
        made.update(bytes.fromhex(part.root) + part.n_rows.to_bytes(8, "little"))
    return made.hexdigest()


def records_root(columns: RecordColumns) -> str:
    """The root of the tree over the records, as it stands in a certificate."""
    return f"{SCHEME}:sha-256:{root_of(map(leaf_hash, columns.entries())).hex()}"


def disclose(columns: RecordColumns, record: str, certificate_id: str, parts: Sequence[Root] | None = None) -> bytes:
    """One record with its proof, as canonical JSON that `check_disclosure` reads.

    Parameters
    ----------
    columns
        The records of the table, or of the one part that holds the record.
    parts
        For a certificate that was made from sums: the roots of all its parts, in their order.
    """
    try:
        index = list(columns.ids).index(record)
    except ValueError:
        raise InputError(f"no record has the id {record[:60]!r}", field="id") from None
    entries = list(columns.entries())
    proof = inclusion_proof(index, len(entries), nodes_of(map(leaf_hash, entries)))
    made: dict[str, Any] = {
        "certificate_id": certificate_id,
        "entry": entries[index].decode("utf-8"),
        "index": index,
        "proof": [to_base64(one) for one in proof],
    }
    if parts is not None:
        own = Root(root=root_of(map(leaf_hash, entries)).hex(), n_rows=len(entries))
        if own not in parts:
            raise InputError(
                "the data must be one of the parts that the certificate was made of; they are none of them"
            )
        made["part"] = list(parts).index(own)
        made["parts"] = [{"records": part.n_rows, "root": part.root} for part in parts]
    return canonical_json(made)


def check_disclosure(data: bytes, certificate: dict[str, Any]) -> dict[str, Any]:
    """The record that a disclosure proves to be in a *verified* certificate; raises when it does not."""
    value = load_canonical(data)
    shape = {"certificate_id": text_of, "entry": text_of, "index": count(), "proof": each(_hash, 64)}
    evidence = certificate["evidence"]
    scheme, _, stated = evidence["records_root"].partition(":sha-256:")
    if scheme == PARTS_SCHEME:
        shape |= {"part": count(), "parts": each({"records": count(1), "root": _DIGEST}, MOST_PARTS)}
    check_shape(value, shape, "disclosure")
    if value["certificate_id"] != certificate["certificate"]["id"]:
        raise VerificationError("the record is of another certificate than this one", code="wrong_certificate")
    own = Root(root=stated, n_rows=certificate["metrics"]["sample_size"])
    if scheme == PARTS_SCHEME:
        own = _own_part(value, own)
    entry = value["entry"].encode("utf-8", "surrogatepass")
    proof = [from_base64(one, "proof") for one in value["proof"]]
    verify_inclusion(leaf_hash(entry), value["index"], own.n_rows, proof, bytes.fromhex(own.root))
    record: dict[str, Any] = load_canonical(entry)
    check_shape(record, _RECORD, "record", absent=("timestamp", "unknown", "detected"))
    if record["index"] != value["index"]:
        raise malformed(f"the record says index {record['index']}; it stands at {value['index']}")
    return record


def _own_part(value: dict[str, Any], whole: Root) -> Root:
    """The part that holds the record, where all parts together are those of the certificate."""
    parts = [Root(root=part["root"], n_rows=part["records"]) for part in value["parts"]]
    if sum(part.n_rows for part in parts) != whole.n_rows or parts_digest(PARTS_SCHEME, parts) != whole.root:
        raise VerificationError("the parts are not those of the certificate", code="bad_proof")
    if value["part"] >= len(parts):
        raise malformed(f"part must be below {len(parts)}; it is {value['part']}")
    number: int = value["part"]
    return parts[number]


def _hash(value: Any, where: str) -> None:
    from_base64(value, where)


def _probability(value: Any, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise malformed(f"{where} must be a number in [0, 1]")


_RECORD = {
    "confidence": _probability,
    "correct": count(),
    "detected": maybe(count()),
    "id": text_of,
    "index": count(),
    "salt": _HEX,
    "timestamp": text_of,
    "unknown": maybe(count()),
}


def _number(value: float) -> str:
    text = repr(value)
    if "e" in text:  # written otherwise by RFC 8785: 0.00001, 1e-7
        return canonical_json(value).decode("ascii")
    return text.removesuffix(".0")
