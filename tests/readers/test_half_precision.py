# SPDX-License-Identifier: Apache-2.0
"""Class probabilities in half precision: their rows are judged with the precision of their type, from any file."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epimeter import evaluate
from epimeter.errors import InputError
from epimeter.readers import read


def rows():
    rng = np.random.Generator(np.random.PCG64(0))
    logits = rng.normal(0, 3, (200, 10))
    prob = np.exp(logits - logits.max(axis=1, keepdims=True))
    prob = (prob / prob.sum(axis=1, keepdims=True)).astype(np.float16)
    assert (np.abs(prob.sum(axis=1, dtype=float) - 1) > 1e-6).any()
    return rng.integers(0, 10, 200), prob


def as_columns(label, prob):
    return pa.table({"label": label, **{f"p_{k}": pa.array(prob[:, k]) for k in range(prob.shape[1])}})


def as_lists(label, prob):
    return pa.table({"label": label, "probs": pa.FixedSizeListArray.from_arrays(pa.array(prob.ravel()), prob.shape[1])})


@pytest.mark.parametrize("table", [as_columns, as_lists])
def test_half_precision_is_read_from_parquet_as_it_is_from_arrays(tmp_path, table):
    label, prob = rows()
    pq.write_table(table(label, prob), tmp_path / "half.parquet")
    assert read(tmp_path / "half.parquet").y_prob.dtype == np.float16
    assert evaluate(str(tmp_path / "half.parquet"))["ece"].value == evaluate(label, prob)["ece"].value
    pq.write_table(table(label, prob.astype(np.float32)), tmp_path / "single.parquet")
    with pytest.raises(InputError, match="rows must sum to 1 within 1e-06"):
        evaluate(str(tmp_path / "single.parquet"))


def test_half_precision_is_read_from_npz(tmp_path):
    label, prob = rows()
    stream = io.BytesIO()
    np.savez(stream, y_true=label, probs=prob)
    (tmp_path / "half.npz").write_bytes(stream.getvalue())
    assert evaluate(str(tmp_path / "half.npz"))["nll"].value == evaluate(label, prob)["nll"].value
