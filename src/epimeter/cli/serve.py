# SPDX-License-Identifier: Apache-2.0
"""``epimeter serve``: the service, with no configuration needed."""

from __future__ import annotations

import click

from epimeter.errors import MissingExtraError


@click.command()
@click.option("--data", help="Folder of database, keys, logs and secrets.  [default: epimeter-data]")
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on; 0 takes a free one.  [default: 8600]")
@click.option("--admin-port", type=int, help="Port of the Prometheus metrics.  [default: 8601]")
@click.option("--issuer", help="Address under which others reach this registry; stands in certificates.")
@click.option("--postgres", metavar="URL", help="Use this PostgreSQL instead of the SQLite file.")
@click.option("--redis", metavar="URL", help="Count requests a minute in this Redis.")
@click.option("--workers", type=int, help="Jobs that are done at a time.  [default: 2]")
@click.option("--config", type=click.Path(), help="TOML file of settings; the environment (EPIMETER_…) overrules it.")
@click.option("--new-admin-key", is_flag=True, help="Make another administrator key and print it: the first was lost.")
def serve(config: str | None, new_admin_key: bool, **options: object) -> None:
    """Run the service: API, pages, registry, log and signal.

    The first start makes everything it needs: database, keys, and one administrator key, which is printed once.

    \b
    epimeter serve
    epimeter serve --port 80 --host 0.0.0.0 --issuer https://registry.example
    epimeter serve --postgres postgresql://user@host/name --redis redis://host
    """
    try:
        from epimeter.service.server import run
        from epimeter.service.settings import load
        from epimeter.web import install
    except ModuleNotFoundError as missing:
        raise MissingExtraError("the service", missing.name or "fastapi", "service") from None
    run(load(config, options=options), new_admin_key=new_admin_key, say=click.echo, pages=install)
