# SPDX-License-Identifier: Apache-2.0
"""A field that a body does not have is refused with the ones it has, and with who makes answers of other columns."""

import pyarrow as pa
import pytest

from epimeter.errors import ReadError
from epimeter.service.arrow_tables import from_stream
from epimeter.service.bodies import Body, read_as
from epimeter.service.problems import Problem
from epimeter.service.schemas import EvaluateRequest
from epimeter.service.settings import Settings

ANSWERS = "become answers by `epimeter submit` and on /upload"


@pytest.mark.parametrize(
    ("body", "pointer", "known", "advised"),
    [
        (b'{"model_id": "m", "columns": {"y_true": [1]}}', "/columns: ", "confidence, correct, id", True),
        (b'{"model_id": "m", "predictions": [{"label": 1}]}', "/predictions/0: ", "confidence, correct, id", True),
        (b'{"model_id": "m", "bins": 3}', "the body: ", "model_id, domain, model_version", False),
    ],
)
def test_fields_are_named(body, pointer, known, advised):
    with pytest.raises(Problem) as refused:
        read_as(EvaluateRequest, body)
    assert str(refused.value).startswith(f"{pointer}its fields are {known}")
    assert (ANSWERS in str(refused.value)) is advised


def test_columns_of_an_event_are_refused_with_who_reads_them(tmp_path):
    table = pa.table({"y_true": [1, 0], "y_prob": [0.9, 0.2]})
    body = Body(str(tmp_path))
    with pa.ipc.new_stream(sink := pa.BufferOutputStream(), table.schema) as stream:
        stream.write_table(table)
    body.add(sink.getvalue().to_pybytes())
    with pytest.raises(ReadError, match=f"'y_true' is none of them.*{ANSWERS}"):
        from_stream(body, Settings())
