# SPDX-License-Identifier: Apache-2.0
"""Totals of windows as bytes, and what the last look at a system left for the next one."""

import json

import sqlalchemy as sa
from alembic import op

from epimeter.monitor.cells import plain, unpacked

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Let totals be bytes; those kept as JSON so far stay readable, and are written anew when they are read."""
    with op.batch_alter_table("collected_windows") as table:
        table.alter_column("totals", type_=sa.LargeBinary, postgresql_using="convert_to(totals, 'UTF8')")
    op.create_table(
        "collected_looks",
        sa.Column("system", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("since", sa.String(16), nullable=False),
        sa.Column("until", sa.String(16), nullable=False),
        sa.Column("as_of", sa.String(16), nullable=False),
        sa.Column("aged_at", sa.BigInteger, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("system", name="pk_collected_looks"),
    )


def downgrade() -> None:
    """Back to JSON."""
    op.drop_table("collected_looks")
    db = op.get_bind()
    with op.batch_alter_table("collected_windows") as table:
        table.add_column(sa.Column("plain", sa.Text))
    windows = sa.table("collected_windows", *map(sa.column, ("system", "win", "slice", "totals", "plain")))
    for row in db.execute(sa.select(windows)).mappings().all():
        (cells,) = unpacked([row["totals"]])
        mine = [windows.c[name] == row[name] for name in ("system", "win", "slice")]
        db.execute(windows.update().where(*mine).values(plain=json.dumps(plain(cells))))
    with op.batch_alter_table("collected_windows") as table:
        table.drop_column("totals")
        table.alter_column("plain", new_column_name="totals", nullable=False)
