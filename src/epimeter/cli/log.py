# SPDX-License-Identifier: Apache-2.0
"""``epimeter log``: verify a log, watch a log, publish a log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from epimeter.cli.issuer import FOLDER, opened
from epimeter.cli.passphrase import passphrase, passphrase_option
from epimeter.cli.trusted import content_of, moment_of, trust_of, trust_options


@click.group()
def log() -> None:
    """Verify, watch and publish the append-only log."""


@log.command()
@click.argument("database", type=click.Path(exists=True))
@trust_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(database: str, as_json: bool, **whom: Any) -> None:
    """Rebuild the tree of a log's DATABASE (or of an issuer's folder) from its rows, against every signed checkpoint.

    Names every entry that was edited, deleted, inserted or swapped. Exit code 1 when anything is wrong. The audit log
    of an issuer, audit.db, is signed by the same key under the log's name and /audit.
    """
    from epimeter.trust.audit import audit
    from epimeter.trust.log import Log

    path = Path(database) / "log.db" if Path(database).is_dir() else Path(database)
    with Log(path) as opened_log:
        name = opened_log.origin
    policy = _policy(whom, name.removesuffix("/audit"))
    found = audit(path, _of_audit(policy) if name.endswith("/audit") else policy)
    if as_json:
        findings = [{"what": f.what, "first": f.index, "last": f.last, "sentence": f.sentence} for f in found.findings]
        facts = {"origin": found.origin, "size": found.size, "checkpoints": found.checkpoints}
        click.echo(json.dumps({**facts, "sound": found.sound, "findings": findings}, indent=2))
    else:
        for finding in found.findings:
            click.echo(f"  {finding.sentence}")
        state = "sound" if found.sound else "NOT sound"
        click.echo(f"{found.origin}: {found.size:,} entries, {found.checkpoints:,} checkpoints, {state}")
    raise click.exceptions.Exit(0 if found.sound else 1)


@log.command()
@click.argument("place")
@click.option("--memory", required=True, type=click.Path(dir_okay=False), help="File that remembers the last visit.")
@click.option(
    "--status", type=click.Path(exists=True, dir_okay=False), help="Status list: does it show every revocation?"
)
@trust_options
def monitor(place: str, memory: str, status: str | None, **whom: Any) -> None:
    """Visit a log at PLACE (an address, a published folder, or a database) and prove that it only grew.

    Exit code 1, and the memory unchanged, when it forked, shrank or changed what was there.
    """
    from epimeter.errors import VerificationError
    from epimeter.trust.checkpoint import Checkpoint
    from epimeter.trust.monitor import Monitor

    view = _view(place)
    try:
        policies, name = trust_of(**whom).policies, Checkpoint.from_text(view.checkpoint().text).origin
        monitor = Monitor(memory, _policy(whom, name), earlier=policies)
        seen = monitor.check(view)
        lies = _undone(view, seen.checkpoint, status) if status is not None else []
    except VerificationError as fault:
        click.echo(f"epimeter: {fault}", err=True)
        raise click.exceptions.Exit(1) from None
    for sentence in lies:
        click.echo(f"  {sentence}")
    if status is not None and not lies:
        click.echo("  the status list shows every revocation of the log")
    tree = seen.checkpoint
    if monitor.succession is not None:
        click.echo(monitor.succession)
    click.echo(f"{tree.origin}: {tree.size:,} entries, consistent with the last visit; root {tree.root.hex()[:16]}…")
    raise click.exceptions.Exit(1 if lies else 0)


@log.command()
@FOLDER
@click.argument("target", type=click.Path(file_okay=False))
@passphrase_option
def publish(folder: str, target: str, passphrase_file: str | None) -> None:
    """Write tiles, checkpoint, a fresh status list, trust root and key set into TARGET, for any web server to serve."""
    from epimeter.trust.publishing import publish as put_out

    at = moment_of(None)
    with opened(folder, at) as registry:
        registry.renew_status(registry.signers(passphrase(passphrase_file), at), at)
        written = put_out(registry, target, at)
        click.echo(f"wrote {written} files to {target}; the log has {registry.log.size:,} entries")


def _policy(whom: dict[str, Any], name: str) -> Any:
    """Whom to believe about the log of that name; where one key alone was given, it says which log is meant."""
    trust = trust_of(**whom)
    if not trust.logs:
        raise click.UsageError("give the key of the log: --log-key VKEY, or --root FILE --fingerprint SHA256")
    return trust.policies.get(name, trust.logs[0])


def _of_audit(policy: Any) -> Any:
    from epimeter.trust.checkpoint import LogPolicy
    from epimeter.trust.note import NoteKey

    names = (key.name.removesuffix("/audit") + "/audit" for key in policy.log_keys)
    return LogPolicy(log_keys=tuple(map(NoteKey, names, (key.public for key in policy.log_keys))))


def _view(place: str) -> Any:
    from epimeter.trust.log import Log
    from epimeter.trust.tile_log import from_folder, from_url

    if "://" in place:
        return from_url(place)
    path = Path(place)
    if path.is_file() or (path / "log.db").exists():
        return Log(path if path.is_file() else path / "log.db")
    return from_folder(path / "log" if (path / "log").is_dir() else path)


def _undone(view: Any, tree: Any, status: str) -> list[str]:
    from epimeter.errors import VerificationError
    from epimeter.trust.canonical import load_canonical
    from epimeter.trust.envelope import Envelope
    from epimeter.trust.merkle import leaf_hash, root_of
    from epimeter.trust.publishing import undone, unpublished
    from epimeter.trust.status_list import StatusList

    entries = view.first_entries(tree.size)
    if root_of(map(leaf_hash, entries)) != tree.root:
        raise VerificationError("the entries of the log are not those of its checkpoint", code="inconsistent")
    sealed = Envelope.from_json(content_of(status))
    return unpublished(entries, sealed) or undone(entries, StatusList.from_document(load_canonical(sealed.payload)))
