# SPDX-License-Identifier: Apache-2.0
"""``epimeter submit FILE --server URL``: predictions to a service, and back the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from epimeter.cli.certify import is_summary
from epimeter.cli.columns import column_options
from epimeter.kinds import WORDING
from epimeter.readers.files import faults_of
from epimeter.readers.forecast import Choice
from epimeter.readers.wording import shown

if TYPE_CHECKING:
    from epimeter.service.client import Client
    from epimeter.service.schemas import Evaluation


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
@click.option("--preregistration", help="Id of a pre-registration that this evaluation keeps.")
@click.option("--certificate", type=click.Path(dir_okay=False), help="Ask for the certificate and write it here.")
@click.option("--require", "level", type=click.Choice(["L1", "L2", "L3"]), help="Exit 1 when a lower level is earned.")
def submit(
    file: str,
    server: str,
    key: str | None,
    model_id: str,
    model_version: str | None,
    domain: str | None,
    choice: Choice,
    format: str | None,
    preregistration: str | None,
    certificate: str | None,
    level: str | None,
) -> None:
    """Send the predictions in FILE to a service and print its answer.

    FILE may be a summary that was made with epimeter summarise --evidence: then no record is sent, only sums and digests.

    \b
    epimeter submit predictions.parquet --server https://registry.example --model-id triage --domain medical
    epimeter submit predictions.csv --server http://127.0.0.1:8600 --model-id m --certificate m.json --require L2
    """
    from epimeter.service.client import Client

    told: dict[str, Any] = {
        "model_id": model_id,
        "model_version": model_version,
        "preregistration": preregistration,
    }
    with Client(server, key) as client:
        if is_summary(file):
            if choice != Choice() or format is not None:
                raise click.UsageError(f"options about columns are for epimeter summarise; {file} is a summary already")
            with faults_of(shown(file), file):
                found = client.evaluate_summary(Path(file).read_bytes(), domain=domain or "general", **told)
        else:
            found = _sent(client, file, domain, choice, format, told)
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2, ensure_ascii=False))
        if certificate is not None:
            Path(certificate).write_bytes(client.certify(found.evaluation_id))
            click.echo(f"wrote {certificate}", err=True)
    earned = "NONE" if found.compliance is None else found.compliance.level
    order = ("NONE", "L1", "L2", "L3")
    if level is not None and order.index(earned) < order.index(level):
        click.echo(f"epimeter: level {level} is required; {earned} was earned", err=True)
        raise click.exceptions.Exit(1)


def _sent(
    client: Client, file: str, domain: str | None, choice: Choice, format: str | None, told: dict[str, Any]
) -> Evaluation:
    """The answer to the rows in a file."""
    from epimeter.readers import read
    from epimeter.standards.method import domain_of
    from epimeter.views import view

    table = read(file, columns=choice, format=format)
    answer = view(table.y_true, table.y_prob, kind=table.kind).answer
    if WORDING[table.kind].as_answers:
        click.echo(WORDING[table.kind].as_answers, err=True)
    if table.zoneless is not None:
        raise click.UsageError(f"the service takes times with a zone; {table.zoneless} has none")
    if table.unlabelled:
        click.echo(f"{table.unlabelled:,} rows without ground truth are not sent", err=True)
    return client.evaluate(
        answer.true,
        answer.prob,
        domain=domain_of(domain, table),
        dataset_id=table.metadata.get("dataset_id"),
        timestamp=table.timestamp,
        id=table.id,
        ground_truth_source=table.ground_truth_source,
        classes=table.class_of,
        unknown=table.unknown,
        detected=table.detected,
        **told,
    )
