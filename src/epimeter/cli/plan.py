# SPDX-License-Identifier: Apache-2.0
"""``epimeter plan``: how many rows make a verdict firm."""

from __future__ import annotations

import json
import math
from typing import Any

import click
from click.core import ParameterSource

from epimeter.cli.judging import aligned
from epimeter.cli.outputs import asked_form, write

LEVELS = ("L1", "L2", "L3")
DOMAINS = ("medical", "legal", "financial", "code", "general")


@click.command()
@click.option(
    "--level", "wanted", type=click.Choice(LEVELS), help="The level aimed at; without it every level's limits count."
)
@click.option("--domain", type=click.Choice(DOMAINS), default="general", show_default=True)
@click.option("--expected-ece", type=click.FloatRange(0, 1), help="The calibration error expected.")
@click.option("--metric", help="Instead of a standard: a metric and its own --limit.")
@click.option("--limit", type=float, help="The tolerance of --metric.")
@click.option("--expected", type=float, help="What is expected of --metric; without it several values are supposed.")
@click.option(
    "--deviation", type=click.FloatRange(0, min_open=True), help="How much one row varies --metric, where known."
)
@click.option("--expected-u-recall", type=click.FloatRange(0, 1), help="The U-Recall expected, as a fraction.")
@click.option(
    "--accuracy", type=click.FloatRange(0, 1), default=0.8, show_default=True, help="Share of right answers expected."
)
@click.option(
    "--unknowns",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.2,
    show_default=True,
    help="Share of unknown inputs, for ONTO 42001.",
)
@click.option("--standard", type=click.Choice(["ers", "42001", "both"]), default="both", show_default=True)
@click.option("--bins", type=click.IntRange(1), default=10, show_default=True)
@click.option("--power", type=float, default=0.9, show_default=True, help="Probability that the verdict is firm.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the intervals.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead.")
def plan(
    wanted: str | None,
    domain: str,
    expected_ece: float | None,
    metric: str | None,
    limit: float | None,
    expected: float | None,
    deviation: float | None,
    expected_u_recall: float | None,
    accuracy: float,
    unknowns: float,
    standard: str,
    bins: int,
    power: float,
    confidence: float,
    as_json: bool,
    output: str | None,
) -> None:
    """Say how many rows make the verdict of a standard firm, or decide about a limit of one's own.

    ONTO-ERS and ONTO 42001 have limits of their own; both are planned for unless one is chosen, or a metric and its limit.

    \b
    epimeter plan --metric brier_score --limit 0.2 --expected 0.17
    epimeter plan --level L2 --domain medical --expected-ece 0.06 --expected-u-recall 0.62
    epimeter plan --level L2 --expected-ece 0.06 --expected-u-recall 0.62 --standard ers --json
    """
    from epimeter.inference import plan as planned
    from epimeter.standards import ers

    form = asked_form(output, as_json, without=("html", "markdown", "csv", "latex", "pdf", "png", "svg"))
    if (metric is None) != (limit is None):
        raise click.UsageError("--metric and --limit belong together")
    if metric is None and (expected is not None or deviation is not None):
        raise click.UsageError("--expected and --deviation are for --metric and its --limit")
    if metric is not None and limit is not None:
        from epimeter.cli.tolerance import tolerance

        if expected_ece is not None or wanted is not None or expected_u_recall is not None:
            raise click.UsageError(
                "--metric has its own --limit; --level, --expected-ece and --expected-u-recall are for standards"
            )
        _refuse_idle({"standard": "the standards", "domain": "the standards", "unknowns": "the standards"})
        says, plain = tolerance(metric, limit, expected, deviation, accuracy, bins, power, confidence)
        write(json.dumps(plain, indent=2, allow_nan=False) + "\n" if form == "json" else says, output)
        return
    if expected_ece is None:
        raise click.UsageError("plan takes --expected-ece for the standards, or --metric with its --limit")
    _refuse_idle(
        (
            {}
            if expected_u_recall is not None and standard != "42001"
            else {"domain": "ONTO-ERS with --expected-u-recall"}
        )
        | (
            {}
            if expected_u_recall is not None and standard != "ers"
            else {"unknowns": "ONTO 42001 with --expected-u-recall"}
        )
    )
    found = {}
    if standard in ("ers", "both"):
        targets = _ers(wanted, domain, expected_ece, expected_u_recall, accuracy, bins)
        made = planned(targets, power=power, level=confidence)
        found["ONTO-ERS"] = (made, max(made.rows, ers.MINIMUM_ROWS) if made.rows is not None else None)
    if standard in ("42001", "both"):
        made = planned(
            _onto(wanted, domain, expected_ece, expected_u_recall, accuracy, unknowns, bins),
            power=power,
            level=confidence,
        )
        found["ONTO 42001"] = (made, made.rows)
    document = {
        "level": wanted,
        "domain": domain,
        "power": power,
        "confidence": confidence,
        "standards": {name: made.to_dict() | {"rows_with_minimum": rows} for name, (made, rows) in found.items()},
    }
    if form == "json":
        write(json.dumps(document, indent=2, allow_nan=False) + "\n", output)
    else:
        write("\n\n".join(_text(name, made, rows) for name, (made, rows) in found.items()) + "\n", output)


