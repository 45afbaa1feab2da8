# SPDX-License-Identifier: Apache-2.0
"""The registry: certificates, pre-registrations, signals, webhooks."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create what stands on top of the logs."""
    counter = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "signals",
        sa.Column("number", counter, nullable=False, autoincrement=True),
        sa.Column("slot", sa.BigInteger, nullable=False),
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("log_index", sa.BigInteger),
        sa.PrimaryKeyConstraint("number", name="pk_signals"),
        sa.UniqueConstraint("slot", name="uq_signals_slot"),
        sa.UniqueConstraint("id", name="uq_signals_id"),
    )
    op.create_index("ix_signals_created_at", "signals", ["created_at"])
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("events", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("disabled_at", sa.BigInteger),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_webhooks_organization"),
    )
    op.create_index("ix_webhooks_organization", "webhooks", ["organization"])
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("webhook", sa.String(40), nullable=False),
        sa.Column("event", sa.String(60), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("not_before", sa.BigInteger, nullable=False),
        sa.Column("lease_until", sa.BigInteger),
        sa.Column("last_answer", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_deliveries_organization"),
        sa.ForeignKeyConstraint(["webhook"], ["webhooks.id"], name="fk_deliveries_webhook", ondelete="CASCADE"),
    )
    op.create_index("ix_deliveries_state_not_before", "deliveries", ["state", "not_before"])
    op.create_index("ix_deliveries_webhook_created_at", "deliveries", ["webhook", "created_at"])
    op.create_table(
        "preregistrations",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("system_id", sa.String(200), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_preregistrations"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_preregistrations_organization"),
    )
    op.create_index("ix_preregistrations_organization", "preregistrations", ["organization"])
    op.create_table(
        "certificates",
        sa.Column("evaluation", sa.String(40), nullable=False),
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("claimed_at", sa.BigInteger, nullable=False),
        sa.Column("id", sa.String(40)),
        sa.Column("organization_name", sa.String(200), nullable=False),
        sa.Column("system_id", sa.String(200), nullable=False),
        sa.Column("domain", sa.String(40), nullable=False),
        sa.Column("level", sa.String(8)),
        sa.Column("issued_at", sa.BigInteger),
        sa.Column("expires_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("evaluation", name="pk_certificates"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_certificates_organization"),
        sa.ForeignKeyConstraint(["evaluation"], ["evaluations.id"], name="fk_certificates_evaluation"),
        sa.UniqueConstraint("id", name="uq_certificates_id"),
    )
    op.create_index("ix_certificates_organization", "certificates", ["organization"])
    op.create_index("ix_certificates_issued_at_id", "certificates", ["issued_at", "id"])
    # Attempts made before there was a log are not in it.
    op.add_column("evaluations", sa.Column("attempt_logged", sa.Integer, nullable=False, server_default="0"))
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("evaluations", "attempt_logged", server_default=None)


def downgrade() -> None:
    """Drop them; what the logs hold stays in the logs."""
    for table in ("certificates", "preregistrations", "deliveries", "webhooks", "signals"):
        op.drop_table(table)
    op.drop_column("evaluations", "attempt_logged")
