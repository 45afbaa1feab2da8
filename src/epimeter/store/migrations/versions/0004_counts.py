# SPDX-License-Identifier: Apache-2.0
"""Attempts are counted by names that are told apart; a pre-registration is spent by the evaluation that names it."""

import sqlalchemy as sa
from alembic import op

from epimeter.trust.names import name_key

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the key of a system's name, and the evaluation of a pre-registration."""
    with op.batch_alter_table("systems") as table:
        table.add_column(sa.Column("name_key", sa.String(800), nullable=False, server_default=""))
    systems = sa.table("systems", *(sa.column(name) for name in ("organization", "system_id", "name_key")))
    db = op.get_bind()
    for organization, system_id in db.execute(sa.select(systems.c.organization, systems.c.system_id)).all():
        mine = (systems.c.organization == organization, systems.c.system_id == system_id)
        db.execute(sa.update(systems).where(*mine).values(name_key=name_key(system_id)))
    op.create_index("ix_systems_organization_name_key", "systems", ["organization", "name_key"])
    with op.batch_alter_table("preregistrations") as table:
        table.add_column(sa.Column("evaluation", sa.String(40)))


def downgrade() -> None:
    """Take them away again."""
    with op.batch_alter_table("preregistrations") as table:
        table.drop_column("evaluation")
    op.drop_index("ix_systems_organization_name_key", "systems")
    with op.batch_alter_table("systems") as table:
        table.drop_column("name_key")
