# SPDX-License-Identifier: Apache-2.0
"""Every table, as the newest migration leaves it; a test holds both to each other.

Moments are whole microseconds since 1970 in UTC, documents are the bytes that were sent.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
Counter = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up only what it calls INTEGER


def _owner(*, index: bool = False) -> Column[str]:
    return Column("organization", String(40), ForeignKey("organizations.id"), nullable=False, index=index)


organizations = Table(
    "organizations",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("tier", String(16), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(8), primary_key=True),
    _owner(index=True),
    Column("name", String(200), nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("last_used_at", BigInteger),
)

usage = Table(
    "usage",
    metadata,
    Column("organization", String(40), ForeignKey("organizations.id"), primary_key=True),
    Column("month", String(7), primary_key=True),
    Column("evaluations", BigInteger, nullable=False),
)

systems = Table(
    "systems",
    metadata,
    Column("organization", String(40), ForeignKey("organizations.id"), primary_key=True),
    Column("system_id", String(200), primary_key=True),
    Column("attempts", BigInteger, nullable=False),
    Column("name_key", String(800), nullable=False, server_default=""),
    Index("ix_systems_organization_name_key", "organization", "name_key"),
)

evaluations = Table(
    "evaluations",
    metadata,
    Column("id", String(40), primary_key=True),
    _owner(),
    Column("key_id", String(8), nullable=False),
    Column("system_id", String(200), nullable=False),
    Column("system_version", String(200)),
    Column("domain", String(40), nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("status", String(16), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("completed_at", BigInteger),
    Column("sample_size", BigInteger),
    Column("ece", Float),
    Column("u_recall", Float),
    Column("ers", Integer),
    Column("level", String(8)),
    Column("dataset_digest", String(100)),
    Column("wrong", BigInteger),
    Column("wrong_unsure", BigInteger),
    Column("totals", LargeBinary),
    Column("request", LargeBinary, nullable=False),
    Column("result", LargeBinary),
    Column("report", LargeBinary),
    Column("rows_kept", Integer, nullable=False),
    Column("attempt_logged", Integer, nullable=False),
    Index("ix_evaluations_organization_created_at_id", "organization", "created_at", "id"),
    Index("ix_evaluations_completed_at", "completed_at"),
)

rows = Table(
    "rows",
    metadata,
    Column("evaluation", String(40), ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("organization", String(40), ForeignKey("organizations.id"), primary_key=True),
    Column("path", String(200), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("holder", String(40), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("lease_until", BigInteger, nullable=False),
    Column("status", Integer),
    Column("location", Text),
    Column("body", LargeBinary),
    Index("ix_idempotency_created_at", "created_at"),
)

journal = Table(
    "journal",
    metadata,
    Column("number", Counter, primary_key=True, autoincrement=True),
    _owner(),
    Column("at", BigInteger, nullable=False),
    Column("actor", String(40), nullable=False),
    Column("action", String(60), nullable=False),
    Column("subject", String(200), nullable=False),
    Column("detail", LargeBinary, nullable=False),
    Column("log_index", BigInteger),
    Index("ix_journal_organization_number", "organization", "number"),
    Index("ix_journal_log_index", "log_index"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", String(40), primary_key=True),
    _owner(index=True),
    Column("kind", String(40), nullable=False),
    Column("subject", String(200), nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("not_before", BigInteger, nullable=False),
    Column("lease_until", BigInteger),
    Column("worker", String(80)),
    Column("finished_at", BigInteger),
    Column("error", Text),
    Index("ix_jobs_state_not_before", "state", "not_before"),
)

hits = Table(
    "hits",
    metadata,
    Column("number", Counter, primary_key=True, autoincrement=True),
    Column("key", String(200), nullable=False),
    Column("at", Float, nullable=False),
    Index("ix_hits_key_at", "key", "at"),
)
"""Requests of the last minute, where several processes share one database and there is no Redis."""

signals = Table(
    "signals",
    metadata,
    Column("number", Counter, primary_key=True, autoincrement=True),
    Column("slot", BigInteger, nullable=False, unique=True),
    Column("id", String(40), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("digest", String(80), nullable=False),
    Column("log_index", BigInteger),
    Index("ix_signals_created_at", "created_at"),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String(40), primary_key=True),
    _owner(index=True),
    Column("url", Text, nullable=False),
    Column("events", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("disabled_at", BigInteger),
    Column("failures", Integer, nullable=False),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", String(40), primary_key=True),
    _owner(),
    Column("webhook", String(40), ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("event", String(60), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("not_before", BigInteger, nullable=False),
    Column("lease_until", BigInteger),
    Column("last_answer", Text),
    Index("ix_deliveries_state_not_before", "state", "not_before"),
    Index("ix_deliveries_webhook_created_at", "webhook", "created_at"),
)

preregistrations = Table(
    "preregistrations",
    metadata,
    Column("id", String(40), primary_key=True),
    _owner(index=True),
    Column("system_id", String(200), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("evaluation", String(40)),
)
"""Whose a pre-registration is, and which evaluation spent it; the document itself is in the registry."""

certificates = Table(
    "certificates",
    metadata,
    Column("evaluation", String(40), ForeignKey("evaluations.id"), primary_key=True),
    _owner(index=True),
    Column("claimed_at", BigInteger, nullable=False),
    Column("id", String(40), unique=True),
    Column("organization_name", String(200), nullable=False),
    Column("system_id", String(200), nullable=False),
    Column("domain", String(40), nullable=False),
    Column("level", String(8)),
    Column("issued_at", BigInteger),
    Column("expires_at", BigInteger),
    Column("sought", Text, nullable=False, server_default=""),
    Index("ix_certificates_issued_at_id_expires_at_sought", "issued_at", "id", "expires_at", "sought"),
    *(
        Index(f"ix_certificates_{column}_issued_at_id", column, "issued_at", "id")
        for column in ("organization_name", "system_id", "domain", "level")
    ),
)
"""Whose a certificate is and of which evaluation; without an id while it is being issued. The rest is in the registry."""

members = Table(
    "members",
    metadata,
    Column("id", String(8), primary_key=True),
    _owner(index=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("role", String(16), nullable=False),
    Column("password", Text),
    Column("subject", String(400), unique=True),
    Column("invitation", LargeBinary, unique=True),
    Column("invited_until", BigInteger),
    Column("created_at", BigInteger, nullable=False),
)
"""People who sign in: by a password (argon2id), or as the subject of an OpenID provider. An id is as long as a key's."""

