# SPDX-License-Identifier: Apache-2.0
"""What an issuer has seen before: the data behind its certificates, and the systems it was asked about, by name.

The same data earn a system one certificate, however they come: as records, as sums of them, in other files or in another order.
Digests tell it where records were digested together; where they were cut or ordered in another way, the numbers do. Trying
under another name is trying too: a certificate states how many further systems of the organisation have similar names.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from epimeter.standards.judgement import Judgement, certified_before, certified_elsewhere, measured_before
from epimeter.trust.canonical import load_canonical
from epimeter.trust.entries import system_digest
from epimeter.trust.names import name_key, near
from epimeter.trust.registry_rows import newest_list

TABLES = (
    "CREATE TABLE certified_data (dataset TEXT NOT NULL, certificate TEXT NOT NULL, PRIMARY KEY (dataset, certificate))",
    "CREATE TABLE systems (system TEXT PRIMARY KEY, organization TEXT NOT NULL, system_id TEXT NOT NULL)",
)
Figures = tuple[int, float, float, float, str, str]
"""Number of records, accuracy, ECE, U-Recall, first and last moment: no two data sets agree in all of them by chance."""


def figures_of(made: Judgement, start: str, end: str) -> Figures:
    """The figures by which data are known again."""
    return made.sample_size, made.accuracy, made.ece, made.u_recall, start, end


def certified_on(
    connection: sqlite3.Connection, system: str, datasets: Iterable[str], figures: Figures | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands against another certificate on data: an obstacle where the system has one that was not revoked, a caution
    where another system has.

    Parameters
    ----------
    datasets
        The digest of the data and, of sums, those of the parts they were made of.
    figures
        The numbers of the data; None where they have no times, and no certificate can follow.
    """
    rows = connection.execute(
        "SELECT id, system, status_index, dataset FROM certified_data JOIN certificates ON id = certificate "
        "WHERE dataset IN (SELECT value FROM json_each(?)) ORDER BY log_index DESC",
        (json.dumps(list(datasets)),),
    ).fetchall()
    own = connection.execute(
        "SELECT id, status_index, document FROM certificates WHERE system = ? ORDER BY log_index DESC", (system,)
    ).fetchall()
    if not rows and not own:
        return (), ()
    statuses = newest_list(connection)
    others = [(data, id) for id, whose, _, data in rows if whose != system]
    cautions = tuple(certified_elsewhere(*one) for one in others[:1])
    same = [(data, id) for id, whose, index, data in rows if whose == system and statuses.status(index) != "REVOKED"]
    if same:
        return (certified_before(*same[0]),), cautions
    for id, index, document in own:
        if figures == _stated(load_canonical(document)["metrics"]) and statuses.status(index) != "REVOKED":
            return (measured_before(id),), cautions
    return (), cautions


def keep_data(connection: sqlite3.Connection, certificate: str, datasets: Iterable[str]) -> None:
    """Remember the data behind a certificate."""
    rows = [(dataset, certificate) for dataset in dict.fromkeys(datasets)]
    connection.executemany("INSERT INTO certified_data VALUES (?, ?)", rows)


def keep_system(connection: sqlite3.Connection, subject: Mapping[str, Any]) -> None:
    """Remember that a system was evaluated, whatever came of it."""
    row = (system_digest(subject), subject["organization"], subject["system_id"])
    connection.execute("INSERT OR IGNORE INTO systems VALUES (?, ?, ?)", row)


def similar(connection: sqlite3.Connection, subject: Mapping[str, Any]) -> tuple[int, int]:
    """Further systems of the organisation with similar names, and their evaluations; spellings of one name are one system."""
    system, key = system_digest(subject), name_key(subject["organization"])
    rows = connection.execute(
        "SELECT organization, system_id, (SELECT count(*) FROM attempts WHERE attempts.system = systems.system) "
        "FROM systems WHERE system != ?",
        (system,),
    )
    found = [
        (name_key(name), tries)
        for whose, name, tries in rows
        if name_key(whose) == key and near(name, subject["system_id"])
    ]
    return len({name for name, _ in found}), sum(tries for _, tries in found)


def from_certificates(connection: sqlite3.Connection) -> None:
    """The tables of an issuer from before they were kept, from what its certificates say."""
    for statement in TABLES:
        connection.execute(statement)
    for identity, document in connection.execute("SELECT id, document FROM certificates").fetchall():
        body = load_canonical(document)
        keep_data(connection, identity, [body["evidence"]["dataset_digest"]])
        keep_system(connection, body["subject"])


def _stated(metrics: Mapping[str, Any]) -> Figures:
    period = metrics["evaluation_period"]
    return (
        metrics["sample_size"],
        metrics["accuracy"],
        metrics["ece"],
        metrics["u_recall"],
        period["start"],
        period["end"],
    )
