# SPDX-License-Identifier: Apache-2.0
"""Rows with weights: the loop of the core gives what the recipes themselves do, in any order of the rows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import epimeter
from epimeter.passes.plan import Plan
from epimeter.summaries import Bins
from epimeter.summaries.paired import Paired
from epimeter.summaries.weighed_rows import weighed_summaries
from epimeter.views import view

N = 9_001
SHAPES = {
    "even": lambda rng: rng.random(N),
    "near the ends": lambda rng: rng.beta(0.1, 0.1, N),
    "tenths, 0 and 1 among them": lambda rng: rng.integers(0, 11, N) / 10,
    "next to 0, a half and 1": lambda rng: (
        rng.choice([0.0, 0.5, 1.0], N) + rng.choice([1, -1], N) * 10.0 ** rng.uniform(-40, -4, N)
    ).clip(0, 1),
    "single": lambda rng: rng.random(N).astype(np.float32),
}
WEIGHTS = {
    "even": lambda rng: rng.random(N),
    "of all sizes": lambda rng: 10.0 ** rng.uniform(-30, 9, N),
    "whole, 0 among them": lambda rng: rng.integers(0, 4, N).astype(np.float64),
}


def columns(shape, weight):
    rng = np.random.default_rng(5)
    p, w = SHAPES[shape](rng), WEIGHTS[weight](rng)
    return ((rng.random(N) < p) ^ (rng.random(N) < 0.01)).astype(np.uint8), p, w


def numbers(summary):
    for field in dataclasses.fields(summary):
        value = getattr(summary, field.name)
        if value is not None and field.name != "edges":
            yield field.name, np.asarray(value.floats() if isinstance(value, Paired) else value, np.float64)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_loop_gives_what_the_recipes_give(shape, weight):
    y, p, w = columns(shape, weight)
    rows = view(y, p, sample_weight=w)
    recipes = Plan.of(None, {}, kind="event", weighted=True).streaming
    made = weighed_summaries(rows, recipes)
    assert set(made) == set(recipes)
    for recipe, summary in made.items():
        for (name, by_loop), (_, alone) in zip(numbers(summary), numbers(recipe.summarise(rows)), strict=True):
            # What cancels is known to the last digit of what was added up.
            np.testing.assert_allclose(
                by_loop, alone, rtol=4e-15, atol=1e-15 * np.abs(alone).max(), err_msg=f"{recipe} {name}"
            )


@pytest.mark.parametrize("shape", SHAPES)
def test_a_weighted_report_does_not_depend_on_the_order_of_the_rows(shape):
    y, p, w = columns(shape, "even")
    one = epimeter.evaluate(y, p, sample_weight=w).to_dict()["measurements"]
    for order in (np.arange(N)[::-1], np.random.default_rng(1).permutation(N)):
        again = epimeter.evaluate(y[order], p[order], sample_weight=w[order]).to_dict()["measurements"]
        for before, after in zip(one, again, strict=True):
            if "infinite" in before:  # says which rows, by their place
                before, after = ({**line, "infinite": ""} for line in (before, after))
            assert before == after


def test_a_recipe_of_many_bins_and_weights_beyond_squares_go_their_own_way():
    y, p, w = columns("even", "even")
    many, few = Bins(300), Bins(10)
    assert set(weighed_summaries(view(y, p, sample_weight=w), [many, few])) == {few}
    assert weighed_summaries(view(y, p, sample_weight=w * 1e-200), [few]) == {}
    light = epimeter.metrics.ece(y, p, sample_weight=w * 1e-200)
    assert light == pytest.approx(epimeter.metrics.ece(y, p, sample_weight=w), rel=1e-12)


def test_every_metric_that_has_a_loop_has_it_for_weights_too():
    y, p, w = (column[:500] for column in columns("even", "even"))
    served = weighed_summaries(
        view(y, p, sample_weight=w), Plan.of("all", {}, kind="event", weighted=True, n_rows=500).streaming
    )
    assert "OntoBins" in {type(recipe).__name__ for recipe in served}
    report = epimeter.evaluate(y, p, sample_weight=w, metrics=["onto_ece"])
    assert report["onto_ece"].value == epimeter.metrics.onto_ece(y, p, sample_weight=w).ece
