"""scikit-learn's `check_estimator`: of the map as it is, and of the map fed with probabilities made of what the checks hold."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.utils.estimator_checks import check_estimator

from epimeter.recalibration import Recalibrator


def likely(X, dimensions=(2,)):
    """What a check holds, as probabilities in the same container; what is no finite matrix, as it came."""
    found = getattr(X, "data", X) if type(X).__name__ == "_NotAnArray" else X
    if hasattr(X, "tocsr"):
        return X
    try:
        array = np.asarray(found, np.float64) if np.asarray(found).dtype.kind in "fiubO" else None
    except (TypeError, ValueError):
        return X
    if array is None or array.ndim not in dimensions or not array.size or not np.isfinite(array).all():
        return X
    made = expit(array) if array.ndim == 1 or array.shape[1] == 1 else softmax(array, axis=1)
    if isinstance(X, np.ndarray) and X.dtype == np.float32:
        made = made.astype(np.float32)
    return made if isinstance(X, np.ndarray | list) else type(X)(made)


def outcomes(y, X):
    """Targets cut by their rank into as many classes as there are columns."""
    array = np.asarray(getattr(y, "data", y))
    if array.ndim != 1 or array.dtype.kind not in "fiub" or not np.isfinite(array).all():
        return y
    columns = np.asarray(getattr(X, "data", X)).shape
    levels, rank = np.unique(array, return_inverse=True)
    made = rank * max(2, columns[1] if len(columns) == 2 else 2) // len(levels)
    return made if isinstance(y, np.ndarray | list) else type(y)(made)


class Fed(Recalibrator):
    """A map whose input is made into probabilities first."""

    def fit(self, X, y, sample_weight=None, *, groups=None):
        return super().fit(likely(X), None if y is None else outcomes(y, X), sample_weight, groups=groups)

    def predict(self, X):
        return super().predict(likely(X, (1, 2)))

    transform = predict

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False
        return tags


NO_PROBABILITIES = (
    "it feeds numbers that are no probabilities, which a map refuses; of the map that is fed with some it holds"
)
FLOAT_OF_A_DICTIONARY = (
    "it wants Python's TypeError for a dictionary in X; what is no number is an InputError here, a ValueError"
)
PLAIN = dict.fromkeys(
    [
        "check_all_zero_sample_weights_error",
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_nan_inf",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_pipeline_consistency",
        "check_readonly_memmap_input",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weights_list",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
    ],
    NO_PROBABILITIES,
)
FED = {"check_dtype_object": FLOAT_OF_A_DICTIONARY}


def told(exception):
    """The sentences of an exception and of what it was raised from."""
    said = []
    while exception is not None:
        said.append(str(exception))
        exception = exception.__cause__ or exception.__context__
    return "\n".join(said)


@pytest.mark.parametrize("name", ["temperature", "platt", "auto"])
@pytest.mark.filterwarnings("ignore")
def test_every_check_holds_but_those_that_feed_no_probabilities(name):
    found = check_estimator(Recalibrator(name), expected_failed_checks=PLAIN, on_fail=None, on_skip=None)
    assert len(found) > 50
    assert {one["check_name"]: told(one["exception"]) for one in found if one["status"] == "failed"} == {}
    assert {one["check_name"] for one in found if one["status"] == "xfail"} == set(
        PLAIN
    )  # a listed one that passes is a fault
    for one in found:
        if one["status"] == "xfail":
            assert "must lie in [0, 1]" in told(one["exception"]) or "rows must sum to 1" in told(one["exception"])


@pytest.mark.parametrize("name", ["temperature", "auto"])
@pytest.mark.filterwarnings("ignore")
def test_every_check_holds_of_a_map_that_is_fed_with_probabilities(name):
    found = check_estimator(Fed(name), expected_failed_checks=FED, on_fail=None, on_skip=None)
    assert {one["check_name"] for one in found} >= set(PLAIN)
    assert {one["check_name"]: told(one["exception"]) for one in found if one["status"] == "failed"} == {}
    assert {one["check_name"] for one in found if one["status"] == "xfail"} == set(FED)


def test_the_checks_of_the_array_api_hold_where_it_is_switched_on():
    """scipy reads its switch once, when it is imported."""
    code = (
        "from sklearn.utils.estimator_checks import estimator_checks_generator as checks\n"
        "from tests.recalibration.test_estimator_checks import Fed\n"
        "chosen = [(one, check) for one, check in checks(Fed('temperature')) if 'array_api' in repr(check)]\n"
        "[check(one) for one, check in chosen]\n"
        "print(len(chosen))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "1\n", done.stderr
