# SPDX-License-Identifier: Apache-2.0
"""Bodies of five formats into columns: JSON rows, JSON columns, NDJSON, Arrow IPC stream, Parquet; summaries have no rows.

Each format has its own reader for speed, and all end in one kind of columns, so that one data set is one data set in every
format: same refusals, same digest, same metrics. Column names are fixed; a name that is not known is refused. Forecasts of a
number or of a set have the columns that they have in files.
"""

from __future__ import annotations

from epimeter.errors import ReadError
from epimeter.service.arrow_tables import TooMuchError, from_parquet, from_stream
from epimeter.service.bodies import Body
from epimeter.service.columns import Columns
from epimeter.service.forecast_rows import ForecastRows
from epimeter.service.json_rows import from_document, from_lines
from epimeter.service.problems import Problem
from epimeter.service.settings import Settings
from epimeter.service.sums import SUMMARY

JSON, NDJSON = "application/json", "application/x-ndjson"
LIGHT = 256 * 1024
"""Bytes of plain text up to which rows are read without a child; whatever is larger, packed or binary is read in one."""
ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"
MEDIA_TYPES = (JSON, NDJSON, ARROW, PARQUET, SUMMARY)


def is_light(body: Body, kind: str, encoding: str) -> bool:
    """Whether a body is read without a child: plain text, and not much of it."""
    return kind in (JSON, NDJSON) and encoding == "identity" and body.size <= LIGHT


def read(body: Body, kind: str, settings: Settings) -> Columns | ForecastRows:
    """The columns in an unpacked body; forecasts of a number or of a set are told by their names."""
    if kind == JSON:
        return from_document(body.whole(), settings)
    if kind == NDJSON:
        return from_lines(body, settings)
    try:
        return from_stream(body, settings) if kind == ARROW else from_parquet(body, settings)
    except TooMuchError as fault:
        raise Problem("too-large", str(fault)) from None
    except ReadError as fault:
        raise Problem("invalid", str(fault), errors=[("", str(fault))]) from None
