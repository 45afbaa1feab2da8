# SPDX-License-Identifier: Apache-2.0
"""``epimeter preregister``: say what will be measured, against which level, before it is done."""

from __future__ import annotations

import click

from epimeter.cli.certify import subject_options
from epimeter.cli.issuer import FOLDER, opened
from epimeter.cli.passphrase import passphrase, passphrase_option
from epimeter.cli.trusted import moment_of


@click.command()
@FOLDER
@subject_options
@click.option("--aim", type=click.Choice(["L1", "L2", "L3"]), required=True, help="The level aimed at.")
@click.option("--data-source", required=True, help="Where the data will come from, in words.")
@click.option("--least-records", type=click.IntRange(1), default=1000, show_default=True)
@passphrase_option
def preregister(
    folder: str,
    organization: str,
    system_id: str,
    system_version: str,
    domain: str | None,
    digests: tuple[str, ...],
    aim: str,
    data_source: str,
    least_records: int,
    passphrase_file: str | None,
) -> None:
    """Log a promise about an evaluation to come; epimeter certify --registration ID keeps it."""
    from epimeter.trust.certificate import Subject
    from epimeter.trust.registration import RegisteredPlan

    at = moment_of(None)
    subject = Subject(
        organization=organization,
        system_id=system_id,
        system_version=system_version,
        domain=domain or "general",
        digests=tuple(digest.lower() for digest in digests),
    )
    plan = RegisteredPlan(aim=aim, data_source=data_source, least_records=least_records)
    with opened(folder, at) as registry:
        identity = registry.preregister(subject, plan, registry.signers(passphrase(passphrase_file), at), at)
        click.echo(f"{identity}: entry {registry.registration(identity)[0]} of the log {registry.log.origin}")
