"""The bias study in a tiny form on the user's path, and what is known before it: ECE says too much, the k-NN error more."""

import csv

import pytest

from epimeter.cli import main
from epimeter.experiments import bias, bias_tables
from epimeter.simulate import gaussian


def typed(*words):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def read(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_a_tiny_study_is_written_as_data_and_answers_which_metric(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(bias, "TRUTHS", {name: bias.TRUTHS[name] for name in ("calibrated", "over")})
    monkeypatch.setattr(bias, "NUMBERS", {"Gaussian over": "over"})
    folder = tmp_path / "s"
    assert typed("experiment", "bias", str(folder), "--size", "tiny", "--processes", "1") == 0
    assert "at 100 rows nearest to the true l1 error" in capsys.readouterr().out
    cells = read(folder / "cells.csv")
    assert {row["truth"] for row in cells} == {"calibrated", "over", "Gaussian over"}
    of_numbers = {row["metric"]: row for row in cells if row["truth"] == "Gaussian over"}
    law = gaussian("over")
    for name, known in (("crps", law.crps()), ("log_score", law.value("nll")), ("picp", law.coverage(0.9))):
        assert float(of_numbers[name]["limit"]) == pytest.approx(known, abs=2e-4)
    assert float(of_numbers["crps"]["true_error"]) == pytest.approx(
        float(of_numbers["miscalibration_area"]["limit"]), abs=1e-3
    )
    assert of_numbers["nees_test"]["refuted"] == of_numbers["nees_test"]["tests"] == "2"
    assert len({row["metric"] for row in cells}) > 110
    for row in cells:
        if row["bias"]:
            assert float(row["bias"]) == pytest.approx(float(row["mean"]) - float(row["limit"]), abs=2e-5, rel=1e-4)
    assert "| [ece](../reference/ece.md) | 100 |" in (folder / "bin.md").read_text()
    assert (folder / "distances.svg").exists() and (folder / "biases.svg").exists()
    assert typed("experiment", "which", "-n", "150", "--study", str(folder / "metrics.csv")) == 0
    assert "at 100 rows" in capsys.readouterr().out
    assert typed("experiment", "bias", str(folder), "--size", "tiny", "--seed", "1") == 2
    assert "with seed 0; got seed 1" in capsys.readouterr().err


def test_at_a_thousand_rows_ece_says_too_much_and_the_error_of_neighbours_more(monkeypatch):
    from epimeter.card_index import find

    chosen = {name: find(name) for name in ("ece", "ece_knn", "ece_db", "brier_score")}
    monkeypatch.setattr(bias, "measures", lambda: chosen)
    cell = bias.measured({"truth": "slightly over", "rows": 1_000, "sets": 60, "seed": 0})
    table = {row["metric"]: row for row in bias_tables.rows({"slightly over/1000": cell})}
    assert 0.006 < table["ece"]["bias"] < 0.02
    assert table["ece_knn"]["bias"] > table["ece"]["bias"]
    assert abs(table["ece_db"]["bias"]) < table["ece"]["bias"]
    assert abs(table["brier_score"]["bias"]) < 4 * table["brier_score"]["sd"] / 60**0.5


def test_every_sample_is_the_same_whatever_the_truth_and_another_seed_is_another(monkeypatch):
    from epimeter.card_index import find

    monkeypatch.setattr(bias, "measures", lambda: {"brier_score": find("brier_score")})
    cells = bias.cells(3, {100: 2})
    first = bias.measured(cells["over/100"])["metrics"]["brier_score"]["values"]
    assert first == bias.measured(cells["over/100"])["metrics"]["brier_score"]["values"]
    assert first != bias.measured(cells["over/100"] | {"seed": 4})["metrics"]["brier_score"]["values"]


def test_the_words_of_a_study_follow_from_its_numbers():
    """Whatever its size: what was nearest is called nearest, and nothing is said of rows that it does not have."""
    from epimeter.experiments.bias_findings import by_rows, findings

    def row(metric, n, distance, bias, correlation):
        return {"metric": metric, "rows": n, "distance": distance, "bias": bias, "rank_correlation": correlation}

    def cell(truth, metric, true_error, refuted, tests, held, intervals, n=10_000):
        counts = {"refuted": refuted, "tests": tests, "held": held, "intervals": intervals}
        return {"truth": truth, "rows": n, "metric": metric, "true_error": true_error} | counts

    table = [
        row("ece", 10_000, 0.02, 0.004, 0.9),
        row("smece", 10_000, 0.01, "", 0.8),
        row("nll", 10_000, "", -0.001, 0.05),
    ]
    cells = [
        cell("calibrated", "ece", 0.0, 0, 0, 99, 100),
        cell("over", "ece", 0.1, 0, 0, 60, 100),
        cell("calibrated", "hosmer", 0.0, 40, 100, 0, 0),
        cell("over", "hosmer", 0.1, 100, 100, 0, 0),
    ]
    told = " ".join(findings(table, cells))
    assert "`ece` +0.0040 at 10,000 rows" in told and "1,000 rows;" not in told
    assert "**At 10,000 rows** nearest to the true error are `smece`: off by 0.0100" in told
    assert "under 0 of the 1 truths" in told and "1 of 3 have a rank correlation" in told and "`nll`" in told
    assert "`hosmer` at 10,000 rows (40%)" in told and "`ece` at 10,000 rows (80%)" in told
    assert "| 10,000 | `smece` | 0.010 | 0.020 | 0.000 to 0.100 |" in by_rows(table, cells)
    once = [one | {"refuted": 0, "held": one["intervals"]} for one in cells]
    told = " ".join(findings([row("smece", 100, 0.01, "", 0.8), row("ece", 100, 0.0105, "", 0.8)], once))
    assert "none is seen to reject" in told and "none is seen to cover" in told
    assert "`smece`, `ece`: off by" in told and "every metric is correlated" in told


def test_every_cell_of_every_size_has_a_cost_and_the_whole_study_takes_less_than_three_hours_of_two_cores():
    cost = {
        name: sum(map(bias.seconds, bias.cells(0, sets).values()))
        for name, sets in (("small", bias.SMALL), ("medium", bias.MEDIUM), ("whole", bias.SETS))
    }
    assert cost["small"] < cost["medium"] < cost["whole"] < 2 * 3 * 3600


def test_metrics_that_need_all_pairs_of_many_classes_are_left_out_where_they_take_long(monkeypatch):
    """dkde of 10,000 rows of four classes takes a minute; of an event it takes less than a second."""
    monkeypatch.setattr(bias, "_seeds", lambda cell: [])
    assert "dkde" in bias.measured({"truth": "over", "rows": 10_000, "sets": 1, "seed": 0})["metrics"]
    assert "dkde" not in bias.measured({"truth": "4 classes", "rows": 10_000, "sets": 1, "seed": 0})["metrics"]


def test_a_study_says_how_long_it_will_take_and_what_is_done_already(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(bias, "TRUTHS", {"over": {"name": "over"}})
    monkeypatch.setattr(bias, "NUMBERS", {})
    words = ["experiment", "bias", str(tmp_path / "s"), "--size", "tiny", "--no-figures", "--processes", "1"]
    for said in ("about 1 s on 1 process", "1 of 1 cells are done"):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert not ended.value.code
        assert said in capsys.readouterr().err
