# SPDX-License-Identifier: Apache-2.0
"""The registry as a page, as CSV, as a feed and as a calendar: one search behind all of them."""

from __future__ import annotations

import csv
import io
import time
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from datetime import time as clock
from typing import Annotated, Any, get_args
from urllib.parse import urlencode
from xml.sax.saxutils import escape, quoteattr

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from epimeter.service.access import anybody
from epimeter.service.paging import Cursor, cursor, cut, place
from epimeter.service.problems import Problem
from epimeter.service.schemas.words import Domain
from epimeter.standards.ers import LEVEL_NAMES
from epimeter.store import registry
from epimeter.store.moments import micros, moment, now, written
from epimeter.trust import standing
from epimeter.trust.calendar import Dates, to_calendar
from epimeter.trust.registry_rows import reading
from epimeter.trust.status_list import STATUSES
from epimeter.web.page import LIVE, Facts, page, same, visible

area = APIRouter(include_in_schema=False)
LINES, MOST, IN_CALENDAR = 25, 200, 150
BATCH, BATCHES = 500, 50
NARROW = 20_000
"""Up to so many certificates of one status, or due by a day, are asked for by their ids."""
CHOICES: dict[str, tuple[str, ...]] = {
    "level": LEVEL_NAMES[1:],
    "status": ("VALID", "SUSPENDED", "SUPERSEDED", "EXPIRED", "REVOKED"),
    "domain": get_args(Domain),
}
Text = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True, kw_only=True)
class RegistrySearch:
    """What is looked for; empty where anything will do."""

    q: str = ""
    organization: str = ""
    system: str = ""
    level: str = ""
    status: str = ""
    domain: str = ""
    due_by: str = ""
    """A day: certificates whose next evaluation or end comes by then."""

    def query(self, **more: str | None) -> str:
        """The search as the query of an address."""
        said = asdict(self) | more
        return urlencode({name: value for name, value in said.items() if value})


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def wanted(
    q: Text = "",
    organization: Text = "",
    system: Text = "",
    level: Text = "",
    status: Text = "",
    domain: Text = "",
    due_by: Text = "",
) -> RegistrySearch:
    """The search of a request; a form sends what was left empty too."""
    for name, value in (("level", level), ("status", status), ("domain", domain)):
        if value and value not in CHOICES[name]:
            raise Problem("invalid", f"{name} must be one of {', '.join(CHOICES[name])}; got {value[:40]!r}")
    if due_by and not _is_day(due_by):
        raise Problem("invalid", f"due_by must be a day such as 2026-12-31; got {due_by[:40]!r}")
    return RegistrySearch(
        q=q.strip(), organization=organization, system=system, level=level, status=status, domain=domain, due_by=due_by
    )


Search = Annotated[RegistrySearch, Depends(wanted)]


def search_lines(
    state: Any, look: RegistrySearch, *, limit: int = LINES, after: str | None = None
) -> tuple[list[Facts], str | None]:
    """The lines of a search, the newest first, and the cursor of the next page."""
    rows, next_ = _rows(state, look, limit, place(after))
    return lines(state.ledger, rows), next_


def _rows(state: Any, look: RegistrySearch, limit: int, before: Any) -> tuple[list[Any], str | None]:
    exact = {"organization": look.organization, "system_id": look.system, "level": look.level, "domain": look.domain}
    sought: dict[str, Any] = {name: value or None for name, value in exact.items()} | {"text": look.q or None}
    if not look.status and not look.due_by:
        with state.store.reading() as db:
            rows = registry.search(db, before=before, limit=limit + 1, **sought)
        return cut(rows, limit, at="issued_at")
    # Status and due date are the log's to say, so rows are looked at batch by batch, of those that can be meant.
    sought["ids"] = _of_status(state.ledger, look.status)
    if look.status == "EXPIRED":
        sought["ended_at"] = now()
    elif look.due_by or look.status in ("VALID", "SUSPENDED"):
        sought["alive_at"] = now()
    if look.due_by:
        sought["due"] = _due_by(state.ledger, look.due_by)
    kept: list[Any] = []
    for _ in range(BATCHES):
        with state.store.reading() as db:
            rows = registry.search(db, before=before, limit=BATCH, **sought)
        kept += _standing_so(state.ledger, rows, look)
        if len(rows) < BATCH or len(kept) > limit:
            return cut(kept, limit, at="issued_at")
        before = (rows[-1]["issued_at"], str(rows[-1]["id"]))
    return kept, cursor(*before)


