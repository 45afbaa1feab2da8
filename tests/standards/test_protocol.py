# SPDX-License-Identifier: Apache-2.0
"""The evaluation protocol: intervals, assurance, equal bits, what stands beside the scores, what is refused."""

import datetime
import json

import jsonschema
import numpy as np
import pytest
from standard_samples import NOW, START, columns, declared, evaluated, sample, whole_json

from epimeter.errors import InputError
from epimeter.inference import bootstrap_interval, consistency_test
from epimeter.readers.digest import dataset_digest
from epimeter.standards.assurance import assurance
from epimeter.standards.declaration import declaration, read_declaration
from epimeter.standards.digests import code_digest
from epimeter.standards.records import records
from epimeter.standards.resampling import drawn_by, share_interval
from epimeter.standards.schemas import schema

DAY = np.timedelta64(86_400_000_000, "us")


@pytest.mark.parametrize("strategy", ["equal_width", "equal_mass", "adaptive"])
def test_intervals_are_those_of_bootstrap_interval_on_the_sorted_records(strategy):
    correct, prob, unknown, _ = columns(500)
    made = evaluated(records(correct, prob, unknown=unknown), strategy=strategy, draws=60, seed=3)
    order = np.lexsort((prob < 0.5, unknown, correct, prob))
    slow = bootstrap_interval(
        correct[order], prob[order], metric="onto_ece", metric_params={"strategy": strategy}, draws=60, seed=3
    )
    found, value = made["onto.ece"].interval, made["onto.ece"].value
    ends = max(0, min(slow.low, value)), max(slow.high, value)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-12)
    assert ("widened" in found.method) == (not slow.low <= value <= slow.high)


def test_an_interval_never_leaves_out_the_value_that_the_verdict_rests_on():
    widened = 0
    for n in (100, 500, 1500):
        correct, prob, unknown, _ = columns(n)
        made = evaluated(records(correct, prob, unknown=unknown), draws=60, seed=3)
        for reading in made.readings:
            if reading.interval is not None and reading.name != "ers.ers":
                assert reading.interval.low <= reading.value <= reading.interval.high, reading.name
                widened += "widened" in reading.interval.method
    assert widened


def test_the_null_mean_is_that_of_the_consistency_test():
    correct, prob, *_ = columns(400)
    made = evaluated(records(correct, prob), standard="ers")
    order = np.lexsort((correct, prob))
    slow = consistency_test(correct[order], prob[order], metric="ece", metric_params={"bins": 10}, draws=199)
    assert made["ers.ece"].null_mean == pytest.approx(slow.null_mean, abs=1e-12)


@pytest.mark.parametrize("strategy", ["equal_width", "equal_mass", "adaptive"])
def test_drawing_the_sums_of_bins_tells_what_drawing_the_records_tells(strategy):
    correct, prob, unknown, _ = columns(2_001)
    given = records(correct, prob, unknown=unknown)
    rows, other = (evaluated(given, strategy=strategy, interval="bootstrap", draws=1000, seed=seed) for seed in (0, 1))
    sums = evaluated(given, strategy=strategy, draws=1000)
    for name in ("ers.ece", "ers.ers", "onto.ece", "onto.ors"):
        spans = [made[name].interval for made in (rows, other, sums)]
        assert "of the bins' sums by their normal law" in spans[2].method
        width = spans[0].high - spans[0].low
        chance = max(abs(spans[0].low - spans[1].low), abs(spans[0].high - spans[1].high))
        away = max(abs(spans[0].low - spans[2].low), abs(spans[0].high - spans[2].high))
        assert away <= max(3 * chance, 0.1 * width), name
    for name in ("ers.ece", "onto.ece"):
        assert sums[name].null_mean == pytest.approx(rows[name].null_mean, rel=0.1)


def test_how_an_interval_was_found_is_read_off_what_its_document_says():
    given = records(*columns(100)[:2])
    for how in ("bootstrap", "normal", "asymptotic"):
        found = evaluated(given, standard="ers", interval=how, draws=1234, seed=7)["ers.ece"].interval
        assert drawn_by(found.method) == how
        assert drawn_by(found.holding(found.high + 1).method) == how


def test_the_delta_method_agrees_with_the_bootstrap_on_many_records():
    correct, prob, unknown, _ = columns(20_000)
    given = records(correct, prob, unknown=unknown)
    drawn, quick = evaluated(given, interval="bootstrap", draws=200), evaluated(given, interval="asymptotic")
    for name in ("ers.ece", "ers.ers", "onto.ece", "onto.ors"):
        widths = [made[name].interval.high - made[name].interval.low for made in (drawn, quick)]
        assert widths[1] == pytest.approx(widths[0], rel=0.25)
    assert quick["ers.ece"].null_mean == pytest.approx(drawn["ers.ece"].null_mean, rel=0.1)


