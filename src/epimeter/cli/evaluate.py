# SPDX-License-Identifier: Apache-2.0
"""``epimeter evaluate FILE``: predictions in, report out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from epimeter.cli.certainty import Certainty, refuse_idle
from epimeter.cli.columns import column_options, logits_option
from epimeter.cli.forecasts import evaluated_forecasts, is_forecast_file, measures_forecasts
from epimeter.cli.measured import measured_table
from epimeter.cli.outputs import asked_form, refuse_overwriting, write
from epimeter.cli.requirements import judge, parsed, with_required, with_verdicts
from epimeter.cli.settings import choices_of
from epimeter.cli.standards import refuse_without_standard, standard_options
from epimeter.cli.streaming import FileEvaluation, Streaming, passed, streaming_options, streams
from epimeter.readers.forecast import Choice
from epimeter.readers.logs import is_log
from epimeter.report.measurement import Report

if TYPE_CHECKING:
    from epimeter.readers.logs import Answers
    from epimeter.readers.table import Table


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--metric", "-m", "metrics", multiple=True, metavar="NAME[,NAME…]", help="Measure these metrics.")
@click.option("--all", "everything", is_flag=True, help="Measure every metric that the data allow.")
@click.option("--bins", type=int, help="Number of bins, for every metric that has bins.")
@click.option("--binning", help="How bins are cut: width, mass or area.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Another parameter, as on the card.")
@column_options
@logits_option
@click.option("--require", "requirements", multiple=True, metavar="'ece<=0.05'", help="Exit 1 when this does not hold.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead.")
@click.option(
    "--task",
    type=click.Choice(["classification", "detection", "distribution"]),
    help="What is forecast: answers and events, boxes on images, or a number or a set; told by the columns' names.",
)
@click.option("--truth", type=click.Path(), help="For detection: the COCO-style file of annotated objects.")
@standard_options
@streaming_options
def evaluate(
    file: str,
    more: tuple[str, ...],
    metrics: tuple[str, ...],
    everything: bool,
    bins: int | None,
    binning: str | None,
    settings: tuple[str, ...],
    choice: Choice,
    format: str | None,
    requirements: tuple[str, ...],
    as_json: bool,
    output: str | None,
    task: str | None,
    truth: str | None,
    by: tuple[str, ...],
    value: str | None,
    row_limit: int | None,
    sample: int | None,
    skip_damaged: bool,
    **standards: Any,
) -> None:
    """Measure the predictions in FILE and print a report.

    FILE is CSV, JSON, NDJSON, Parquet, Arrow, npz or xlsx, or the log of an evaluation of a language model (inspect-ai,
    lm-eval, HELM and others, known by their content); - is standard input. Columns are found by their names, and
    with them what is stated: y_prob, prob, p, score beside y_true, label, y the probability of outcome 1;
    confidence beside correct, or beside a label and a prediction, the confidence in an answer; p_0, p_1 … one
    probability a class. --column and --kind say it where names do not. mean and std, q0.05 … q0.95, member_0 …,
    lower and upper, set, or rate beside y make a report on forecasts of a number or a set (--set level=0.9). The file
    named with -o is written as its suffix says: .html, .md, .json, .txt, .csv, .tex, .pdf; .png and .svg hold the
    reliability diagram. Several files, a pattern, a folder and a large file
    are read in one pass, in memory that does not grow with them.

    \b
    epimeter evaluate predictions.csv
    epimeter evaluate predictions.parquet --metric ece,brier_score --bins 15 --json
    epimeter evaluate predictions.csv --require 'ece<=0.05'
    epimeter evaluate predictions.csv --standard both --domain medical -o report.html
    epimeter evaluate 'logs/day=*/*.parquet' --by day
    epimeter evaluate forecasts.csv --set level=0.8 -o report.html
    epimeter evaluate logs/*.eval --scorer choice --confidence verbalised --by metadata.subject
    cat predictions.csv | epimeter evaluate -
    """
    if everything and metrics:
        raise click.UsageError("--all and --metric exclude each other")
    if not standards["standard"]:
        refuse_without_standard(click.get_current_context())
    if truth is not None and task != "detection":
        raise click.UsageError("--truth goes with --task detection; without it it would change nothing")
    if value is not None and by is None:
        raise click.UsageError("--slice chooses one value of --by; name the column with --by")
    if task == "detection":
        _refuse_for_detections(click.get_current_context())
    certainty = Certainty(**{name: standards[name] for name in ("interval", "level", "draws", "seed")})
    refuse_overwriting(output, file, *more, truth)
    choices = choices_of(bins, binning, settings)
    wanted = [parsed(requirement) for requirement in requirements]
    names: Any = "all" if everything else [name for group in metrics for name in group.split(",")] or None
    form = asked_form(output, as_json)
    asked = Streaming(by, value, row_limit, sample, skip_damaged)
    logs = task != "detection" and format is None and is_log([file, *more])
    if logs and replace(asked, by=(), value=None).asked:
        raise click.UsageError("--row-limit, --sample and --skip-damaged are for files of rows; these are logs")
    if not logs and (task == "detection" or standards["standard"]) and (more or asked.asked):
        raise click.UsageError("--standard and --task detection take one file, and no option of a pass over many")
    open_task = task is None and not logs and not standards["standard"]
    if open_task and (is_forecast_file([file, *more], format) or measures_forecasts(names)):
        task = "distribution"
    if task == "distribution":
        from epimeter.cli.sliced import rendered as rendered_slices

        found = evaluated_forecasts([file, *more], choice, format, names, choices, certainty, asked)
        write(with_verdicts(rendered_slices(found, form), form, found, wanted), output)
        judge(found, wanted)
        return
    if not standards["standard"]:  # forecasts above draw by themselves, for what is no mean
        refuse_idle(click.get_current_context(), standards["interval"], ("bootstrap",))
    if task == "detection":
        from epimeter.report.detections import evaluate_detections

        if standards["standard"]:
            raise click.UsageError("--standard is for classification; detections have no level")
        report = evaluate_detections(truth, file, metrics=names, **certainty.of_rows(), **choices)
        write(with_verdicts(report.rendered(form), form, {None: report}, wanted), output)
    elif standards["standard"]:
        from epimeter.cli.standards import Given, evaluated, rendered

        if choice.logits:
            raise click.UsageError(
                "--standard judges probabilities as they were stated; write them to the file, without --logits"
            )
        if by:
            raise click.UsageError("--standard judges a whole log; it goes without --by")
        if binning is not None:
            raise click.UsageError(
                "--binning would not change what a standard measures; --strategy cuts the bins of ONTO 42001 (ONTO-ERS has "
                f"one cut), --set binning={binning} those of the metrics beside it"
            )
        given = Given(**standards, bins=bins)
        graded = evaluated(
            [file, *more] if logs else file, choice, format, given, with_required(names, wanted), choices
        )
        report = graded.report
        shown = rendered(graded, form, measured=bool(names or settings))
        write(with_verdicts(shown, form, {None: report}, wanted), output)
    elif (logs and by) or (not logs and streams([file, *more], asked)):
        from epimeter.cli.grouped import grouped_files, grouped_rows
        from epimeter.cli.sliced import rendered as rendered_slices

        grouped = None if logs or len(by) > 1 else grouped_files([file, *more], choice, format, asked)
        asked_of = (grouped or [file, *more], choice, format, with_required(names, wanted), asked, choices, certainty)
        way = sliced_logs if logs else crossed_rows if len(by) > 1 else passed if grouped is None else grouped_rows
        reports = way(FileEvaluation(*asked_of))
        write(with_verdicts(rendered_slices(reports, form), form, reports, wanted), output)
        judge(reports, wanted)
        return
    else:
        from epimeter.cli.judging import read_table

        table = read_table([file, *more] if logs else file, choice, format)
        report = measured_table(table, with_required(names, wanted), choices, certainty)
        write(with_verdicts(report.rendered(form), form, {None: report}, wanted), output)
    judge({None: report}, wanted)


def _refuse_for_detections(context: click.Context) -> None:
    """Refuse options that detections have no use for."""
    for name, option in (("columns", "--column"), ("forecast", "--kind"), ("positive", "--positive"), ("classes", "--classes"),
                         ("logits", "--logits"), ("format", "--format")):  # fmt: skip
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} does not apply to detections; leave it out")


def sliced_logs(given: FileEvaluation) -> Any:
    """The reports of logs by a column of their answers: a subject, a model."""
    from epimeter.cli.sliced import chosen
    from epimeter.readers.logs import read_log, refuse_table_options
    from epimeter.report.slices import Reports

    choice, asked = given.choice, given.asked
    if len(asked.by) > 1:
        raise click.UsageError(f"logs are sliced by one column; got --by {' --by '.join(asked.by)}")
    refuse_table_options(choice)
    whole = read_log(given.files, options=choice.log)
    parts = whole.slices(asked.by[0])

    def report(some: Answers) -> Report:
        return measured_table(some.table(choice.columns), given.names, given.choices, given.certainty)

    return chosen(Reports(list(parts), lambda name: report(parts[name]), lambda: report(whole)), asked.value)


def crossed_rows(given: FileEvaluation) -> Any:
    """The reports of rows in memory by several columns crossed; columns of many numbers are cut at their quartiles."""
    import numpy as np

    from epimeter.cli.sliced import chosen
    from epimeter.readers import read
    from epimeter.readers.assembly import joined
    from epimeter.report.slices import Reports
    from epimeter.report.slicing import slice_names

    choice, asked = given.choice, given.asked
    if replace(asked, by=(), value=None).asked:
        raise click.UsageError(
            "columns are crossed in memory; --row-limit, --sample and --skip-damaged are for one --by"
        )
    named = replace(choice, columns={**choice.columns, "slice": ",".join(asked.by)})
    table = joined([read(file, columns=named, format=given.format) for file in given.files])
    assert table.slices is not None
    label = slice_names(table.slices, asked.by)

    def report(some: Table) -> Report:
        return measured_table(some, given.names, given.choices, given.certainty)

    names = sorted(np.unique(label).tolist())
    return chosen(Reports(names, lambda name: report(table.take(label == name)), lambda: report(table)), asked.value)