def _standing_so(ledger: Any, rows: list[Any], look: RegistrySearch) -> list[Any]:
    """Those rows whose live status and dates are the ones looked for."""
    if not rows:
        return []
    statuses, at = ledger.statuses(), now()
    marks = ", ".join("?" * len(rows))
    ids = [row["id"] for row in rows]
    with reading(ledger.folder / "log.db") as connection:
        places = dict(connection.execute(f"SELECT id, status_index FROM certificates WHERE id IN ({marks})", ids))
        dues: dict[str, str] = dict(
            connection.execute(
                f"SELECT certificate, due FROM standings WHERE certificate IN ({marks}) AND due IS NOT NULL ORDER BY number",
                ids,
            )
        )
    kept = []
    for row in rows:
        status = statuses.status(places[row["id"]])
        if status != "REVOKED" and row["expires_at"] <= at:
            status = "EXPIRED"
        next_date = min((written(row["expires_at"]) or "")[:10], dues.get(row["id"], "9999"))
        in_time = not look.due_by or (status in ("VALID", "SUSPENDED") and next_date <= look.due_by)
        if in_time and look.status in ("", status):
            kept.append(row)
    return kept


def _of_status(ledger: Any, word: str) -> list[str] | None:
    """The ids of the certificates that the status list gives a status; None where they are too many, or it is not its to give."""
    if word not in STATUSES[1:]:
        return None
    code = STATUSES.index(word)
    pairs = ((place, byte) for place, byte in enumerate(ledger.statuses().bits) if byte)
    places = [4 * place + one for place, byte in pairs for one in range(4) if byte >> (6 - 2 * one) & 3 == code]
    if len(places) > NARROW:
        return None
    marks = ", ".join("?" * len(places))
    with reading(ledger.folder / "log.db") as connection:
        return [
            id for (id,) in connection.execute(f"SELECT id FROM certificates WHERE status_index IN ({marks})", places)
        ]


def _due_by(ledger: Any, day: str) -> tuple[list[str], int] | None:
    """The ids of the certificates due by a day and its last moment; None where they are too many to be named."""
    with reading(ledger.folder / "log.db") as connection:
        ids = standing.due_by(connection, day, NARROW + 1)
    end = datetime.combine(date.fromisoformat(day), clock.max, UTC)
    return None if len(ids) > NARROW else (ids, micros(end))


def lines(ledger: Any, rows: list[Any]) -> list[Facts]:
    """What is shown of certificates, read from the log in one go."""
    statuses, at = ledger.statuses(), moment(now())
    made = []
    with reading(ledger.folder / "log.db") as connection:
        for row in rows:
            query = "SELECT status_index, document FROM certificates WHERE id = ?"
            index, document = connection.execute(query, (row["id"],)).fetchone()
            head = msgspec.json.decode(document, type=_Head)
            found = standing.standing_of(standing.events_of(connection, row["id"]), statuses.status(index))
            made.append(_line(row, head, standing.as_of(found, head.certificate.expires_at, at)))
    return made


class _Ends(msgspec.Struct):
    expires_at: str


class _Evidence(msgspec.Struct):
    assurance: str
    attempt: int


class _Head(msgspec.Struct):
    """What a line needs of a certificate."""

    certificate: _Ends
    evidence: _Evidence


def _line(row: Any, head: _Head, stands: standing.Standing) -> Facts:
    return {
        "id": row["id"],
        "organization": row["organization_name"],
        "system_id": row["system_id"],
        "domain": row["domain"],
        "level": row["level"],
        "assurance": head.evidence.assurance,
        "assessed": stands.assessed,
        "attempt": head.evidence.attempt,
        "status": stands.status,
        "reason": stands.reason,
        "since": stands.since,
        "issued_at": written(row["issued_at"]),
        "expires_at": written(row["expires_at"]),
        "next_evaluation": stands.next_evaluation,
    }


def sum_up(state: Any) -> dict[str, dict[str, int]]:
    """How many certificates there are of each level and each domain, counted at most every ten seconds."""
    kept = getattr(state, "registry_sums", None)
    if kept is not None and time.monotonic() - kept[0] < 10:
        return dict(kept[1])
    made: dict[str, dict[str, int]] = {"level": {}, "domain": {}}
    with state.store.reading() as db:
        for row in registry.counts(db):
            for name in made:
                made[name][row[name]] = made[name].get(row[name], 0) + row["count"]
    state.registry_sums = (time.monotonic(), made)
    return made


