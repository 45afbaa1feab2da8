# SPDX-License-Identifier: Apache-2.0
"""``epimeter backup``, ``restore`` and ``succeed``: a running registry in one file, the way back, the way on from too old."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from epimeter.errors import MissingExtraError


def _settings(config: str | None, options: dict[str, Any]) -> Any:
    try:
        from epimeter.service.settings import load
    except ModuleNotFoundError as missing:
        raise MissingExtraError("the service", missing.name or "fastapi", "service") from None
    return load(config, options=options)


@click.command()
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--data", help="Data folder of the registry.  [default: epimeter-data]")
@click.option("--postgres", metavar="URL", help="Its PostgreSQL, where it uses one.")
@click.option("--config", type=click.Path(), help="TOML file of settings, as for serve.")
def backup(target: Path, config: str | None, **options: Any) -> None:
    """Write database, logs, keys and secrets of a registry into one file, while it serves.

    The file holds everything that the registry is, its secrets too, but for the root key: that lies apart from the passphrase and
    is copied once, to another place. Keep the file as you keep secrets.

    \b
    epimeter backup registry-2026-11-15.tar --data epimeter-data
    """
    settings = _settings(config, options)
    from epimeter.service import backup as room

    manifest = room.backup(settings, target)
    click.echo(f"{target}: {len(manifest['files'])} files, made {manifest['made_at']}; it holds secrets, keep it apart")
    if not settings.root_folder.is_relative_to(settings.folder):
        click.echo(f"the root key is not in it; keep a copy of {settings.root_folder} in another place")


@click.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--data", help="New data folder.  [default: epimeter-data]")
@click.option("--postgres", metavar="URL", help="An empty PostgreSQL to restore into.")
@click.option("--config", type=click.Path(), help="TOML file of settings, as for serve.")
def restore(source: Path, config: str | None, **options: Any) -> None:
    """Put a backup into a new data folder and an empty database.

    What was published after the backup was made is not in it. The file that remembers what was published lies beside the data
    folder (or where `published` says): with it the server refuses to go on from an older state.

    \b
    epimeter restore registry-2026-11-15.tar --data epimeter-data
    """
    settings = _settings(config, options)
    from epimeter.service import backup as room

    manifest = room.restore(source, settings)
    click.echo(
        f"{settings.folder}: {len(manifest['files'])} files of {manifest['made_at']} are back; start it with: epimeter serve"
    )
    if not settings.root_folder.exists():
        click.echo(
            f"the root key was not in it: put its folder to {settings.root_folder}, or say where it is with root_keys"
        )


@click.command()
@click.option("--data", help="Data folder of the registry.  [default: epimeter-data]")
@click.option("--postgres", metavar="URL", help="Its PostgreSQL, where it uses one.")
@click.option("--config", type=click.Path(), help="TOML file of settings, as for serve.")
@click.option(
    "--status",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The last status list that was published. Without it every certificate that was valid is suspended.",
)
def succeed(config: str | None, status: Path | None, **options: Any) -> None:
    """Begin a new log that names the old one's end, where a registry was put back from too old a state.

    The log of such a registry must not go on: the world has seen more of it. The new log has a name and a key of its own, keeps the
    entries that are left, and says where the old one ended. The trust root that follows knows both logs, so certificates of
    both verify. The root key must be there.

    \b
    epimeter restore registry-2026-11-15.tar --data epimeter-data
    epimeter succeed --data epimeter-data --status last-status-list.json
    """
    settings = _settings(config, options)
    from epimeter.service.succeeding import begin_successor

    done = begin_successor(settings, None if status is None else status.read_bytes())
    if done.log is not None:
        click.echo(
            f"the log {done.log.old} has a successor, {done.origin}: {done.log.kept:,} entries are kept, {done.log.lost:,} are lost"
        )
        what = "suspended" if status is None else "as in the last status list"
        click.echo(
            f"{done.log.changed:,} certificates changed: they are {what}; the trust root is version {done.log.root_version}"
        )
    click.echo(f"audit entries go on with number {done.journal_number:,}; start it with: epimeter serve")
