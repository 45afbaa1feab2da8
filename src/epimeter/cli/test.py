# SPDX-License-Identifier: Apache-2.0
"""``epimeter test FILE``: is the model calibrated, is its error tolerable, is it safe?"""

from __future__ import annotations

import math
from typing import Any

import click
from click.core import ParameterSource

from epimeter.cli.columns import column_options, logits_option
from epimeter.cli.judging import cautions_of, metric_names, read_table, refuse_weights
from epimeter.cli.outputs import asked_form, refuse_overwriting, write
from epimeter.cli.progress import Progress
from epimeter.kinds import WORDING, Kind
from epimeter.readers.forecast import Choice

TESTS = ("ece", "mce", "ecd", "ecce_mad", "l2_ece_ci", "spiegelhalter_z")


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--metric", "-m", "metrics", multiple=True, metavar="NAME[,NAME…]", help="Test with these metrics.")
@click.option("--tau", type=float, help="Also test whether the error is at most this.")
@click.option("--of", "error", default="ece", show_default=True, help="The error that --tau is about.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of the tests.")
@click.option(
    "--adjust",
    type=click.Choice(["holm", "bonferroni", "bh", "by"]),
    default="holm",
    show_default=True,
    help="How p-values are adjusted for the number of tests.",
)
@click.option("--draws", type=int, default=999, show_default=True, help="Sets of labels drawn from the forecasts.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--eps",
    type=float,
    default=0.0,
    show_default=True,
    help="Clip forecasts to [eps, 1 - eps] in the tests of ecd and of safety; said in the output.",
)
@click.option("--gate", is_flag=True, help="Exit with 1 when calibration is refuted, or the error shown to exceed tau.")
@click.option("--figure", type=click.Path(dir_okay=False), help="Draw the cumulative differences: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead.")
@column_options
@logits_option
def test(
    file: str,
    metrics: tuple[str, ...],
    tau: float | None,
    error: str,
    alpha: float,
    adjust: Any,
    draws: int,
    seed: int,
    eps: float,
    gate: bool,
    figure: str | None,
    as_json: bool,
    output: str | None,
    choice: Choice,
    format: str | None,
) -> None:
    """Test the predictions in FILE: perfect calibration by several metrics, safety from over-confidence.

    \b
    epimeter test predictions.csv
    epimeter test predictions.csv --tau 0.05 --of ece_db --gate
    epimeter test predictions.csv --metric ece,ecce_r --json
    """
    from epimeter.card_index import find
    from epimeter.inference import calibration_tests, drawn_null, safe_calibration_test, tolerance_test
    from epimeter.inference.critical import LAWS
    from epimeter.report.remarks import remarks

    refuse_overwriting(output, file)
    form = asked_form(output, as_json)
    if figure is not None:
        from epimeter.draw.saving import format_of, require_matplotlib

        format_of(figure)
        require_matplotlib()
    table = read_table(file, choice, format)
    refuse_weights(table, "test")
    if tau is None and click.get_current_context().get_parameter_source("error") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--of names the error that --tau is about; give --tau too")
    names = metric_names(metrics, TESTS)
    known = [find(name).name for name in names]
    # The test of safety reads ecd too. Where clipped forecasts are asked for, its labels are drawn from those.
    drawn = [name for name in (*known, "ecd") if name not in LAWS and not (eps and name == "ecd")]
    clusters = table.clusters
    null = None
    if clusters is None:
        progress = Progress(draws, "draws")
        null = drawn_null(table.y_true, table.y_prob, drawn, draws=draws, seed=seed, progress=progress)
        progress.close()
    options: dict[str, Any] = {"alpha": alpha, "draws": draws, "seed": seed, "groups": clusters}
    found = calibration_tests(table.y_true, table.y_prob, metrics=names, adjust=adjust, null=null, eps=eps, **options)
    shared = None if null is None or eps else null["ecd"]
    safe = safe_calibration_test(table.y_true, table.y_prob, eps=eps, null=shared, **options)
    held = None
    if tau is not None:
        held = tolerance_test(table.y_true, table.y_prob, tau=tau, metric=error, **options)
    if figure is not None:
        from epimeter import draw

        draw.save(draw.cumulative(table.y_true, table.y_prob), figure)
        click.echo(f"wrote {figure}", err=True)
    told = found.told(
        *_sentences(safe, held, error, eps, table.kind),
        source=table.source,
        remarks=remarks(table.described(), table.n_rows),
        cautions=cautions_of(table, {finding.metric: finding.value for finding in found}),
        n_rows=table.n_rows,
        rows=table.evidence,
        n_units=table.n_rows if clusters is None else len(set(clusters)),
        safety=safe.to_dict() | {"eps": eps},
        tolerance=None if held is None else {"metric": error, **held.to_dict()},
    )
    write(told.rendered(form), output)
    if gate and (any(finding.reject for finding in found) or (held is not None and held.verdict == "above")):
        raise click.exceptions.Exit(1)


def _sentences(safe: Any, held: Any, error: str, eps: float, kind: Kind) -> list[str]:
    """What the further tests say."""
    from epimeter.inference.tables import chance

    limit = "" if math.isnan(safe.threshold) else f"threshold {safe.threshold:.6g}, "
    established = "is established" if safe.reject else "is not established"
    that = WORDING[kind].too_sure
    made = [
        f"Safe calibration (entropic difference, one-sided): {safe.value:.6g}, {limit}p {chance(safe.p_value)}: "
        f"that {that} {established}."
        + (f" Forecasts are clipped to [{eps:g}, 1 - {eps:g}], there and for ecd." if eps else "")
    ]
    if held is not None:
        words = {
            "above": "shown to be exceeded",
            "within": "shown to be kept",
            "undecided": "not decided by these rows",
        }
        made.append(
            f"{error} at most {held.tau:g}: {words[held.verdict]} (value {held.value:.6g}, p against it "
            f"{chance(held.p_value)}, p for it {chance(held.p_value_within)}; {held.method})."
        )
    return made
