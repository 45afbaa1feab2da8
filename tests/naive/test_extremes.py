"""Tiny probabilities, nearly constant bins, extreme weights: right to 1e-9, or one sentence."""

import math
from dataclasses import fields
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from epimeter.errors import InputError
from epimeter.metrics import (
    brier_skill_score,
    classwise_ece,
    dpe,
    ecd_test,
    ece,
    eo_ratio,
    hl,
    l2_ece_ci,
    oe_ratio,
    root_brier_score,
    spiegelhalter_z,
    stratified_brier_score,
)
from epimeter.summaries import FineBins, MomentBins, fine
from epimeter.summaries.cuts import mass_index, width_index
from epimeter.summaries.travel import from_bytes, to_bytes
from epimeter.views import view

SHAPES = {
    "below 1e-6": lambda rng, n: rng.random(n) * 1e-6,
    "below 1e-9": lambda rng, n: rng.random(n) * 1e-9,
    "below 1e-25": lambda rng, n: rng.random(n) * 1e-25,
    "of every size": lambda rng, n: 10.0 ** rng.uniform(-300, 0, n),
    "near certainty": lambda rng, n: 1 - rng.random(n) * 1e-8,
    "one value": lambda rng, n: np.full(n, 0.3),
    "nearly one value": lambda rng, n: 0.3 + rng.random(n) * 1e-9,
    "uniform": lambda rng, n: rng.random(n),
}


@pytest.fixture(params=SHAPES, ids=str)
def data(request):
    rng = np.random.Generator(np.random.PCG64(11))
    cases = []
    for n in (1, 2, 3, 7, 40):
        prob = SHAPES[request.param](rng, n)
        for true in (np.zeros(n, int), np.ones(n, int), rng.integers(0, 2, n)):
            cases.append((request.param, true, prob))
    return cases


def fractions(values):
    return [Fraction(float(value)) for value in values]


