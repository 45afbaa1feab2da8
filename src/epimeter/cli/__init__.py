# SPDX-License-Identifier: Apache-2.0
"""The command line: one function per command; each parses, calls one function, prints.

Exit codes: 0 done, 1 «no» (a requirement is not met), 2 wrong use or bad input.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import Any

import click

from epimeter import __version__
from epimeter.errors import EpimeterError

COMMANDS = {
    "evaluate": "epimeter.cli.evaluate",
    "convert": "epimeter.cli.convert",
    "summarise": "epimeter.cli.summarise",
    "merge": "epimeter.cli.merge",
    "report": "epimeter.cli.report",
    "sql": "epimeter.cli.sql",
    "passport": "epimeter.cli.passport",
    "draw": "epimeter.cli.draw",
    "test": "epimeter.cli.test",
    "compare": "epimeter.cli.compare",
    "judge": "epimeter.cli.judge",
    "slices": "epimeter.cli.slices",
    "gate": "epimeter.cli.gate",
    "recalibrate": "epimeter.cli.recalibrate",
    "plan": "epimeter.cli.plan",
    "collect": "epimeter.cli.collect",
    "monitor": "epimeter.cli.monitor",
    "metrics": "epimeter.cli.metrics",
    "demo": "epimeter.cli.demo",
    "simulate": "epimeter.cli.simulate",
    "experiment": "epimeter.cli.experiment",
    "serve": "epimeter.cli.serve",
    "backup": "epimeter.cli.backup",
    "restore": "epimeter.cli.backup",
    "succeed": "epimeter.cli.backup",
    "submit": "epimeter.cli.submit",
    "keys": "epimeter.cli.keys",
    "preregister": "epimeter.cli.preregister",
    "certify": "epimeter.cli.certify",
    "renew": "epimeter.cli.renew",
    "certificates": "epimeter.cli.certificates",
    "attest": "epimeter.cli.attest",
    "verify": "epimeter.cli.verify",
    "reproduce": "epimeter.cli.reproduce",
    "disclose": "epimeter.cli.disclose",
    "revoke": "epimeter.cli.revoke",
    "export": "epimeter.cli.export",
    "log": "epimeter.cli.log",
}
"""Command and the module that holds it; a module is loaded when its command is typed."""


class Commands(click.Group):
    """Commands that are imported only when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(COMMANDS[cmd_name]), cmd_name)
        assert isinstance(command, click.Command)
        return command


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="epimeter")
def epimeter() -> None:
    """A thermometer for what AI systems claim to know.

    \b
    epimeter demo                     a bundled data set, end to end
    epimeter evaluate FILE            measure predictions in a file
    epimeter convert LOG… -o FILE     evaluation logs of language models as a table, one row an answer
    epimeter summarise FILE… -o S     some kilobytes for later: merge S… -o ALL, report ALL
    epimeter sql --dialect D          a query that sums where the rows are, for report --from-sums
    epimeter draw FILE                draw a curve of them: reliability, isotonic, Brier and others
    epimeter passport FILE            the epistemic passport, as JSON or PDF
    epimeter test FILE                is the model calibrated; is its error at most tau
    epimeter compare A B              do models differ, on the same rows or on different ones
    epimeter judge FILE               accuracy where a judge graded all answers and people some
    epimeter slices FILE              where it says too much or too little: segments of crossed columns
    epimeter gate                     hold predictions against the policy in epimeter.toml, for CI
    epimeter recalibrate FILE         maps from what is stated to what comes true: compare, fit, apply
    epimeter plan --expected-ece E    how many rows make a verdict firm; --metric M --limit L
    epimeter collect FOLDER FILE…     predictions now, outcomes later, joined by id
    epimeter monitor FOLDER           calibration over time, with alarms that hold their rate
    epimeter metrics [NAME]           all metrics, or the card of one
    epimeter simulate NAME -o FILE    forecasts whose true calibration is known
    epimeter experiment NAME FOLDER   a study that can be run again
    epimeter keys init FOLDER         become an issuer; then certify FILE, renew FILE, certificates, log publish
    epimeter verify CERT --key KEY    is a certificate authentic, current, consistent
    epimeter reproduce CERT DATA      compute it again from the data and compare every byte
    epimeter serve                    API, registry, log and signal; then submit FILE --server URL
    """


def main(arguments: list[str] | None = None) -> None:
    """Run a command; whatever goes wrong is one sentence on standard error, never a traceback."""
    _mend_streams()
    # What imports make stays: looking for rubbish among it every 700 objects is an eighth of a cold start.
    gc.set_threshold(100_000)
    try:
        code: Any = epimeter.main(args=arguments, prog_name="epimeter", standalone_mode=False)
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.ClickException as misuse:
        _say(misuse.format_message())
        code = 2
    except click.Abort:
        _say("stopped")
        code = 130
    except EpimeterError as refusal:
        _say(str(refusal))
        code = 2
    except BrokenPipeError:  # the reader of our output went away: not a fault
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except MemoryError:
        _say("not enough memory for these data; evaluate fewer rows or fewer metrics at a time")
        code = 2
    except OSError as fault:
        _say(f"{fault.filename or 'the system'}: {fault.strerror or fault}")
        code = 2
    except Exception as fault:
        if os.environ.get("EPIMETER_TRACE"):
            raise
        _say(f"a fault of epimeter itself ({type(fault).__name__}: {fault}); EPIMETER_TRACE=1 shows where")
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


def _mend_streams() -> None:
    """Output that was closed goes nowhere; letters that an output has no code for are written as escapes."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _say(sentence: str) -> None:
    click.echo(f"epimeter: {sentence}", err=True)
