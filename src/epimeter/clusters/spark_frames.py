# SPDX-License-Identifier: Apache-2.0
"""Spark DataFrames: each partition goes through `mapInArrow` and comes back as one ledger."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from epimeter.clusters.partitions import FAR, Far, collected, lost, part, without_rows_beyond
from epimeter.errors import EpimeterError, InputError, ReadError
from epimeter.passes.ledger import Ledger
from epimeter.passes.plan import Plan
from epimeter.readers.wording import brief
from epimeter.sources.columns import ReadColumns, wanted
from epimeter.sources.route import Ask

NAME = "the Spark DataFrame"
GONE = (
    "Connection refused",
    "SparkContext was shut down",
    "Answer from Java side is empty",
    "stopped SparkContext",
    "SESSION_OR_CONTEXT_NOT_EXISTS",
    "An error occurred while trying to connect to the Java server",
)
"""What Spark says when it is no longer there."""


def far(frame: Any, ask: Ask) -> Far:
    """The way to the rows of a Spark DataFrame."""
    lists = frozenset(
        field.name for field in frame.schema.fields if field.dataType.typeName() in ("array", "vectorudt")
    )
    columns = wanted(list(frame.columns), lists, NAME, ask.columns, ask.by, ask.extra)
    return Far(columns, NAME, lambda plan, tick: run(frame, columns, plan, tick))


def run(frame: Any, columns: ReadColumns, plan: Plan, tick: Callable[[int], None] | None) -> Ledger:
    """The ledger of all partitions."""
    if plan.sample is not None:
        raise InputError(
            "sample= needs rows with a place, which Spark does not give them; draw with frame.sample(…) and scan that",
            field="sample",
        )
    try:
        chosen = frame.select(*["`" + name.replace("`", "``") + "`" for name in columns.names])
        if plan.wants_rows:
            plan = without_rows_beyond(plan, chosen.count())
        ledgers = chosen.mapInArrow(Partition(plan, columns), "ledger binary").collect()
    except EpimeterError:
        raise
    except Exception as fault:
        message = str(fault)
        if (
            isinstance(fault, OSError)
            or any(word in message for word in GONE)
            or "Py4JNetworkError" in type(fault).__name__
        ):
            raise lost("Spark", fault) from None
        raise ReadError(f"{NAME} could not be read ({_cause(fault)})") from None
    return collected((_opened(row[0]) for row in ledgers), plan, tick)


def _cause(fault: Exception) -> str:
    """The first line that says what went wrong, not where."""
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    causes = [line for line in lines if "Exception" in line and "Traceback" not in line]
    return brief(Exception((causes or lines or [type(fault).__name__])[0]))


def _opened(data: bytes) -> Ledger:
    outcome = pickle.loads(data)
    if isinstance(outcome, BaseException):
        raise outcome
    assert isinstance(outcome, Ledger)
    return outcome


class Partition:
    """What runs on a worker: Arrow batches in, one ledger out, as bytes. A refusal travels as a value, in its own words."""

    def __init__(self, plan: Plan, columns: ReadColumns) -> None:
        self.plan, self.columns = plan, columns

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The ledger of one partition."""
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        name = f"partition {number} of {NAME}"
        outcome: Ledger | EpimeterError
        try:
            outcome = part(self.plan, self.columns, name, number * FAR, batches)
        except EpimeterError as refusal:
            outcome = refusal
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(outcome)], pa.binary())], ["ledger"])
