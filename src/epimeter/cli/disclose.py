# SPDX-License-Identifier: Apache-2.0
"""``epimeter disclose CERT DATA --record ID``: show one record, prove it, keep the others hidden."""

from __future__ import annotations

from pathlib import Path

import click

from epimeter.cli.certify import evidence_in
from epimeter.cli.columns import column_options
from epimeter.cli.outputs import refuse_overwriting
from epimeter.cli.trusted import content_of
from epimeter.errors import InputError, VerificationError
from epimeter.readers.forecast import Choice


@click.command()
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False))
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--record", required=True, metavar="ID", help="The id of the record to show.")
@click.option(
    "--summary",
    type=click.Path(exists=True, dir_okay=False),
    help="For a certificate from sums: the summary it was made from.",
)
@column_options
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead.")
def disclose(
    certificate: str,
    data: str,
    record: str,
    summary: str | None,
    choice: Choice,
    format: str | None,
    output: str | None,
) -> None:
    """Write one record of the certified DATA with its proof; epimeter verify CERT --record FILE checks it.

    Where the certificate was made from a summary, DATA is the file that holds the record, and --summary names the summary.
    """
    from epimeter.readers import read
    from epimeter.trust.certificate import SHAPE, from_sums
    from epimeter.trust.disclosure import check_disclosure, record_columns
    from epimeter.trust.disclosure import disclose as show
    from epimeter.trust.key_file import write_whole
    from epimeter.trust.shape import check_shape
    from epimeter.trust.strict_json import load_json

    refuse_overwriting(output, certificate, data, *([] if summary is None else [summary]))
    document = load_json(content_of(certificate))
    check_shape(document, SHAPE, "", absent=("transparency",))
    parts = None
    if from_sums(document["evidence"]):
        if summary is None:
            raise InputError("the certificate was made from a summary; name it with --summary", field="summary")
        parts = evidence_in([summary]).roots
    elif summary is not None:
        raise InputError(
            "--summary is for a certificate from sums; this one was made from its records", field="summary"
        )
    id = document["certificate"]["id"]
    made = show(record_columns(read(data, columns=choice, format=format)), record, id, parts)
    try:
        check_disclosure(made, document)
    except VerificationError:
        raise VerificationError(
            "the data are not those of the certificate: their records have another root", code="bad_proof"
        ) from None
    if output is None:
        click.echo(made.decode("utf-8"))
    else:
        write_whole(Path(output), made, mode=0o644)
        click.echo(f"wrote {output}", err=True)
