# SPDX-License-Identifier: Apache-2.0
"""Rows that are kept come back as they were, however their bytes are cut, and are held once."""

import tracemalloc
from dataclasses import fields

import numpy as np
import pytest

from epimeter.service import retained_rows
from epimeter.service.columns import Columns

N = retained_rows.BATCH * 2 + 17
RNG = np.random.default_rng(5)
WHOLE = Columns(
    confidence=RNG.random(N),
    correct=RNG.integers(0, 3, N).astype(np.uint8),
    timestamp=np.datetime64("2026-01-01", "us") + np.arange(N),
    ground_truth_source=np.array([None, "human", "reference"], object)[RNG.integers(0, 3, N)],
    class_=np.array(["eins", "zwei", "…"], object)[RNG.integers(0, 3, N)],
    unknown=RNG.random(N) < 0.1,
    detected=RNG.random(N) < 0.1,
    id=np.array([f"r{row}" for row in range(N)], object),
    category=np.array([None, "novel", "ambiguous"], object)[RNG.integers(0, 3, N)],
    question=np.array([None, "q1", "q2"], object)[RNG.integers(0, 3, N)],
    group=np.array(["g1", "g2"], object)[RNG.integers(0, 2, N)],
)


def kept(columns, folder):
    body = retained_rows.packed(columns, str(folder))
    try:
        return body.file.read()
    finally:
        body.close()


@pytest.mark.parametrize("size", [997, 1 << 20, 1 << 30])
def test_columns_come_back_whatever_the_parts(tmp_path, size):
    data = kept(WHOLE, tmp_path)
    back = retained_rows.unpacked_columns(data[at : at + size] for at in range(0, len(data), size))
    for name in (field.name for field in fields(Columns) if field.name not in ("at", "first", "facts")):
        given, found = getattr(WHOLE, name), getattr(back, name)
        assert found.dtype == given.dtype
        np.testing.assert_array_equal(found, given)


def test_nothing_kept_is_no_columns():
    assert retained_rows.unpacked_columns([]) is None


def test_a_million_rows_are_held_once(tmp_path):
    n = 1_000_000
    data = kept(Columns(RNG.random(n), RNG.integers(0, 2, n).astype(np.uint8)), tmp_path)
    parts = [data[at : at + (1 << 20)] for at in range(0, len(data), 1 << 20)]
    tracemalloc.start()
    try:
        back = retained_rows.unpacked_columns(parts)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1.5 * (back.confidence.nbytes + back.correct.nbytes)
