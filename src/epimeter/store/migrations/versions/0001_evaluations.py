# SPDX-License-Identifier: Apache-2.0
"""Organisations, keys, evaluations, quota, answers, audit entries."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the first tables."""
    counter = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "organizations",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("tier", sa.String(16), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_organizations"),
        sa.UniqueConstraint("name", name="uq_organizations_name"),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(8), nullable=False),
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        sa.Column("last_used_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_api_keys_organization"),
    )
    op.create_index("ix_api_keys_organization", "api_keys", ["organization"])
    op.create_table(
        "usage",
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("month", sa.String(7), nullable=False),
        sa.Column("evaluations", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("organization", "month", name="pk_usage"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_usage_organization"),
    )
    op.create_table(
        "systems",
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("system_id", sa.String(200), nullable=False),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("organization", "system_id", name="pk_systems"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_systems_organization"),
    )
    op.create_table(
        "evaluations",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("key_id", sa.String(8), nullable=False),
        sa.Column("system_id", sa.String(200), nullable=False),
        sa.Column("system_version", sa.String(200)),
        sa.Column("domain", sa.String(40), nullable=False),
        sa.Column("attempt", sa.BigInteger, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("completed_at", sa.BigInteger),
        sa.Column("sample_size", sa.BigInteger),
        sa.Column("ece", sa.Float),
        sa.Column("u_recall", sa.Float),
        sa.Column("ers", sa.Integer),
        sa.Column("level", sa.String(8)),
        sa.Column("dataset_digest", sa.String(100)),
        sa.Column("wrong", sa.BigInteger),
        sa.Column("wrong_unsure", sa.BigInteger),
        sa.Column("totals", sa.LargeBinary),
        sa.Column("request", sa.LargeBinary, nullable=False),
        sa.Column("result", sa.LargeBinary),
        sa.Column("report", sa.LargeBinary),
        sa.PrimaryKeyConstraint("id", name="pk_evaluations"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_evaluations_organization"),
    )
    op.create_index("ix_evaluations_organization_created_at_id", "evaluations", ["organization", "created_at", "id"])
    op.create_index("ix_evaluations_completed_at", "evaluations", ["completed_at"])
    op.create_table(
        "idempotency",
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("path", sa.String(200), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary, nullable=False),
        sa.Column("holder", sa.String(40), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("lease_until", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("location", sa.Text),
        sa.Column("body", sa.LargeBinary),
        sa.PrimaryKeyConstraint("organization", "path", "key", name="pk_idempotency"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_idempotency_organization"),
    )
    op.create_index("ix_idempotency_created_at", "idempotency", ["created_at"])
    op.create_table(
        "journal",
        sa.Column("number", counter, nullable=False, autoincrement=True),
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.String(40), nullable=False),
        sa.Column("action", sa.String(60), nullable=False),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("detail", sa.LargeBinary, nullable=False),
        sa.Column("log_index", sa.BigInteger),
        sa.PrimaryKeyConstraint("number", name="pk_journal"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_journal_organization"),
    )
    op.create_index("ix_journal_organization_number", "journal", ["organization", "number"])
    op.create_index("ix_journal_log_index", "journal", ["log_index"])


def downgrade() -> None:
    """Drop them, children first."""
    for table in ("journal", "idempotency", "evaluations", "systems", "usage", "api_keys", "organizations"):
        op.drop_table(table)
