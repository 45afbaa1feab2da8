"""What the border accepts, and the one sentence with which it refuses the rest."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from epimeter.card_index import catalogue
from epimeter.errors import InputError
from epimeter.metrics import brier_score, classwise_ece, ece
from epimeter.views import view

RNG = np.random.Generator(np.random.PCG64(0))
PROB = RNG.random(200)
TRUE = (RNG.random(200) < PROB).astype(int)
RIGHT = float(ece(TRUE, PROB))


@pytest.mark.parametrize(
    "prob",
    [
        list(PROB),
        tuple(PROB),
        pd.Series(PROB),
        pd.Series(PROB, dtype="Float64"),
        pl.Series(PROB),
        pa.array(PROB),
        pa.chunked_array([PROB[:50], PROB[50:]]),
        np.asfortranarray(PROB),
        PROB[::-1][::-1],
        np.array(list(PROB), dtype=object),
    ],
    ids=lambda prob: type(prob).__name__,
)
def test_probabilities_in_any_container_measure_the_same(prob):
    assert float(ece(TRUE, prob)) == RIGHT


@pytest.mark.parametrize(
    "true",
    [
        list(TRUE),
        TRUE == 1,
        TRUE.astype(float),
        TRUE.astype(np.uint8),
        TRUE[:, None],
        pd.Series(TRUE == 1),
        pd.Series(TRUE, dtype="Int64"),
        pd.Series(TRUE == 1, dtype="boolean"),
        pl.Series(TRUE == 1),
        pa.array(TRUE == 1),
        [bool(y) for y in TRUE],
    ],
    ids=lambda true: f"{type(true).__name__} {getattr(true, 'dtype', '')}",
)
def test_labels_in_any_container_measure_the_same(true):
    assert float(ece(true, PROB)) == RIGHT


class Tensor:
    """What torch offers: off the graph, off the device, then numpy."""

    def __init__(self, values, dtype="torch.float32"):
        self.values, self.dtype = values, dtype

    def detach(self):
        return self

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.values.astype(np.float32))

    def numpy(self):
        if self.dtype == "torch.bfloat16":
            raise TypeError("numpy has no bfloat16")
        return self.values

    def __len__(self):
        return len(self.values)


def test_tensors_are_read_without_the_graph():
    assert float(ece(Tensor(TRUE, "torch.int64"), Tensor(PROB, "torch.float64"))) == RIGHT
    assert float(ece(TRUE, Tensor(PROB, "torch.bfloat16"))) == float(ece(TRUE, PROB.astype(np.float32)))


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_narrow_numbers_have_the_value_of_the_same_wide_ones(kind):
    narrow = PROB.astype(kind)
    assert float(ece(TRUE, narrow)) == float(ece(TRUE, narrow.astype(np.float64)))


def test_forty_million_single_precision_rows_in_one_bin_do_not_saturate():
    n = 40_000_000
    true = np.zeros(n, bool)
    true[::2] = True
    assert ece(true, np.full(n, 0.9, np.float32)) == pytest.approx(0.4, abs=1e-7)


REFUSED = {
    "nan": (
        TRUE,
        np.where(np.arange(200) == 17, np.nan, PROB),
        r"y_prob must be finite; 1 of 200 .*y_prob\[17\] = NaN",
    ),
    "inf": (TRUE, np.where(np.arange(200) == 3, np.inf, PROB), r"finite.*y_prob\[3\] = inf"),
    "1.5": (TRUE, np.where(np.arange(200) == 9, 1.5, PROB), r"\[0, 1\].*y_prob\[9\] = 1.5"),
    "-0.5": (TRUE, np.where(np.arange(200) == 9, -0.5, PROB), r"\[0, 1\].*y_prob\[9\] = -0.5"),
    "just below": (TRUE, np.where(np.arange(200) == 9, -1e-9, PROB), r"\[0, 1\]"),
    "just above": (TRUE, np.where(np.arange(200) == 9, 1 + 1e-9, PROB), r"\[0, 1\]"),
    "logits": (TRUE, np.log(PROB / (1 - PROB)), "Logits"),
    "percent": (TRUE, 100 * PROB, "Percent"),
    "label 2": (np.where(np.arange(200) == 5, 2, TRUE), PROB, r"0 and 1.*y_true\[5\] = 2"),
    "label -1": (np.where(TRUE == 1, 1, -1), PROB, "0 and 1"),
    "label 0.5": (TRUE * 0.5, PROB, "whole numbers"),
    "text labels": (np.where(TRUE == 1, "yes", "no"), PROB, "got text such as"),
    "null label": ([None, *TRUE[1:]], PROB, r"y_true\[0\] is null"),
    "nullable": (pd.Series([pd.NA, *TRUE[1:]], dtype="Int64"), PROB, "null"),
    "arrow null": (pa.array([None, *TRUE[1:].tolist()]), PROB, "1 of 200 are null"),
    "polars null": (TRUE, pl.Series([None, *PROB[1:]]), "null"),
    "masked": (TRUE, np.ma.masked_less(PROB, 0.2), "masked"),
    "empty": ([], [], "at least one row"),
    "p longer": (TRUE[:-1], PROB, "same length; got 199 and 200"),
    "y longer": (TRUE, PROB[:-1], "same length; got 200 and 199"),
    "one column": (TRUE, PROB[:, None], r"\(200, 1\).*y_prob\[:, 0\]"),
    "text probabilities": (TRUE, [f"{p}" for p in PROB], "numbers; got text"),
    "one-hot labels": (np.eye(2)[TRUE], PROB, r"argmax\(axis=1\)"),
    "ragged": (TRUE, [[0.1], [0.2, 0.8]], "different lengths"),
    "three dimensions": (TRUE, PROB.reshape(-1, 2, 5), "one or two dimensions"),
    "dates": (TRUE, np.full(200, "2026-01-01", "M8[D]"), "numbers; got dates"),
    "other index": (pd.Series(TRUE), pd.Series(PROB, index=np.arange(200)[::-1]), "same pandas index"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_have_to_be_guessed_is_refused_in_one_sentence(case):
    true, prob, words = REFUSED[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for metric in (ece, brier_score):
            with pytest.raises(InputError, match=words) as refusal:
                metric(true, prob)
            assert "\n" not in str(refusal.value)


MATRIX = RNG.dirichlet(np.ones(4), 300)
CLASS = RNG.integers(0, 4, 300)


@pytest.mark.parametrize(
    ("label", "prob", "words"),
    [
        (CLASS, MATRIX * 1.5, r"\[0, 1\]|sum to 1"),
        (CLASS, np.vstack([MATRIX[:-1], [[0.5, 0.5, 0.25, 0.25]]]), r"rows must sum to 1.*row 299 is 1.5"),
        (np.where(CLASS == 3, 4, CLASS), MATRIX, "from 0 to 3"),
        (np.where(CLASS == 3, -1, CLASS), MATRIX, "from 0 to 3"),
        (CLASS[:200], MATRIX, "200 and 300"),
        (CLASS, np.log(MATRIX), r"\[0, 1\]"),
    ],
)
def test_a_matrix_that_is_no_forecast_is_refused(label, prob, words):
    with pytest.raises(InputError, match=words):
        classwise_ece(label, prob)


def test_a_class_that_never_occurs_is_allowed():
    assert classwise_ece(np.minimum(CLASS, 2), MATRIX) > 0


def test_a_million_columns_are_answered():
    prob = np.full((2, 1_000_000), 1e-6)
    assert ece([0, 1], prob) >= 0


def test_a_view_cannot_be_written_through():
    given = view(TRUE, PROB)
    with pytest.raises(ValueError, match="read-only"):
        given.prob[0] = 0.5


def test_equal_pandas_indexes_are_no_obstacle():
    index = np.arange(200)[::-1]
    assert float(ece(pd.Series(TRUE, index=index), pd.Series(PROB, index=index))) == RIGHT


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0] * 199, "one weight per row"),
        ([-1.0] + [1.0] * 199, "negative"),
        ([0.0] * 200, "all zero"),
        ([np.nan] + [1.0] * 199, "finite"),
    ],
)
def test_weights_that_are_no_weights_are_refused(weight, words):
    with pytest.raises(InputError, match=words):
        ece(TRUE, PROB, sample_weight=weight)


def test_refusals_carry_the_row_and_the_count():
    with pytest.raises(InputError) as refusal:
        ece(TRUE, np.where(PROB > 0.9, 1.2, PROB))
    assert refusal.value.field == "y_prob"
    assert refusal.value.row == int(np.flatnonzero(PROB > 0.9)[0])
    assert refusal.value.count == int((PROB > 0.9).sum())


@pytest.mark.parametrize(
    ("true", "prob"),
    [
        ([0, 1, 1], [0.2, np.nan, 0.4]),
        ([0, 1, 1], [0.2, 1.5, 0.4]),
        ([0, 2, 1], [0.2, 0.5, 0.4]),
        (np.array([0, 2, 1], np.uint8), [0.2, 0.5, 0.4]),
        ([0, -1, 1], [0.2, 0.5, 0.4]),
        ([0, 1, 1], np.array([0.2, -0.5, 0.4], np.float32)),
    ],
)
@pytest.mark.parametrize("metric", [m for m in catalogue().values() if m.reads is not None and m.reads.checks_rows])
def test_rows_left_to_the_loop_are_refused_with_the_words_of_the_border(metric, true, prob):
    given = {name: 0.5 for name, p in metric.parameters.items() if p.required}
    with pytest.raises(InputError) as border:
        view(true, prob)
    with pytest.raises(InputError) as refusal:
        metric(true, prob, **given)
    assert str(refusal.value) == str(border.value)
    assert (refusal.value.field, refusal.value.row) == (border.value.field, border.value.row)