@pytest.mark.parametrize(("hits", "total"), [(0, 10), (3, 10), (10, 10)])
def test_shares_have_exact_intervals(hits, total):
    from scipy.stats import binomtest

    found, slow = share_interval(hits, total, 0.95), binomtest(hits, total).proportion_ci(0.95)
    assert (found.low, found.high) == pytest.approx((slow.low, slow.high))


def test_no_interval_was_asked_for():
    made = evaluated(interval="none")
    assert all(reading.interval is None for reading in made.readings)
    assert made.verdicts["ers"]["assurance"] is None


@pytest.mark.parametrize(
    ("value", "interval", "word"),
    [
        (0.08, (0.06, 0.09), "firm"),
        (0.08, (0.06, 0.11), "marginal"),
        (0.08, (0.06, 0.10), "marginal"),
        (0.1, (0.1, 0.1), "firm"),
    ],
)
def test_firm_is_the_whole_interval_on_one_side_of_every_limit(value, interval, word):
    assert assurance(value, interval, [0.10, 0.15]).assurance == word


def test_a_marginal_verdict_says_how_many_records_would_make_it_firm():
    found = assurance(0.08, (0.04, 0.12), [0.10], 1000)
    assert found.rows_for_firm == 4001
    assert assurance(0.10, (0.04, 0.12), [0.10], 1000).rows_for_firm is None


def shuffled(seed):
    correct, prob, unknown, times = columns()
    order = np.random.default_rng(seed).permutation(len(prob))
    return records(correct[order], prob[order], unknown=unknown[order], timestamp=times[order], now=NOW)


def test_the_order_of_the_records_changes_no_number():
    first, second = evaluated(shuffled(1)), evaluated(shuffled(2))
    assert json.dumps(first.metrics) == json.dumps(second.metrics)
    assert [r.to_dict() for r in first.readings] == [r.to_dict() for r in second.readings]
    assert first.dataset_digest != second.dataset_digest, "the digest is of the rows in their order"


def test_the_number_of_threads_changes_no_number():
    assert evaluated(threads=1).to_dict()["readings"] == evaluated(threads=2).to_dict()["readings"]


def test_both_u_recalls_are_kept_apart():
    made = evaluated().metrics
    assert "u_recall" not in made
    assert made["ers"]["u_recall"] > 1, "percent, of the wrong answers"
    assert made["onto"]["u_recall"] <= 1, "a fraction, of the unknown inputs"


def test_what_must_stand_beside_the_scores_always_does():
    for standard in ("ers", "42001", "both"):
        beside = evaluated(sample(300), standard=standard).beside
        assert {
            "accuracy",
            "resolution",
            "distinct_confidences",
            "low_confidence_when_right",
            "false_alarm_rate",
        } <= set(beside)


def test_one_constant_confidence_is_named():
    made = evaluated(records([1, 0] * 600, np.full(1200, 0.5)), standard="ers", domain="general")
    assert "one constant confidence, 0.5" in made.cautions[0]
    assert made.beside["resolution"] == 0


def test_a_system_that_is_always_wrong_and_says_so_is_named():
    prob = (np.arange(1200) % 100) / 1000
    made = evaluated(records(np.zeros(1200, int), prob), standard="ers", domain="general")
    assert (made.ers.ers, made.ers.level) == (9, "NONE")  # a good score, and no level (C-50)
    assert any("Wrong answers must be at most 80%, not 100.0%" in sentence for sentence in made.cautions)


def test_digests_do_not_depend_on_the_sign_of_zero_nor_on_the_width_of_integers():
    first = dataset_digest({"confidence": np.array([0.0, 0.5]), "label": np.array([0, 1], np.uint8)})
    assert first == dataset_digest({"confidence": np.array([-0.0, 0.5]), "label": np.array([0, 1], np.int64)})
    assert first != dataset_digest({"confidence": np.array([0.5, 0.0]), "label": np.array([1, 0])})
    assert len(code_digest()) == 64


@pytest.mark.parametrize("standard", ["ers", "42001", "both"])
@pytest.mark.parametrize("interval", ["bootstrap", "asymptotic", "none"])
def test_the_json_follows_its_schema(standard, interval):
    checker = jsonschema.Draft202012Validator(schema("evaluation"))
    made = whole_json(sample(300), standard=standard, interval=interval, declaration=declared())
    checker.validate(made)
    assert not checker.is_valid(made | {"extra": 1})


def test_a_time_without_a_zone_is_refused_by_record():
    with pytest.raises(InputError, match=r"timestamp must have a time zone.*ERS-3\.1-d\); record 1") as refusal:
        records([1, 0], [0.5, 0.5], timestamp=["2026-01-01T00:00:00Z", "2026-01-01T00:00:00"])
    assert refusal.value.row == 1


def test_a_time_to_come_is_refused_by_record():
    with pytest.raises(InputError, match=r"must not lie in the future \(ERS-3\.1-d\); record 2"):
        records([1, 0, 1], [0.5] * 3, timestamp=START + np.array([0, 1, 500]) * DAY, now=NOW)


