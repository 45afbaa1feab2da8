# SPDX-License-Identifier: Apache-2.0
"""Cards into plain values and JSON schema: what command line, service and reference pages are made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from epimeter.calling import Metric, summary_line
from epimeter.limits import Above, AtLeast, Between
from epimeter.parameters import REQUIRED, Parameter
from epimeter.results import plain

DIRECTIONS = {
    "lower": "lower is better",
    "higher": "higher is better",
    "signed": "signed: the direction of the error is part of the value",
    "none": "not a quality measure",
}


def described(metric: Metric[Any]) -> dict[str, Any]:
    """Everything on the card and in the signature, as plain values."""
    card = metric.card
    low, high = card.range
    return {
        "name": card.name,
        "title": card.title,
        "family": card.family,
        "summary": summary_line(metric.compute),
        "equation": card.equation,
        "where": dict(card.where),
        "range": [plain(low), plain(high)],
        "range_text": f"[{'-inf' if low is None else f'{low:g}'}, {'inf' if high is None else f'{high:g}'}]",
        "ideal": card.ideal,
        "aims_at": card.aims_at,
        "direction": DIRECTIONS[card.direction],
        "matrix": card.matrix,
        "streams": streams(metric),
        "needs": list(card.needs),
        "takes": list(card.takes),
        "forecasts": list(card.forecasts),
        "weighted": card.weighted,
        "order": card.order,
        "proper": card.proper,
        "test": card.test,
        "cost": card.cost,
        "use_when": use_when(metric),
        "not_when": not_when(metric),
        "parameters": [_parameter(p) for p in metric.parameters.values()],
        "returns": list(metric.returns),
        "pitfalls": card.pitfalls,
        "simulated": card.simulated,
        "source": card.source,
        "aliases": list(card.aliases),
    }


PROPER = {
    "strictly": "strictly proper: the true probabilities, and nothing else, score best on average",
    "yes": "proper: the true probabilities score best on average, and others may score as well",
    "no": "not proper: it can be improved by forecasts one does not believe",
    "unknown": "not known to be proper",
}
TESTS = {
    "asymptotic": "its own, by the limiting law",
    "exact": "its own, exact",
    "resampling": "by drawing: consistency_test",
    None: "none is published; consistency_test takes any metric",
}
COSTS = {"linear": "grows with the rows, logarithms aside", "quadratic": "grows with the square of the rows"}
PURPOSES = {
    "bin": "a number is wanted that can be read off a reliability diagram",
    "kernel": "no border of a bin shall decide the value",
    "curve": "the frequency seen changes smoothly, or steadily, with the confidence stated",
    "cumulative": "neither bins nor a bandwidth shall be chosen",
    "point": "every row shall be scored for itself",
    "selective": "doubtful answers can be withheld, or right answers shall be told from wrong ones",
    "detection": "boxes on images are scored",
    "distribution": "a number or a set is forecast with its uncertainty",
    "test": "a p-value, an interval or a comparison is wanted, of any metric",
    "recalibration": "stated confidences shall be mapped to frequencies",
    "standard": "the standard asks for it",
}


def test_words(facts: Mapping[str, Any]) -> str:
    """How calibration is tested with a metric, from what `described` gave."""
    if facts["forecasts"] and facts["test"] is None:
        return "none of its own; pit_test, picp and nees_test test forecasts"
    return TESTS[facts["test"]]


def use_when(metric: Metric[Any]) -> str:
    """When it is the right metric, in one clause."""
    card = metric.card
    if card.family in ("test", "detection", "distribution", "recalibration", "standard"):
        return PURPOSES[card.family]
    if card.proper in ("strictly", "yes"):
        return "whole forecasts are compared or trained, not their calibration alone"
    if card.direction == "none":
        return "another metric needs this quantity"
    wishes = []
    if card.test in ("asymptotic", "exact"):
        wishes.append("it is asked whether calibration is refuted")
    if card.needs:
        wishes.append("calibration shall hold among similar rows, not only on average")
    if card.direction == "signed":
        wishes.append("the direction of the error matters")
    if metric.reads is not None and metric.reads.reading == "classes":
        wishes.append("the probability of every class matters, not that of the answer alone")
    return ", and ".join(wishes or [PURPOSES[card.family]])


def not_when(metric: Metric[Any]) -> str:
    """When it misleads or fails, in one clause."""
    card = metric.card
    faults = []
    if card.proper in ("strictly", "yes"):
        faults.append("calibration alone is the question: it rewards telling rows apart too")
    elif (
        card.direction in ("lower", "higher")
        and card.ideal is not None
        and card.family not in ("test", "recalibration")
    ):
        faults.append("models are to be ranked or trained: a forecast that never varies can score best")
    elif card.direction in ("lower", "higher") and card.family != "test":
        faults.append("a value is wanted that says by itself whether the model is calibrated")
    if card.order == "ties":
        faults.append("predictions are equal: it depends on the order of such rows")
    if card.cost == "quadratic":
        faults.append("there are hundreds of thousands of rows: it compares all pairs")
    if metric.reads is not None and not card.weighted:
        faults.append("rows have weights")
    return ", or ".join(faults or [_last_fault(metric)])


def _last_fault(metric: Metric[Any]) -> str:
    """What misleads where neither order, weights, cost nor propriety do."""
    card = metric.card
    if card.family == "test":
        return "the rows, or what is tested, were chosen by looking at the same values"
    if card.family == "recalibration":
        return "the map would be judged on the rows it was fitted on"
    if card.direction == "signed":
        return "errors to both sides can cancel: at its ideal the model may still be off everywhere"
    return "a verdict is wanted: it is no error by itself"


def streams(metric: Metric[Any]) -> str:
    """Whether it can be measured in one pass of bounded memory; follows from what it reads."""
    if metric.reads is None:
        return "no: it takes other columns"
    if metric.reads.streams:
        return "exactly, in one pass"
    if metric.card.bound is not None:
        return "within a stated bound, in one pass; exactly while the rows fit in memory"
    return "no: it needs the rows"


def _parameter(parameter: Parameter) -> dict[str, Any]:
    default = None if parameter.default is REQUIRED else plain(parameter.default)
    return {
        "name": parameter.name,
        "required": parameter.required,
        "default": default,
        "limit": "" if parameter.limit is None else str(parameter.limit),
        "words": list(parameter.words),
        "meaning": parameter.meaning,
        "schema": json_schema(parameter),
    }


def json_schema(parameter: Parameter) -> dict[str, Any]:
    """The JSON schema of one parameter."""
    options: list[dict[str, Any]] = []
    if parameter.words:
        options.append({"enum": list(parameter.words)})
    names = {int: "integer", float: "number", bool: "boolean", str: "string"}
    for kind in parameter.kinds:
        options.append({"type": names[kind], **_bounds(parameter.limit)})
    if parameter.optional:
        options.append({"type": "null"})
    schema: dict[str, Any] = options[0] if len(options) == 1 else {"anyOf": options} if options else {}
    if parameter.default is not REQUIRED:
        schema = schema | {"default": plain(parameter.default)}
    return schema | {"description": parameter.meaning}


def _bounds(limit: AtLeast | Above | Between | None) -> dict[str, float]:
    if isinstance(limit, AtLeast):
        return {"minimum": limit.bound}
    if isinstance(limit, Above):
        return {"exclusiveMinimum": limit.bound}
    if isinstance(limit, Between):
        return {
            "exclusiveMinimum" if limit.open_low else "minimum": limit.low,
            "exclusiveMaximum" if limit.open_high else "maximum": limit.high,
        }
    return {}
