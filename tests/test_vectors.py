"""Every reference value: data, parameters, value and tolerance stand in tests/vectors."""

import importlib
import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parent / "vectors"
HOMES = ("epimeter.metrics", "epimeter.inference", "epimeter.recalibration", "epimeter.standards")
VECTORS = [
    pytest.param(vector, id=f"{path.stem}-{vector['metric']}-{number}")
    for path in sorted(FOLDER.glob("*.json"))
    for number, vector in enumerate(json.loads(path.read_text()))
]
NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@cache
def columns(name):
    raw = json.loads((FOLDER / "data" / f"{name}.json").read_text())
    return {key: np.array(value) for key, value in raw.items()}


def function_named(name):
    for home in HOMES:
        found = getattr(importlib.import_module(home), name, None)
        if callable(found):  # a module may have the name of another room's function
            return found
    raise AssertionError(f"{name} is not in any of {HOMES}")


def number(value):
    return NON_FINITE.get(value, value) if isinstance(value, str) else value


def call(vector):
    function = function_named(vector["metric"])
    if "call" in vector:
        return function(
            **{k: [number(x) for x in v] if isinstance(v, list) else number(v) for k, v in vector["call"].items()}
        )
    data = columns(vector["dataset"])
    positional = [data[name] for name in vector["args"]]
    keywords = {name: data[column] for name, column in vector["kwargs"].items()}
    return function(*positional, **keywords, **vector["params"])


def assert_same(expected, answer, rtol, atol):
    if isinstance(expected, dict):
        for key, value in expected.items():
            field = answer[key] if isinstance(answer, dict) else getattr(answer, key)
            assert_same(value, field, rtol, atol)
    elif isinstance(expected, list):
        flat = np.asarray(expected, dtype=object).ravel()
        given = np.asarray(answer, dtype=object).ravel()
        assert len(flat) == len(given)
        for left, right in zip(flat, given, strict=True):
            assert_same(left, right, rtol, atol)
    elif expected is None:
        assert answer is None or math.isnan(answer)
    elif isinstance(number(expected), str | bool):
        assert getattr(answer, "value", answer) == expected
    else:
        np.testing.assert_allclose(float(answer), number(expected), rtol=rtol, atol=atol)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("vector", VECTORS)
def test_the_product_agrees_with_the_reference(vector):
    if vector.get("error"):
        with pytest.raises(Exception) as raised:
            call(vector)
        assert vector["error"] in [base.__name__ for base in type(raised.value).__mro__]
    else:
        assert_same(vector["value"], call(vector), vector["rtol"], vector["atol"])
