# SPDX-License-Identifier: Apache-2.0
"""``epimeter keys``: an issuer's keys in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from epimeter.cli.issuer import opened, refuse_put_back
from epimeter.cli.passphrase import passphrase, passphrase_option
from epimeter.cli.trusted import moment_of

if TYPE_CHECKING:
    from epimeter.trust.root import TrustRoot


@click.group()
def keys() -> None:
    """Make and change the keys of an issuer."""


@keys.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--issuer", required=True, metavar="ADDRESS", help="Who issues: a web address or a name.")
@click.option("--origin", metavar="NAME", help="Name of the log; by default the issuer's, and /log.")
@click.option("--root-keys", type=click.Path(file_okay=False), help="Folder of the root key, on another medium.")
@passphrase_option
def init(folder: str, issuer: str, origin: str | None, root_keys: str | None, passphrase_file: str | None) -> None:
    """Make an issuer in FOLDER: keys for root, issuer, log and status list, trust root, logs.

    What is printed is what others need in order to believe you; give it to them on a way that you both trust.
    """
    from epimeter.trust.registry import Registry

    name = origin or f"{issuer.removeprefix('https://').removeprefix('http://').strip('/')}/log"
    secret = passphrase(passphrase_file, twice=True)
    with Registry.create(
        folder, issuer=issuer, origin=name, passphrase=secret, at=moment_of(None), root_folder=root_keys
    ) as made:
        click.echo(f"issuer {issuer} in {folder}; the log is {name}")
        click.echo(f"trust root {folder}/trust-root.json, fingerprint {made.root().fingerprint}")
        _print(made.root(), as_json=False)
    if root_keys is None:
        click.echo(
            f"Now move {folder}/root to a medium that lies in a drawer; give it back with --root-keys.", err=True
        )


@keys.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("role", type=click.Choice(["issuer", "log", "status"]), required=False)
@click.option("--root-keys", type=click.Path(exists=True, file_okay=False), help="Folder of the root key.")
@passphrase_option
def rotate(folder: str, role: str | None, root_keys: str | None, passphrase_file: str | None) -> None:
    """Give the key of a ROLE a successor; the old one stays valid for a week, and proves what it signed.

    Without a ROLE every key that has ended, or ends within 30 days, gets one.
    """
    from epimeter.trust.succession import endings, newest_root, rotate_due
    from epimeter.trust.succession import rotate as succeed

    refuse_put_back(folder)
    place, secret, at = Path(folder), passphrase(passphrase_file), moment_of(None)
    if role is None:
        done = rotate_due(place, secret, at, root_folder=root_keys)
        for sentence in done:
            click.echo(sentence)
        if not done:
            click.echo(f"no key is due; {endings(place)[0].sentence(at)}")
            return
    else:
        key_id = succeed(place, role, secret, at, root_folder=root_keys)
        click.echo(f"key {key_id} is the new key of the role {role}")
    root = newest_root(place)
    click.echo(f"trust root version {root.version}, fingerprint {root.fingerprint}")


@keys.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("key_id")
@click.option("--compromised", "reason", flag_value="compromised", help="The key is in other hands.")
@click.option("--retired", "reason", flag_value="retired", default="retired", help="The key signs no more (default).")
@click.option("--root-keys", type=click.Path(exists=True, file_okay=False), help="Folder of the root key.")
@passphrase_option
def end(folder: str, key_id: str, reason: str, root_keys: str | None, passphrase_file: str | None) -> None:
    """End a key early: retired keys still prove what they signed, compromised ones only what outsiders saw before."""
    from epimeter.trust.succession import end_key, newest_root

    refuse_put_back(folder)
    end_key(Path(folder), key_id, reason, passphrase(passphrase_file), moment_of(None), root_folder=root_keys)
    root = newest_root(Path(folder))
    click.echo(f"key {key_id} is {reason}; trust root version {root.version}")
    if reason == "compromised" and any(one.role == "log" and one.id == key_id for one in root.ring):
        with opened(folder, moment_of(None)) as registry:
            count = registry.write_certificates()
        click.echo(f"{count:,} certificates in {folder}/certificates have new proofs; hand them out again")


@keys.command(name="list")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_keys(folder: str, as_json: bool) -> None:
    """List the keys of an issuer, in the form that --key, --log-key and --status-key take."""
    from epimeter.trust.succession import newest_root

    _print(newest_root(Path(folder)), as_json)


def _print(root: TrustRoot, as_json: bool) -> None:
    from epimeter.trust.canonical import to_base64, to_moment
    from epimeter.trust.note import NoteKey

    rows = []
    for record in root.ring:
        log = record.name if record.role == "log" else None
        shown = to_base64(record.public.raw) if log is None else NoteKey(log, record.public).to_vkey()
        ended = record.valid_until <= moment_of(None)
        state = f"{'expired' if ended else 'in force until'} {to_moment(record.valid_until)}"
        if record.revoked is not None:
            state = f"{record.revoked.reason} at {to_moment(record.revoked.at)}"
        rows.append({"role": record.role, "id": record.id, "key": shown, "state": state})
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.echo(f"{row['role']:<7} {row['key']}\n        id {row['id']}, {row['state']}")
