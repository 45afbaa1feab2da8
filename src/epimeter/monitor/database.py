# SPDX-License-Identifier: Apache-2.0
"""The database of a collection: a cursor of SQLite or of PostgreSQL, and what differs between the two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


class Database:
    """Statements in the transaction of a cursor, their values marked as for SQLite.

    Parameters
    ----------
    cursor
        Of a DB-API connection, SQLite's or psycopg's, within a transaction that the caller commits.
    """

    def __init__(self, cursor: Any, *, postgres: bool = False) -> None:
        self.cursor, self.postgres = cursor, postgres

    def run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Run a statement; gives the cursor."""
        self.cursor.execute(self._words(statement), values)
        return self.cursor

    def run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""
        if rows:
            self.cursor.executemany(self._words(statement), rows)

    def make(self, tables: Iterable[str]) -> None:
        """Make tables and indexes."""
        for statement in tables:
            self.run(statement.replace("BLOB", "BYTEA") if self.postgres else statement)

    def fill(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Many rows into a temporary table."""
        if self.postgres:
            with self.cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        marks = ", ".join("?" * (columns.count(",") + 1))
        self.cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)

    def _words(self, statement: str) -> str:
        return statement.replace("?", "%s") if self.postgres else statement
