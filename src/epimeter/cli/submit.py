# SPDX-License-Identifier: Apache-2.0
"""``epimeter submit FILE --server URL``: predictions to a service, and back the answer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
import numpy as np

from epimeter.cli.certify import is_summary
from epimeter.cli.columns import column_options
from epimeter.cli.forecasts import is_forecast_file, refuse_for_forecasts
from epimeter.cli.standards import weights_of
from epimeter.errors import InputError
from epimeter.kinds import WORDING
from epimeter.readers.files import faults_of
from epimeter.readers.forecast import Choice
from epimeter.readers.table import COLUMNS
from epimeter.readers.wording import shown

if TYPE_CHECKING:
    from epimeter.readers import Table
    from epimeter.service.client import Client
    from epimeter.service.schemas import Evaluation

OF_RECORDS = (
    ("onto_domain", "--onto-domain"),
    ("strategy", "--strategy"),
    ("weights", "--weights"),
    ("weights_reason", "--weights-reason"),
    ("unknown_threshold", "--unknown-threshold"),
    ("declare", "--declare"),
    ("new_baseline", "--new-baseline"),
    ("preregistration", "--preregistration"),
    ("certificate", "--certificate"),
    ("required", "--require"),
)
"""Options of what may earn a level, which forecasts of a number or a set do not."""


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--server", required=True, envvar="EPIMETER_SERVER", help="Address of the service.  [EPIMETER_SERVER]")
@click.option("--key", envvar="EPIMETER_KEY", help="API key; better in the environment.  [EPIMETER_KEY]")
@click.option("--model-id", required=True, help="The system whose predictions these are.")
@click.option("--model-version", help="Its version; a certificate names it.")
@click.option(
    "--domain", help="medical, legal, financial, code or general; by default what the file says, else general."
)
@column_options
@click.option(
    "--task",
    type=click.Choice(["classification", "distribution"]),
    help="What is forecast: answers and events, or a number or a set; told by the columns' names.",
)
@click.option(
    "--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Coverage that intervals or sets claim."
)
@click.option("--onto-domain", help="Domain of ONTO 42001, where it is not the converted one.")
@click.option("--strategy", help="Binning of ONTO 42001: equal_width, equal_mass or adaptive.")
@click.option("--weights", help="Three weights of ORS for ECE, U-Recall, domain, as 0.4,0.4,0.2.")
@click.option("--weights-reason", help="Why the weights were changed.")
@click.option("--unknown-threshold", type=float, help="Confidence below which an input counts as flagged.")
@click.option("--declare", type=click.Path(exists=True, dir_okay=False), help="TOML file of what numbers cannot say.")
@click.option("--new-baseline", metavar="REASON", help="Start a new baseline, with another method.")
@click.option("--preregistration", help="Id of a pre-registration that this evaluation keeps.")
@click.option("--certificate", type=click.Path(dir_okay=False), help="Ask for the certificate and write it here.")
@click.option(
    "--require", "required", type=click.Choice(["L1", "L2", "L3"]), help="Exit 1 when a lower level is earned."
)
def submit(
    file: str,
    server: str,
    key: str | None,
    model_id: str,
    model_version: str | None,
    domain: str | None,
    choice: Choice,
    format: str | None,
    task: str | None,
    level: float | None,
    onto_domain: str | None,
    strategy: str | None,
    weights: str | None,
    weights_reason: str | None,
    unknown_threshold: float | None,
    declare: str | None,
    new_baseline: str | None,
    preregistration: str | None,
    certificate: str | None,
    required: str | None,
) -> None:
    """Send the predictions in FILE to a service and print its answer.

    FILE may be a summary that was made with epimeter summarise --evidence: then no record is sent, only sums and digests. Columns
    that state a mean and a deviation, quantiles, members, an interval or a set make it forecasts of a number or a set, which have
    a report and earn no level.

    \b
    epimeter submit predictions.parquet --server https://registry.example --model-id triage --domain medical
    epimeter submit predictions.csv --server http://127.0.0.1:8600 --model-id m --certificate m.json --require L2
    epimeter submit demand.parquet --server http://127.0.0.1:8600 --model-id demand --level 0.8
    """
    from epimeter.service.client import Client

    told: dict[str, Any] = {
        "model_id": model_id,
        "model_version": model_version,
        "preregistration": preregistration,
    }
    for_42001: dict[str, Any] = {"onto_domain": onto_domain, "strategy": strategy, "new_baseline": new_baseline}
    for_42001 |= {"weights_reason": weights_reason, "unknown_threshold": unknown_threshold}
    for_42001["weights"] = None if weights is None else weights_of(weights)
    if declare is not None:
        from epimeter.standards.declaration import read_tables

        for_42001["declaration"] = read_tables(declare)
    for_42001 = {name: value for name, value in for_42001.items() if value is not None}
    summary = is_summary(file)
    if task is None and not summary and _states_forecasts(file, format):
        task = "distribution"
    if task == "distribution":
        refuse_for_forecasts(OF_RECORDS)
    elif level is not None:
        raise click.UsageError("--level is that of intervals and sets; predictions have none. Leave it out")
    with Client(server, key) as client:
        if summary:
            if for_42001:
                raise click.UsageError(
                    f"{file} is a summary, which says nothing after ONTO 42001; leave its options out"
                )
            if choice != Choice() or format is not None or task is not None:
                raise click.UsageError(f"options about columns are for epimeter summarise; {file} is a summary already")
            from epimeter.cli.certify import evidence_in
            from epimeter.standards.method import agreed_domain

            wanted = agreed_domain(domain, evidence_in([file]).domain, shown(file))
            with faults_of(shown(file), file):
                found = client.evaluate_summary(Path(file).read_bytes(), domain=wanted, **told)
        elif task == "distribution":
            found = _forecasts_sent(client, file, domain, choice, format, level, told)
        else:
            found = _sent(client, file, domain, choice, format, told | for_42001)
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2, ensure_ascii=False))
        if certificate is not None:
            Path(certificate).write_bytes(client.certify(found.evaluation_id))
            click.echo(f"wrote {certificate}", err=True)
    earned = "NONE" if found.compliance is None else found.compliance.level
    order = ("NONE", "L1", "L2", "L3")
    if required is not None and order.index(earned) < order.index(required):
        click.echo(f"epimeter: level {required} is required; {earned} was earned", err=True)
        raise click.exceptions.Exit(1)


def _states_forecasts(file: str, format: str | None) -> bool:
    from epimeter.readers.logs import is_log

    return (format is not None or not is_log(file)) and is_forecast_file([file], format)


def _forecasts_sent(
    client: Client,
    file: str,
    domain: str | None,
    choice: Choice,
    format: str | None,
    level: float | None,
    told: dict[str, Any],
) -> Evaluation:
    """The answer to the forecasts in a file; they are doubted here, where their lines are known."""
    from epimeter.sources.forecast_files import doubted, read_forecast_files

    table = doubted(read_forecast_files([file], columns=choice.columns, format=format))
    return client.evaluate_forecasts(
        table.true,
        model_id=told["model_id"],
        model_version=told["model_version"],
        domain=domain or "general",
        level=level,
        sample_weight=table.weight,
        groups=table.group,
        unlabelled=table.unlabelled,
        **table.stated,
    )


def _sent(
    client: Client, file: str, domain: str | None, choice: Choice, format: str | None, told: dict[str, Any]
) -> Evaluation:
    """The answer to the rows in a file."""
    from epimeter.standards.method import domain_of
    from epimeter.views import view

    table = _captured(file, choice, format)
    assert table.awaiting is not None
    # A declined answer states neither a confidence nor an outcome; its flags count (ONTO 42001, 6.2.2).
    stated = np.isfinite(table.y_prob).reshape(table.n_rows, -1).all(axis=1) | ~table.awaiting
    answer = view(table.y_true[stated], table.y_prob[stated], kind=table.kind).answer
    correct, confidence = np.full(table.n_rows, None, object), np.full(table.n_rows, None, object)
    correct[stated], confidence[stated] = answer.true.astype(bool), answer.prob
    correct[table.awaiting] = None
    if WORDING[table.kind].as_answers:
        click.echo(WORDING[table.kind].as_answers, err=True)
    if table.zoneless is not None:
        raise click.UsageError(f"the service takes times with a zone; {table.zoneless} has none")
    return client.evaluate(
        correct,
        confidence,
        domain=domain_of(domain, table),
        dataset_id=table.metadata.get("dataset_id"),
        timestamp=table.timestamp,
        id=table.id,
        ground_truth_source=table.ground_truth_source,
        classes=table.class_of,
        unknown=table.unknown,
        detected=table.detected,
        category=table.category,
        **(told | {table.unit: table.group}),
    )


def _captured(file: str, choice: Choice, format: str | None) -> Table:
    """Every prediction with its confidence, also where nobody knows the outcome (ERS 3.2): the service counts those."""
    from epimeter.readers import arrivals, read
    from epimeter.readers.assembly import joined
    from epimeter.readers.logs import is_log

    if format is None and is_log(file):
        return _with_unlabelled(read(file, columns=choice))
    table = joined(list(arrivals(file, columns=choice, format=format)))
    assert table.awaiting is not None
    if table.awaiting.all():
        raise InputError(f"the outcome must be known for at least one row of {table.source}; it is for none")
    return table


def _with_unlabelled(table: Table) -> Table:
    """The answers of a log, and behind them those without an outcome: of these only the flags are known."""
    more, flags = table.unlabelled, {"unknown": table.silent_unknown, "detected": table.silent_detected}

    def longer(name: str) -> Any:
        column = getattr(table, name)
        if column is None:
            return None
        known = np.asarray(column)
        if name in flags:
            return np.concatenate([known, np.zeros(more, bool) if flags[name] is None else flags[name]])
        empty = {"f": np.nan, "M": np.datetime64("NaT"), "O": None}.get(known.dtype.kind, 0)
        return np.concatenate([known, np.full((more, *known.shape[1:]), empty, known.dtype)])

    return replace(
        table,
        awaiting=np.arange(table.n_rows + more) >= table.n_rows,
        rows=np.arange(table.n_rows + more),
        **{name: longer(name) for name in COLUMNS if name != "awaiting"},
    )
