# SPDX-License-Identifier: Apache-2.0
"""The passport of an evaluation, made again from its kept rows and signed by the issuer: JSON, or PDF with the JSON inside.

A process without keys makes the document, this one signs it, and again one without keys prints it. The audit log has an entry
for each passport that was signed; whoever asks again gets the same one, as long as the key that signed it is in use.

From then on the evaluation says that there is one, in its report and its answer, with the level of ONTO 42001 that this allows. An
answer that a certificate covers by its digest stays as it is; so the certificate's passport is made first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from fastapi.responses import Response

from epimeter.passport import canonical
from epimeter.passport.document import digest
from epimeter.service.access import Caller
from epimeter.service.bodies import encoded
from epimeter.service.errands import MadeDocument, PrintPassport, WritePassport
from epimeter.service.evaluated import shown
from epimeter.service.evaluated import with_passport as answer_with_passport
from epimeter.service.problems import Problem
from epimeter.service.renderings import chosen
from epimeter.service.schemas import Facts
from epimeter.standards.stored import evaluation_of, with_passport
from epimeter.store import evaluations, journal, registry
from epimeter.store.moments import moment, now
from epimeter.trust.canonical import from_moment

FORMS = ("application/json", "application/pdf")
SIGNED = "passport.signed"


def passport_of(state: Any, caller: Caller, row: Any, accept: str) -> Response:
    """The passport in the form that was asked for."""
    form = chosen(accept, FORMS)
    if row["status"] != "completed" or not row["rows_kept"]:
        raise Problem(
            "conflict", "a passport is made of evaluations that allow a certificate, while their rows are kept"
        )
    seconds = state.settings.job_time
    data = canonical(signed_passport(state, caller, row))
    if form == "application/pdf":
        data = state.children.do(PrintPassport(data), MadeDocument, seconds=seconds).data
    return Response(data, media_type=form)


def signed_passport(state: Any, caller: Caller, row: Any) -> dict[str, Any]:
    """The passport of an evaluation whose rows are kept; the evaluation says from now on that it has one."""
    errand = WritePassport(
        source=row["id"],
        facts=msgspec.json.decode(bytes(row["request"]), type=Facts),
        at=row["created_at"],
        organization=caller.organization_name,
        report=bytes(row["report"]),
    )
    seconds = state.settings.job_time
    with state.store.reading() as db:
        made = state.children.do(errand, MadeDocument, evaluations.retained_rows(db, row["id"]), seconds=seconds)
    signed = _signed(state, caller, row["id"], msgspec.json.decode(made.data))
    if lacks_passport(row):
        _mark(state, row)
    return signed


def lacks_passport(row: Any) -> bool:
    """Whether an evaluation after ONTO 42001 that allows a passport does not say yet that one was made of it."""
    found = msgspec.json.decode(bytes(row["report"]), type=_PassportFlags).verdicts.get("onto", _FlagsVerdict())
    return found.flags.get("taxonomy_documented", False) and not found.flags["passport_generated"]


class _FlagsVerdict(msgspec.Struct):
    flags: dict[str, bool] = {}


class _PassportFlags(msgspec.Struct):
    """What is read of a report to know whether it tells of a passport; older ones and those of forecasts have no verdicts."""

    verdicts: dict[str, _FlagsVerdict] = {}


def _mark(state: Any, row: Any) -> None:
    """Write into report and answer that a passport was made; the answer only while no certificate covers it."""
    with state.store.writing() as db:
        current = evaluations.find(db, row["organization"], row["id"])
        if current is None:
            return
        stored = msgspec.json.decode(bytes(current["report"]))
        made = with_passport(evaluation_of(stored))
        documents = {"report": encoded(made.to_dict() | {"report": stored["report"]})}
        if not registry.claimed(db, row["id"]):
            documents["result"] = encoded(answer_with_passport(shown(current), made))
        evaluations.rewrite(db, row["id"], **documents)


def _signed(state: Any, caller: Caller, evaluation: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """The passport as it was signed before, where document and key are the same; otherwise signed now, and noted."""
    about = {"organization": caller.organization, "action": SIGNED, "subject": evaluation}
    with state.store.reading() as db:
        last = journal.newest(db, **about)
    if last is not None:
        noted = msgspec.json.decode(bytes(last["detail"]))
        again: dict[str, Any] = state.ledger.sign_passport(document, from_moment(noted["signed_at"], "signed_at"))
        if _detail(again) == noted:
            return again
    made: dict[str, Any] = state.ledger.sign_passport(document, moment(now()))
    with state.store.writing(durable=True) as db:
        journal.note(db, **about, actor=caller.key_id, **_detail(made))
    return made


def _detail(made: Mapping[str, Any]) -> dict[str, str]:
    return {
        "digest": f"sha-256:{digest(made)}",
        "key": made["signature"]["key_id"],
        "signed_at": made["verification"]["signed_at"],
    }