def _refuse_idle(uses: dict[str, str]) -> None:
    """Refuse options that were typed and would change nothing here, with what each is for."""
    for name, use in uses.items():
        if click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is for {use}; here it would change nothing")


def _variance(accuracy: float) -> float:
    """Variance of a right or wrong answer: what the residual can have at most, if confidences say nothing."""
    return max(accuracy * (1 - accuracy), 1e-6)


def _ers(wanted: str | None, domain: str, ece: float, recall: float | None, accuracy: float, bins: int) -> list[Any]:
    from epimeter.inference.planning import Target
    from epimeter.standards import ers

    levels = [level for level in ers.LEVELS if wanted in (None, level.name)]
    variance = _variance(accuracy)
    targets = [
        Target(name="ece", kind="error", expected=ece, limits=tuple(level.ece for level in levels), bins=bins,
               variance=variance)
    ]  # fmt: skip
    if recall is None:
        return targets
    wrong = max(1 - accuracy, 1e-3)
    limits = tuple(level.u_recall / 100 for level in levels)
    targets.append(Target(name="u_recall", kind="share", expected=recall, limits=limits, portion=wrong))
    score = min(100.0, max(0.0, ers.ers_raw(ece, 100 * recall, domain)))
    deviation = math.hypot(200 * math.sqrt(variance), 50 * math.sqrt(recall * (1 - recall) / wrong))
    targets.append(
        Target(name="ers", kind="score", expected=score, limits=tuple(float(level.ers) for level in levels),
               deviation=deviation)
    )  # fmt: skip
    return targets


def _onto(
    wanted: str | None, domain: str, ece: float, recall: float | None, accuracy: float, unknowns: float, bins: int
) -> list[Any]:
    from epimeter.inference.planning import Target
    from epimeter.standards import onto42001

    number = None if wanted is None else LEVELS.index(wanted)
    levels = [level for i, level in enumerate(onto42001.LEVELS) if number in (None, i)]
    targets = [
        Target(name="ece", kind="error", expected=ece, limits=tuple(level.ece for level in levels), bins=bins,
               variance=_variance(accuracy))
    ]  # fmt: skip
    if recall is not None:
        limits = tuple(level.u_recall for level in levels)
        targets.append(Target(name="u_recall", kind="share", expected=recall, limits=limits, portion=unknowns))
    return targets


def _text(standard: str, made: Any, rows: int | None) -> str:
    table = [("number", "expected", "nearest limit", "rows")]
    table += [
        (
            need.name,
            f"{need.expected:.6g}",
            "none" if need.nearest is None else f"{need.nearest:g}",
            "no number would do" if need.rows is None else f"{need.rows:,}",
        )
        for need in made.needs
    ]
    if rows is None:
        says = "what is expected lies on a limit, or too near to it: no number of rows makes the verdict firm"
    else:
        least = f" (the standard asks for {rows:,} at least)" if made.rows is not None and rows > made.rows else ""
        says = f"{rows:,} rows make the verdict firm with probability {made.power:g}{least}"
    return f"{standard}: {says}.\n\n{aligned(table)}"
