"""Metrics are found by the names people have for them, and parameters by scikit-learn's words."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from epimeter import evaluate
from epimeter.card_index import catalogue, find
from epimeter.cli import epimeter
from epimeter.errors import InputError, UnknownMetricError
from epimeter.metrics import ece, onto_ece
from epimeter.names import folded

TRUE, PROB = np.array([0, 1, 1, 0, 1, 1] * 20), np.linspace(0.05, 0.95, 120)


PRINTED = dict(line.split("\t") for line in Path(__file__).with_name("names.tsv").read_text("utf-8").splitlines())
"""Names printed in the reviews and in other packages: the ids they mean, several where papers share a name."""


def spellings(name):
    return {name, name.upper(), name.lower().replace(" ", "-"), name.replace("-", " "), name.replace(" ", "_")}


def test_a_metric_is_found_by_every_name_people_have_for_it_however_it_is_spelt():
    wrong = []
    for name, ids in PRINTED.items():
        for spelt in spellings(name):
            try:
                found = find(spelt).name
            except UnknownMetricError as refusal:
                found = " ".join(re.findall(r"(?:: | or )(\w+) \(", str(refusal)))
            if found != ids:
                wrong.append((spelt, ids, found))
    assert not wrong


def test_ids_that_differ_by_a_hyphen_are_told_apart_by_it():
    assert {find(name).name for name in ("D-ECE", "d ece", "D_ECE")} == {"d_ece"}
    assert {find(name).name for name in ("DECE", "Dece")} == {"dece"}


def test_every_name_on_a_card_finds_its_metric_or_is_refused_with_all_that_share_it():
    ids = {folded(name) for name in catalogue()}
    shared = set()
    for metric in catalogue().values():
        for name in (metric.name, metric.card.title, *metric.card.aliases):
            if folded(name) in ids:
                assert folded(find(name).name) == folded(name)
                continue
            try:
                assert find(name) is metric
            except UnknownMetricError as refusal:
                assert metric.name in str(refusal)
                assert "several metrics" in str(refusal)
                shared.add(name)
    assert {"TCE", "SCE"} <= shared


def test_no_two_metrics_have_one_title():
    titles = [folded(metric.card.title) for metric in catalogue().values()]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize(
    ("name", "words"),
    {
        "TCE": ["top_label_ce", "test_based_ce"],
        "ICE": ["imbalanced_ce", "interval_ce"],
        "birer": ["did you mean 'brier_score'"],
        "log-los": ["did you mean 'nll'"],
        "smoth ece": ["did you mean 'smece'"],
        "eec": ["epimeter metrics"],
        "FOTT": ["ece_fott", "fott_platt", "fott_spline"],
        "resolution": ["did you mean 'brier_decomposition'"],
        "calibration in the large": ["epimeter metrics"],
        "xyzzy": ["called 'xyzzy'; `epimeter metrics`"],
    }.items(),
)
def test_a_name_that_is_not_one_metric_is_refused_with_what_it_could_be(name, words):
    with pytest.raises(UnknownMetricError) as refusal:
        find(name)
    assert all(word in str(refusal.value) for word in words)


def test_command_and_report_take_the_same_names_and_keep_the_id():
    shown = CliRunner().invoke(epimeter, ["metrics", "Expected calibration error", "--json"])
    assert json.loads(shown.output)["name"] == "ece"
    assert [line.metric for line in evaluate(TRUE, PROB, metrics="Brier, log-loss").measurements] == [
        "brier_score",
        "nll",
    ]


def test_the_words_of_scikit_learn_become_ours_and_the_answer_says_so():
    assert ece(TRUE, PROB, n_bins=7, strategy="quantile") == ece(TRUE, PROB, bins=7, binning="mass")
    parameters = ece(TRUE, PROB, n_bins=7, strategy="uniform").parameters
    assert (parameters["bins"], parameters["binning"]) == (7, "width")
    assert onto_ece(TRUE, PROB, strategy="quantile").ece == onto_ece(TRUE, PROB, strategy="equal_mass").ece
    line = evaluate(TRUE, PROB, metrics="ece", n_bins=7, strategy="quantile")["ece"]
    assert (line.parameters["bins"], line.parameters["binning"]) == (7, "mass")


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"n_bins": 7, "bins": 7}, "n_bins and bins of ece are the same"),
        ({"strategy": "uniform", "binning": "width"}, "strategy and binning of ece are the same"),
        ({"strategy": "kmeans"}, "binning of ece must be one of"),
        ({"n_bins": 0}, "bins of ece"),
    ],
)
def test_words_that_contradict_or_mean_nothing_are_refused(choices, words):
    with pytest.raises(InputError, match=words):
        ece(TRUE, PROB, **choices)
    with pytest.raises(InputError):
        evaluate(TRUE, PROB, metrics="ece", **choices)
