# SPDX-License-Identifier: Apache-2.0
"""Models from best to worst by a metric, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import find
from epimeter.inference.statistic import Statistic
from epimeter.inference.tables import Comparison
from epimeter.views import View

Floats = NDArray[np.float64]


def leaderboard(
    names: Sequence[str],
    statistics: Sequence[Statistic],
    views: Sequence[View],
    drawn: Floats,
    made: Comparison,
    level: float,
) -> dict[str, list[dict[str, Any]]]:
    """The models from best to worst by every metric that has a better, and how sure that is.

    `ranks` are the first and last rank that a model has in replicates, the rarest on either side aside, so that together they
    hold it in a share `level` of them; `best_in` is the share in which it is the best, ties shared; `beaten_by` are the models
    that are better by an established difference.
    """
    ranking = {}
    for s, statistic in enumerate(statistics):
        badness = badness_of(statistic.name, np.array([[statistic.of_view(v) for v in views]]))
        if badness is None or not np.isfinite(drawn[:, :, s]).all():
            continue
        again = badness_of(statistic.name, drawn[:, :, s])
        assert again is not None
        best = again == again.min(axis=1, keepdims=True)
        share = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
        ranks = np.sort(1 + (again[:, None, :] < again[:, :, None]).sum(axis=2), axis=0)
        beyond = int((1 - level) / 2 * len(ranks))
        lines = []
        for place in np.argsort(badness[0], kind="stable"):
            mine = [d for d in made if d.metric == statistic.name and names[place] in (d.first, d.second)]
            beaten = [d.better for d in mine if d.better and d.better != names[place]]
            lines.append(
                {
                    "model": names[place],
                    "value": statistic.of_view(views[place]),
                    "rank": 1 + int((badness[0] < badness[0, place]).sum()),
                    "ranks": [int(ranks[beyond, place]), int(ranks[-1 - beyond, place])],
                    "best_in": float(share[place]),
                    "beaten_by": beaten,
                }
            )
        ranking[statistic.name] = lines
    return ranking


def badness_of(metric: str, values: Floats) -> Floats | None:
    """Values turned so that smaller is better; None where a metric has no better."""
    card = find(metric).card
    if card.direction == "signed" and card.ideal is not None:
        return np.abs(values - card.ideal)
    return values if card.direction == "lower" else -values if card.direction == "higher" else None


def better_of(metric: str, values: tuple[float, float], first: str, second: str) -> str:
    """The better of two models; empty where a metric has no better or both are alike."""
    badness = badness_of(metric, np.array(values))
    if badness is None or badness[0] == badness[1]:
        return ""
    return first if badness[0] < badness[1] else second
