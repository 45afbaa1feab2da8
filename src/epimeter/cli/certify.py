# SPDX-License-Identifier: Apache-2.0
"""``epimeter certify FILE``: predictions in, signed certificate out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from epimeter.cli.columns import column_options
from epimeter.cli.issuer import FOLDER, opened
from epimeter.cli.outputs import in_a_folder, refuse_overwriting
from epimeter.cli.passphrase import passphrase, passphrase_option
from epimeter.cli.trusted import moment_of
from epimeter.errors import InputError
from epimeter.readers.forecast import Choice

if TYPE_CHECKING:
    from datetime import datetime

    from epimeter.trust.certificate import Assessment
    from epimeter.trust.evidence import Evidence


def subject_options(command: Any) -> Any:
    """The options that name a system."""
    options = (
        click.option("--organization", required=True, help="Who answers for the system."),
        click.option("--system", "system_id", required=True, help="The system's name."),
        click.option("--system-version", required=True, help="Its version."),
        click.option(
            "--domain",
            type=click.Choice(["medical", "legal", "financial", "code", "general"]),
            help="By default what the file says of itself, else general.",
        ),
        click.option("--digest", "digests", multiple=True, metavar="SHA256", help="SHA-256 of a model file, in hex."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def is_summary(file: str) -> bool:
    """Whether a file is a summary: by its name, or by how it begins."""
    from epimeter.summary_files import SUFFIX

    if file.endswith(SUFFIX) or not os.path.isfile(file):
        return file.endswith(SUFFIX)
    with open(file, "rb") as stream:
        return stream.read(4) == b"EPI2"


def evidence_in(files: Sequence[str]) -> Evidence:
    """The evidence that summaries carry."""
    from epimeter.sources.paths import matching
    from epimeter.summary_files import merged_files
    from epimeter.trust.evidence import Evidence

    evidence = merged_files(matching(files)).evidence
    if not isinstance(evidence, Evidence):
        raise InputError(
            f"{', '.join(files)[:200]} must carry the evidence for a certificate, and does not. Make it with epimeter summarise "
            "--evidence where the records are",
            field="source",
        )
    return evidence


def assessed(
    file: str, domain: str | None, choice: Choice, format: str | None, assume_utc: bool, at: datetime
) -> Assessment:
    """What the predictions in a file, or the sums in a summary, earn."""
    from epimeter.cli.judging import read_table
    from epimeter.standards.method import agreed_domain, domain_of
    from epimeter.trust.assessing import assess, assess_evidence

    if is_summary(file):
        if choice != Choice() or format is not None or assume_utc:
            raise InputError(f"options about columns and times are for epimeter summarise; {file} is a summary already")
        evidence = evidence_in([file])
        return assess_evidence(evidence, domain=agreed_domain(domain, evidence.domain, file), at=at)
    table = read_table(file, choice, format)
    return assess(table, domain=domain_of(domain, table), at=at, assume_utc=assume_utc)


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@FOLDER
@subject_options
@click.option("--registration", help="Id of the pre-registration that this evaluation keeps.")
@click.option(
    "--report", type=click.Path(exists=True, dir_okay=False), help="A report or PDF that the signature covers."
)
@click.option(
    "--conducted-by",
    type=click.Choice(["self_submitted", "issuer", "third_party"]),
    default="self_submitted",
    show_default=True,
    help="Who ran the evaluation.",
)
@column_options
@click.option("--assume-utc", is_flag=True, help="Times without a zone are UTC.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write the certificate here too.")
@passphrase_option
def certify(
    file: str,
    folder: str,
    organization: str,
    system_id: str,
    system_version: str,
    domain: str | None,
    digests: tuple[str, ...],
    registration: str | None,
    report: str | None,
    conducted_by: str,
    choice: Choice,
    format: str | None,
    assume_utc: bool,
    output: str | None,
    passphrase_file: str | None,
) -> None:
    """Evaluate the predictions in FILE after ONTO-ERS and issue a certificate for the level they earn.

    The data need timestamps over at least seven days, 1,000 rows and eight of ten confidence bins. Every attempt is
    logged, those that fail too; the certificate says which attempt it was.

    FILE may be a summary that was made with epimeter summarise --evidence: the records stay where they are. The numbers are the
    same, the intervals those of the delta method.
    """
    from epimeter.trust import standing
    from epimeter.trust.certificate import Subject
    from epimeter.trust.key_file import write_whole

    refuse_overwriting(output, file, report)
    in_a_folder(output)  # a certificate once issued is not taken back
    at = moment_of(None)
    with opened(folder, at) as registry:
        signers = registry.signers(passphrase(passphrase_file), at)
        found = assessed(file, domain, choice, format, assume_utc, at)
        subject = Subject(
            organization=organization,
            system_id=system_id,
            system_version=system_version,
            domain=found.domain,
            digests=tuple(digest.lower() for digest in digests),
        )
        outcome = registry.certify(
            found,
            subject,
            signers,
            at,
            registered=registration,
            conducted_by=conducted_by,
            report=None if report is None else Path(report).read_bytes(),
        )
    for note in outcome.notes:
        click.echo(f"epimeter: mind: {note}", err=True)
    if outcome.certificate is None:
        reasons = "; ".join(outcome.obstacles)
        click.echo(f"epimeter: no certificate can be issued: {reasons}. Attempt {outcome.attempt} is logged.", err=True)
        raise click.exceptions.Exit(1)
    if output is not None:
        write_whole(Path(output), outcome.certificate, mode=0o644)
    where = output or f"{folder}/certificates/{outcome.id}.json"
    level = standing.shown(found.level, standing.assessed(found.level, attested=False))
    click.echo(f"{outcome.id}: level {level}, ERS {found.ers}, {found.assurance}; {where}")
