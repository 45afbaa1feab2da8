# SPDX-License-Identifier: Apache-2.0
"""``epimeter passport FILE``: the epistemic passport as JSON or PDF; ``epimeter passport diff A B``: what changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from epimeter.cli.columns import column_options
from epimeter.cli.issuer import opened
from epimeter.cli.outputs import refuse_overwriting
from epimeter.cli.passphrase import passphrase, passphrase_option
from epimeter.cli.standards import standard_options
from epimeter.cli.trusted import moment_of
from epimeter.errors import InputError
from epimeter.readers.forecast import Choice


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE | diff A B")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write here; .pdf or .json.")
@click.option(
    "--verify-url", default="", metavar="URL", help="Where the passport can be verified; goes into the QR code."
)
@click.option(
    "--issuer",
    "folder",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of an issuer (epimeter keys init): its key signs the passport.",
)
@passphrase_option
@column_options
@click.option("--bins", type=int, help="Number of bins.")
@click.option("--json", "as_json", is_flag=True, help="For diff: print JSON.")
@standard_options
def passport(
    files: tuple[str, ...],
    output: str | None,
    verify_url: str,
    folder: str | None,
    passphrase_file: str | None,
    choice: Choice,
    format: str | None,
    bins: int | None,
    as_json: bool,
    **standards: Any,
) -> None:
    """Make the epistemic passport of a system.

    FILE holds predictions, as for epimeter evaluate, or is the JSON of an evaluation after the standards.

    \b
    epimeter passport predictions.csv --domain medical --declare system.toml -o passport.pdf
    epimeter passport evaluation.json -o passport.json
    epimeter passport predictions.csv --issuer issuer -o passport.pdf
    epimeter verify passport.pdf --root trust-root.json --fingerprint SHA256
    epimeter passport diff old.json new.json
    """
    if files[0] == "diff":
        _refuse_others("diff compares two passports", "as_json")
        if len(files) != 3:
            raise click.UsageError("diff takes two passports: epimeter passport diff A.json B.json")
        _compare(files[1], files[2], as_json)
        return
    if len(files) > 1:
        raise click.UsageError(f"one file at a time; got {len(files)}")
    if as_json:
        raise click.UsageError("--json is for diff; a passport is JSON unless -o names a .pdf file")
    if passphrase_file is not None and folder is None:
        raise click.UsageError("--passphrase-file goes with --issuer; without one nothing is signed")
    refuse_overwriting(output, files[0])
    from epimeter.passport import canonical, pdf
    from epimeter.passport import passport as made_of

    found = _evaluation(files[0], choice, format, bins, standards)
    document = made_of(found, address=_address(verify_url))
    if folder is not None:
        document = _signed(document, folder, passphrase_file)
    if output is None:
        click.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
        return
    suffix = Path(output).suffix.lower()
    if suffix not in (".pdf", ".json"):
        raise click.UsageError(f"a passport is a .pdf or a .json file; got {output!r}")
    Path(output).write_bytes(pdf(document) if suffix == ".pdf" else canonical(document))
    click.echo(f"wrote {output}", err=True)


def _refuse_others(why: str, *used: str) -> None:
    """Refuse every option that was typed but those that are of use."""
    context = click.get_current_context()
    for option in context.command.params:
        typed = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
        if typed and isinstance(option, click.Option) and option.name not in used:
            raise click.UsageError(f"{max(option.opts, key=len)} would change nothing: {why}")


def _signed(document: dict[str, Any], folder: str, passphrase_file: str | None) -> dict[str, Any]:
    """The passport with the issuer's signature in it, and an audit entry that it was signed."""
    from epimeter.passport.document import digest
    from epimeter.trust.canonical import to_moment
    from epimeter.trust.passports import sign_passport

    at = moment_of(None)
    with opened(folder, at) as registry:
        signers = registry.signers(passphrase(passphrase_file), at)
        made = sign_passport(document, signers.issuer, registry.issuer, at)
        event = {"type": "passport.signed", "digest": f"sha-256:{digest(made)}", "time": to_moment(at)}
        registry.audit(event, signers, at)
    return made


def _evaluation(
    file: str, choice: Choice, format: str | None, bins: int | None, standards: dict[str, Any]
) -> dict[str, Any]:
    """The evaluation in a file, or of the predictions in it."""
    from epimeter.cli.standards import Given, evaluated

    known = _known(file)
    if known is not None:
        _refuse_others(
            f"{Path(file).name} is an evaluation already", "output", "verify_url", "folder", "passphrase_file"
        )
        return known
    given = Given(**{**standards, "standard": standards["standard"] or "both"}, bins=bins, passport=True)
    found = evaluated(file, choice, format, given)
    return found.standards.to_dict() | {"report": found.report.to_dict()}


def _known(file: str) -> dict[str, Any] | None:
    """An evaluation's JSON, where the file is one; predictions may be JSON too."""
    from epimeter.standards.evaluated import SCHEMA

    if Path(file).suffix.lower() != ".json" or not Path(file).is_file():
        return None
    try:
        found = json.loads(Path(file).read_text("utf-8"))
    except (ValueError, UnicodeDecodeError):
        return None
    return found if isinstance(found, dict) and found.get("schema") == SCHEMA else None


def _address(url: str) -> str:
    from epimeter.standards.declaration import printable

    if url and not url.startswith(("https://", "http://")):
        raise InputError(f"verify-url must begin with https:// or http://; got {url!r:.60}", field="verify_url")
    return printable(url, "verify_url")


def _compare(before: str, after: str, as_json: bool) -> None:
    """Print what changed; nothing printed means nothing changed."""
    from epimeter.passport import changes

    documents = []
    for path in (before, after):
        try:
            documents.append(json.loads(Path(path).read_text("utf-8")))
        except (ValueError, UnicodeDecodeError):
            raise InputError(f"a passport must be a JSON file; {Path(path).name} is not", field="passport") from None
    found = changes(*documents)
    if as_json:
        click.echo(json.dumps([change.to_dict() for change in found], indent=2, ensure_ascii=False))
        return
    click.echo("\n".join(change.sentence for change in found) or "nothing changed")
