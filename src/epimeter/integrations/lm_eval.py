# SPDX-License-Identifier: Apache-2.0
"""epimeter inside the lm-evaluation-harness: metrics and aggregations under names of their own.

    import epimeter.integrations.lm_eval as calibrated
    calibrated.register()

and in a task

    process_results: !function utils.process_results      # utils.py: process_results = processing("ece", "auroc")
    metric_list:
      - {metric: acc, aggregation: mean, higher_is_better: true}
      - {metric: epimeter_ece, aggregation: epimeter_ece, higher_is_better: false}
      - {metric: epimeter_auroc, aggregation: epimeter_auroc, higher_is_better: true}

Nothing of the harness is replaced: the names begin with `epimeter_`, and registering twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from epimeter.card_index import find
from epimeter.integrations.scored import HEADLINES, Pair, measured
from epimeter.readers.logs.outcomes import softmax
from epimeter.readers.logs.stated import stated


def aggregation(name: str) -> Callable[[Iterable[Pair]], float]:
    """A metric of the catalogue as an aggregation over pairs of confidence and outcome."""

    def aggregate(items: Iterable[Pair]) -> float:
        return measured(name, (item for item in items if item is not None and item[0] is not None))

    aggregate.__name__ = f"epimeter_{name}"
    return aggregate


def register(names: Sequence[str] = HEADLINES) -> list[str]:
    """Register metrics and aggregations, each as ``epimeter_`` and the metric's name; gives the names."""
    try:
        from lm_eval.api import registry
    except ImportError as missing:
        raise ImportError(
            "epimeter.integrations.lm_eval needs lm-eval; install it with: pip install lm-eval"
        ) from missing
    made = []
    for name in names:
        own = f"epimeter_{find(name).name}"
        made.append(own)
        if own in registry.AGGREGATION_REGISTRY:
            continue
        registry.register_aggregation(own)(aggregation(name))
        better = find(name).card.direction == "higher"
        registry.register_metric(metric=own, higher_is_better=better, output_type="multiple_choice", aggregation=own)(
            _as_it_is
        )
    return made


def _as_it_is(items: Any) -> Any:
    return items


def processing(*names: str) -> Callable[[Mapping[str, Any], Sequence[Any]], dict[str, Any]]:
    """A task's `process_results`: `acc`, and confidence with outcome for each of these metrics, which the task must list.

    The right choice is the document's `answer`, `label` or `gold`; the confidence is the largest softmax share.
    """
    keys = [f"epimeter_{find(name).name}" for name in names]

    def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        shares = softmax([float(value) for value, _ in results])
        gold = next((doc[name] for name in ("answer", "label", "gold") if name in doc), None)
        if shares is None or gold is None:
            return {"acc": 0.0} | dict.fromkeys(keys, (None, 0.0))
        best = max(range(len(shares)), key=shares.__getitem__)
        right = float(best == int(gold))
        return {"acc": right} | dict.fromkeys(keys, (shares[best], right))

    return process_results


def stated_pair(text: str, right: float) -> tuple[float | None, float]:
    """The confidence that a generated text states beside whether it is right, for a task's own `process_results`."""
    return stated(text).value, float(right)
