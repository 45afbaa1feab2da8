# SPDX-License-Identifier: Apache-2.0
"""Which rows of two tables are the same: by their ids, or by their places where outcomes agree row by row."""

from __future__ import annotations

import numpy as np

from epimeter.errors import InputError
from epimeter.readers.table import Table


def same_rows(tables: list[Table]) -> list[Table] | None:
    """The tables with their rows in one order, where they hold the same rows; None where they do not."""
    first = tables[0]
    if all(table.id is not None for table in tables):
        return _by_id(tables)
    if any(table.n_rows != first.n_rows or table.y_prob.shape != first.y_prob.shape for table in tables):
        return None
    return tables if all(np.array_equal(table.y_true, first.y_true) for table in tables) else None


def why_apart(tables: list[Table]) -> str:
    """Why rows with ids are not the same, in words; nothing where there are no ids."""
    if any(table.id is None for table in tables):
        return ""
    labels = [[str(value) for value in table.id] for table in tables if table.id is not None]
    repeated = [table.source for table, label in zip(tables, labels, strict=True) if len(set(label)) < len(label)]
    if repeated:
        return f"ids of {repeated[0]} repeat, so rows cannot be paired by them"
    shared = len(set(labels[0]).intersection(*labels[1:]))
    if not shared:
        return "no id is in all files"
    return f"{shared:,} ids are in all files and others are not: pairs are made where all are"


def by_place(tables: list[Table]) -> list[Table]:
    """The tables as they stand, row k of each being the same case, because somebody says so."""
    first = tables[0]
    for table in tables[1:]:
        if table.n_rows != first.n_rows or table.y_prob.shape != first.y_prob.shape:
            raise InputError(
                f"rows paired by their places must be equally many; {first.source} has {first.n_rows:,} and {table.source} "
                f"{table.n_rows:,}, or other columns",
                field="label",
            )
        differ = np.flatnonzero(table.y_true != first.y_true)
        if len(differ) and table.kind != "answer":
            raise InputError(
                f"rows paired by their places must have the same outcomes; {len(differ):,} of {table.source} and {first.source} "
                f"differ, the first is row {int(differ[0]):,}, counted from 0. Give ids, or compare different rows: --unpaired",
                field="label",
            )
    return tables


def _by_id(tables: list[Table]) -> list[Table] | None:
    """The rows by their ids. Answers are each model's own: those that all models gave are compared, whoever was right."""
    labels = [np.asarray([str(value) for value in table.id]) for table in tables]
    if any(len(np.unique(label)) != len(label) for label in labels):
        return None
    own = all(table.kind == "answer" for table in tables)
    common = labels[0]
    for label in labels[1:]:
        common = np.intersect1d(common, label)
    if not len(common) or (not own and any(len(common) < len(label) for label in labels)):
        return None
    made = []
    for table, label in zip(tables, labels, strict=True):
        order = np.argsort(label, kind="stable")
        made.append(table.take(order[np.isin(label[order], common)]))
    for table in () if own else made:
        differ = np.flatnonzero(table.y_true != made[0].y_true)
        if len(differ):
            row = int(differ[0])
            raise InputError(
                f"{table.source} and {tables[0].source} hold the same ids but not the same outcomes; "
                f"{len(differ)} differ, the first at id {str(table.id[row])!r}",
                field="label",
            )
    return made
