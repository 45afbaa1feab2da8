# SPDX-License-Identifier: Apache-2.0
"""epimeter inside inspect-ai: metrics of calibration beside accuracy, and a scorer that reads stated confidence.

    from epimeter.integrations.inspect import auroc, brier_score, ece, stated_confidence

    @task
    def quiz():
        return Task(dataset, solver=generate(), scorer=stated_confidence(match()), epochs=Epochs(3, []))

The confidence of an answer stands in its score's metadata, under `confidence`, in 0 … 1, as `stated_confidence` writes it.
Answers without one are left out, and `confidence_coverage` says how many have one. Where epochs are reduced to a mean an
outcome is neither right nor wrong; run with ``Epochs(n, [])`` to keep them, and read the log with `epimeter evaluate`, which
counts questions.
"""

from __future__ import annotations

from typing import Any

from epimeter.integrations.scored import measured, usable
from epimeter.readers.logs.outcomes import number, outcome
from epimeter.readers.logs.stated import stated

try:
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer, stderr
    from inspect_ai.scorer import accuracy as inspect_accuracy
except ImportError as missing:  # pragma: no cover
    raise ImportError(
        "epimeter.integrations.inspect needs inspect-ai; install it with: pip install inspect-ai"
    ) from missing


def pairs_of(scores: list[SampleScore]) -> list[tuple[float | None, float | None]]:
    """Confidence and outcome of each score; None where there is none."""
    made = []
    for sample in scores:
        value, metadata = sample.score.value, sample.score.metadata or {}
        said = metadata.get("confidence")
        if said is None and isinstance(value, dict):
            said = value.get("confidence")
        found = number(said)
        correct, declined, _ = outcome(value, f"sample {sample.sample_id!r}")
        made.append((found, None if declined else correct))
    return made


def _of(name: str) -> Any:
    def compute(scores: list[SampleScore]) -> float:
        return measured(name, usable(pairs_of(scores)))

    return compute


@metric
def ece() -> Metric:
    """Expected calibration error of the confidences in the answers."""
    return _of("ece")


@metric
def brier_score() -> Metric:
    """Mean squared distance between confidence and outcome."""
    return _of("brier_score")


@metric
def auroc() -> Metric:
    """Chance that a right answer has the higher confidence."""
    return _of("auroc")


@metric
def aurc() -> Metric:
    """Area under the risk-coverage curve."""
    return _of("aurc")


@metric
def hle_ce() -> Metric:
    """Calibration error of Humanity's Last Exam, all bins counted."""
    return _of("hle_ce")


@metric
def confidence_coverage() -> Metric:
    """Share of the answers that have a confidence."""

    def compute(scores: list[SampleScore]) -> float:
        pairs = pairs_of(scores)
        return sum(said is not None for said, _ in pairs) / len(pairs) if pairs else 0.0

    return compute


@scorer(metrics=[inspect_accuracy(), stderr(), ece(), brier_score(), auroc(), aurc(), confidence_coverage()])
def stated_confidence(base: Scorer, scale: float | None = None) -> Scorer:
    """The score of another scorer, with the confidence that the answer states in its metadata.

    Parameters
    ----------
    base
        The scorer that says whether an answer is right: ``match()``, ``choice()``, …
    scale
        What a stated number without a unit is out of, where the prompt says it: 1, 10, 100.
    """

    async def score(state: Any, target: Target) -> Score | None:
        made = await base(state, target)
        if made is None:
            return None
        found = stated(state.output.completion, scale=scale, answer=made.answer)
        metadata = {**(made.metadata or {}), "confidence_status": found.status}
        if found.value is not None:
            metadata["confidence"] = found.value
        return made.model_copy(update={"metadata": metadata})

    return score
