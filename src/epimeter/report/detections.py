# SPDX-License-Identifier: Apache-2.0
"""The report of an object detector: match once more for every threshold, measure, say what was left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import epimeter
from epimeter.card import Metric, catalogue, find
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.readers.coco import Detections, read_coco
from epimeter.report.measurement import Measurement, Report
from epimeter.results import Result, bin_table
from epimeter.summaries import Bins
from epimeter.views import view


def evaluate_detections(
    truth: str | None, results: str, *, metrics: str | Iterable[str] | None = None, **choices: Any
) -> Report:
    """Measure a detector from COCO-style files.

    Parameters
    ----------
    truth
        The file of annotated objects.
    results
        The file of detections.
    metrics
        Names of detection metrics; None or ``"all"`` for every one.
    choices
        Parameters such as ``iou_threshold=0.5``, given to every metric that has them.
    """
    if truth is None:
        raise InputError("detections need the annotated objects too; pass --truth FILE", field="truth")
    found = read_coco(truth, results)
    named = _named(metrics)
    known = {name for metric in named for name in metric.parameters}
    for name in choices:
        if name not in known:
            raise InputError(f"none of the metrics asked for has a parameter {name!r}", field=name)
    made = tuple(_measure(metric, found, choices) for metric in named)
    matched = find("match_detections")(*found.columns, **_own(find("match_detections"), choices))
    if len(matched.kept) == 0:
        raise InputError("no detection is left to measure; lower score_threshold", field="score_threshold")
    event = view(matched.correct, found.score[matched.kept], kind="answer")
    table = bin_table(Bins(10).of(event))
    assert table is not None
    threshold = _own(find("match_detections"), choices).get("iou_threshold", 0.5)
    matching = f"a detection counts as right where it matches an object at IOU >= {threshold:g}"
    cautions = [f"{found.crowds:,} crowd annotations were left out"] if found.crowds else []
    if matched.fn:
        cautions.append(f"{matched.fn:,} of {matched.tp + matched.fn:,} objects were found by no detection")
    return Report(
        n_rows=event.n_rows,
        n_classes=2,
        kind="answer",
        base_rate=float(event.true.mean()),
        mean_confidence=float(event.prob.mean()),
        measurements=made,
        cautions=tuple(cautions),
        bins=table,
        source={"name": results, "columns": {"truth": truth}, "notes": [matching]},
        version=epimeter.__version__,
    )


def _named(metrics: str | Iterable[str] | None) -> list[Metric[Any]]:
    if metrics in (None, "all"):
        return list(catalogue("detection").values())
    assert metrics is not None
    named = [find(name.strip()) for name in (metrics.split(",") if isinstance(metrics, str) else metrics)]
    for metric in named:
        if metric.card.family != "detection":
            raise InputError(f"{metric.name} does not measure detections; `epimeter metrics --family detection`")
    return named


def _own(metric: Metric[Any], choices: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in choices.items() if name in metric.parameters}


def _measure(metric: Metric[Any], found: Detections, choices: dict[str, Any]) -> Measurement:
    chosen = _own(metric, choices)
    if "image_size" in metric.parameters and "image_size" not in chosen and found.image_size is not None:
        chosen["image_size"] = found.image_size
    parameters = {name: p.default for name, p in metric.parameters.items()} | _own(metric, choices)
    facts: dict[str, Any] = {
        "metric": metric.name,
        "title": metric.card.title,
        "parameters": parameters,
        "convention": "detections matched greedily by score within image and class, each object once",
        "n_rows": len(found.score),
    }
    try:
        answer = metric(*found.columns, **chosen)
    except UndefinedMetricError as reason:
        return Measurement(value=None, undefined=str(reason), **facts)
    if isinstance(answer, Result):
        small = {name: value for name, value in answer.to_dict().items() if not isinstance(value, list)}
        return Measurement(value=answer.headline, fields=small, **facts)
    return Measurement(value=float(answer), **facts)
