# SPDX-License-Identifier: Apache-2.0
"""``epimeter export CERT``: a certificate for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from epimeter.cli.issuer import opened
from epimeter.cli.outputs import refuse_overwriting
from epimeter.cli.passphrase import passphrase, passphrase_option
from epimeter.cli.trusted import content_of, moment_of


@click.command()
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--as",
    "kind",
    type=click.Choice(["dsse", "in-toto", "vc", "pretty"]),
    default="dsse",
    show_default=True,
    help="DSSE envelope, in-toto statement, W3C Verifiable Credential, or indented for reading.",
)
@click.option("--issuer", "folder", type=click.Path(exists=True, file_okay=False), help="Issuer's folder: in-toto, vc.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead.")
@passphrase_option
def export(certificate: str, kind: str, folder: str | None, output: str | None, passphrase_file: str | None) -> None:
    """Write a certificate in another form. The DSSE envelope holds the same signature; the other two are signed anew."""
    import json

    from epimeter.errors import VerificationError
    from epimeter.trust.canonical import canonical_json
    from epimeter.trust.certificate import SHAPE
    from epimeter.trust.credential import credential
    from epimeter.trust.envelope import UNSIGNED
    from epimeter.trust.key_file import write_whole
    from epimeter.trust.shape import check_shape
    from epimeter.trust.statement import sign_statement, to_envelope
    from epimeter.trust.strict_json import load_json

    refuse_overwriting(output, certificate)
    if kind in ("dsse", "pretty") and (folder is not None or passphrase_file is not None):
        raise click.UsageError(f"--issuer and --passphrase-file are for what is signed anew; --as {kind} is not")
    document = load_json(content_of(certificate))
    check_shape(document, SHAPE, "", absent=("transparency",))
    body = {name: content for name, content in document.items() if name not in UNSIGNED}
    if kind == "dsse":
        made = to_envelope(document).to_json()
    elif kind == "pretty":
        made = json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8") + b"\n"
    else:
        if folder is None:
            raise click.UsageError(f"--as {kind} signs anew: give the issuer's folder with --issuer")
        at = moment_of(None)
        with opened(folder, at) as registry:
            signer = registry.signers(passphrase(passphrase_file), at).issuer
            issued = load_json(registry.certificate(body["certificate"]["id"]))
            if any(issued[name] != content for name, content in body.items()):
                raise VerificationError(
                    "nothing is signed anew that was not issued here; this certificate is not the one of its id",
                    code="bad_signature",
                )
        made = (
            sign_statement(body, signer).to_json()
            if kind == "in-toto"
            else canonical_json(credential(body, signer, at))
        )
    if output is None:
        click.echo(made.decode("utf-8"), nl=not made.endswith(b"\n"))
    else:
        write_whole(Path(output), made, mode=0o644)
        click.echo(f"wrote {output}", err=True)
