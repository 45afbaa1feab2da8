# SPDX-License-Identifier: Apache-2.0
"""``epimeter attest CERT``: an auditor puts his own key behind a certificate; the issuer enters it into the log."""

from __future__ import annotations

from pathlib import Path

import click

from epimeter.cli.issuer import opened
from epimeter.cli.outputs import in_a_folder, refuse_overwriting
from epimeter.cli.passphrase import passphrase, passphrase_option
from epimeter.cli.trusted import content_of, key_of, moment_of
from epimeter.errors import InputError


@click.command()
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--auditor",
    "folder",
    type=click.Path(file_okay=False),
    help="Folder of the auditor's key; made when it is missing.",
)
@click.option("--name", help="The auditor's name, as it will be read.")
@click.option("--basis", multiple=True, type=click.Choice(["reproduced", "audited_on_site"]), help="What was done.")
@click.option(
    "--data", type=click.Path(exists=True, dir_okay=False), help="The data: reproduced before it is attested."
)
@click.option("--assume-utc", is_flag=True, help="Times without a zone are UTC.")
@click.option("--scope", help="What the audit covered, in words.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write the attestation here.")
@click.option(
    "--enter",
    type=click.Path(exists=True, dir_okay=False),
    help="An attestation to be entered into the log of --issuer.",
)
@click.option("--issuer", type=click.Path(exists=True, file_okay=False), help="Folder of the issuer, with --enter.")
@click.option("--auditor-key", metavar="KEY", help="The auditor's key, with --enter: the signature is checked with it.")
@passphrase_option
def attest(
    certificate: str,
    folder: str | None,
    name: str | None,
    basis: tuple[str, ...],
    data: str | None,
    assume_utc: bool,
    scope: str | None,
    output: str | None,
    enter: str | None,
    issuer: str | None,
    auditor_key: str | None,
    passphrase_file: str | None,
) -> None:
    """Sign, as an auditor, that the certificate CERT was reproduced from its data or audited on site.

    \b
    epimeter attest cert.json --auditor auditor --name "Audit AG" --basis reproduced --data october.parquet
        --scope "numbers and digests" -o attestation.json
    epimeter attest cert.json --enter attestation.json --issuer issuer --auditor-key KEY
    epimeter verify cert.json … --attestation attestation.json --auditor-key KEY
    """
    from epimeter.trust.key_file import write_whole
    from epimeter.trust.strict_json import load_json, malformed

    document = load_json(content_of(certificate))
    if not isinstance(document, dict):
        raise malformed("a certificate must be a JSON object")
    at = moment_of(None)
    signing = {"--auditor": folder, "--name": name, "--basis": basis, "--data": data, "--assume-utc": assume_utc,
               "--scope": scope, "--output": output}  # fmt: skip
    if enter is None and (issuer is not None or auditor_key is not None):
        raise click.UsageError("--issuer and --auditor-key are for --enter; without it nothing is entered")
    if enter is not None:
        if any(signing.values()):
            option = next(option for option, given in signing.items() if given)
            raise click.UsageError(f"--enter takes an attestation that is signed already; it goes without {option}")
        if issuer is None:
            raise click.UsageError("--enter needs the issuer's folder: --issuer FOLDER")
        if auditor_key is None:
            raise click.UsageError(
                "--enter needs the auditor's key, which the signature is checked with: --auditor-key KEY"
            )
        from epimeter.trust.attesting import enter_attestation

        with opened(issuer, at) as registry:
            signers = registry.signers(passphrase(passphrase_file), at)
            place = enter_attestation(registry, content_of(enter), signers, at, key=key_of(auditor_key))
        click.echo(f"entry {place} of the log")
        return
    if folder is None or name is None or scope is None or output is None:
        raise click.UsageError("an attestation needs --auditor FOLDER, --name, --scope and --output")
    refuse_overwriting(output, certificate, data)
    in_a_folder(output)
    if "reproduced" in basis:
        if data is None:
            raise click.UsageError("--basis reproduced needs the data: --data FILE")
        _reproduced(document, data, assume_utc)
    elif data is not None or assume_utc:
        raise click.UsageError("--data and --assume-utc are for --basis reproduced; without it no data are read")
    from epimeter.trust.attestation import attest as sign
    from epimeter.trust.canonical import to_base64
    from epimeter.trust.key_store import KeyStore

    if (Path(folder) / "trust-root.json").exists():
        raise InputError(f"an auditor's key lies in a folder of its own; {folder} is an issuer's", field="auditor")
    store = KeyStore(folder)
    secret = passphrase(passphrase_file, twice=not store.ring.keys("auditor"))
    if not store.ring.keys("auditor"):
        store.generate("auditor", secret, at)
    signer = store.signer("auditor", secret, at)
    made = sign(document, signer, auditor=name, basis=basis, scope=scope, at=at)
    write_whole(Path(output), made.to_json(), mode=0o644)
    click.echo(f"wrote {output}; auditor's key {to_base64(signer.public.raw)}")


def _reproduced(document: dict, data: str, assume_utc: bool) -> None:  # type: ignore[type-arg]
    """Refuse to attest what the data do not give again."""
    from epimeter.readers import read
    from epimeter.trust.certificate import BODY
    from epimeter.trust.envelope import UNSIGNED
    from epimeter.trust.reproduction import reproduce
    from epimeter.trust.shape import check_shape

    body = {name: part for name, part in document.items() if name not in UNSIGNED}
    check_shape(body, BODY, "")
    wrong = [one.field for one in reproduce(body, read(data), assume_utc=assume_utc) if one.must_agree and not one.same]
    if wrong:
        raise InputError(f"the certificate is not reproduced by {data}: {', '.join(wrong)} differ", field="data")
