"""The ECD experiments from what is stored: a small form on the user's path, and the stored forecasts themselves."""

import csv

import numpy as np
import pytest

from epimeter.cli import main
from epimeter.errors import InputError
from epimeter.experiments import ecd
from epimeter.metrics import ece
from epimeter.recalibration import Recalibrator


def test_a_small_form_gives_tables_and_figures_and_its_decisions_follow_from_its_numbers(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ecd, "DATA", {"telco": ("naive_bayes",)})
    monkeypatch.setattr("epimeter.experiments.ecd_tables.DATA", ecd.DATA)
    monkeypatch.setattr("epimeter.experiments.ecd_figures.DATA", ecd.DATA)
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "experiment",
                "ecd",
                str(tmp_path / "s"),
                "--seeds",
                "1",
                "--data",
                "telco",
                "--draws",
                "499",
                "--processes",
                "1",
            ]
        )
    assert ended.value.code == 0
    assert "naive" in (tmp_path / "s/tables.md").read_text()
    assert (tmp_path / "s/thresholds.svg").read_text().lstrip().startswith("<?xml")
    assert (tmp_path / "s/before_after_telco.svg").exists()
    rows = list(csv.DictReader((tmp_path / "s/results.csv").read_text().splitlines()))
    assert len(rows) == 5 * 6
    for row in rows:
        if row["measure"] in ("ece", "mce", "ecd_clipped"):
            assert (row["refuted"] == "True") == (float(row["p_value"]) <= 0.05)
            assert float(row["value"]) >= float(row["threshold"]) or row["refuted"] == "False"
    cell = {(row["model"], row["map"], row["measure"]): row for row in rows}
    assert cell["naive_bayes", "none", "ecd"]["refuted"] == cell["naive_bayes", "none", "ece"]["refuted"] == "True"
    p_fit, y_fit, p_test, y_test = ecd.forecasts("telco", "naive_bayes", 0)
    mapped = Recalibrator("beta").fit(p_fit, y_fit).predict(p_test)
    assert float(cell["naive_bayes", "beta", "ece"]["value"]) == pytest.approx(ece(y_test, mapped, bins=15), abs=1e-12)
    assert "calibration refuted at 5 %" in capsys.readouterr().out


def test_the_stored_forecasts_are_of_models_that_know_something():
    assert {len(ecd.forecasts("adult", model, 4)[2]) for model in ecd.MODELS} == {16_281}
    for data in ("adult", "telco"):
        for model in ("logistic", "forest", "boosting", "network"):
            _, _, p, y = ecd.forecasts(data, model, 2)
            assert ((p > 0.5) == y).mean() > max(y.mean(), 1 - y.mean()) + 0.02
    p_fit, _, p, y = ecd.forecasts("cifar10", "vgg16", 1)
    assert p.shape == p_fit.shape == (5000, 10) and (p.argmax(axis=1) == y).mean() > 0.92
    assert len(np.unique(np.concatenate([p_fit, p]), axis=0)) > 9_900  # no image in both halves


def test_forecasts_that_are_not_stored_are_refused_with_the_way_to_get_them(monkeypatch):
    with pytest.raises(InputError, match="no forecasts of model 'forest' with seed 9"):
        ecd.forecasts("telco", "forest", 9)
    with pytest.raises(InputError, match=r"experiments/ecd/README\.md says how they are made"):
        ecd._stored("ecd_missing.npz")
