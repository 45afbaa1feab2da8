# SPDX-License-Identifier: Apache-2.0
"""``epimeter monitor FOLDER``: calibration over time, with alarms; ``monitor feed`` and ``acknowledge`` keep a state."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from epimeter.cli.columns import OPTIONS as COLUMN_OPTIONS
from epimeter.cli.columns import choice_of
from epimeter.cli.outputs import in_a_folder
from epimeter.errors import InputError

PAGE = "epimeter-monitor.html"


class Watching(click.Group):
    """`monitor` with a folder looks at it; with the name of a subcommand it runs that."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["look", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.commands["look"].format_options(ctx, formatter)
        super().format_options(ctx, formatter)


@click.group(
    cls=Watching, context_settings={"help_option_names": ["-h", "--help"]}, subcommand_metavar="FOLDER… | COMMAND …"
)
def monitor() -> None:
    """Is calibration still what it was? Looks at rows or summaries over time and says what changed, since when, how sure.

    \b
    epimeter monitor logs/ --by region
    epimeter monitor summaries/ --reference 'january/*.epi' --tolerance 0.02
    epimeter monitor feed bot.state day.parquet --as-of 2026-02-10

    Windows come from the times of the rows, or from the days that files, folders or summaries are named by. Without
    --reference the first third of the windows with outcomes is the reference. Exit code 0: no open alarm, 1: an open alarm,
    2: cannot judge.
    """