def test_a_missing_time_is_refused_by_record():
    times = np.array([START, np.datetime64("NaT")])
    with pytest.raises(InputError, match=r"present in every record \(ERS-3\.1-d\); record 1"):
        records([1, 0], [0.5, 0.5], timestamp=times)


def test_times_out_of_order_are_noted_and_the_span_is_from_earliest_to_latest():
    made = records([1, 0, 1], [0.5] * 3, timestamp=START + np.array([3, 0, 10]) * DAY, now=NOW)
    assert made.period.days == 10
    assert "the first step back is at record 1" in made.notes[0]


def test_times_of_other_zones_are_the_same_moments():
    east = datetime.timezone(datetime.timedelta(hours=5))
    made = records(
        [1, 0], [0.5, 0.5], timestamp=[datetime.datetime(2026, 1, 1, 3, tzinfo=east), "2026-01-07T22:00:00+00:00"]
    )
    assert made.period.days == 7


def test_flags_must_be_0_or_1():
    with pytest.raises(InputError, match="unknown must be 0 or 1; record 1 has"):
        records([1, 0], [0.5, 0.5], unknown=[0, 2])


def test_a_domain_is_converted_and_said_so():
    made = evaluated(domain="medical")
    assert made.onto.domain == "healthcare"
    assert "medical of ONTO-ERS was read as healthcare" in made.converted
    assert evaluated(domain="legal").converted is None
    assert evaluated(domain="general", onto_domain="critical_infrastructure").onto.domain == "critical_infrastructure"


@pytest.mark.parametrize(("standard", "domain"), [("ers", "healthcare"), ("42001", "retail"), ("both", "consumer")])
def test_an_unknown_domain_is_refused_with_its_requirement(standard, domain):
    with pytest.raises(InputError, match=r"domain must be one of .*\((ERS-2\.3-d|42001-7\.2\.3-a)\)"):
        evaluated(standard=standard, domain=domain)


def test_a_matrix_is_read_as_its_top_label_and_its_classes_are_balanced():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet([1, 1, 1], 1000)
    label = np.array([rng.choice(3, p=row) for row in prob])
    made = evaluated(records(label, prob), standard="ers", domain="general")
    assert made.ers.accuracy == pytest.approx(np.mean(prob.argmax(axis=1) == label))
    row = next(r for r in made.requirements if r.id == "ERS-3.1-b")
    assert "classes" in row.title and row.blocks


def test_a_declaration_is_read_from_toml(tmp_path):
    path = tmp_path / "system.toml"
    path.write_text('[system]\nsystem_id = "a"\n[flags]\nfrequency_kept = true\n')
    told = read_declaration(path)
    assert told.system_id == "a"
    assert told.flags["frequency_kept"] and not told.flags["continuous_monitoring"]


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"sytem": {}}, "no table 'sytem'"),
        ({"system": {"sytem_id": "a"}}, "no field 'sytem_id'"),
        ({"system": {"system_id": 7}}, "system_id must be text"),
        ({"system": {"system_id": "a\u202eb"}}, r"U\+202E"),
        ({"system": {"system_id": "x" * 3000}}, "at most 2000"),
        ({"unknowns": {"taxonomy": []}}, r"at least one of .*42001-6\.2\.3-a"),
    ],
)
def test_a_faulty_declaration_is_refused(tables, words):
    with pytest.raises(InputError, match=words):
        declaration(tables)


def test_names_are_normalised_so_that_twins_are_one():
    assert declaration({"system": {"system_id": "e\u0301"}}).system_id == "\u00e9"


def test_a_model_update_since_the_baseline_is_said_to_be_due():
    before = evaluated(declaration=declared()).to_dict() | {"date": "2026-01-01"}
    told = declared(system={"system_id": "triage-7", "model_version": "3.0"})
    assert "model changed from 2.1 to 3.0" in evaluated(baseline=before, declaration=told).due[0]
    late = evaluated(baseline=before, declaration=declared())
    assert "overdue since 2026-01-31" in late.due[-1]


SHAPES = {
    "spread": lambda n, rng: rng.random(n),
    "zeros": lambda n, rng: np.zeros(n),
    "ones": lambda n, rng: np.ones(n),
    "halves": lambda n, rng: np.full(n, 0.5),
    "tenths": lambda n, rng: np.round(rng.random(n), 1),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 2, 60])
def test_small_and_degenerate_records_give_numbers_or_reasons_never_warnings(n, shape):
    rng = np.random.default_rng(n)
    for outcome in (np.zeros(n, int), np.ones(n, int), rng.integers(0, 2, n)):
        for unknown in (np.zeros(n, int), np.ones(n, int)):
            given = records(outcome, SHAPES[shape](n, rng), unknown=unknown)
            for strategy in ("equal_width", "equal_mass", "adaptive"):
                for interval in ("bootstrap", "asymptotic"):
                    made = evaluated(given, strategy=strategy, interval=interval, draws=5)
                    json.dumps(made.to_dict(), allow_nan=False)
