"""Many rows are drawn in blocks: totals stay whole, spreads stay what they are, and few rows are drawn as before."""

import numpy as np
import pytest

from epimeter.inference import blocks, compare, compare_samples
from epimeter.inference.blocks import in_blocks
from epimeter.inference.scheme import scheme
from epimeter.inference.statistic import Statistic, atoms_of
from epimeter.views import view

METRICS = ("brier_score", "nll", "ece", "mce", "ecd")


def two_models(n, seed=7):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = rng.random(n) < np.clip(p + 0.03 * np.sin(9 * p), 0, 1)
    return y, p, np.clip(p + 0.05 * rng.standard_normal(n), 0.001, 0.999)


@pytest.fixture
def few_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCKS", 512)


def test_blocks_have_the_totals_of_their_rows(few_blocks):
    y, p, _ = two_models(5_000)
    given = view(y, p, kind="event")
    statistics = [Statistic.of(name, None) for name in METRICS]
    atoms = atoms_of([given], statistics)
    drawing, pooled = in_blocks(scheme(5_000, None, None), atoms, statistics, 3)
    assert drawing.width == 512
    rng = np.random.default_rng(0)
    of_block = rng.integers(0, 4, 512).astype(np.int32)
    of_row = of_block[blocks._blocks(5_000, 512, 3)]
    for statistic in statistics:
        one, blocked = atoms[0][statistic.recipe], pooled[0][statistic.recipe]
        assert (blocked.totals(of_block) == one.totals(of_row)).all(), statistic.name
        counts = np.tile(of_block.astype(np.uint8), (8, 1))
        values = {
            statistic.of_summary(one.assemble(totals))
            for totals in (one.totals(of_row), blocked.counted_totals(counts)[5])
        }
        assert len(values) == 1, statistic.name


def test_blocks_are_of_one_size_and_of_every_part_of_the_rows():
    block = blocks._blocks(10_000, 512, 0)
    sizes = np.bincount(block, minlength=512)
    assert sizes.min() == 19 and sizes.max() == 20
    # Neighbours fall into blocks of their own: as often into the same one as chance has it.
    assert (block[1:] == block[:-1]).sum() < 60
    assert (block != blocks._blocks(10_000, 512, 1)).mean() > 0.99


def test_differences_spread_over_blocks_as_over_rows(monkeypatch):
    y, p, q = two_models(20_000)
    given = {"a": p, "b": q}
    monkeypatch.setattr(blocks, "BLOCKS", 1 << 20)
    rows = compare(y, given, metrics=METRICS, kind="event")
    apart = compare_samples((y, p), (y, q), metrics=METRICS, kind="event")
    monkeypatch.setattr(blocks, "BLOCKS", 2_048)
    for before, after in (
        (rows, compare(y, given, metrics=METRICS, kind="event")),
        (apart, compare_samples((y, p), (y, q), metrics=METRICS, kind="event")),
    ):
        for one, other in zip(before, after, strict=True):
            assert one.value == other.value and one.interval.units == other.interval.units == 20_000
            width, wide = (d.interval.high - d.interval.low for d in (one, other))
            assert wide == pytest.approx(width, rel=0.25), one.metric
            assert one.better == other.better


def test_up_to_so_many_rows_each_is_drawn_by_itself():
    y, p, _ = two_models(1_000)
    given, statistics = view(y, p, kind="event"), [Statistic.of("ece", None)]
    atoms, plan = atoms_of([given], statistics), scheme(1_000, None, None)
    drawing, pooled = in_blocks(plan, atoms, statistics, 0)
    assert drawing is plan and pooled is atoms


def test_a_statistic_without_totals_and_groups_are_drawn_as_before(few_blocks):
    y, p, _ = two_models(2_000)
    given = view(y, p, kind="event")
    statistics = [Statistic.of("ece", None), Statistic.of("smece", None)]
    atoms, plan = atoms_of([given], statistics), scheme(2_000, None, None)
    assert in_blocks(plan, atoms, statistics, 0)[0] is plan
    grouped = scheme(2_000, None, np.arange(2_000) // 2)
    assert in_blocks(grouped, atoms, statistics[:1], 0)[0] is grouped


def test_predictions_of_the_same_small_seed_are_not_taken_for_their_labels():
    """numpy's default_rng(1).random(n) are the very numbers that a generator of seed 1 draws labels with."""
    rng = np.random.default_rng(1)
    p = rng.random(40_000)
    y = rng.random(40_000) < p
    (found,) = compare_samples((y, np.full(40_000, 0.5)), (y, np.clip(p + 0.01, 0, 1)), metrics=["ece"], kind="event")
    again = compare_samples(
        (y, np.full(40_000, 0.5)), (y, np.clip(p + 0.01, 0, 1)), metrics=["ece"], kind="event", seed=90
    )
    assert found.p_value == pytest.approx(again[0].p_value, rel=0.5, abs=0.02)
