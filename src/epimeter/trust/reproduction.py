# SPDX-License-Identifier: Apache-2.0
"""A certificate against the data it speaks of: everything computed again and compared, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from epimeter.errors import InputError
from epimeter.readers.table import Table
from epimeter.standards.resampling import drawn_by
from epimeter.trust.assessing import assess, assess_evidence
from epimeter.trust.canonical import canonical_json, from_moment
from epimeter.trust.certificate import Assessment, certified_kind, config_digest, from_sums
from epimeter.trust.evidence import Evidence, evidence_of


@dataclass(frozen=True, kw_only=True)
class ComparedField:
    """One field: what the certificate says, what the data give."""

    field: str
    certified: str
    found: str
    must_agree: bool = True

    @property
    def same(self) -> bool:
        """Whether both are the same bytes."""
        return self.certified == self.found


def reproduce(body: Mapping[str, Any], table: Table, *, assume_utc: bool = False) -> tuple[ComparedField, ...]:
    """Compare every number and digest of a certificate's body with those of a table.

    The digest of the code is compared too, but another version of the code may give the same numbers.
    """
    issued = from_moment(body["certificate"]["issued_at"], "issued_at")
    if certified_kind(body["evidence"]) is None and table.kind == "event":
        # Before the kind was recorded every number beside 0 and 1 was taken for the confidence in an answer.
        table = replace(table, kind="answer")
    if from_sums(body["evidence"]):
        return compared(body, evidence_of(table, at=issued, assume_utc=assume_utc))
    # Whether rows or sums are drawn depends on their number, and did otherwise in the past: the certificate says which.
    how = drawn_by(body["evidence"]["interval_method"])
    return _compared(
        body, assess(table, domain=body["subject"]["domain"], at=issued, assume_utc=assume_utc, interval=how)
    )


def compared(body: Mapping[str, Any], evidence: Evidence) -> tuple[ComparedField, ...]:
    """The same with sums, for a certificate that was made from sums."""
    if not from_sums(body["evidence"]):
        raise InputError(
            "the certificate must be one that was made from sums; this one was made from records", field="data"
        )
    issued = from_moment(body["certificate"]["issued_at"], "issued_at")
    return _compared(body, assess_evidence(evidence, domain=body["subject"]["domain"], at=issued))


def _compared(body: Mapping[str, Any], found: Assessment) -> tuple[ComparedField, ...]:
    again = {
        **{f"metrics.{name}": value for name, value in found.metrics().items()},
        "certificate.level": found.level,
        "evidence.dataset_digest": found.dataset_digest,
        "evidence.records_root": found.records_root,
        "evidence.config_digest": config_digest(None if certified_kind(body["evidence"]) is None else found.kind),
        "evidence.interval_method": found.interval_method,
        "evidence.covered_bins": found.covered_bins,
        "evidence.largest_class_share": found.largest_class_share,
        "evidence.unlabelled": found.unlabelled,
        "evidence.assurance": found.assurance,
        "evidence.code_digest": found.code_digest,
        "evidence.engine": {"name": "epimeter", "version": found.engine_version},
    }
    made = []
    for field, value in again.items():
        block, _, name = field.partition(".")
        made.append(
            ComparedField(
                field=field,
                certified=canonical_json(body[block][name]).decode("utf-8"),
                found=canonical_json(value).decode("utf-8"),
                must_agree=field not in ("evidence.code_digest", "evidence.engine"),
            )
        )
    return tuple(made)
