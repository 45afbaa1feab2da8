# SPDX-License-Identifier: Apache-2.0
"""``epimeter reproduce CERT DATA``: the same data, the same bytes?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from epimeter.cli.certify import evidence_in, is_summary
from epimeter.cli.columns import column_options
from epimeter.cli.trusted import content_of
from epimeter.errors import InputError
from epimeter.readers.forecast import Choice

if TYPE_CHECKING:
    from epimeter.trust.evidence import Evidence


@click.command()
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False))
@click.argument("data", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="DATA…")
@column_options
@click.option("--assume-utc", is_flag=True, help="Times without a zone are UTC.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def reproduce(
    certificate: str, data: tuple[str, ...], choice: Choice, format: str | None, assume_utc: bool, as_json: bool
) -> None:
    """Compute every number and digest of a certificate again from the DATA, and compare them byte for byte.

    A certificate that was made from a summary is compared with summaries (.epi), or with all the files they were made of.
        Exit code 0 when all agree, 1 when one does not. Whether the certificate is genuine is for epimeter verify to say.
    """
    from epimeter.readers import read
    from epimeter.trust.certificate import BODY, from_sums
    from epimeter.trust.envelope import UNSIGNED
    from epimeter.trust.reproduction import compared as with_sums
    from epimeter.trust.reproduction import reproduce as compare
    from epimeter.trust.shape import check_shape
    from epimeter.trust.strict_json import load_json, malformed

    document = load_json(content_of(certificate))
    if not isinstance(document, dict):
        raise malformed("a certificate must be a JSON object")
    body = {name: content for name, content in document.items() if name not in UNSIGNED}
    check_shape(body, BODY, "")
    if from_sums(body["evidence"]):
        compared = with_sums(body, _evidence(body, data, choice, format, assume_utc))
    elif len(data) == 1 and not is_summary(data[0]):
        compared = compare(body, read(data[0], columns=choice, format=format), assume_utc=assume_utc)
    else:
        raise InputError("DATA must be the one file that the certificate was made from; it states one table of records")
    wrong = [one for one in compared if not one.same and one.must_agree]
    if as_json:
        rows = [{"field": c.field, "certified": c.certified, "found": c.found, "same": c.same} for c in compared]
        click.echo(json.dumps({"reproduced": not wrong, "fields": rows}, indent=2))
    else:
        for one in compared:
            mark = "=" if one.same else "≠" if one.must_agree else "~"
            click.echo(
                f"  {mark} {one.field:<30} {one.certified}" + ("" if one.same else f"\n    found{'':<27}{one.found}")
            )
        if any(not one.same for one in compared if not one.must_agree):
            click.echo("  ~ another version of the code; the numbers above are what counts")
        said = "reproduced: every number and digest agrees" if not wrong else f"NOT reproduced: {len(wrong)} differ"
        click.echo(said)
    raise click.exceptions.Exit(1 if wrong else 0)


def _evidence(
    body: Mapping[str, Any], data: tuple[str, ...], choice: Choice, format: str | None, assume_utc: bool
) -> Evidence:
    """The evidence of the summaries, or of the files behind them."""
    from epimeter.trust.canonical import from_moment
    from epimeter.trust.evidence_files import gathered

    summaries = [file for file in data if is_summary(file)]
    if summaries and len(summaries) < len(data):
        raise InputError("DATA must be summaries, or the files they were made of, not both", field="data")
    if summaries:
        return evidence_in(summaries)
    issued = from_moment(body["certificate"]["issued_at"], "issued_at")
    return gathered(data, at=issued, columns=choice, format=format, assume_utc=assume_utc)
