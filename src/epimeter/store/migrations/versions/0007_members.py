# SPDX-License-Identifier: Apache-2.0
"""People who sign in, their sessions, and files that wait for a word about their columns."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create members, sessions and uploads."""
    op.create_table(
        "members",
        sa.Column("id", sa.String(8), nullable=False),
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("password", sa.Text),
        sa.Column("subject", sa.String(400)),
        sa.Column("invitation", sa.LargeBinary),
        sa.Column("invited_until", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_members"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_members_organization"),
        sa.UniqueConstraint("name", name="uq_members_name"),
        sa.UniqueConstraint("subject", name="uq_members_subject"),
        sa.UniqueConstraint("invitation", name="uq_members_invitation"),
    )
    op.create_index("ix_members_organization", "members", ["organization"])
    op.create_table(
        "sessions",
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("key_id", sa.String(8)),
        sa.Column("member", sa.String(8)),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("ends_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_sessions"),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], name="fk_sessions_key_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["member"], ["members.id"], name="fk_sessions_member", ondelete="CASCADE"),
    )
    for column in ("key_id", "member", "ends_at"):
        op.create_index(f"ix_sessions_{column}", "sessions", [column])
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("organization", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_uploads"),
        sa.ForeignKeyConstraint(["organization"], ["organizations.id"], name="fk_uploads_organization"),
    )
    for column in ("organization", "created_at"):
        op.create_index(f"ix_uploads_{column}", "uploads", [column])
    op.create_table(
        "upload_parts",
        sa.Column("upload", sa.String(40), nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("upload", "part", name="pk_upload_parts"),
        sa.ForeignKeyConstraint(["upload"], ["uploads.id"], name="fk_upload_parts_upload", ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Drop them with what they hold."""
    for table in ("upload_parts", "uploads", "sessions", "members"):
        op.drop_table(table)
