# SPDX-License-Identifier: Apache-2.0
"""How the tables came to be: numbered steps, each with its way back (Alembic)."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from epimeter.store.engine import Store, StoreError

NEWEST = "head"
_LOCK = 7_308_324  # any number, the same in every process: who holds it migrates


def migrate(store: Store, target: str = NEWEST) -> None:
    """Bring a database to a revision, forwards or back; several processes may ask for it at once."""
    with store.writing() if not store.postgres else store.engine.begin() as connection:
        if store.postgres:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        config = _config()
        config.attributes["connection"] = connection
        current = MigrationContext.configure(connection).get_current_revision()
        steps = ScriptDirectory.from_config(config)
        known = [step.revision for step in steps.walk_revisions()]
        if current is not None and current not in known:
            raise StoreError(
                f"the database is of revision {current}, which this program does not know; use a newer program"
            )
        wanted = steps.get_current_head() if target == NEWEST else target
        if current == wanted:
            return
        backwards = target == "base" or (
            current is not None and wanted in known and known.index(wanted) > known.index(current)
        )
        (command.downgrade if backwards else command.upgrade)(config, target)


def revision(store: Store) -> str | None:
    """The revision a database is at; None for an empty one."""
    with store.reading() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config
