# SPDX-License-Identifier: Apache-2.0
"""Windows of up to 32 slices in one row; an index by which systems to look at are found."""

import sqlalchemy as sa
from alembic import op

from epimeter.monitor.blocks import Blocks, from_single
from epimeter.monitor.cells import packed
from epimeter.monitor.database import Database

revision = "0010"
down_revision = "0009"
LOOKED = "ix_collected_systems_looked_at_changes"


def upgrade() -> None:
    """Gather the slices of every window."""
    op.create_table(
        "collected_blocks",
        sa.Column("system", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("win", sa.String(16), nullable=False),
        sa.Column("block", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("slices", sa.Text, nullable=False),
        sa.Column("totals", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("system", "win", "block", name="pk_collected_blocks"),
    )
    from_single(_database())
    op.create_index(LOOKED, "collected_systems", ["looked_at", "changes"])


def downgrade() -> None:
    """One slice to a row again."""
    op.drop_index(LOOKED, "collected_systems")
    op.create_table(
        "collected_windows",
        sa.Column("system", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("win", sa.String(16), nullable=False),
        sa.Column("slice", sa.Text, nullable=False),
        sa.Column("totals", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("system", "win", "slice", name="pk_collected_windows"),
    )
    database = _database()
    for (system,) in database.run("SELECT DISTINCT system FROM collected_blocks").fetchall():
        windows = Blocks(database).read(system)
        rows = [(system, win, name, packed(window.cells)) for (win, name), window in windows.items()]
        database.run_many("INSERT INTO collected_windows VALUES (?, ?, ?, ?)", rows)
    op.drop_table("collected_blocks")
    database.run("UPDATE collected_looks SET state = ?", (b"",))


def _database() -> Database:
    db = op.get_bind()
    return Database(db.connection.cursor(), postgres=db.dialect.name == "postgresql")
