"""Laws over the whole catalogue, and each law on a metric that breaks it."""

import pickle

import numpy as np
import pytest

from epimeter import evaluate, testing
from epimeter.calling import Metric, rows_view
from epimeter.card import Card
from epimeter.card_index import catalogue
from epimeter.errors import OrderWarning
from epimeter.summaries import Bins, Rows

# consistency_calibration, eice and calibration_gain need a further argument that no sample holds; the families of
# other columns (detections, p-values) have laws of their own in their tests.
MEASURABLE = [
    metric
    for metric in catalogue().values()
    if metric.of_probabilities and not any(p.required for p in metric.parameters.values()) and metric.name != "eice"
]
FORECASTS = [metric for metric in catalogue().values() if metric.card.forecasts]
FORECAST_SAMPLES = testing.forecast_samples()
SAMPLES = testing.samples()


@pytest.mark.filterwarnings("ignore::epimeter.errors.OrderWarning")
@pytest.mark.parametrize("law", testing.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("metric", MEASURABLE, ids=lambda metric: metric.name)
def test_every_metric_keeps_the_law(metric, law):
    for sample in SAMPLES:
        law(metric, sample)


@pytest.mark.parametrize("law", testing.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("metric", FORECASTS, ids=lambda metric: metric.name)
def test_every_metric_of_forecasts_keeps_the_law_on_the_kinds_it_reads(metric, law):
    for sample in FORECAST_SAMPLES:
        kind = (
            sample.name if sample.name in ("quantiles", "ensemble", "interval", "set", "state", "count") else "normal"
        )
        if kind in metric.card.forecasts:
            law(metric, sample)


@pytest.mark.parametrize("metric", FORECASTS, ids=lambda metric: metric.name)
def test_a_forecast_has_the_same_bits_in_any_order_and_in_any_unit(metric):
    sample = next(s for s in FORECAST_SAMPLES if ("normal" if s.name == "normal" else s.name) in metric.card.forecasts)
    order = np.random.Generator(np.random.PCG64(4)).permutation(len(sample.y_true))
    here, there = testing.attempt(metric, sample), testing.attempt(metric, sample.take(order))
    assert here is not None
    np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize(
    "metric",
    [m for m in MEASURABLE if m.card.order == "free" and "mass" in getattr(m.parameters.get("binning"), "words", ())],
    ids=lambda metric: metric.name,
)
def test_equal_mass_bins_never_cut_ties_with_weights_neither(metric):
    for sample in (s for s in SAMPLES if s.y_prob.ndim == 1 or metric.name != "nll_decomposition"):
        n = len(sample.y_true)
        fractional = np.random.Generator(np.random.PCG64(3)).random(n) + 0.1
        worst = np.argsort(sample.y_true, kind="stable")
        for weight in (None, fractional) if metric.card.weighted else (None,):
            here, there = (
                testing.attempt(metric, sample.take(order), binning="mass", **extra)
                for order, extra in (
                    (slice(None), {} if weight is None else {"sample_weight": weight}),
                    (worst, {} if weight is None else {"sample_weight": weight[worst]}),
                )
            )
            testing.assert_same(here, there, "rows sorted by outcome")


def test_what_depends_on_the_order_of_equal_rows_warns():
    tied, apart = SAMPLES[2], SAMPLES[0]
    dependent = [m for m in MEASURABLE if m.card.order == "ties"]
    assert [m.name for m in dependent] == ["ecmmd", "reliability_map", "ls_ecoc_r", "knn_chi2"]
    for metric in dependent:
        with pytest.warns(OrderWarning, match="order of rows with equal predictions"):
            testing.attempt(metric, tied)
        testing.attempt(metric, apart)
    report = evaluate(tied.y_true, tied.y_prob, metrics="ecmmd,ece")
    assert any("ecmmd depends on the order of rows" in caution for caution in report.cautions)
    assert not any("order" in caution for caution in evaluate(apart.y_true, apart.y_prob, metrics="ecmmd").cautions)


def test_a_constant_confidence_that_is_right_has_no_error_in_any_order():
    true, prob = np.repeat([1, 0], [600, 400]), np.full(1000, 0.6)
    for name, choices in {"ace": {}, "ece": {"binning": "mass"}, "ece_at_k": {}, "calbin": {}, "ece_sweep": {}}.items():
        answer = catalogue()[name](true, prob, **choices)
        assert float(getattr(answer, "value", answer)) == pytest.approx(0, abs=1e-12), name
    two = np.append(prob, np.full(1000, 0.3)), np.append(true, np.repeat([0, 1], [700, 300]))
    assert catalogue()["hl"](*two[::-1], ddof=0).p_value > 0.99
    assert catalogue()["onto_ece"](true, prob, strategy="equal_mass").ece == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("metric", catalogue().values(), ids=lambda metric: metric.name)
def test_every_card_is_complete(metric):
    card = metric.card
    assert card.title
    assert card.equation
    assert card.source
    assert metric.__doc__
    assert card.family
    for parameter in metric.parameters.values():
        assert parameter.meaning, f"{parameter.name} is not explained"


@pytest.mark.parametrize("metric", catalogue().values(), ids=lambda metric: metric.name)
def test_every_metric_travels_to_another_process(metric):
    assert pickle.loads(pickle.dumps(metric)) is metric


def broken(function, reads, **facts):
    """A metric outside the catalogue that breaks a law."""
    return Metric(Card("broken", "Broken", "bin", "-", "-", **facts), function, reads, rows_view)


def first_row(view):
    return float(view.prob.ravel()[0])


BREAKS = {
    testing.keeps_its_range: broken(lambda bins: 2.0, Bins(10), range=(0.0, 1.0)),
    testing.is_ideal_when_perfect: broken(lambda bins: 0.5, Bins(10), ideal=0.0),
    testing.ignores_row_order: broken(first_row, Rows("given")),
    testing.counts_weights_as_copies: broken(lambda view: float(view.n_rows), Rows("given")),
    testing.reads_single_precision: broken(lambda view: float(view.prob.itemsize), Rows("given")),
}


@pytest.mark.parametrize("law", BREAKS, ids=lambda law: law.__name__)
def test_a_law_finds_the_metric_that_breaks_it(law):
    with pytest.raises(AssertionError):
        for sample in SAMPLES:
            law(BREAKS[law], sample)


def test_the_law_of_refusal_finds_a_metric_that_accepts_everything():
    class Careless(Metric):
        def __call__(self, *columns, **choices):
            return 0.0

    careless = Careless(Card("careless", "Careless", "bin", "-", "-"), lambda bins: 0.0, Bins(10), rows_view)
    with pytest.raises(AssertionError, match="accepted bad rows"):
        testing.refuses_bad_rows(careless, SAMPLES[0])


def test_the_law_of_merging_finds_a_summary_that_forgets():
    class Forgetful(Bins):
        def summarise(self, view):
            totals = super().summarise(view)
            object.__setattr__(totals, "merge", lambda other: totals)
            return totals

    with pytest.raises(AssertionError):
        testing.merges_like_the_whole(broken(lambda bins: float(bins.n), Forgetful(10)), SAMPLES[0])


def test_samples_hold_what_the_laws_need():
    names = [sample.name for sample in SAMPLES]
    assert names == ["spread", "ties", "few values", "classes", "perfect", "wrong", "one row"]
    assert len(np.unique(SAMPLES[1].y_prob)) < len(SAMPLES[1].y_prob)
