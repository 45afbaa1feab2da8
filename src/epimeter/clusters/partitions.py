# SPDX-License-Identifier: Apache-2.0
"""A pass over a cluster: an engine that exists does the scheduling, each partition becomes a ledger, ledgers merge.

Merging integers is associative, so neither the number of machines, nor the order in which partitions are done, nor a
partition that is done again after a worker was lost changes a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from epimeter.errors import ReadError
from epimeter.passes.batch import Batch
from epimeter.passes.ledger import Ledger, joined
from epimeter.passes.plan import Plan
from epimeter.passes.workers import Job, over_batches
from epimeter.readers.wording import brief
from epimeter.sources.columns import ReadColumns, batch_of

FAR = 1 << 40
"""Rows a partition is taken to have at most, where its place among all rows is not known but only its number."""
TOGETHER = 32
"""Ledgers held until they are merged: with cells each takes 3 MB."""


@dataclass(frozen=True)
class Far:
    """A source on a cluster: the columns to be read, and how a plan is carried out there."""

    columns: ReadColumns
    name: str
    run: Callable[[Plan, Callable[[int], None] | None], Ledger]

    def described(self) -> dict[str, Any]:
        """Where the rows come from, for the report."""
        return {"name": self.name, "columns": self.columns.roles.served}


def part(plan: Plan, columns: ReadColumns, name: str, order: int, batches: Iterable[Any]) -> Ledger:
    """The ledger of one partition, from its Arrow batches; runs on a worker, in one thread."""
    return over_batches(plan, _jobs(columns, name, order, batches), threads=1)


def _jobs(columns: ReadColumns, name: str, order: int, batches: Iterable[Any]) -> Iterator[Job]:
    first = 0
    for batch in batches:
        if batch.num_rows:
            yield partial(_one_batch, batch, columns, name, first, order + first)
            first += batch.num_rows


def _one_batch(batch: Any, columns: ReadColumns, name: str, first: int, order: int) -> list[Batch]:
    return [batch_of(batch, columns, name, first, order)]


def collected(ledgers: Iterable[Ledger], plan: Plan, tick: Callable[[int], None] | None) -> Ledger:
    """The ledger of all partitions, merged as they come."""
    whole: list[Ledger] = []
    for ledger in ledgers:
        whole.append(ledger)
        if tick is not None:
            tick(ledger.n_rows + ledger.unlabelled)
        if len(whole) >= TOGETHER:
            whole = [joined(whole)]
    return joined(whole) if whole else Ledger(plan, {})


def lost(engine: str, fault: BaseException) -> ReadError:
    """A cluster that went away, in one sentence."""
    why = brief(fault) if str(fault) else type(fault).__name__  # type: ignore[arg-type]
    return ReadError(f"the {engine} cluster went away before all rows were read ({why}); nothing was written")


def without_rows_beyond(plan: Plan, n_rows: int) -> Plan:
    """The plan for so many rows: none are kept where they are too many."""
    return plan.without_rows() if n_rows > plan.row_limit else plan
