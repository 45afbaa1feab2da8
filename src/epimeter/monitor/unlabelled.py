# SPDX-License-Identifier: Apache-2.0
"""What can be seen without truth: drift of the confidences, waiting rows, silence, feeds that repeat themselves, scales."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.monitor.alarm import Alarm
from epimeter.monitor.cells import CLASSES, FEWEST_TO_REPEAT, NEVER, OFF_SCALE, SCALE, SHOWN, added, same_stated
from epimeter.monitor.intake import listed
from epimeter.monitor.series import Series
from epimeter.monitor.settings import MonitorSettings
from epimeter.monitor.window import Window, between, later

PSI_SOME, PSI_MUCH = 0.1, 0.25
"""Population stability index from which a drift is called moderate, and large (Siddiqi 2006)."""


@dataclass(frozen=True)
class Drift:
    """Confidences of the last week beside those of the reference.

    Attributes
    ----------
    ks
        Greatest distance of the two distribution functions at the borders of 20 cells: at most the Kolmogorov-Smirnov distance.
    psi
        Population stability index over the 20 cells.
    waiting
        Share of the week's rows whose truth is not known.
    expected
        Mean confidence of the week: the share that would come true if every confidence were right. An assumption.
    delay
        Mean days until truth came, where its moment is known.
    """

    rows: int
    ks: float
    psi: float
    waiting: float
    expected: float
    delay: float | None

    @property
    def word(self) -> str:
        return "large" if self.psi > PSI_MUCH else "moderate" if self.psi > PSI_SOME else "small"

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "rows": self.rows,
            "ks_at_least": round(self.ks, 6),
            "psi": round(self.psi, 6),
            "drift": self.word,
            "unlabelled_share": round(self.waiting, 6),
            "expected_if_calibrated": round(self.expected, 6),
            "expected_is": "an assumption, not a measurement",
            "delay_days": None if self.delay is None else round(self.delay, 3),
        }


def drift(reference: NDArray[Any], week: Window) -> Drift | None:
    """The drift of a week's confidences; None without rows on either side."""
    n, m = week.n_rows, float(reference.sum())
    if not n or not m:
        return None
    # Half a row in every cell: an empty one has no logarithm.
    here = (week.shown + 0.5) / (n + 0.5 * len(week.shown))
    there = (reference + 0.5) / (m + 0.5 * len(week.shown))
    return Drift(
        n,
        float(np.abs(np.cumsum(week.shown) / n - np.cumsum(reference) / m).max()),
        float(((here - there) * np.log(here / there)).sum()),
        1 - week.n_labelled / n,
        float(week.stated.floats()) / n,
        week.delay / week.delays / 86_400 if week.delays else None,
    )


def last_week(found: Series, name: str, settings: MonitorSettings) -> Window:
    """The rows of the last sliding week of a slice."""
    return Window(added(found.cells[-settings.sliding :, found.slices.index(name)]))


def usual_gap(gaps: Sequence[int]) -> int:
    """Windows from one with predictions to the next, as a rule."""
    return max(1, int(np.median(gaps))) if max(gaps, default=1) > 1 else 1


def overdue(active: str, judged: str, truth: str, usual: int, settings: MonitorSettings, as_of: str) -> dict[str, str]:
    """What does not come, and the window in which that became too long: the same at every later look.

    `active`, `judged` and `truth` are the last windows with predictions, with predictions on the scale of probabilities, and
    with outcomes: no truth is missed for what cannot be judged.
    """
    since = {
        "predictions": later(active, settings.unit, 2 * usual + 1),
        "truth": later(truth, settings.unit, settings.windows(settings.delay) + 2 * usual + 1),
    }
    if judged <= truth:
        del since["truth"]
    return {about: opened for about, opened in since.items() if opened <= as_of}


@dataclass(frozen=True)
class Missing:
    """What does not come.

    Attributes
    ----------
    opened
        The window in which its absence became too long.
    last
        The last window that has it.
    """

    opened: str
    last: str


def missing(found: Series, settings: MonitorSettings, as_of: str) -> dict[str, Missing]:
    """Predictions and truth that do not come, by their times alone."""
    unit = settings.unit
    active = [found.starts[t] for t in found.active]
    if not active:
        return {}
    gaps = [between(a, b, unit) for a, b in zip(active[:-1], active[1:], strict=True)]
    labelled = [found.starts[t] for t in found.labelled]
    truth = labelled[-1] if labelled else later(active[0], unit, -1)
    judged = [found.starts[t] for t in np.flatnonzero(found.whole[:, SHOWN].any(axis=-1))]
    late = overdue(active[-1], judged[-1] if judged else truth, truth, usual_gap(gaps), settings, as_of)
    last = {"predictions": active[-1], "truth": truth}
    return {about: Missing(opened, last[about]) for about, opened in late.items()}


