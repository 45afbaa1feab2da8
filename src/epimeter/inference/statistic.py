# SPDX-License-Identifier: Apache-2.0
"""A metric as resampling sees it: a number of a view, and of any choice of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epimeter.calling import Metric
from epimeter.card_index import find
from epimeter.core.threads import cores
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.results import Result
from epimeter.summaries.atoms import Atoms
from epimeter.summaries.recipe import Recipe
from epimeter.views import View, view


@dataclass(frozen=True)
class Statistic:
    """A metric of the catalogue with its parameters settled, or a function (y_true, y_prob) -> number."""

    name: str
    metric: Metric[Any] | None
    recipe: Recipe | None
    choices: Mapping[str, Any]
    function: Callable[..., float] | None
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Further columns the metric reads, such as features: they stay with their rows."""

    @classmethod
    def of(cls, metric: str | Metric[Any] | Callable[..., float], parameters: Mapping[str, Any] | None) -> Statistic:
        """The statistic of a name, a metric or a function."""
        chosen = dict(parameters or {})
        if isinstance(metric, str):
            metric = find(metric)
        if isinstance(metric, Metric):
            if not metric.of_probabilities:
                raise InputError(f"{metric.name} takes other columns; it cannot be resampled by rows", field="metric")
            names = (*metric.card.needs, *metric.card.takes)
            columns = {name: chosen.pop(name) for name in names if name in chosen}
            for name in metric.card.needs:
                if columns.get(name) is None:
                    raise InputError(
                        f"{metric.name} needs the column {name}; where it is resampled, pass it as "
                        f"metric_params={{{name!r}: …}}, one entry a row",
                        field=name,
                    )
            if "sample_weight" in chosen:
                raise InputError("metric_params must not hold sample_weight; weights are no parameter of a metric")
            recipe, rest = metric.settle(chosen)
            return cls(metric.name, metric, recipe, rest, None, columns)
        if not callable(metric):
            raise InputError(f"metric must be a name or a function; got {metric!r:.60}", field="metric")
        return cls(getattr(metric, "__name__", "function"), None, None, chosen, metric)

    @property
    def weighted(self) -> bool:
        """Whether weights of rows mean anything to it; a function is never told them."""
        return self.metric is not None and self.metric.card.weighted

    def view(self, y_true: Any, y_prob: Any, sample_weight: Any = None) -> View:
        """The rows it is measured on, with the columns it reads."""
        return view(y_true, y_prob, sample_weight=sample_weight, **self.columns)

    def of_view(self, view: View) -> float:
        """Its value on a view."""
        if view.weight is not None and not view.weight.any():
            raise UndefinedMetricError(f"{self.name} needs a row that has weight")
        if self.recipe is None:
            assert self.function is not None
            # In small types 2 * y - 1 wraps round, and half the digits of p are gone in one model but not in the other.
            true = view.true.astype(np.int64, copy=False)
            return float(self.function(true, view.prob.astype(np.float64, copy=False), **self.choices))
        return self.of_summary(self.recipe.summarise(view.read_as(self.recipe.reading)))

    def of_summary(self, summary: Any) -> float:
        """Its value from a summary of its recipe."""
        assert self.metric is not None
        assert self.recipe is not None
        answer = self.metric.compute(self.recipe.finish(summary), **self.choices)
        return answer.headline if isinstance(answer, Result) else float(answer)

    def atoms(self, view: View) -> Atoms | None:
        """The rows of a view as atoms, where its recipe is a sum of whole numbers."""
        return None if self.recipe is None else self.recipe.atoms(view.read_as(self.recipe.reading))


def atoms_of(views: Sequence[View], statistics: Sequence[Statistic]) -> list[dict[Recipe, Atoms]]:
    """The atoms of each view, by recipe, for the statistics whose recipe is a sum of whole numbers."""
    recipes = list(dict.fromkeys(s.recipe for s in statistics if s.recipe is not None))
    asked = [(recipe, view.read_as(recipe.reading)) for view in views for recipe in recipes]
    with ThreadPoolExecutor(cores()) as pool:
        made = iter(list(pool.map(lambda one: one[0].atoms(one[1]), asked)))
    found = [{recipe: next(made) for recipe in recipes} for _ in views]
    return [{recipe: atoms for recipe, atoms in of_view.items() if atoms is not None} for of_view in found]
