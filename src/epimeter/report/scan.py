# SPDX-License-Identifier: Apache-2.0
"""``epimeter.scan``: one pass over anything, one report, or one a slice."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from epimeter.passes.ledger import Ledger
from epimeter.passes.plan import ROW_LIMIT, Plan
from epimeter.passes.selection import columns_read
from epimeter.passes.workers import over_batches
from epimeter.readers.forecast import Choice
from epimeter.report.building import reports
from epimeter.report.measurement import Report
from epimeter.report.slices import Reports
from epimeter.sources.route import Ask, Route
from epimeter.sources.routes import route

Tick = Callable[[int], None]
ENGINES = {
    "dask": "epimeter.clusters.dask_frames",
    "dask_expr": "epimeter.clusters.dask_frames",
    "pyspark": "epimeter.clusters.spark_frames",
}
"""Frames that live on a cluster, by the package of their class."""


def scan(
    source: Any,
    metrics: str | Iterable[str] | None = None,
    *,
    by: str | None = None,
    columns: Mapping[str, str] | None = None,
    kind: str | None = None,
    positive: str | None = None,
    classes: Iterable[str] | None = None,
    logits: bool = False,
    format: str | None = None,
    row_limit: int = ROW_LIMIT,
    sample: int | None = None,
    seed: int = 0,
    skip_damaged: bool = False,
    parquet_pages: bool | None = None,
    threads: int | None = None,
    progress: Callable[[int | None], Tick] | None = None,
    intervals: str | None = "asymptotic",
    level: float = 0.95,
    **choices: Any,
) -> Report | Reports:
    """Measure predictions of any number in one pass, in memory that does not grow with them.

    Parameters
    ----------
    source
        Files (Parquet, CSV, NDJSON, Arrow; a path, a pattern, a folder, a list of these), a frame (pandas, polars,
        lazy polars, Arrow, a pyarrow dataset, columns by name), a DuckDB relation or an SQL query, a Dask or a Spark
        DataFrame. In a folder ``model=a/day=2026-01-01/…`` the names are columns to slice by.
    metrics
        Names of metrics, ``"all"`` for every one that the data allow; None for the headlines.
    by
        A column, or a folder's key: one report for each of its values, from the same pass.
    columns
        Which column plays which role, where its name does not say: ``{"confidence": "score2"}``.
    kind, positive, classes
        What the forecast is (event, answer, classes), the label that is outcome 1, and the classes in the order of their
        columns, where names do not say.
    logits
        Whether the forecast is written as scores before softmax (classes) or the logistic function (one number a row).
    format
        csv, tsv, json, ndjson, parquet, arrow, npz or xlsx, where the suffix does not say.
    row_limit
        Rows up to which they are kept for the metrics that need all of them. Above it such a metric is read off the
        cells with a stated error, or left out with the reason.
    sample, seed
        Above the limit, measure what is left out on a uniform sample of so many rows, and where the sample begins.
    skip_damaged
        Leave out row groups and files that cannot be decoded, and list them in the report, instead of stopping.
    parquet_pages
        False leaves all of Parquet to pyarrow, as EPIMETER_PARQUET_PAGES=off does; the rows are the same, read more slowly.
    threads
        Threads to use; None for one a core.
    progress
        Called with the number of rows (None if it is not known) before the pass; gives what is called with the rows done.
    intervals, level
        ``asymptotic``: intervals where they are known, from totals of the same pass, and their nominal coverage; None: none.
    choices
        Parameters such as ``bins=20``, given to every metric that has them.

    Returns
    -------
    Report, or with `by` a mapping of slices to reports
        The same numbers, bit for bit, for every kind of source, order of rows (where a metric is free of it), number of
        threads and machines.
    """
    return reports(
        summarised(
            source,
            metrics,
            by=by,
            columns=columns,
            kind=kind,
            positive=positive,
            classes=classes,
            logits=logits,
            format=format,
            row_limit=row_limit,
            sample=sample,
            seed=seed,
            skip_damaged=skip_damaged,
            parquet_pages=parquet_pages,
            threads=threads,
            progress=progress,
            **choices,
        ),
        intervals=intervals,
        level=level,
    )


def summarised(
    source: Any,
    metrics: str | Iterable[str] | None = None,
    *,
    by: str | None = None,
    columns: Mapping[str, str] | None = None,
    kind: str | None = None,
    positive: str | None = None,
    classes: Iterable[str] | None = None,
    logits: bool = False,
    format: str | None = None,
    row_limit: int = ROW_LIMIT,
    sample: int | None = None,
    seed: int = 0,
    cells: bool = False,
    skip_damaged: bool = False,
    parquet_pages: bool | None = None,
    threads: int | None = None,
    progress: Callable[[int | None], Tick] | None = None,
    **choices: Any,
) -> Ledger:
    """The ledger behind a report: what can be kept, sent and merged. Parameters as `scan`.

    Parameters
    ----------
    cells
        Keep the cells even if no metric asks for them.
    """
    asked = metrics if metrics is None or isinstance(metrics, str) else tuple(metrics)
    choice = Choice(dict(columns or {}), kind, positive, None if classes is None else tuple(classes), logits=logits)
    ask = Ask(choice, by, columns_read(asked), format, skip_damaged, parquet_pages)
    facts: dict[str, Any] = {"by": by, "row_limit": row_limit, "sample": sample, "seed": seed, "cells": cells}

    def plan(found: Any) -> Plan:
        return Plan.of(asked, choices, kind=found.roles.kind, weighted=found.weighted, extra=found.extra, **facts)

    engine = ENGINES.get(type(source).__module__.partition(".")[0])
    if engine is not None and hasattr(source, "columns"):
        far = importlib.import_module(engine).far(source, ask)
        made: Ledger = far.run(plan(far.columns), None if progress is None else progress(None))
        return replace(made, source=far.described())
    way = route(source, ask)
    return _local(way, plan(way.columns), threads, progress, skip_damaged)


def _local(
    way: Route, plan: Plan, threads: int | None, progress: Callable[[int | None], Tick] | None, skip_damaged: bool
) -> Ledger:
    if way.n_rows is not None and way.n_rows > plan.row_limit:
        plan = plan.without_rows()
    tick = None if progress is None else progress(way.n_rows)
    made = over_batches(plan, way.jobs, threads=threads, tick=tick, skip_damaged=skip_damaged)
    return replace(made, source=way.described(), skipped=(*way.skipped, *made.skipped))
