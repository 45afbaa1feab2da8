# SPDX-License-Identifier: Apache-2.0
"""What is done apart from the server: foreign bytes are read, rows are measured, a table is assessed.

An errand and its outcome are plain values; rows travel in files. A process that does errands knows no key, no secret and no
database, so that whatever a body makes it do, it has nothing to give away.
"""

from __future__ import annotations

from datetime import datetime
from typing import BinaryIO

import msgspec

from epimeter.card_index import catalogue, find
from epimeter.errors import EpimeterError, InputError, MissingExtraError
from epimeter.metrics import ers_ece
from epimeter.passport import canonical, passport, pdf
from epimeter.report.curves import STORED, curves
from epimeter.report.evaluation import report_on
from epimeter.service.bodies import Body, encoded, unpacked
from epimeter.service.collected_rows import Half, parts_of, write_parts
from epimeter.service.columns import Columns, to_records, to_table
from epimeter.service.comparing import compared
from epimeter.service.dropped_files import looked_at
from epimeter.service.forecast_rows import (
    ForecastRows,
    forecast_report,
    kept_forecasts,
    pack_forecasts,
    refuse_idle,
)
from epimeter.service.predictions import NDJSON, read
from epimeter.service.problems import Problem, as_problem
from epimeter.service.retained_rows import pack, unpacked_columns
from epimeter.service.schemas import Facts
from epimeter.service.settings import MIB, Settings
from epimeter.service.sums import SUMMARY, holds_summary, ledger_in, report_of, sums_after_standards
from epimeter.standards.declaration import Declaration, declaration
from epimeter.standards.ers import wrong_answers
from epimeter.standards.ers_sums import THRESHOLD
from epimeter.standards.evaluated import StandardsEvaluation
from epimeter.standards.evaluation import evaluate_standards
from epimeter.standards.exposure_inputs import FIELDS
from epimeter.standards.records import Records
from epimeter.standards.stored import as_weighed
from epimeter.store.moments import moment
from epimeter.summaries.travel import to_bytes
from epimeter.trust.assessing import assess as assess_table
from epimeter.trust.assessing import assess_evidence
from epimeter.trust.certificate import Assessment

FORECASTS_AT_ONCE = 20_000
"""Forecasts that are measured while the caller waits: their intervals draw the rows a thousand times, some 0.4 ms a row."""


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
    """Make the passport of an evaluation from its kept rows, as JSON that nobody has signed yet."""

    source: str
    facts: Facts
    at: int
    organization: str
    report: bytes


class PrintPassport(msgspec.Struct, tag=True, frozen=True):
    """Make the PDF of a passport."""

    document: bytes


