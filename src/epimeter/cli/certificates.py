# SPDX-License-Identifier: Apache-2.0
"""``epimeter certificates``: what an issuer has issued, where each stands, and what is due when."""

from __future__ import annotations

import json
from pathlib import Path

import click

from epimeter.cli.issuer import FOLDER, opened
from epimeter.cli.outputs import in_a_folder
from epimeter.cli.trusted import moment_of


@click.command()
@FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the life of each certificate.")
@click.option("--calendar", type=click.Path(dir_okay=False), help="Write the due dates as a calendar (.ics).")
def certificates(folder: str, as_json: bool, calendar: str | None) -> None:
    """List the certificates of an issuer: level, status and why, next evaluation, end."""
    from epimeter.trust.calendar import certificate_line, to_calendar
    from epimeter.trust.canonical import load_canonical
    from epimeter.trust.key_file import write_whole
    from epimeter.trust.standing import shown

    in_a_folder(calendar, "--calendar")
    at = moment_of(None)
    with opened(folder, at) as registry:
        lines = registry.listing(at)
        documents = {line["id"]: load_canonical(registry.certificate(line["id"])) for line in lines}
        lives = {line["id"]: [event.to_json() for event in registry.life(line["id"])] for line in lines}
        statuses = registry.statuses()
        if calendar is not None:
            current = [line["id"] for line in lines if line["status"] in ("VALID", "SUSPENDED")]
            dates = [certificate_line(documents[one], registry.standing(one, at, statuses)) for one in current]
            write_whole(Path(calendar), to_calendar(dates, at), mode=0o644)
    if as_json:
        click.echo(json.dumps([line | {"life": lives[line["id"]]} for line in lines], indent=2, ensure_ascii=False))
        return
    for line in lines:
        head, subject = documents[line["id"]]["certificate"], documents[line["id"]]["subject"]
        why = "" if line["reason"] is None else f": {line['reason']}"
        due = "" if line["next_evaluation"] is None else f"next evaluation {line['next_evaluation']}, "
        click.echo(f"{line['id']}  ERS {shown(line['level'], line['assessed'])}  {line['status']}{why}")
        system = f"{subject['organization']}, {subject['system_id']} {subject['system_version']}"
        click.echo(f"    {system}; {due}ends {head['expires_at'][:10]}")
    if not lines:
        click.echo(f"{folder} has issued no certificate")
