# SPDX-License-Identifier: Apache-2.0
"""Collected predictions and outcomes, their corrections, and the totals of their windows."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the tables of `epimeter.monitor.collection`."""
    op.create_table(
        "collected_systems",
        sa.Column("system", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("unmatched", sa.BigInteger, nullable=False),
        sa.Column("purged", sa.String(16), nullable=False),
        sa.Column("changes", sa.BigInteger, nullable=False),
        sa.Column("looked_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("system", name="pk_collected_systems"),
    )
    op.create_index("ix_collected_systems_organization_name", "collected_systems", ["organization", "name"])
    op.create_table(
        "collected_rows",
        sa.Column("system", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("win", sa.String(16)),
        sa.Column("at", sa.BigInteger),
        sa.Column("confidence", sa.Double),
        sa.Column("answer", sa.Text),
        sa.Column("slices", sa.Text),
        sa.Column("correct", sa.Integer),
        sa.Column("truth", sa.Text),
        sa.Column("truth_at", sa.BigInteger),
        sa.Column("source", sa.Text),
        sa.Column("received", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("system", "id", name="pk_collected_rows"),
    )
    op.create_index("ix_collected_rows_system_win", "collected_rows", ["system", "win"])
    op.create_table(
        "collected_windows",
        sa.Column("system", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("win", sa.String(16), nullable=False),
        sa.Column("slice", sa.Text, nullable=False),
        sa.Column("totals", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("system", "win", "slice", name="pk_collected_windows"),
    )
    op.create_table(
        "collected_corrections",
        sa.Column("system", sa.BigInteger, nullable=False),
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("half", sa.String(10), nullable=False),
        sa.Column("before", sa.Text, nullable=False),
        sa.Column("after", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_collected_corrections_system_id", "collected_corrections", ["system", "id"])


def downgrade() -> None:
    """Drop them with what was collected."""
    for table in ("collected_corrections", "collected_windows", "collected_rows", "collected_systems"):
        op.drop_table(table)