def silence(
    found: Series, settings: MonitorSettings, as_of: str, raised: Mapping[str, str], held: Container[str]
) -> list[Alarm]:
    """Alarms for what does not come: predictions, truth, anything new.

    `raised` are the episodes that are open, by what they are about, with the window in which they were opened: while days of
    the past come in one after the other the last one moves, and the episode stays the same. `held` are those that are not
    raised yet. While no predictions come, that no truth comes either is not told anew: with each day of the past it would
    begin and end.
    """
    words = {
        "predictions": ("No predictions have come", "Is the system switched off, or the feed broken?"),
        "truth": (
            "No truth has come for predictions made",
            f"It is expected within {settings.delay:g} days; is its source broken?",
        ),
    }
    made = [
        _silent(found, about, one.last, raised.get(about, one.opened), as_of, *words[about])
        for about, one in missing(found, settings, as_of).items()
        if about in raised or (about not in held and not (about == "truth" and "predictions" in raised))
    ]
    return made + _repeats(found)


def _silent(found: Series, about: str, last: str, opened: str, as_of: str, what: str, advice: str) -> Alarm:
    return Alarm(
        kind="silence",
        about=about,
        system=found.system,
        slices=("",),
        opened=opened,
        since=(last, last, last),
        what=what,
        sure=f"counted as of {as_of}",
        advice=advice,
    )


def _repeats(found: Series) -> list[Alarm]:
    """A window that holds exactly the confidences of the one before it: the feed repeats itself."""
    made: list[Alarm] = []
    said = found.whole[1:, SHOWN].sum(axis=-1)
    same = [False, *(same_stated(found.whole[1:], found.whole[:-1]) & (said >= FEWEST_TO_REPEAT)).tolist(), False]
    turns = np.flatnonzero(np.diff(same)) + 1
    for first, end in zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True):
        began = found.starts[first]
        made.append(
            Alarm(
                kind="silence",
                about="repeats",
                system=found.system,
                slices=("",),
                opened=began,
                since=(began, began, began),
                what=f"The feed repeats itself: {listed(found.starts[first:end])} hold exactly the forecasts of "
                f"{found.starts[first - 1]},",
                sure="counted, to the last bit of their sum",
                advice="The same rows were probably sent again; correct the feed and feed these windows again",
                closed=found.starts[end] if end < len(found.starts) else None,
            )
        )
    return made


def off_scale(found: Series) -> list[Alarm]:
    """Windows whose confidences are no probabilities."""
    off = found.whole[:, OFF_SCALE]
    wrong = [found.starts[t] for t in np.flatnonzero(off)]
    if not wrong:
        return []
    greatest = float(found.whole[:, SCALE].view(np.float64).max())
    after = [found.starts[t] for t in found.active if found.starts[t] > wrong[-1]]
    return [
        Alarm(
            kind="scale",
            system=found.system,
            slices=("",),
            opened=wrong[0],
            since=(wrong[0], wrong[0], wrong[0]),
            what=f"Forecasts are on another scale, up to {greatest:g}: percent?",
            sure=f"{int(off.sum()):,} rows of {len(wrong)} windows hold values above 1; they were not judged",
            advice="Divide them by 100 at the source, and feed these windows again",
            closed=after[0] if after else None,
        )
    ]


def cautions(found: Series, settings: MonitorSettings, as_of: str, week: Drift | None) -> list[str]:
    """What should be known when the numbers are read."""
    said = []
    if found.future:
        said.append(
            f"{found.future:,} {'row lies' if found.future == 1 else 'rows lie'} in the future, after {as_of}; kept, and judged "
            "when their time has come"
        )
    active = [found.starts[t] for t in found.active]
    if active:
        missing = between(active[0], active[-1], settings.unit) + 1 - len(active)
        if missing > 0:
            said.append(f"{missing:,} windows between {active[0]} and {active[-1]} have no rows")
    classes = found.whole[:, CLASSES]
    counts = [(found.starts[t], int(classes[t])) for t in np.flatnonzero(classes)]
    for (_, before), (start, now) in zip(counts[:-1], counts[1:], strict=True):
        if now != before:
            said.append(
                f"from {start} on there are {now} classes, before there were {before}; top answers are compared all the same"
            )
    if week is not None and week.psi > PSI_SOME:
        said.append(
            f"the forecasts of the last week have drifted ({week.word}: population stability {week.psi:.2f}, "
            f"distance {week.ks:.2f}); that alone says nothing about their calibration"
        )
    never = int(found.whole[:, NEVER].sum())
    if never:
        said.append(f"{never:,} predictions were never labelled within {settings.horizon:g} days")
    return said
