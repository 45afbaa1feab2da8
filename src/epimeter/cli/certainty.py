# SPDX-License-Identifier: Apache-2.0
"""Which intervals a report shall have, as the options say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
from click.core import ParameterSource


@dataclass(frozen=True)
class Certainty:
    """The options --interval, --level, --draws and --seed."""

    interval: str = "auto"
    level: float = 0.95
    draws: int = 1000
    seed: int = 0

    def of_rows(self) -> dict[str, Any]:
        """For an evaluation of rows in memory."""
        kinds = {"auto": "asymptotic", "none": None}
        return {
            "intervals": kinds.get(self.interval, self.interval),
            "level": self.level,
            "draws": self.draws,
            "seed": self.seed,
        }

    def of_forecasts(self) -> dict[str, Any]:
        """For forecasts of a number or a set, whose own levels are another thing."""
        return {
            "intervals": {"none": None, "bootstrap": "basic"}.get(self.interval, self.interval),
            "interval_level": self.level,
            "draws": self.draws,
            "seed": self.seed,
        }

    def of_pass(self) -> dict[str, Any]:
        """For a pass over files, which keeps totals and no rows to draw from."""
        if self.interval == "bootstrap" or (self.draws, self.seed) != (1000, 0):
            raise click.UsageError(
                "--interval bootstrap, --draws and --seed need the rows of one file in memory; a pass over many or large files "
                "has asymptotic intervals"
            )
        return {"intervals": None if self.interval == "none" else "asymptotic", "level": self.level}


def refuse_idle(context: click.Context, interval: str, drawing: tuple[str, ...]) -> None:
    """Refuse what only a bootstrap reads where none is drawn (`drawing`: the words that draw one), and a level of no interval."""
    for name in ("draws", "seed"):
        if interval not in drawing and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is for --interval bootstrap; without it it would change nothing")
    if interval == "none" and context.get_parameter_source("level") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--level is that of intervals, and --interval none leaves them out; give one of the two")