def decimal(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


def groups(true, prob, index):
    """(outcomes, confidences) of each bin, exact."""
    found = {}
    for y, p, b in zip(true, fractions(prob), index, strict=True):
        found.setdefault(int(b), []).append((Fraction(int(y)), p))
    return list(found.values())


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_hosmer_lemeshow_divides_by_tiny_confidences_exactly(data, binning):
    for _, true, prob in data:
        index = width_index(prob, 5) if binning == "width" else mass_index(prob, 5)
        expected = Fraction(0)
        for rows in groups(true, prob, index):
            n, seen, said = len(rows), sum(y for y, _ in rows), sum(p for _, p in rows)
            expected += (seen - said) ** 2 / (said * (1 - said / n))
        found = hl(true, prob, bins=5, binning=binning, ddof=0).statistic
        assert found == pytest.approx(float(min(expected, Fraction(10) ** 308)), rel=1e-9) or found == math.inf


def test_the_squared_error_keeps_its_digits_in_tiny_and_in_nearly_constant_bins(data):
    from scipy.special import ndtri

    for shape, true, prob in data:
        n = len(prob)
        estimate, biased, second, fourth = Fraction(0), Fraction(0), Fraction(0), Fraction(0)
        for rows in groups(true, prob, width_index(prob, 15)):
            u = [y - p for y, p in rows]
            size, total, square = len(u), sum(u), sum(x * x for x in u)
            if size > 1:
                estimate += (total**2 - square) / (size - 1) / n
            biased += (total**2 - square) / size / n
            mean = total / size
            second += Fraction(size, n) * mean**2
            fourth += Fraction(size, n) * (4 * mean**2 * square / size - 3 * mean**4)
        spread = decimal(fourth - second**2)
        upper = max(decimal(estimate), Decimal(0)) + Decimal(-float(ndtri(0.025))) * (spread / n).sqrt()
        filled = len(groups(true, prob, width_index(prob, 15)))
        found = l2_ece_ci(true, prob)
        # Squares are kept to 2^-88: of confidences below 1e-9 that leaves fewer digits.
        close = {"rel": 1e-9, "abs": 1e-25}
        assert found.estimate == pytest.approx(float(estimate), **close)
        assert dpe(true, prob) == pytest.approx(float(biased), **close)
        if filled == 1:  # with empty bins the bounds follow another law
            found = l2_ece_ci(true, prob, bins=1)
        if shape != "of every size" and (filled == 1 or filled >= 10):
            assert found.upper == pytest.approx(float(upper), rel=1e-9, abs=1e-24)


def test_forecasts_that_cannot_be_told_from_certain_ones_are_tested_as_such():
    assert l2_ece_ci([0, 0, 0], [1e-12, 1e-13, 1e-20]).p_value == 1
    assert l2_ece_ci([1, 1, 0], [1e-12, 1e-13, 1e-20]).p_value == 0
    assert l2_ece_ci([0, 0, 1], [0.0, 0.0, 0.05]).p_value == 1  # one uncertain row makes no pair


def reference(true, prob, weight):
    """Ratios, z statistics and Brier scores of the definition, in 80 digits."""
    said, mass, seen = fractions(prob), fractions(weight), [Fraction(int(y)) for y in true]
    rows = list(zip(mass, seen, said, strict=True))
    found = {"expected": sum(w * p for w, _, p in rows), "observed": sum(w * y for w, y, _ in rows)}
    excess = sum(w * (y - p) * (1 - 2 * p) for w, y, p in rows)
    variance = sum(w * w * (1 - 2 * p) ** 2 * p * (1 - p) for w, _, p in rows)
    found["z"] = decimal(excess) / decimal(variance).sqrt()
    total, spread = Decimal(0), Decimal(0)
    for w, y, p in ((decimal(w), y, decimal(p)) for w, y, p in rows):
        right, wrong = p.ln(), (1 - p).ln()
        total += w * (p * right + (1 - p) * wrong - (right if y else wrong))
        spread += w * w * p * (1 - p) * (right - wrong) ** 2
    found["ecd_z"] = total / spread.sqrt()
    share = found["observed"] / sum(mass)
    found["skill"] = 1 - sum(w * (y - p) ** 2 for w, y, p in rows) / sum(w * (y - share) ** 2 for w, y, _ in rows)
    for k in (0, 1):
        of_class = [(w, (y - p) ** 2) for w, y, p in rows if y == k]
        found[k] = sum(w * s for w, s in of_class) / sum(w for w, _ in of_class)
    return found


@pytest.mark.parametrize("weights", ["none", "plain", "of every size", "a class without weight"])
@pytest.mark.parametrize("size", [1e-6, 1e-16, 1e-18, 1e-25, 1e-90])
def test_sums_of_tiny_numbers_are_right(size, weights):
    rng = np.random.Generator(np.random.PCG64(12))
    for n in (2, 3, 8, 40):
        prob, true = rng.random(n) * size, rng.integers(0, 2, n)
        true[:2] = 0, 1
        weight = {
            "none": np.ones(n),
            "plain": rng.random(n) + 0.01,
            "of every size": 10.0 ** rng.uniform(-60, 60, n),
            "a class without weight": np.where(true == 1, 1e-65, 1e65),
        }[weights]
        given = {} if weights == "none" else {"sample_weight": weight}
        with localcontext(prec=80):
            expected = reference(true, prob, weight)
        close = {"rel": 1e-9, "abs": 1e-300}
        assert oe_ratio(true, prob, **given) == pytest.approx(
            float(expected["observed"] / expected["expected"]), **close
        )
        assert eo_ratio(true, prob, **given) == pytest.approx(
            float(expected["expected"] / expected["observed"]), **close
        )
        assert spiegelhalter_z(true, prob, **given).z == pytest.approx(float(expected["z"]), **close)
        assert ecd_test(true, prob, **given).z == pytest.approx(float(expected["ecd_z"]), **close)
        assert brier_skill_score(true, prob, **given) == pytest.approx(float(expected["skill"]), rel=1e-9, abs=1e-15)
        assert stratified_brier_score(true, prob, **given).per_class == pytest.approx(
            [float(expected[0]), float(expected[1])], **close
        )


def test_the_skill_of_tiny_forecasts_over_tiny_references():
    assert brier_skill_score([0, 0], [2e-200, 2e-200], reference=1e-200) == pytest.approx(-3, rel=1e-12)
    assert brier_skill_score([0, 0], [2e-10, 2e-10], reference=[1e-10, 1e-10]) == pytest.approx(-3, rel=1e-12)
    assert brier_skill_score([0, 1], [0.0, 1.0], reference=0.5) == 1
    assert math.isnan(brier_skill_score([0, 0], [0.0, 0.0]))
    assert brier_skill_score([0, 0], [0.1, 0.0]) == -math.inf


def test_the_root_of_a_tiny_score():
    assert root_brier_score([0, 0], [3e-30, 4e-30]) == pytest.approx(math.sqrt(12.5) * 1e-30, rel=1e-12)


@pytest.mark.parametrize("bad", [1e-300, 1e300, 1e-71, 1.1e70])
def test_weights_whose_powers_are_no_numbers_are_refused(bad):
    with pytest.raises(
        InputError, match=r"sample_weight must be 0 or lie between 1e-70 and 1e\+70 here; 1 of 3 does not"
    ):
        oe_ratio([0, 1, 1], [0.1, 0.2, 0.3], sample_weight=[1.0, bad, 0.0])


@pytest.mark.parametrize("metric", [oe_ratio, eo_ratio, spiegelhalter_z, ecd_test])
def test_a_weighted_sum_below_all_doubles_is_refused(metric):
    with pytest.raises(InputError, match="sample_weight is too small beside these probabilities"):
        metric([1, 0], [1e-280, 1e-300], sample_weight=[1e-60, 1e-60])


def test_a_finer_total_is_the_exact_sum_of_tiny_numbers():
    rng = np.random.Generator(np.random.PCG64(13))
    values = np.concatenate([10.0 ** rng.uniform(-323, -18, 500) * rng.choice([-1, 1], 500), [5e-324, 0.0]])
    cell = rng.integers(0, 3, len(values))
    total = fine.exact(values, cell, 3)
    exact = [
        sum((Fraction(v) for v, c in zip(values.tolist(), cell, strict=True) if c == k), Fraction(0)) for k in range(3)
    ]
    assert total.floats() == pytest.approx([float(value) for value in exact], rel=1e-15)
    turned = fine.exact(values[:100], cell[:100], 3) + fine.exact(values[:99:-1], cell[:99:-1], 3)
    assert turned == total
    assert from_bytes(to_bytes(total)) == total
    assert [float(total[k : k + 1].floats()[0]) for k in range(3)] == total.floats().tolist()
    assert float(total.sum().floats()) == pytest.approx(float(sum(exact)), rel=1e-15)
    nothing = total - total
    assert nothing.deep == 0
    assert not nothing.floats().any()


@pytest.mark.parametrize("recipe", [FineBins(4), FineBins(3, "mass"), MomentBins(4)])
def test_finer_bins_merge_to_the_bit_and_travel(recipe):
    rng = np.random.Generator(np.random.PCG64(14))
    whole = view(rng.integers(0, 2, 60), 10.0 ** rng.uniform(-300, 0, 60))
    left, right = (recipe.summarise(whole.take(part)) for part in (slice(0, 20), slice(20, None)))
    data = to_bytes(recipe.finish(recipe.summarise(whole)))
    assert to_bytes(recipe.finish(left.merge(right))) == data
    assert to_bytes(from_bytes(data)) == data


def test_weights_of_one_change_no_digit(data):
    for _, true, prob in data:
        for metric in (hl, l2_ece_ci):
            plain, weighed = metric(true, prob), metric(true, prob, sample_weight=np.ones(len(prob)))
            for name in (field.name for field in fields(plain)):
                assert weighed[name] == pytest.approx(plain[name], rel=1e-9, abs=1e-16, nan_ok=True), name


def test_more_bins_than_memory_holds_are_refused_at_once():
    with pytest.raises(InputError, match=r"bins of ece must be in \[1, 1000000\]; got 1000000000"):
        ece([0, 1], [0.2, 0.7], bins=10**9)
    assert ece([0, 1], [0.2, 0.7], bins=10**6) == pytest.approx(0.25)
    prob = np.full((2, 100), 0.01)
    with pytest.raises(
        InputError, match="bins times classes must be at most 10,000,000; got 1,000,000 bins of 100 classes"
    ):
        classwise_ece([0, 1], prob, bins=10**6)
