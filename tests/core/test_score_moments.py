"""How much a score varies comes from the pass: the same bits in any order, from memory, files, slices and merged summaries."""

import numpy as np
import pytest

import epimeter
from epimeter import scan
from epimeter.card_index import find
from epimeter.inference.known import moment_recipes
from epimeter.passes.ledger import joined
from epimeter.report.building import reports
from epimeter.report.scan import summarised
from epimeter.summaries.score_moments import MomentsOf
from epimeter.summary_files import packed, unpacked
from epimeter.views import Binary, view
from slow_rows import same

SCORES = ("brier_score", "nll", "ecd", "spherical_score", "success_rate", "eo_ratio", "ecd_test", "root_brier_score")
METRICS = ("ece", "esce", "brier_score", "nll", "ecd", "spherical_score", "success_rate", "eo_ratio", "dpe", "ecd_test")


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.choice([rng.random(n), np.round(rng.random(n), 1)])
    return (rng.random(n) < p**1.2).astype(np.uint8), p


def ends(report):
    return {
        one.metric: None if one.interval is None else (one.interval.low, one.interval.high, one.interval.method)
        for one in report.measurements
    }


SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "certain": lambda rng, n: rng.choice([0.0, 0.3, 0.5, 1.0], n),
    "near certainty and a half": lambda rng, n: (
        rng.choice([0.0, 0.5, 1.0], n) + rng.choice([1, -1], n) * 10.0 ** rng.uniform(-320, -6, n)
    ).clip(0, 1),
}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_loop_has_the_integers_of_the_scores(name, shape):
    rng = np.random.default_rng(2)
    p = SHAPES[shape](rng, 9_001)
    given = Binary((rng.random(len(p)) < p).astype(np.uint8), p)
    recipe = MomentsOf.of_recipe(find(name).reads)
    assert recipe.loop is not None
    assert same(recipe.summarise(given), recipe.by_score(given))


def test_the_moments_are_those_of_the_scores():
    y, p = rows(5_000)
    recipe = MomentsOf.of_recipe(find("nll").reads)
    scores = recipe.score(view(y, p))
    error, third = recipe.of(view(y, p)).error(np.array([scores.mean()]), np.ones(1))
    spread = scores.std(ddof=1)
    assert error == pytest.approx(spread / np.sqrt(5_000), rel=1e-9)
    assert third == pytest.approx(np.mean(((scores - scores.mean()) / spread) ** 3), rel=1e-9)


def test_intervals_have_the_same_bits_in_any_order_of_the_rows():
    y, p = rows(30_000)
    order = np.random.default_rng(1).permutation(30_000)
    assert ends(epimeter.evaluate(y, p, metrics=METRICS)) == ends(
        epimeter.evaluate(y[order], p[order], metrics=METRICS)
    )


def test_a_pass_has_the_intervals_of_memory_by_slice_as_well():
    y, p = rows(12_000)
    code = np.arange(12_000) % 3
    columns = {"correct": y, "confidence": p, "model": code}
    assert ends(scan(columns, METRICS)) == ends(epimeter.evaluate(y, p, metrics=METRICS))
    assert all(ends(scan(columns, METRICS)).values())
    for value, report in scan(columns, METRICS, by="model").items():
        assert ends(report) == ends(epimeter.evaluate(y[code == value], p[code == value], metrics=METRICS))


def test_weights_and_classes_have_intervals_in_a_pass():
    y, p = rows(6_000)
    weight = np.random.default_rng(3).random(6_000)
    here = ends(epimeter.evaluate(y, p, metrics=METRICS, sample_weight=weight))
    there = ends(scan({"correct": y, "confidence": p, "weight": weight}, METRICS))
    assert here.keys() == there.keys()
    for name, known in here.items():
        assert (known is None) == (there[name] is None), name
        assert known is None or there[name][:2] == pytest.approx(known[:2], rel=1e-9)


def test_merged_summaries_have_the_intervals_of_all_rows():
    y, p = rows(9_000)
    parts = [summarised({"correct": y[k::3], "confidence": p[k::3]}, METRICS) for k in range(3)]
    travelled = [unpacked(packed(part), "part") for part in parts]
    assert ends(reports(joined(travelled))) == ends(epimeter.evaluate(y, p, metrics=METRICS))


def test_rows_that_all_score_alike_have_no_interval_and_the_line_says_why():
    report = epimeter.evaluate(np.ones(500), np.full(500, 0.3), metrics=METRICS)
    for name in ("brier_score", "nll", "spherical_score"):
        assert (report[name].interval, report[name].no_interval) == (None, "no spread")


def test_every_headline_with_a_mean_asks_for_its_moments():
    plan = [(find(name), find(name).reads, {}) for name in SCORES]
    assert {recipe.score for recipe in moment_recipes(plan)} == {find(name).reads.score for name in SCORES}
