# SPDX-License-Identifier: Apache-2.0
"""Dask DataFrames: a task a partition, on whatever scheduler is active."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from epimeter.clusters.partitions import FAR, Far, collected, lost, part, without_rows_beyond
from epimeter.errors import EpimeterError, ReadError
from epimeter.passes.ledger import Ledger
from epimeter.passes.plan import Plan
from epimeter.sources.columns import ReadColumns, wanted
from epimeter.sources.frames import arrow_of_pandas
from epimeter.sources.route import Ask

NAME = "the Dask DataFrame"


def far(frame: Any, ask: Ask) -> Far:
    """The way to the rows of a Dask DataFrame."""
    names = [str(name) for name in frame.columns]
    columns = wanted(names, _lists(frame), NAME, ask.columns, ask.by, ask.extra)
    return Far(columns, NAME, lambda plan, tick: run(frame, columns, plan, tick))


def _lists(frame: Any) -> frozenset[str]:
    """Columns that hold a list a row: by their Arrow type, or by their first row where the type says nothing."""
    lists = {str(name) for name, kind in frame.dtypes.items() if "list" in str(kind)}
    unknown = [name for name, kind in frame.dtypes.items() if str(kind) == "object"]
    if unknown:
        head = frame[unknown].head(1, npartitions=-1)
        lists |= {str(name) for name in unknown if len(head) and isinstance(head[name].iloc[0], list | tuple)}
    return frozenset(lists)


def run(frame: Any, columns: ReadColumns, plan: Plan, tick: Callable[[int], None] | None) -> Ledger:
    """The ledger of all partitions."""
    import dask

    chosen = frame[columns.names]
    try:
        places: list[int] = [number * FAR for number in range(chosen.npartitions)]
        if plan.wants_rows or plan.sample is not None:  # rows are kept or drawn by their place: count them first
            lengths = [int(n) for n in chosen.map_partitions(len, meta=(None, "int64")).compute()]
            plan = without_rows_beyond(plan, sum(lengths))
            places = [0, *accumulate(lengths)][:-1]
        task = dask.delayed(summarised, pure=False)
        tasks = [
            task(partition, plan, columns, number, place)
            for number, (partition, place) in enumerate(zip(chosen.to_delayed(), places, strict=True))
        ]
        return collected(_results(tasks), plan, tick)
    except EpimeterError:
        raise
    except (OSError, TimeoutError, asyncio.CancelledError, concurrent.futures.CancelledError) as fault:
        raise lost("Dask", fault) from None
    except Exception as fault:
        if type(fault).__module__.startswith("distributed"):
            raise lost("Dask", fault) from None
        raise ReadError(f"{NAME} could not be read ({type(fault).__name__}: {str(fault)[:200]})") from None


def _results(tasks: list[Any]) -> Iterator[Ledger]:
    """The ledgers as they are done, from the cluster of the active client or from this machine."""
    import dask

    client = _client()
    if client is None:
        yield from dask.compute(*tasks)
        return
    from distributed import as_completed

    futures = client.compute(tasks)
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        client.cancel(futures)


def _client() -> Any:
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def summarised(frame: Any, plan: Plan, columns: ReadColumns, number: int, place: int) -> Ledger:
    """The ledger of one partition; runs on a worker."""
    name = f"partition {number} of {NAME}"
    if not len(frame):
        return Ledger(plan, {})
    table = arrow_of_pandas(frame, columns, name)
    return part(plan, columns, name, place, [table])
