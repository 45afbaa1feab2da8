# SPDX-License-Identifier: Apache-2.0
"""Forecasts of a number or of a set as a body: read by the readers of files, by the same names of columns and with their refusals.

No standard uses their metrics, so an evaluation of them has a report and no level; their rows are kept while a job waits for
them, and no longer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import msgspec

from epimeter.errors import InputError
from epimeter.readers.forecast_table import ForecastTable, read_forecasts
from epimeter.report.forecast_pass import ForecastPass
from epimeter.report.forecast_report import ForecastReport
from epimeter.report.forecasts import evaluate_forecasts
from epimeter.service.problems import Problem, in_a_request
from epimeter.service.schemas import Facts
from epimeter.sources.forecast_files import validated

MAGIC = b"epimeter forecasts\n"
"""How bytes begin that are kept forecasts, and no records: JSON follows, or an Arrow stream."""
PASS_ROWS = 100_000
"""Rows above which intervals are those of a pass."""
OF_RECORDS = (
    "preregistration", "onto_domain", "declaration", "new_baseline", "weights", "weights_reason", "unknown_threshold",
)  # fmt: skip
"""What is said of records that may earn a level, and of nothing else."""


@dataclass(frozen=True)
class ForecastRows:
    """Forecasts as they came (an Arrow table, columns or rows), and as a table whose values are doubted."""

    source: Any
    table: ForecastTable
    facts: Facts | None = None

    @property
    def n_rows(self) -> int:
        return self.table.n_rows + self.table.unlabelled


def forecast_rows(source: Any, at: str, *, first: int = 0, facts: Facts | None = None) -> ForecastRows:
    """The forecasts of a body; `at` says where they stood and `first` how the first of them is numbered there."""
    try:
        table = read_forecasts(source)
        validated(table)
    except InputError as fault:
        field = f"/{fault.field}" if fault.field else ""
        row = "" if fault.row is None else f"/{fault.row + first}"
        pointer = at + (field + row if isinstance(source, dict) else row + field)
        sentence = in_a_request(str(fault))
        raise Problem("invalid", f"{pointer}: {sentence}", errors=[(pointer, sentence)]) from None
    return ForecastRows(source, table, facts)


def refuse_idle(facts: Facts) -> None:
    """Refuse what would have no effect on forecasts."""
    for name in OF_RECORDS:
        if getattr(facts, name) is not None:
            sentence = "forecasts of a number or a set earn no level and no certificate; leave it out"
            raise Problem("invalid", f"/{name}: {sentence}", errors=[(f"/{name}", sentence)])


def forecast_report(rows: ForecastRows, facts: Facts) -> ForecastReport:
    """The report that the command makes of the same rows; many of them are added up in one pass."""
    table = rows.table
    if table.n_rows > PASS_ROWS and table.group is None:
        passing = ForecastPass(facts.metrics, {} if facts.level is None else {"level": facts.level}, PASS_ROWS)
        passing.add(table)
        made = passing.report(level=facts.level, intervals="auto", interval_level=0.95, draws=999, seed=0)
        return replace(made, source=table.described() | {"name": facts.model_id})
    return evaluate_forecasts(
        table.true,
        metrics=facts.metrics,
        level=facts.level,
        sample_weight=table.weight,
        groups=table.group,
        source=table.described() | {"name": facts.model_id},
        **table.stated,
    )


def pack_forecasts(rows: ForecastRows, file: BinaryIO) -> None:
    """Forecasts as bytes to keep."""
    file.write(MAGIC)
    if isinstance(rows.source, dict | list):
        file.write(msgspec.json.encode(rows.source))
        return
    import pyarrow as pa
    from pyarrow import ipc

    with ipc.new_stream(
        pa.PythonFile(file, "w"), rows.source.schema, options=ipc.IpcWriteOptions(compression="zstd")
    ) as stream:
        stream.write_table(rows.source)


def kept_forecasts(file: BinaryIO) -> ForecastRows | None:
    """Forecasts that were kept; None where the bytes are something else, which then are read from their beginning."""
    if file.read(len(MAGIC)) != MAGIC:
        file.seek(0)
        return None
    data = file.read()
    if data[:1] in (b"{", b"["):
        return forecast_rows(msgspec.json.decode(data), "/forecasts")
    import pyarrow as pa
    from pyarrow import ipc

    with ipc.open_stream(pa.py_buffer(data)) as stream:
        return forecast_rows(stream.read_all(), "/rows")