@page(area, "/registry", "registry.html")
def search(request: Request, look: Search, cursor: Cursor = None) -> Facts:
    """A page of the registry."""
    items, next_ = search_lines(request.app.state, look, after=cursor)
    return {
        "search": asdict(look),
        "choices": CHOICES,
        "counts": sum_up(request.app.state),
        "query": look.query(),
        "items": items,
        "next": None if next_ is None else f"/registry?{look.query(cursor=next_)}",
        "first": cursor is None,
    }


def _sent(request: Request, data: bytes, media: str, next_: str | None, look: RegistrySearch) -> Response:
    headers = {"Cache-Control": LIVE}
    if next_ is not None:
        headers["Link"] = f'<{request.url.path}?{look.query(cursor=next_)}>; rel="next"'
    return same(request, Response(data, headers=headers, media_type=media))


@area.get("/registry.csv", dependencies=[Depends(anybody)])
def as_csv(request: Request, look: Search, cursor: Cursor = None) -> Response:
    """The registry for a spreadsheet, 200 lines at a time."""
    items, next_ = search_lines(request.app.state, look, limit=MOST, after=cursor)
    names = [
        "id",
        "organization",
        "system_id",
        "domain",
        "level",
        "assurance",
        "assessed",
        "attempt",
        "status",
        "reason",
        "since",
    ]
    names += ["issued_at", "expires_at", "next_evaluation"]
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\r\n")
    writer.writerow(names)
    for item in items:
        writer.writerow([_cell(item[name]) for name in names])
    return _sent(request, sink.getvalue().encode("utf-8"), "text/csv; charset=utf-8", next_, look)


def _cell(value: Any) -> Any:
    # A spreadsheet would compute what begins so; an apostrophe makes it text.
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


@area.get("/registry.atom", dependencies=[Depends(anybody)])
def as_feed(request: Request, look: Search) -> Response:
    """The newest certificates as a feed (RFC 4287)."""
    items, _ = search_lines(request.app.state, look, limit=50)
    issuer = request.app.state.ledger.registry.issuer.rstrip("/")
    updated = max((item["since"] for item in items), default="1970-01-01T00:00:00Z")
    here = f"{issuer}/registry.atom" + (f"?{look.query()}" if look.query() else "")
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>Certificates of {escape(issuer)}</title><id>{escape(here)}</id><updated>{updated}</updated>",
        f'<link rel="self" href={quoteattr(here)}/><author><name>{escape(issuer)}</name></author>',
    ]
    for item in items:
        address = f"{issuer}/certificates/{item['id']}"
        title = visible(f"{item['organization']}, {item['system_id']}: {item['level']} {item['status']}")
        said = f"Issued {item['issued_at']}, ends {item['expires_at']}. {visible(item['reason'] or '')}"
        lines.append(
            f"<entry><title>{escape(title)}</title><id>{address}</id><link href={quoteattr(address)}/>"
            f"<published>{item['issued_at']}</published><updated>{item['since']}</updated>"
            f"<summary>{escape(said.strip())}</summary></entry>"
        )
    lines.append("</feed>\n")
    return _sent(request, "\n".join(lines).encode("utf-8"), "application/atom+xml; charset=utf-8", None, look)


@area.get("/registry.ics", dependencies=[Depends(anybody)])
def as_calendar(request: Request, look: Search, cursor: Cursor = None) -> Response:
    """Due dates and ends as a calendar (RFC 5545), of certificates that are valid or suspended, 150 at a time."""
    items, next_ = search_lines(request.app.state, look, limit=IN_CALENDAR, after=cursor)
    dates = [
        Dates(
            certificate=item["id"],
            system=f"{item['organization']}, {item['system_id']}",
            level=item["level"],
            next_evaluation=item["next_evaluation"],
            expires_at=item["expires_at"],
        )
        for item in items
        if item["status"] in ("VALID", "SUSPENDED")
    ]
    # Stamped by what changed last, so that an unchanged calendar has unchanged bytes.
    stamp = max((item["since"] for item in items), default=None)
    at = moment(0) if stamp is None else datetime.fromisoformat(stamp)
    return _sent(request, to_calendar(dates, at.astimezone(UTC)), "text/calendar; charset=utf-8", next_, look)
