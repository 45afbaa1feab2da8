# SPDX-License-Identifier: Apache-2.0
"""Do two models differ? Their predictions are swapped row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric as card
from epimeter.errors import InputError
from epimeter.inference import draws as random
from epimeter.inference.consistency import Alpha
from epimeter.inference.critical import Alternative
from epimeter.inference.statistic import Statistic, atoms_of
from epimeter.limits import AtLeast
from epimeter.results import Result
from epimeter.summaries.atoms import HALF, Atoms
from epimeter.summaries.fixed import STEPS
from epimeter.summaries.recipe import Recipe
from epimeter.views import View

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PermutationTest(Result):
    """The difference of two models and its Monte-Carlo p-value."""

    value: float
    p_value: float
    reject: bool
    null_mean: float
    null_sd: float


class Swapping:
    """The difference of two models after their predictions change places in some rows.

    Where a metric is a sum of atoms, both sides follow from what the swapped rows add to either model. `atoms` are what
    `atoms_of` gives for both, where it was asked already; those of `n_blocks` blocks of rows, where that is given.
    """

    def __init__(
        self,
        first: View,
        second: View,
        statistics: Sequence[Statistic],
        atoms: Sequence[dict[Recipe, Atoms]] | None = None,
        n_blocks: int | None = None,
    ) -> None:
        if first.prob.shape != second.prob.shape:
            shapes = f"{first.prob.shape} and {second.prob.shape}"
            raise InputError(f"both models must have predictions of one shape; got {shapes}")
        self.first, self.second, self.statistics = first, second, statistics
        one, other = atoms_of([first, second], statistics) if atoms is None else atoms
        asked = {statistic.recipe for statistic in statistics}
        self.pairs = {recipe: (one[recipe], other[recipe]) for recipe in one if recipe in other and recipe in asked}
        ones = np.ones(first.n_rows if n_blocks is None else n_blocks, np.int32)
        self.whole = {recipe: (a.totals(ones), b.totals(ones)) for recipe, (a, b) in self.pairs.items()}
        plain = {recipe: pair for recipe, pair in self.pairs.items() if pair[0].order is None and pair[1].order is None}
        self.alike = {recipe: b.minus(a) for recipe, (a, b) in plain.items()}

    def differences(self, bits: NDArray[np.uint8], replicates: int) -> Sequence[Floats]:
        """The differences of the statistics in some replicates; the rows whose byte has bit r change places in the r-th."""
        sides = {}
        for recipe, (a, b) in self.pairs.items():
            if recipe in self.alike:
                more = self.alike[recipe].chosen_totals(bits, replicates)
            else:
                more = b.chosen_totals(bits, replicates) - a.chosen_totals(bits, replicates)
            sides[recipe] = self.whole[recipe][0] + more, self.whole[recipe][1] - more
        return [
            np.array([self._difference(s, sides, bits, place) for s in self.statistics]) for place in range(replicates)
        ]

    def _difference(self, statistic: Statistic, sides: dict[Any, Any], bits: NDArray[np.uint8], place: int) -> float:
        if statistic.recipe is not None and statistic.recipe in sides:
            assemble = self.pairs[statistic.recipe][0].assemble
            left, right = (statistic.of_summary(assemble(side[place])) for side in sides[statistic.recipe])
            return left - right
        change = (bits >> place & 1) == 1
        mask = change.reshape((len(bits),) + (1,) * (self.first.prob.ndim - 1))
        mixed = [
            replace(one, true=np.where(change, other.true, one.true), prob=np.where(mask, other.prob, one.prob))
            for one, other in ((self.first, self.second), (self.second, self.first))
        ]
        return statistic.of_view(mixed[0]) - statistic.of_view(mixed[1])


def swapped(
    first: View, second: View, statistics: Sequence[Statistic], draws: int, seed: int, threads: int | None = None
) -> Floats:
    """The differences of the metrics after swapping about half of the rows between the models, shape (draws, statistics)."""
    swapping, generator = Swapping(first, second, statistics), random.words(seed)

    def some(group: range) -> Sequence[Floats]:
        return swapping.differences(random.side_bits(generator, group, first.n_rows), len(group))

    return np.stack(random.replicates(draws, some, threads))


def tail_bound(first: Atoms, second: Atoms, value: float) -> float:
    """At most so likely is a difference of means as large as `value` when rows are swapped, however many are drawn.

    Swapping gives every row's difference a random sign, and a sum of such is below its square root of squares times t but for
    a chance of 2 exp(-t^2 / 2) (Hoeffding 1963, theorem 2): no law is assumed, and draws set no least p-value.
    """
    _, units, high, low, plus, minus = (column.astype(np.float64) for column in first.minus(second).columns)
    if not math.isfinite(value) or plus.any() or minus.any():
        return 1.0
    differences = units + (high * (1 << HALF) + low) / (1 << STEPS)
    squares = float(np.sum(differences**2))
    return min(1.0, 2 * math.exp(-((value * len(differences)) ** 2) / (2 * squares))) if squares > 0 else 1.0


@card(
    title="Paired permutation test of two models",
    family="test",
    equation=r"D=T(y,p^a)-T(y,p^b),\ D^*_r=T(y,\tilde p^a)-T(y,\tilde p^b),\ p=\frac{1+\#\{|D^*_r|\ge|D|\}}{R+1}",
    where={"p̃": "the two predictions of a row change places if u < 1/2", "R": "draws"},
    source="Fisher 1935; Good 2005; Lane 2025 s2.4",
    ideal=0.0,
    direction="signed",
    test="resampling",
    pitfalls="What is tested is exchangeability: two models with the same calibration error but different sharpness are not "
    "exchangeable. Report bootstrap_difference beside it.",
    aliases=("swap test", "randomisation test", "sign-flip test"),
)
def paired_permutation_test(
    y_true: Any,
    prob_a: Any,
    prob_b: Any,
    *,
    metric: Any = "brier_score",
    metric_params: Any = None,
    alternative: Alternative = "two-sided",
    alpha: Alpha = 0.05,
    draws: Annotated[int, AtLeast(1)] = 999,
    seed: int = 0,
    threads: int | None = None,
) -> PermutationTest:
    """Test whether two models measured on the same rows differ.

    Parameters
    ----------
    metric
        Name of a metric of the catalogue, or a function (y_true, y_prob) -> number.
    metric_params
        Parameters of that metric; columns it reads beside the forecasts, such as features, stay with their rows.
    alternative
        ``two-sided``, ``greater`` (the first model has the larger value) or ``less``.
    alpha
        Level of the test.
    draws
        Number of permutations.
    seed
        Seed of PCG64.
    threads
        How many threads draw; the answer does not depend on it.
    """
    statistic = Statistic.of(metric, metric_params)
    first, second = statistic.view(y_true, prob_a), statistic.view(y_true, prob_b)
    value = statistic.of_view(first) - statistic.of_view(second)
    drawn = swapped(first, second, [statistic], draws, seed, threads)[:, 0]
    if alternative == "two-sided":
        reached = random.at_least(np.abs(drawn), abs(value))
    elif alternative == "greater":
        reached = random.at_least(drawn, value)
    else:
        reached = random.at_most(drawn, value)
    p_value = (1 + int(reached.sum())) / (draws + 1)
    return PermutationTest(
        value=value,
        p_value=p_value,
        reject=bool(p_value <= alpha),
        null_mean=float(drawn.mean()),
        null_sd=float(drawn.std(ddof=1)) if draws > 1 else math.nan,
    )
