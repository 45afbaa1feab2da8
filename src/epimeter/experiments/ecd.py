# SPDX-License-Identifier: Apache-2.0
"""The experiments of Sumler, Devlin, Maskell and Lane 2025 once more: models and maps, judged by ECD, ECE and MCE.

Stored forecasts stand in for the models (experiments/ecd/train.py made them). Of every data set, model and seed the map is
fitted on one part and everything is measured on another. Thresholds come from labels drawn from the forecasts, which stay as
they are.
"""

from __future__ import annotations

import math
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.inference import adaptive_bins_test, consistency_test
from epimeter.recalibration import Recalibrator
from epimeter.special import expit

MODELS = {
    "logistic": "logistic regression",
    "naive_bayes": "naive Bayes",
    "forest": "random forest",
    "boosting": "gradient boosting",
    "network": "neural network",
}
DATA = {"adult": tuple(MODELS), "telco": tuple(MODELS), "cifar10": ("vgg16",)}
TITLES = {"adult": "Adult", "telco": "Telco", "cifar10": "CIFAR-10", "vgg16": "VGG-16", **MODELS}
MAPS = ("none", "platt", "isotonic", "beta", "temperature")
MEASURES = {
    "ecd": "ECD",
    "ece": "ECE, 15 bins",
    "mce": "MCE, 15 bins",
    "ece_adaptive": "ECE, adaptive bins",
    "mce_adaptive": "MCE, adaptive bins",
}
SEEDS = 5
CLIP = 1e-6
"""Forecasts of 0 and 1, which isotonic maps make, would leave ECD infinite: it is also measured with this eps."""
BINS = 15
ADAPTIVE_DRAWS = 499
"""Draws of the tests over all scales at least: 24 scales at 5 % need 479, and a draw costs ten times that of a binned error."""


def cells(seeds: int = SEEDS, draws: int = 999, data: tuple[str, ...] = tuple(DATA)) -> dict[str, dict[str, Any]]:
    """Every combination of data, model, seed and map."""
    return {
        f"{name}/{model}/{seed}/{map_name}": {
            "data": name, "model": model, "seed": seed, "map": map_name, "draws": draws,
        }
        for seed in range(seeds)
        for name in data
        for model in DATA[name]
        for map_name in MAPS
    }  # fmt: skip


def measured(cell: dict[str, Any]) -> dict[str, Any]:
    """Value, threshold, p-value and decision of every measure, on rows that neither model nor map has seen."""
    p_fit, y_fit, p_test, y_test = forecasts(cell["data"], cell["model"], cell["seed"])
    if cell["map"] != "none":
        p_test = np.asarray(Recalibrator(cell["map"]).fit(p_fit, y_fit).predict(p_test))
    top = p_test.max(axis=1) if p_test.ndim == 2 else p_test
    right = (p_test.argmax(axis=1) == y_test).astype(int) if p_test.ndim == 2 else y_test
    shared = {"draws": cell["draws"], "seed": cell["seed"], "threads": 1}
    answers: dict[str, Any] = {"n_rows": len(y_test), "accuracy": _accuracy(y_test, p_test)}
    for name, parameters in (
        ("ecd", {}),
        ("ecd_clipped", {"eps": CLIP}),
        ("ece", {"bins": BINS}),
        ("mce", {"bins": BINS}),
    ):
        forecast = (y_test, p_test) if name.startswith("ecd") else (right, top)
        metric = name.removesuffix("_clipped")
        answers[name] = _test_facts(consistency_test(*forecast, metric=metric, metric_params=parameters, **shared))
    shared["draws"] = max(ADAPTIVE_DRAWS, cell["draws"] // 2)
    for name in ("ece", "mce"):
        answers[f"{name}_adaptive"] = _test_facts(adaptive_bins_test(right, top, statistic=name, **shared))
    return answers


def _test_facts(test: Any) -> dict[str, Any]:
    """A test as JSON; an infinite value is null there."""
    return {
        "value": float(test.value) if math.isfinite(test.value) else None,
        "threshold": float(test.threshold) if math.isfinite(test.threshold) else None,
        "p_value": float(test.p_value),
        "reject": bool(test.reject),
    }


def _accuracy(true: NDArray[Any], prob: NDArray[Any]) -> float:
    return float(((prob.argmax(axis=1) if prob.ndim == 2 else prob >= 0.5) == true).mean())


def forecasts(data: str, model: str, seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Forecasts and outcomes to fit a map on, and those to measure."""
    if data == "cifar10":
        stored = _stored("cifar10_vgg16.npz")
        prob, true = stored["probs"], stored["labels"].astype(int)
        order = np.argsort(np.random.Generator(np.random.PCG64(seed)).random(len(true)), kind="stable")
        half = len(order) // 2
        fit, test = order[:half], order[half:]
        return prob[fit].astype(np.float64), true[fit], prob[test].astype(np.float64), true[test]
    stored = _stored(f"ecd_{data}.npz")
    name = f"{model}_{seed}"
    if f"fit_{name}" not in stored:
        raise InputError(f"no forecasts of model {model!r} with seed {seed} are stored for {data!r}", field="seed")
    p_fit, p_test = (expit(stored[f"{part}_{name}"].astype(np.float64)) for part in ("fit", "test"))
    return p_fit, stored[f"y_fit_{seed}"].astype(int), p_test, stored[f"y_test_{seed}"].astype(int)


@lru_cache(maxsize=4)
def _stored(name: str) -> dict[str, NDArray[Any]]:
    path = files("epimeter") / "data" / name
    if not path.is_file():
        raise InputError(
            f"the stored forecasts {name} are missing from this installation; experiments/ecd/README.md says how they are made",
            field="data",
        )
    with path.open("rb") as file, np.load(file) as held:
        return {key: held[key] for key in held.files}
