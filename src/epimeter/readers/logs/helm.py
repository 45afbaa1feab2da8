# SPDX-License-Identifier: Apache-2.0
"""HELM's `per_instance_stats.json`: an instance's statistics by name; `max_prob` is the confidence.

With one request an instance `max_prob` is the product over the completion's tokens, with one request a reference (the
`separate` adapters) it is the largest share of a softmax over the references.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from epimeter.errors import LackingError, ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.document import values
from epimeter.readers.logs.outcomes import number, outcome
from epimeter.readers.wording import listed, shown

PREFERRED = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The instances, one answer each; perturbed copies are no new answers."""
    score = options.scorer
    _about(stream, run)
    all_one, with_probability = True, 0
    for place, entry in enumerate(values(stream)):
        if not isinstance(entry, dict):
            raise ReadError(f"per_instance_stats must be a list of instances; {run.source} holds {shown(entry)}")
        if entry.get("perturbation") is not None:
            run.counts["perturbed copies of an instance were left out"] += 1
            continue
        stats = _statistics(entry)
        if score is None:
            score = next((name for name in PREFERRED if name in stats), None)
            if score is None:
                raise ReadError(
                    f"{run.source} has no exact_match; choose a statistic with --scorer: {listed(sorted(stats))}",
                    field="scorer",
                )
        if score not in stats:
            raise LackingError(
                f"every instance must have the statistic {shown(score)}; entry {place} of {run.source} has "
                f"{listed(sorted(stats))}",
                field="scorer",
            )
        question, trial = str(entry.get("instance_id", place)), entry.get("train_trial_index", 0)
        made = Answer(
            question=question, epoch=int(trial) + 1 if isinstance(trial, int) else 1, id=f"{question}_trial_{trial}",
        )  # fmt: skip
        made.correct, made.declined, made.why = outcome(stats[score][0], f"entry {place} of {run.source}")
        length = stats.get("num_output_tokens", (None, 1))[0]
        made.length = None if length is None else int(length)
        probability = stats.get("max_prob", (None, 0))[0]
        if probability is not None:
            with_probability += 1
            all_one = all_one and probability == 1
            separate = stats.get("num_references", (None, 1))[1] > 1
            made.sources["choice_logprob" if separate else "sequence_logprob"] = probability
        made.numbers = {f"score:{name}": value for name, (value, _) in stats.items() if name not in (score, "max_prob")}
        yield made
    if with_probability > 1 and all_one:
        raise ReadError(
            f"max_prob must come from log-probabilities; all {with_probability} of {run.source} are 1, as HELM "
            f"writes when the model gave none",
            field="max_prob",
        )
    run.scorer = score


def _about(stream: Stream, run: Run) -> None:
    """The model and the name of the run, from the `run_spec.json` that HELM writes beside the statistics."""
    if stream.path is None:
        return
    try:
        spec = json.loads(Path(stream.path).with_name("run_spec.json").read_text("utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(spec, dict):
        adapter = spec.get("adapter_spec")
        run.model = str(adapter["model"]) if isinstance(adapter, dict) and adapter.get("model") else None
        # The run's name says the model too; two models have the rest in common.
        name, _, settings = str(spec.get("name") or "").partition(":")
        common = ",".join(part for part in settings.split(",") if not part.startswith(("model=", "model_deployment=")))
        run.task = f"{name}:{common}" if common else name or None


def _statistics(entry: dict[str, Any]) -> dict[str, tuple[float | None, int]]:
    """The statistics of one instance by name: their mean, and over how many requests."""
    made: dict[str, tuple[float | None, int]] = {}
    stats = entry.get("stats")
    for stat in stats if isinstance(stats, list) else ():
        name = stat.get("name") if isinstance(stat, dict) else None
        if isinstance(name, dict) and isinstance(name.get("name"), str) and name.get("perturbation") is None:
            total, count = number(stat.get("sum")), int(number(stat.get("count")) or 0)
            made[name["name"]] = (total / count if total is not None and count else number(stat.get("mean")), count)
    return made
