# SPDX-License-Identifier: Apache-2.0
"""Which intervals a report shall have, as the options say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click


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
