# SPDX-License-Identifier: Apache-2.0
"""What the registry's search reads, in one column and one index; an index for each thing it can be narrowed by."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
BATCH = 5000
NARROWED = ("organization_name", "system_id", "domain", "level")


def upgrade() -> None:
    """Add the names and the id of each certificate as they are searched, and the indexes."""
    op.add_column("certificates", sa.Column("sought", sa.Text, nullable=False, server_default=""))
    _fill()
    op.drop_index("ix_certificates_issued_at_id", "certificates")
    op.create_index(
        "ix_certificates_issued_at_id_expires_at_sought", "certificates", ["issued_at", "id", "expires_at", "sought"]
    )
    for column in NARROWED:
        op.create_index(f"ix_certificates_{column}_issued_at_id", "certificates", [column, "issued_at", "id"])


def downgrade() -> None:
    """Drop them; the column of SQLite goes with a copy of the table."""
    for column in NARROWED:
        op.drop_index(f"ix_certificates_{column}_issued_at_id", "certificates")
    op.drop_index("ix_certificates_issued_at_id_expires_at_sought", "certificates")
    op.create_index("ix_certificates_issued_at_id", "certificates", ["issued_at", "id"])
    with op.batch_alter_table("certificates") as table:
        table.drop_column("sought")


def _fill() -> None:
    """Small letters are Python's, as in every search: a database's own differ from one to the next."""
    db = op.get_bind()
    after = ""
    table = sa.table("certificates", *map(sa.column, ("evaluation", "organization_name", "system_id", "id", "sought")))
    names = (table.c.organization_name, table.c.system_id, table.c.id)
    while rows := db.execute(
        sa.select(table.c.evaluation, *names)
        .where(table.c.evaluation > after)
        .order_by(table.c.evaluation)
        .limit(BATCH)
    ).all():
        filled = sa.update(table).where(table.c.evaluation == sa.bindparam("key")).values(sought=sa.bindparam("text"))
        db.execute(
            filled, [{"key": key, "text": "\n".join(one or "" for one in said).casefold()} for key, *said in rows]
        )
        after = rows[-1][0]