class LookAtFile(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """Read a file whose columns somebody names; its rows are written as an Arrow stream."""

    name: str
    columns: dict[str, str]
    kind: str | None
    assume_utc: bool
    at: int


class CollectRows(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """Read a body of predictions or outcomes; their columns are written in parts."""

    half: Half
    kind: str
    encoding: str
    limit: int
    limits: Limits


class CompareRows(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """Compare the kept rows of two evaluations, which come one after the other; the first takes so many bytes."""

    first: int
    names: tuple[str, str]


class Assessed(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """What an evaluation found: after the standards and by the metrics, both as JSON, and the sums of the signal."""

    evaluation: bytes
    report: bytes
    certifiable: bool
    totals: bytes
    wrong: int
    wrong_unsure: int
    parts: tuple[str, ...] = ()
    """Of sums: the digests that the data behind them have by themselves."""


class MeasuredForecasts(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """What forecasts of a number or of a set came to: their report as JSON."""

    report: bytes


class BodyRows(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """What a body had: its rows were written packed if they may be needed again."""

    n_rows: int
    facts: Facts
    found: Assessed | MeasuredForecasts | None
    kept: bool


class Came(msgspec.Struct, tag=True, frozen=True):
    """How many rows were written."""

    n_rows: int


class MeasuredRows(msgspec.Struct, tag=True, frozen=True):
    """What rows gave."""

    found: Assessed | MeasuredForecasts


class CertificateDraft(msgspec.Struct, tag=True, frozen=True):
    """What a certificate would state."""

    found: Assessment


class MadeDocument(msgspec.Struct, tag=True, frozen=True):
    """A document that was made."""

    data: bytes


class Refused(msgspec.Struct, tag=True, frozen=True):
    """A problem, on its way to the caller."""

    kind: str
    detail: str
    errors: tuple[tuple[str, str], ...] = ()


Errand = ReadBody | MeasureRows | AssessRows | WritePassport | PrintPassport | LookAtFile | CollectRows | CompareRows
Outcome = BodyRows | Came | MeasuredRows | CertificateDraft | MadeDocument | Refused


def warm() -> None:
    """Load and compile beforehand what the first errand would otherwise wait for."""
    import pyarrow  # noqa: F401

    body = Body("")
    body.add(b'{"confidence":0.5,"correct":true}\n{"confidence":0.25,"correct":false}\n')
    columns = read(body, NDJSON, Settings())
    assert isinstance(columns, Columns)
    at = moment(0)
    assessed(to_records(columns, at), Facts(model_id="warm", domain="general"), at)


def done(errand: Errand, rows: BinaryIO, kept: BinaryIO) -> Outcome:
    """Do an errand; `rows` is read, `kept` is written. Whatever is wrong with the rows is a refusal."""
    try:
        if isinstance(errand, ReadBody):
            found = read_body(errand, rows, kept)
            assert found is not None
            return found
        if isinstance(errand, CollectRows):
            return _collected(errand, rows, kept)
        if isinstance(errand, LookAtFile):
            said = (errand.name, errand.columns, errand.kind)
            found_in = looked_at(rows, *said, assume_utc=errand.assume_utc, at=errand.at, target=kept)
            return MadeDocument(encoded(found_in))
        if isinstance(errand, PrintPassport):
            return MadeDocument(_printed(errand))
        if isinstance(errand, CompareRows):
            return MadeDocument(encoded(compared(*_two(errand, rows), errand.names)))
        if not isinstance(errand, MeasureRows) and holds_summary(rows):
            return _done_from_sums(errand, rows.read())
        forecasts = kept_forecasts(rows) if isinstance(errand, MeasureRows) else None
        if forecasts is not None and isinstance(errand, MeasureRows):
            return MeasuredRows(measured_forecasts(forecasts, errand.facts))
        columns = unpacked_columns(iter(lambda: rows.read(MIB), b""))
        if columns is None:
            raise Problem("conflict", "the rows of this evaluation are no longer kept; evaluate again")
        if isinstance(errand, MeasureRows):
            at = moment(errand.at)
            return MeasuredRows(assessed(to_records(columns, at), errand.facts, at))
        if isinstance(errand, WritePassport):
            return MadeDocument(_passport(errand, columns))
        table = to_table(columns, errand.source)
        return CertificateDraft(assess_table(table, domain=errand.domain, at=moment(errand.at)))
    except (EpimeterError, Problem) as refusal:
        problem = as_problem(refusal)
        return Refused(problem.kind, problem.detail, tuple(problem.errors))
    except MemoryError:
        return Refused("too-large", "these rows take more memory than the service gives to one request; send fewer")


def _collected(errand: CollectRows, rows: BinaryIO, kept: BinaryIO) -> Came:
    settings = errand.limits.to_settings()
    body = Body.of(rows)
    plain = unpacked(body, errand.encoding, settings.data, errand.limit)
    try:
        parts = parts_of(plain, errand.kind, errand.half, settings)
        write_parts(parts, kept)
        return Came(sum(len(part.id) for part in parts))
    finally:
        if plain is not body:
            plain.close()


def _done_from_sums(errand: AssessRows | WritePassport, data: bytes) -> Outcome:
    evidence = ledger_in(data)[1]
    if isinstance(errand, AssessRows):
        return CertificateDraft(assess_evidence(evidence, domain=errand.domain, at=moment(errand.at)))
    found = sums_after_standards(evidence, errand.facts, moment(errand.at), errand.organization)
    return MadeDocument(_written(found, errand))


def _two(errand: CompareRows, rows: BinaryIO) -> tuple[Columns, Columns]:
    first = unpacked_columns(iter([rows.read(errand.first)]))
    second = unpacked_columns(iter(lambda: rows.read(MIB), b""))
    if first is None or second is None:
        raise Problem("conflict", "the rows of one of these evaluations are no longer kept")
    return first, second


def read_body(errand: ReadBody, rows: BinaryIO, kept: BinaryIO, *, light: bool = False) -> BodyRows | None:
    """Read and perhaps measure; `light` gives None where chosen metrics could take long."""
    settings = errand.limits.to_settings()
    body = Body.of(rows)
    plain = unpacked(body, errand.encoding, settings.data, errand.limit)
    try:
        if errand.kind == SUMMARY:
            assert errand.facts is not None
            data = plain.whole()
            n_rows, summed = assessed_sums(data, errand.facts, moment(errand.at))
            if summed.certifiable:
                kept.write(data)
            return BodyRows(n_rows=n_rows, facts=errand.facts, found=summed, kept=summed.certifiable)
        columns = read(plain, errand.kind, settings)
    finally:
        if plain is not body:
            plain.close()
    facts = columns.facts or errand.facts
    assert facts is not None
    try:
        return _measured(errand, columns, facts, kept, light=light)
    except InputError as refusal:
        raise _in_its_place(refusal, facts) from None


def _in_its_place(refusal: InputError, facts: Facts) -> Problem:
    """A refusal of what is said of the rows, at its place in the request."""
    problem = as_problem(refusal)
    field, place = refusal.field or "", None
    if field in (facts.metrics or ()):
        place = f"/metrics/{(facts.metrics or ()).index(field)}"
    for table, values in (facts.declaration or {}).items():
        known = FIELDS if table == "liability" else values
        if field.partition(".")[0] in known or f"[{table}]" in str(refusal):
            place = f"/declaration/{table}/{field.replace('.', '/')}"
    return (
        problem
        if place is None
        else Problem(problem.kind, f"{place}: {problem.detail}", errors=[(place, problem.detail)])
    )


def _measured(
    errand: ReadBody, columns: Columns | ForecastRows, facts: Facts, kept: BinaryIO, *, light: bool
) -> BodyRows | None:
    """Measure rows that are few; keep those that may be needed again."""
    settings = errand.limits.to_settings()
    if light and (facts.metrics is not None or isinstance(columns, ForecastRows)):
        return None
    at = moment(errand.at)
    seconds = reckoned(facts, columns.n_rows, settings.job_time)
    if isinstance(columns, ForecastRows):
        few = _few(columns.n_rows, seconds, settings) and columns.n_rows <= FORECASTS_AT_ONCE
        return _forecasts(columns, facts, kept, few=few)
    if facts.level is not None:
        raise Problem("invalid", "/level: it is that of intervals and sets; predictions have none. Leave it out")
    given = to_records(columns, at)
    few = _few(columns.n_rows, seconds, settings)
    found = assessed(given, facts, at) if few else None
    keep = found is None or found.certifiable
    if keep:
        pack(columns, kept)
    return BodyRows(n_rows=columns.n_rows, facts=facts, found=found, kept=keep)


def _few(n_rows: int, seconds: float, settings: Settings) -> bool:
    """Whether rows are measured at once, and not by a job."""
    return n_rows <= settings.rows_at_once and seconds <= settings.request_time


def _forecasts(rows: ForecastRows, facts: Facts, kept: BinaryIO, *, few: bool) -> BodyRows:
    refuse_idle(facts)
    if not few:
        pack_forecasts(rows, kept)
    found = measured_forecasts(rows, facts) if few else None
    return BodyRows(n_rows=rows.n_rows, facts=facts, found=found, kept=not few)


def measured_forecasts(rows: ForecastRows, facts: Facts) -> MeasuredForecasts:
    """Measure the forecasts of one system."""
    return MeasuredForecasts(report=encoded(forecast_report(rows, facts).to_dict()))


def assessed(given: Records, facts: Facts, at: datetime) -> Assessed:
    """Evaluate the records of one system."""
    answers = given.answer
    found = after_standards(given, facts, at)
    report = report_on(given.clustered, metrics=facts.metrics, source={"name": facts.model_id})
    recipe = ers_ece.reads
    assert recipe is not None
    wrong, unsure = wrong_answers(answers, THRESHOLD)
    return Assessed(
        evaluation=encoded(found.to_dict()),
        report=encoded(report.to_dict() | {"curves": curves(answers, points=STORED).to_dict()}),
        certifiable=found.certificate_possible,
        totals=to_bytes(recipe.summarise(answers.read_as(recipe.reading))),
        wrong=wrong,
        wrong_unsure=unsure,
    )


def assessed_sums(data: bytes, facts: Facts, at: datetime) -> tuple[int, Assessed]:
    """Evaluate the sums of one system's records; how many records there are."""
    ledger, evidence = ledger_in(data)
    found, sums = sums_after_standards(evidence, facts, at), evidence.totals.sums
    wrong, unsure = sums.wrong
    return evidence.n_rows, Assessed(
        evaluation=encoded(found.to_dict()),
        report=encoded(report_of(ledger, facts).to_dict()),
        certifiable=found.certificate_possible,
        totals=to_bytes(sums.whole),
        wrong=wrong,
        wrong_unsure=unsure,
        parts=evidence.part_digests,
    )


def after_standards(
    given: Records,
    facts: Facts,
    at: datetime,
    *,
    organization: str = "",
    passport: bool = False,
) -> StandardsEvaluation:
    """The evaluation after ONTO-ERS and, where the records say which inputs were unknown, ONTO 42001."""
    told = Declaration() if facts.declaration is None else declaration(facts.declaration)
    return evaluate_standards(
        given,
        standard="ers" if given.unknown is None else "both",
        domain=facts.domain,
        onto_domain=facts.onto_domain,
        date=at.date(),
        declaration=told.updated(
            organization=organization, system_id=facts.model_id, model_version=facts.model_version or ""
        ),
        strategy=facts.strategy,
        weights=facts.weights,
        weights_reason=facts.weights_reason or "",
        unknown_threshold=0.5 if facts.unknown_threshold is None else facts.unknown_threshold,
        passport=passport,
        source={"name": facts.model_id},
    )


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
    return _written(after_standards(given, facts, at, organization=errand.organization, passport=True), errand)


def _written(found: StandardsEvaluation, errand: WritePassport) -> bytes:
    stored = msgspec.json.decode(errand.report)
    return canonical(passport(as_weighed(found, stored).to_dict() | {"report": stored.get("report", stored)}))


def _printed(errand: PrintPassport) -> bytes:
    try:
        return pdf(msgspec.json.decode(errand.document))
    except MissingExtraError as missing:
        raise Problem("not-acceptable", f"this server makes no PDF: {missing}") from None
