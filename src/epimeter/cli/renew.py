# SPDX-License-Identifier: Apache-2.0
"""``epimeter renew FILE``: a later evaluation keeps a certificate alive, or suspends it."""

from __future__ import annotations

import click

from epimeter.cli.certify import assessed, subject_options
from epimeter.cli.columns import column_options
from epimeter.cli.issuer import FOLDER, opened
from epimeter.cli.passphrase import passphrase, passphrase_option
from epimeter.cli.trusted import moment_of
from epimeter.readers.forecast import Choice


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@FOLDER
@subject_options
@column_options
@click.option("--assume-utc", is_flag=True, help="Times without a zone are UTC.")
@passphrase_option
def renew(
    file: str,
    folder: str,
    organization: str,
    system_id: str,
    system_version: str,
    domain: str | None,
    digests: tuple[str, ...],
    choice: Choice,
    format: str | None,
    assume_utc: bool,
    passphrase_file: str | None,
) -> None:
    """Evaluate newer predictions of a system that has a certificate, and weigh them (ERS 4.1, 4.2).

    Where they reach the certificate's level the next due date counts from today, and a suspension for an evaluation that was
    overdue or failed ends. Where they miss it the certificate is suspended. Data that do not meet ERS 3.1, are not newer, or
    are of another version decide nothing. Every attempt is logged. Exit code 0 when it was renewed, 1 when not.
    """
    from epimeter.trust.names import EVALUATION, new_id
    from epimeter.trust.renewal import renew as weigh
    from epimeter.trust.standing import Reevaluation

    at = moment_of(None)
    with opened(folder, at) as registry:
        signers = registry.signers(passphrase(passphrase_file), at)
        found = assessed(file, domain, choice, format, assume_utc, at)
        new = Reevaluation(
            id=new_id(EVALUATION, at.year),
            at=at,
            organization=organization,
            system_id=system_id,
            system_version=system_version,
            domain=found.domain,
            level=found.level,
            dataset=found.dataset_digest,
            period_end=found.period[1],
            obstacles=found.lacking,
            digests=tuple(digest.lower() for digest in digests),
        )
        outcome = weigh(registry, new, signers, at)
    if outcome.outcome == "renewed":
        click.echo(f"{outcome.certificate} is renewed and {outcome.status}: {outcome.sentence}")
        return
    told = {"missed": f"{outcome.certificate} is {outcome.status}", "not_counted": "nothing is renewed"}
    click.echo(f"epimeter: {told[outcome.outcome]}: {outcome.sentence}", err=True)
    raise click.exceptions.Exit(1)
