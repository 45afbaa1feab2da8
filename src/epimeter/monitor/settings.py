# SPDX-License-Identifier: Apache-2.0
"""How a system is watched: tolerance, false alarms, windows, limits."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from epimeter.errors import InputError
from epimeter.monitor.window import A_YEAR, Unit, unit_of
from epimeter.standards.ers import LEVELS

PERIODS = {"day": 365.25, "week": 365.25 / 7, "month": 12.0, "quarter": 4.0, "year": 1.0, "decade": 0.1}
RATE = re.compile(
    r"\s*(?:at most\s+)?(\d+(?:\.\d+)?|one|once)\s*(?:per|a|an|in a|/|every)\s*([a-z]+)\s*$", re.IGNORECASE
)
WEEK: dict[Unit, int] = {"hour": 168, "day": 7, "week": 1, "month": 1}
"""Windows of the sliding week that is measured (ERS: seven days); at least one window."""


@dataclass(frozen=True, kw_only=True)
class MonitorSettings:
    """What is asked of a monitor.

    Attributes
    ----------
    tolerance
        A change of the gap between outcome and confidence up to this is harmless.
    false_alarms
        Change alarms a year, at most, over all slices of a system together, while nothing changes.
    unit
        The length of a window.
    level
        The ERS level whose limit of the ECE is watched; None for none.
    delay
        Days within which truth is expected.
    horizon
        Days after which a prediction without truth counts as never labelled.
    """

    tolerance: float = 0.01
    false_alarms: float = 1.0
    unit: Unit = "day"
    level: str | None = None
    delay: float = 7.0
    horizon: float = 90.0

    def __post_init__(self) -> None:
        unit_of(self.unit)
        levels = [level.name for level in LEVELS]
        wrong = (
            ("tolerance", not 0 <= self.tolerance < 1, "at least 0 and below 1"),
            ("false_alarms", not 0 < self.false_alarms < float("inf"), "above 0 a year"),
            ("level", self.level is not None and self.level not in levels, f"one of {', '.join(levels)}"),
            ("delay", not self.delay >= 0, "at least 0 days"),
            ("horizon", not self.horizon >= self.delay, "at least the delay"),
        )
        for name, holds, wanted in wrong:
            if holds:
                raise InputError(f"{name} must be {wanted}; got {getattr(self, name)!r:.40}", field=name)
        if self.threshold < 2:
            raise InputError(
                f"false alarms must be rarer than every second window; {self.false_alarms:g} a year are one in "
                f"{self.threshold:.2g} windows of one {self.unit}",
                field="false_alarms",
            )

    @property
    def threshold(self) -> float:
        """Windows between two false alarms, at least on average: where the detector raises an alarm."""
        return A_YEAR[self.unit] / self.false_alarms

    @property
    def sliding(self) -> int:
        """Windows of the sliding week."""
        return WEEK[self.unit]

    @property
    def limit(self) -> float | None:
        """The greatest ECE that the level allows."""
        return next((level.ece for level in LEVELS if level.name == self.level), None)

    def windows(self, days: float) -> int:
        """So many days in windows, rounded up."""
        return -int(-days * A_YEAR[self.unit] // 365.25)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def rate_of(text: str) -> float:
    """False alarms a year from words such as `1 per year`, `2 per month`, `one in a decade`."""
    found = RATE.match(text)
    number, period = found.groups() if found else ("", "")
    a_year = PERIODS.get(period.lower().removesuffix("s"))
    if a_year is None:
        raise InputError(
            f"false alarms must be a number a period ({', '.join(PERIODS)}), such as '1 per year'; got {text!r:.40}",
            field="false_alarms",
        )
    return (1.0 if number.lower() in ("one", "once") else float(number)) * a_year
