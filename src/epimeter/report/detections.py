# SPDX-License-Identifier: Apache-2.0
"""The report of an object detector: match once more for every threshold, measure, say what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import epimeter
from epimeter.calling import Metric
from epimeter.card_index import catalogue, find
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference.intervals import interval_for
from epimeter.readers.coco import Detections, read_coco
from epimeter.report.certainty import Intervals, Wanted
from epimeter.report.evaluation import report_on
from epimeter.report.measurement import NO_SPREAD, Measurement, Report
from epimeter.report.verdict import Verdict
from epimeter.results import Interval, Result, bin_table
from epimeter.summaries import Bins
from epimeter.views import View, view

SEVEN = ("truth_image", "truth_class", "truth_box", "image", "label", "box", "score")


def evaluate_detections(
    truth: str | None,
    results: str,
    *,
    metrics: str | Iterable[str] | None = None,
    intervals: Intervals | None = "asymptotic",
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
    **choices: Any,
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
    intervals, level, draws, seed
        As for `evaluate`: no law of a detection metric is known, so there are intervals only by drawing images again.
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
    wanted = None if intervals is None else Wanted(intervals, level, draws, seed)
    made = tuple(_measure(metric, found, choices, wanted) for metric in named)
    matched = find("match_detections")(*found.columns, **_own(find("match_detections"), choices))
    if len(matched.kept) == 0:
        raise InputError("no detection is left to measure; lower score_threshold", field="score_threshold")
    event = view(matched.correct, found.score[matched.kept], kind="answer", groups=found.image[matched.kept])
    table = bin_table(Bins(10).of(event))
    assert table is not None
    threshold = _own(find("match_detections"), choices).get("iou_threshold", 0.5)
    matching = f"a detection counts as right where it matches an object at IOU >= {threshold:g}"
    cautions = [*_mismatch(found, matched.tp, choices)]
    cautions += [f"{found.crowds:,} crowd annotations were left out"] if found.crowds else []
    if matched.fn:
        cautions.append(f"{matched.fn:,} of {matched.tp + matched.fn:,} objects were found by no detection")
    return Report(
        n_rows=event.n_rows,
        n_classes=2,
        kind="answer",
        base_rate=float(event.true.mean()),
        mean_confidence=float(event.prob.mean()),
        measurements=made,
        verdict=_verdict(event, intervals, truth, results),
        cautions=tuple(cautions),
        bins=table,
        source={"name": results, "columns": {"truth": truth}, "notes": [matching]},
        version=epimeter.__version__,
    )


def _verdict(event: View, intervals: Intervals | None, truth: str, results: str) -> Verdict | None:
    """The verdict on scores beside right and wrong; detections of one image are one piece of evidence."""
    way: Intervals | None = None if intervals is None else "asymptotic"
    found = report_on(event, metrics=("ece", "corp"), intervals=way).verdict
    if found is None or not found.refuted:
        return found
    look = f"epimeter draw {results} --truth {truth} --curve detections -o places.png"
    last, _, command = found.sentences[-1].partition(": epimeter ")
    sentences = (*found.sentences[:-1], f"{last}; to see where on the image: {look}") if command else found.sentences
    return replace(found, sentences=sentences)


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


def _mismatch(found: Detections, matched: int, choices: dict[str, Any]) -> Iterator[str]:
    """A sentence where hardly anything matches: boxes written as corners, or files that do not belong together."""
    box = found.box.copy()
    box[:, 2:] -= box[:, :2]  # what stands there as width and height, read as a corner
    sound = (box[:, 2:] > box[:, :2]).all(axis=1)
    box[~sound] = found.box[~sound]
    columns = dict(zip(SEVEN, found.columns, strict=True)) | {"box": box}
    match = find("match_detections")
    as_corners = match(**columns, **_own(match, choices)).tp
    if as_corners > 10 * max(matched, 1):
        yield (
            f"{matched:,} detections match an object, and {as_corners:,} would if their boxes were corners: were they written as "
            "[x1, y1, x2, y2]? COCO's are [x, y, width, height]"
        )
    elif not matched:
        yield "no detection matches an object: other image or class numbers, or boxes of another scale?"


def _interval(
    metric: Metric[Any], found: Detections, chosen: dict[str, Any], wanted: Wanted | None
) -> tuple[Interval | None, str | None]:
    """The interval of a value, or why there is none."""
    if wanted is None:
        return None, None
    if wanted.kind != "bootstrap":
        return None, "bootstrap only"
    try:
        made = interval_for(
            metric, found.columns, chosen, level=wanted.level, method="basic", draws=wanted.draws, seed=wanted.seed
        )
    except UndefinedMetricError:
        return None, "none known"
    return (None, NO_SPREAD) if made.empty else (made, None)


def _measure(metric: Metric[Any], found: Detections, choices: dict[str, Any], wanted: Wanted | None) -> Measurement:
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
    facts["interval"], facts["no_interval"] = _interval(metric, found, chosen, wanted)
    if isinstance(answer, Result):
        small = {name: value for name, value in answer.to_dict().items() if not isinstance(value, list)}
        return Measurement(value=answer.headline, fields=small, **facts)
    return Measurement(value=float(answer), **facts)