sessions = Table(
    "sessions",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("key_id", String(8), ForeignKey("api_keys.id", ondelete="CASCADE"), index=True),
    Column("member", String(8), ForeignKey("members.id", ondelete="CASCADE"), index=True),
    Column("created_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False, index=True),
)
"""Browsers that are signed in: the digest of a cookie, and the key or the member that it stands for."""

uploads = Table(
    "uploads",
    metadata,
    Column("id", String(40), primary_key=True),
    _owner(index=True),
    Column("name", String(200), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False, index=True),
)

upload_parts = Table(
    "upload_parts",
    metadata,
    Column("upload", String(40), ForeignKey("uploads.id", ondelete="CASCADE"), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)
"""Files that were dropped on a page and wait for a word about their columns."""

facts = Table(
    "facts",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)
"""What every server on this database must share: fingerprints of its registry and of its pepper."""

collected_systems = Table(
    "collected_systems",
    metadata,
    Column("system", BigInteger, primary_key=True, autoincrement=False),
    Column("organization", String(40), nullable=False),
    Column("name", String(200), nullable=False),
    Column("state", Text, nullable=False),
    Column("unmatched", BigInteger, nullable=False),
    Column("purged", String(16), nullable=False),
    Column("changes", BigInteger, nullable=False),
    Column("looked_at", BigInteger, nullable=False),
    Index("ix_collected_systems_organization_name", "organization", "name"),
    Index("ix_collected_systems_looked_at_changes", "looked_at", "changes"),
)
"""Systems of which predictions are collected; `epimeter.monitor.collection` writes this table and the next four."""

collected_rows = Table(
    "collected_rows",
    metadata,
    Column("system", BigInteger, primary_key=True, autoincrement=False),
    Column("id", String(200), primary_key=True),
    Column("win", String(16)),
    Column("at", BigInteger),
    Column("confidence", Double),
    Column("answer", Text),
    Column("slices", Text),
    Column("correct", Integer),
    Column("truth", Text),
    Column("truth_at", BigInteger),
    Column("source", Text),
    Column("received", BigInteger, nullable=False),
    Index("ix_collected_rows_system_win", "system", "win"),
)

collected_blocks = Table(
    "collected_blocks",
    metadata,
    Column("system", BigInteger, primary_key=True, autoincrement=False),
    Column("win", String(16), primary_key=True),
    Column("block", Integer, primary_key=True, autoincrement=False),
    Column("slices", Text, nullable=False),
    Column("totals", LargeBinary, nullable=False),
)

collected_looks = Table(
    "collected_looks",
    metadata,
    Column("system", BigInteger, primary_key=True, autoincrement=False),
    Column("since", String(16), nullable=False),
    Column("until", String(16), nullable=False),
    Column("as_of", String(16), nullable=False),
    Column("aged_at", BigInteger, nullable=False),
    Column("state", LargeBinary, nullable=False),
)
"""What the last look at a system left for the next one; without it everything is read again."""

collected_corrections = Table(
    "collected_corrections",
    metadata,
    Column("system", BigInteger, nullable=False),
    Column("id", String(200), nullable=False),
    Column("half", String(10), nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("ix_collected_corrections_system_id", "system", "id"),
)
