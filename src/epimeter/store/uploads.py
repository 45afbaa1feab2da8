# SPDX-License-Identifier: Apache-2.0
"""Files that wait for a word about their columns, for a day."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import BinaryIO

from sqlalchemy import Connection, RowMapping, delete, func, insert, select

from epimeter.store.evaluations import PART
from epimeter.store.moments import SECOND
from epimeter.store.tables import upload_parts, uploads

LASTS = 24 * 3600 * SECOND


def add(db: Connection, *, id: str, organization: str, name: str, file: BinaryIO, size: int, at: int) -> None:
    """Keep a file, part by part."""
    db.execute(insert(uploads).values(id=id, organization=organization, name=name, size=size, created_at=at))
    for part in count():
        piece = file.read(PART)
        if not piece:
            return
        db.execute(insert(upload_parts).values(upload=id, part=part, data=piece))


def find(db: Connection, organization: str, upload: str) -> RowMapping | None:
    """A file of an organisation."""
    query = select(uploads).where(uploads.c.organization == organization, uploads.c.id == upload)
    return db.execute(query).mappings().first()


def held(db: Connection, organization: str) -> int:
    """How many files an organisation has waiting."""
    query = select(func.count()).select_from(uploads).where(uploads.c.organization == organization)
    return int(db.execute(query).scalar_one())


def parts(db: Connection, upload: str) -> Iterator[bytes]:
    """The bytes of a file, part by part."""
    query = select(upload_parts.c.data).where(upload_parts.c.upload == upload).order_by(upload_parts.c.part)
    for (data,) in db.execute(query, execution_options={"yield_per": 1}):
        yield bytes(data)


def remove(db: Connection, upload: str) -> bool:
    """Forget a file; False where another has done so."""
    db.execute(delete(upload_parts).where(upload_parts.c.upload == upload))
    return db.execute(delete(uploads).where(uploads.c.id == upload)).rowcount == 1


def forget(db: Connection, at: int) -> None:
    """Forget files that nobody came back to."""
    old = select(uploads.c.id).where(uploads.c.created_at < at - LASTS)
    db.execute(delete(upload_parts).where(upload_parts.c.upload.in_(old)))
    db.execute(delete(uploads).where(uploads.c.created_at < at - LASTS))
