# SPDX-License-Identifier: Apache-2.0
"""What is done apart from the server: foreign bytes are read, rows are measured, a table is assessed.

An errand and its outcome are plain values; rows travel in files. A process that does errands knows no key, no secret and no
database, so that whatever a body makes it do, it has nothing to give away.
"""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from epimeter.card import catalogue, find
from epimeter.errors import EpimeterError, MissingExtraError
from epimeter.passport import canonical, passport, pdf
from epimeter.service.assessment import Assessed, after_standards, assess
from epimeter.service.bodies import Body, unpacked
from epimeter.service.columns import Columns, repeated_id, to_records, to_table
from epimeter.service.kept_rows import pack, unpacked_columns
from epimeter.service.predictions import NDJSON, read
from epimeter.service.problems import Problem, as_problem
from epimeter.service.schemas import Facts
from epimeter.service.settings import MIB, Settings
from epimeter.store.moments import moment
from epimeter.trust.assessing import assess as assess_table
from epimeter.trust.certificate import Assessment


class Limits(msgspec.Struct, frozen=True):
    """The settings that a body is read under."""

    data: str
    max_json: int
    max_unpacked: int
    max_rows: int
    rows_at_once: int
    request_time: float
    job_time: float

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """Those of the server."""
        return cls(**{name: getattr(settings, name) for name in cls.__struct_fields__})

    def to_settings(self) -> Settings:
        """Settings that say no more than this."""
        return Settings(**msgspec.structs.asdict(self))


class ReadBody(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """Read a body; measure its rows if they are few."""

    kind: str
    encoding: str
    limit: int
    facts: Facts | None
    at: int
    limits: Limits


class MeasureRows(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """Measure rows that were kept."""

    facts: Facts
    at: int


class AssessRows(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """Assess kept rows in the fixed profile of certificates."""

    source: str
    domain: str
    at: int


class WritePassport(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """Make the passport of an evaluation from its kept rows, in JSON or PDF."""

    source: str
    facts: Facts
    at: int
    organization: str
    report: bytes
    form: str


class Rows(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """What a body had: its rows were written packed if they may be needed again."""

    n_rows: int
    facts: Facts
    found: Assessed | None
    kept: bool


class Measured(msgspec.Struct, tag=True, frozen=True):
    """What rows gave."""

    found: Assessed


class Judged(msgspec.Struct, tag=True, frozen=True):
    """What a certificate would state."""

    found: Assessment


class Document(msgspec.Struct, tag=True, frozen=True):
    """A document that was made."""

    data: bytes


class Refused(msgspec.Struct, tag=True, frozen=True):
    """A problem, on its way to the caller."""

    kind: str
    detail: str
    errors: tuple[tuple[str, str], ...] = ()


Errand = ReadBody | MeasureRows | AssessRows | WritePassport
Outcome = Rows | Measured | Judged | Document | Refused


def warm() -> None:
    """Load and compile beforehand what the first errand would otherwise wait for."""
    import pyarrow  # noqa: F401

    body = Body("")
    body.add(b'{"confidence":0.5,"correct":true}\n{"confidence":0.25,"correct":false}\n')
    columns = read(body, NDJSON, Settings())
    at = moment(0)
    assess(to_records(columns, at), Facts(model_id="warm", domain="general"), at)


def done(errand: Errand, rows: BinaryIO, kept: BinaryIO) -> Outcome:
    """Do an errand; `rows` is read, `kept` is written. Whatever is wrong with the rows is a refusal."""
    try:
        if isinstance(errand, ReadBody):
            found = read_body(errand, rows, kept)
            assert found is not None
            return found
        columns = unpacked_columns(iter(lambda: rows.read(MIB), b""))
        if columns is None:
            raise Problem("conflict", "the rows of this evaluation are no longer kept; evaluate again")
        if isinstance(errand, MeasureRows):
            at = moment(errand.at)
            return Measured(assess(to_records(columns, at), errand.facts, at, repeated=repeated_id(columns)))
        if isinstance(errand, WritePassport):
            return Document(_passport(errand, columns))
        table = to_table(columns, errand.source)
        return Judged(assess_table(table, domain=errand.domain, at=moment(errand.at)))
    except (EpimeterError, Problem) as refusal:
        problem = as_problem(refusal)
        return Refused(problem.kind, problem.detail, tuple(problem.errors))
    except MemoryError:
        return Refused("too-large", "these rows take more memory than the service gives to one request; send fewer")


def read_body(errand: ReadBody, rows: BinaryIO, kept: BinaryIO, *, light: bool = False) -> Rows | None:
    """Read and perhaps measure; `light` gives None where chosen metrics could take long."""
    settings = errand.limits.to_settings()
    body = Body.of(rows)
    plain = unpacked(body, errand.encoding, settings.data, errand.limit)
    try:
        columns = read(plain, errand.kind, settings)
    finally:
        if plain is not body:
            plain.close()
    facts = columns.facts or errand.facts
    assert facts is not None
    if light and facts.metrics is not None:
        return None
    at = moment(errand.at)
    given = to_records(columns, at)
    seconds = reckoned(facts, columns.n_rows, settings.job_time)
    few = columns.n_rows <= settings.rows_at_once and seconds <= settings.request_time
    found = assess(given, facts, at, repeated=repeated_id(columns)) if few else None
    keep = found is None or found.certifiable
    if keep:
        pack(columns, kept)
    return Rows(n_rows=columns.n_rows, facts=facts, found=found, kept=keep)


def reckoned(facts: Facts, n_rows: int, most: float) -> float:
    """About how many seconds the metrics that were asked for take; refused when that is more than a job is given."""
    if facts.metrics is None:
        return 0.0  # those that everybody gets are measured in one pass
    cards = [find(name).card for name in facts.metrics if name != "all"]
    if "all" in facts.metrics:
        cards = [metric.card for metric in catalogue().values()]
    total = sum(card.seconds(n_rows) for card in cards)
    if total > most:
        worst = max(cards, key=lambda card: card.seconds(n_rows))
        raise Problem(
            "too-costly",
            f"these metrics would take about {total:,.0f} s on {n_rows:,} rows, {worst.name} most of all, and a job is given "
            f"{most:,.0f} s; {worst.name} can be had up to about {worst.rows_within(most):,} rows",
        )
    return total


def _passport(errand: WritePassport, columns: Columns) -> bytes:
    facts, at = errand.facts, moment(errand.at)
    given = to_records(columns, at)
    found = after_standards(given, facts, at, interval="auto", organization=errand.organization, passport=True)
    made = passport(found.to_dict() | {"report": msgspec.json.decode(errand.report)})
    if errand.form == "application/json":
        return canonical(made)
    try:
        return pdf(made)
    except MissingExtraError as missing:
        raise Problem("not-acceptable", f"this server makes no PDF: {missing}") from None
