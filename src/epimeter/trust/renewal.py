# SPDX-License-Identifier: Apache-2.0
"""A later evaluation of a system that has a certificate: it renews, restores or suspends it. The rules stand in `standing`."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from datetime import datetime
from typing import Any

from epimeter.trust import seen, standing
from epimeter.trust.canonical import load_canonical, to_moment
from epimeter.trust.entries import log_entry, system_digest
from epimeter.trust.registry import Registry, Signers
from epimeter.trust.registry_rows import newest_list
from epimeter.trust.standing import Event, Reevaluation, Renewal


def renew(registry: Registry, new: Reevaluation, signers: Signers, at: datetime, *, counted: bool = False) -> Renewal:
    """Weigh a later evaluation of a system that has a certificate: it renews, restores or suspends it (C-51).

    Parameters
    ----------
    counted
        Whether the log has the evaluation as an attempt already; else it is entered as one.
    """
    named = {"organization": new.organization, "system_id": new.system_id}
    system = system_digest(named)
    outcomes: list[Renewal] = []

    def weigh(connection: sqlite3.Connection, size: int) -> list[bytes]:
        seen.keep_system(connection, named)
        entries = [] if counted else [_attempt(connection, size, system, new)]
        row = connection.execute(
            "SELECT id, status_index, level, document FROM certificates WHERE system = ? ORDER BY log_index DESC LIMIT 1",
            (system,),
        ).fetchone()
        more, outcome = _weighed(registry, connection, size + len(entries), row, new, system, signers, at)
        outcomes.append(outcome)
        if not (entries or more):
            raise _NothingError
        return entries + more

    event = {"type": "evaluation.renewal", "id": new.id, "time": to_moment(at), "system": system, "level": new.level}
    with suppress(_NothingError):
        registry.append(weigh, signers, at)
        registry.audit({**event, "outcome": outcomes[-1].outcome}, signers, at)
    registry.write_status()
    return outcomes[-1]


def _attempt(connection: sqlite3.Connection, size: int, system: str, new: Reevaluation) -> bytes:
    (number,) = connection.execute(
        "SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE system = ?", (system,)
    ).fetchone()
    connection.execute("INSERT INTO attempts VALUES (?, ?, ?)", (system, number, size))
    level = "NONE" if new.obstacles else new.level
    facts = {"system": system, "attempt": number, "level": level, "dataset": new.dataset}
    return log_entry("evaluation.result", new.id, to_moment(new.at), **facts)


def _weighed(
    registry: Registry,
    connection: sqlite3.Connection,
    first: int,
    row: Any,
    new: Reevaluation,
    system: str,
    signers: Signers,
    at: datetime,
) -> tuple[list[bytes], Renewal]:
    if row is None:
        return [], Renewal(outcome="not_counted", certificate=None, sentence="the system has no certificate")
    identity, index, wanted, document = row
    body, events = load_canonical(document), standing.events_of(connection, identity)
    status = newest_list(connection).status(index)
    if done := [one for one in events if one.evaluation == new.id]:
        # Whoever weighed it may have died before he could tell: what came of it then is told again.
        one = done[0]
        outcome = one.cause if one.cause in ("renewed", "missed") else "not_counted"
        sentence = one.reason if outcome == one.cause else f"evaluation {new.id} was weighed at entry {one.log_index}"
        due = standing.standing_of(events, status).next_evaluation
        return [], Renewal(outcome=outcome, certificate=identity, sentence=sentence, status=status, next_evaluation=due)
    reason = standing.not_counted(new, body["subject"], events, body["certificate"]["expires_at"])
    if status in ("REVOKED", "SUPERSEDED"):
        reason = f"certificate {identity} is {status}"
    if reason is not None:
        return [], Renewal(outcome="not_counted", certificate=identity, sentence=reason, status=status)
    met = standing.reaches(new.level, wanted)
    before = standing.standing_of(events, status)
    due = standing.due_after(new.at, wanted) if met else before.next_evaluation
    said = f"evaluation {new.id} of {to_moment(new.at)[:10]} reached {new.level}"
    sentence = f"{said}; the next is due on {due}" if met else f"{said}; the certificate states {wanted}"
    # A suspension that the schedule or an evaluation made ends with an evaluation that reaches the level; the operator's stays.
    held = {one.cause for one in standing.holds(events)}
    lifted = met and status == "SUSPENDED" and bool(held) and held <= {*standing.LIFTED}
    after = "VALID" if lifted else "SUSPENDED" if not met else status
    standing.keep(
        connection,
        Event(
            certificate=identity,
            at=to_moment(new.at),
            log_index=first,
            cause="renewed" if met else "missed",
            status=after,
            reason=sentence,
            evaluation=new.id,
            level=new.level,
            due=due if met else None,
            dataset=new.dataset,
            period_end=None if new.period_end is None else to_moment(new.period_end),
        ),
    )
    facts = {"system": system, "evaluation": new.id, "level": new.level, "dataset": new.dataset, "due": due}
    outcome = "renewed" if met else "missed"
    entries = [log_entry("evaluation.renewal", identity, to_moment(at), outcome=outcome, **facts)]
    if after != status:
        change = {index: (after, identity, sentence)}
        entries += registry.change(connection, change, signers, at, cause=None, first=first + 1)
    return entries, Renewal(outcome=outcome, certificate=identity, sentence=sentence, status=after, next_evaluation=due)


class _NothingError(Exception):
    """There was nothing to enter."""
