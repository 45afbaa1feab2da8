# SPDX-License-Identifier: Apache-2.0
"""Jobs, the rows that wait for them, and requests of the last minute."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Evaluations may now keep their rows and wait for a worker."""
    counter = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    # Evaluations that are there already have kept no rows.
    op.add_column("evaluations", sa.Column("rows_kept", sa.Integer, nullable=False, server_default="0"))
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("evaluations", "rows_kept", server_default=None)
    op.create_table(
        "rows",
        sa.Column("evaluation", sa.String(40), nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("evaluation", "part", name="pk_rows"),
        sa.ForeignKeyConstraint(["evaluation"], ["evaluations.id"], name="fk_rows_evaluation", ondelete="CASCADE"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("not_before", sa.BigInteger, nullable=False),
        sa.Column("lease_until", sa.BigInteger),
        sa.Column("worker", sa.String(80)),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("error", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_jobs_organization"),
    )
    op.create_index("ix_jobs_organization", "jobs", ["organization"])
    op.create_index("ix_jobs_state_not_before", "jobs", ["state", "not_before"])
    op.create_table(
        "hits",
        sa.Column("number", counter, nullable=False, autoincrement=True),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_hits"),
    )
    op.create_index("ix_hits_key_at", "hits", ["key", "at"])


def downgrade() -> None:
    """Drop them; evaluations stay, their kept rows go."""
    for table in ("hits", "jobs", "rows"):
        op.drop_table(table)
    op.drop_column("evaluations", "rows_kept")
