# SPDX-License-Identifier: Apache-2.0
"""``epimeter revoke ID``: take a certificate back, for all to see and for ever."""

from __future__ import annotations

import click

from epimeter.cli.issuer import FOLDER, opened
from epimeter.cli.passphrase import passphrase, passphrase_option
from epimeter.cli.trusted import moment_of


@click.command()
@click.argument("identity", metavar="ID")
@FOLDER
@click.option("--reason", required=True, help="Why; it is public.")
@click.option("--suspend", "word", flag_value="SUSPENDED", help="Suspend it; a suspension can be lifted.")
@click.option("--restore", "word", flag_value="VALID", help="Lift a suspension.")
@click.option("--revoke", "word", flag_value="REVOKED", default="REVOKED", help="Revoke it for ever (default).")
@passphrase_option
def revoke(identity: str, folder: str, reason: str, word: str, passphrase_file: str | None) -> None:
    """Revoke, suspend or restore the certificate ID: a log entry and a new status list, in one transaction."""
    at = moment_of(None)
    with opened(folder, at) as registry:
        registry.set_status(identity, word, reason, registry.signers(passphrase(passphrase_file), at), at)
        click.echo(f"{identity} is {word}; status list version {registry.statuses().version}, {folder}/status/1.json")
