# SPDX-License-Identifier: Apache-2.0
"""What a database knows of the servers that use it: one registry, one pepper."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the facts."""
    op.create_table(
        "facts",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_facts"),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("facts")