def watching_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What both looking and feeding are told."""
    options = [
        click.option(
            "--by", multiple=True, metavar="COLUMN", help="Watch every value of this column; may be given again."
        ),
        click.option("--system", metavar="COLUMN", help="The column (or key of folders) that names the system."),
        click.option(
            "--reference", multiple=True, metavar="FILES", help="Rows or summaries that say what calibration was."
        ),
        click.option("--tolerance", type=float, help="A change of the gap up to this is harmless (0.01)."),
        click.option("--false-alarms", metavar="RATE", help="How often the change alarm may be wrong ('1 per year')."),
        click.option("--window", type=click.Choice(["hour", "day", "week", "month"]), help="Length of a window (day)."),
        click.option("--level", type=click.Choice(["L1", "L2", "L3"]), help="Watch the ECE limit of this ERS level."),
        click.option("--delay", type=float, metavar="DAYS", help="Truth is expected within so many days (7)."),
        click.option(
            "--horizon", type=float, metavar="DAYS", help="After so many days a row counts as never labelled (90)."
        ),
        click.option("--as-of", metavar="DAY", help="Look as on this day: later rows wait, silence counts up to it."),
        *COLUMN_OPTIONS,
        click.option("--json", "as_json", is_flag=True, help="Print everything as JSON."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@monitor.command("look", hidden=True)
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FOLDER…")
@watching_options
@click.option(
    "--output", "-o", default=PAGE, type=click.Path(dir_okay=False), help=f"The page with charts ({PAGE}); '' for none."
)
def look_at(files: tuple[str, ...], output: str, as_json: bool, **options: Any) -> None:
    """Look at the rows or summaries in FOLDER…"""
    from epimeter.monitor import History, arrived, look

    in_a_folder(output or None)
    settings = _settings(options)
    ask = _ask(files[0], settings.unit, options)
    history = History(settings, by=options["by"])
    said = history.feed(_arrivals(files, ask))
    if options["reference"]:
        history.refer(arrived(options["reference"], ask))
    as_of = _as_of(options, settings.unit)
    if as_of is not None:
        said += history.feed(_nothing(), as_of=as_of)
    _show(look(history, now=_now(settings.unit), cautions=said), output, as_json)


@monitor.command("feed")
@click.argument("state", type=click.Path(dir_okay=False))
@click.argument("files", nargs=-1, type=click.Path(), metavar="FILE…")
@watching_options
@click.option(
    "--output", "-o", default="", type=click.Path(dir_okay=False), help="Also write the page with charts here."
)
def feed(state: str, files: tuple[str, ...], output: str, as_json: bool, **options: Any) -> None:
    """Add the windows of FILE… to STATE, or replace them there, and look; without FILE only look.

    STATE is made when it is not there, and keeps its options; a day may be fed again, half labelled and then in full.
    """
    from epimeter.monitor import History, arrived, look
    from epimeter.monitor.notes import note
    from epimeter.monitor.turns import turn

    in_a_folder(output or None)
    in_a_folder(state, "STATE")
    with turn(state, _say):
        history = History.load(state) if os.path.exists(state) else None
        if history is None:
            settings = _settings(options)
            history = History(settings, by=options["by"])
        else:
            settings = history.settings = _settings(options, history.settings.to_dict())
            if options["by"] and tuple(options["by"]) != history.by:
                raise InputError(
                    f"{state} is sliced by {', '.join(history.by) or 'nothing'}; --by cannot change", field="by"
                )
            options["by"] = history.by
        as_of = _as_of(options, settings.unit)
        ask = _ask(state, settings.unit, options, day=as_of)
        if options["reference"]:
            history.refer(arrived(options["reference"], ask))
        said = history.feed(arrived(files, ask) if files else _nothing(), as_of=as_of)
        now = _now(settings.unit)
        if as_of is None:
            history.carry_on(now)
        seen = look(history, now=now, cautions=said)
        note(history, seen)
        history.save(state)
    _show(seen, output, as_json)


@monitor.command("acknowledge")
@click.argument("state", type=click.Path(exists=True, dir_okay=False))
@click.argument("alarm")
@click.option("--by", "who", default="", metavar="NAME", help="Who takes it up.")
def acknowledge(state: str, alarm: str, who: str) -> None:
    """Note in STATE that somebody has taken ALARM up; it stays open until it closes by itself."""
    from epimeter.monitor import History
    from epimeter.monitor.turns import turn

    with turn(state, _say):
        history = History.load(state)
        history.acknowledge(alarm, who)
        history.save(state)
    click.echo(f"acknowledged {alarm}", err=True)


def _say(sentence: str) -> None:
    click.echo(f"epimeter: {sentence}", err=True)


def _settings(options: dict[str, Any], known: dict[str, Any] | None = None) -> Any:
    from epimeter.monitor import MonitorSettings
    from epimeter.monitor.settings import rate_of

    said = {
        "tolerance": options["tolerance"],
        "false_alarms": None if options["false_alarms"] is None else rate_of(options["false_alarms"]),
        "unit": options["window"],
        "level": options["level"],
        "delay": options["delay"],
        "horizon": options["horizon"],
    }
    if known is not None and said["unit"] not in (None, known["unit"]):
        raise InputError(f"the state has one window a {known['unit']}; --window cannot change", field="window")
    return MonitorSettings(**((known or {}) | {name: value for name, value in said.items() if value is not None}))


def _ask(source: str, unit: Any, options: dict[str, Any], day: str | None = None) -> Any:
    from epimeter.monitor.intake import IntakeOptions

    path = Path(source).resolve()
    name = path.name if path.is_dir() else path.stem
    choice = choice_of(*(options[name] for name in ("columns", "forecast", "positive", "classes")))
    return IntakeOptions(
        unit, tuple(options["by"]), options["system"], name or "system", choice, options["format"], day
    )


def _as_of(options: dict[str, Any], unit: Any) -> str | None:
    from epimeter.monitor.window import day_of

    return None if options["as_of"] is None else day_of(options["as_of"], unit, "--as-of")


def _now(unit: Any) -> str:
    from epimeter.monitor.window import day_of

    return day_of(datetime.datetime.now(datetime.UTC).isoformat(), unit, "now")


def _arrivals(files: tuple[str, ...], ask: Any) -> Any:
    """The windows of files, or of a folder into which was collected."""
    from epimeter.monitor import arrived
    from epimeter.monitor.embedded import histories, is_collection
    from epimeter.monitor.window import Arrivals

    if not any(is_collection(file) for file in files):
        return arrived(files, ask)
    if len(files) > 1:
        raise InputError("a folder into which was collected is looked at alone", field="source")
    whole = Arrivals()
    for history in histories(files[0]):
        if history.settings.unit != ask.unit:
            raise InputError(f"{files[0]} was collected with one window a {history.settings.unit}", field="window")
        whole.kind = history.kind
        whole.windows |= {
            p: w
            for p, w in history.windows.items()
            if not p.slice or p.slice.partition("=")[0] in (ask.by or (p.slice.partition("=")[0],))
        }
    return whole


def _nothing() -> Any:
    from epimeter.monitor.window import Arrivals

    return Arrivals()


def _show(seen: Any, output: str, as_json: bool) -> None:
    """Print, write the page, and end with the exit code of the look."""
    from epimeter.monitor.document import page, text

    click.echo(json.dumps(seen.to_dict(), indent=2, allow_nan=False) if as_json else text(seen), nl=as_json)
    if output:
        Path(output).write_text(page(seen), encoding="utf-8")
        click.echo(f"wrote {output}", err=True)
    if seen.exit_code:
        raise click.exceptions.Exit(seen.exit_code)
