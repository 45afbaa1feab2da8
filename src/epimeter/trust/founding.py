# SPDX-License-Identifier: Apache-2.0
"""How an issuer begins: keys, first trust root, logs and an empty status list in a folder."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from pathlib import Path

from epimeter.errors import LogError
from epimeter.trust import seen, standing
from epimeter.trust.key_store import KeyStore
from epimeter.trust.log import Log
from epimeter.trust.names import name_of
from epimeter.trust.note import refuse_malformed_name
from epimeter.trust.registry_rows import STATUS_LIFE, TABLES, list_entry
from epimeter.trust.status_list import StatusList, sign_status_list
from epimeter.trust.succession import key_entry, renew_root


def found_issuer(
    folder: Path,
    *,
    issuer: str,
    origin: str,
    passphrase: str,
    at: datetime,
    root_folder: Path | str | None = None,
) -> None:
    """Make an issuer in a folder; the log comes last and makes it one."""
    name_of(issuer, "issuer")
    refuse_malformed_name(origin)
    if (folder / "log.db").exists():
        raise LogError(f"{folder} holds an issuer already; its keys are changed with: epimeter keys rotate")
    # Half an issuer from an interrupted first try: its keys have signed nothing yet.
    store, roots = KeyStore(folder / "keys"), KeyStore(root_folder or folder / "root")
    for role, name in (("issuer", issuer), ("log", origin), ("status", issuer)):
        if not store.ring.keys(role):
            store.generate(role, passphrase, at, name=name)
    if not roots.ring.keys("root"):
        roots.generate("root", passphrase, at)
    renew_root(folder, passphrase, at, root_folder=root_folder)
    log_key = store.signer("log", passphrase, at)
    status_key = store.signer("status", passphrase, at)
    list_id = f"{issuer.rstrip('/')}/status/1"
    first = StatusList.empty(list_id, at, at + STATUS_LIFE)
    sealed = sign_status_list(first, status_key)
    for path, name in ((folder / "audit.db", f"{origin}/audit"), (folder / "new-log.db", origin)):
        path.unlink(missing_ok=True)
        Log.create(path, name, log_key, at).close()
        path.chmod(0o600)  # what the world may see of it is published

    def begin(connection: sqlite3.Connection, _: int) -> list[bytes]:
        for statement in (*TABLES.split(";\n"), standing.TABLE, *standing.INDEXES, *seen.TABLES):
            connection.execute(statement)
        connection.execute("INSERT INTO issuer VALUES (1, ?, ?)", (issuer, list_id))
        connection.execute("INSERT INTO status_lists VALUES (1, ?)", (sealed.to_json(),))
        return [
            *(key_entry("key.added", record.id, record.role, at) for record in (*store.ring, *roots.ring)),
            list_entry(first, sealed, at),
        ]

    with Log(folder / "new-log.db") as log:
        log.append_beside(begin, log_key, at)
    (folder / "new-log.db").rename(folder / "log.db")
