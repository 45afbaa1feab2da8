"""Maps: fitted, saved, applied, chosen; from Python and from the command line."""

import csv
import json
import math
import os
import threading

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose
from scipy.special import expit, log_softmax, logit, softmax

from epimeter.cli import epimeter
from epimeter.errors import InputError
from epimeter.recalibration import Recalibrator, compare_maps
from epimeter.recalibration.document import digest_of, maps_of
from epimeter.recalibration.selection import folds_of
from epimeter.views import view

CURVES = list(maps_of("event"))
MATRICES = list(maps_of("classes"))


def events(n=2000, seed=0):
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(n)
    return p, (rng.random(n) < expit(0.5 * logit(p) + 0.4)).astype(int)


def classes(n=1500, k=4, seed=0):
    rng = np.random.Generator(np.random.PCG64(seed))
    z = 2 * rng.normal(size=(n, k))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (0.5 * np.log(p) - np.log(-np.log(rng.random(p.shape)))).argmax(axis=1)
    return p, y


@pytest.mark.parametrize("name", CURVES)
def test_a_map_of_events_comes_back_from_its_file_with_the_same_bits(name, tmp_path):
    p, y = events()
    made = Recalibrator(name).fit(p, y)
    back = Recalibrator.load(made.save(tmp_path / "map.json"))
    np.testing.assert_array_equal(back.predict(p), made.predict(p))
    assert back.digest == made.digest == digest_of(json.loads((tmp_path / "map.json").read_text()))
    assert ((made.predict([0.0, 1.0]) >= 0) & (made.predict([0.0, 1.0]) <= 1)).all()


@pytest.mark.parametrize("name", MATRICES)
def test_a_map_of_classes_comes_back_from_its_file_and_its_rows_sum_to_one(name, tmp_path):
    p, y = classes()
    made = Recalibrator(name).fit(p, y)
    back = Recalibrator.load(made.save(tmp_path / "map.json"))
    np.testing.assert_array_equal(back.predict(p), made.predict(p))
    assert_allclose(made.predict(p).sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in CURVES if name != "identity"])
def test_every_map_brings_new_rows_nearer_to_the_truth(name):
    p, y = events(6000)
    new, _ = events(500, seed=1)
    true = expit(0.5 * logit(new) + 0.4)
    before, after = np.abs(new - true).mean(), np.abs(Recalibrator(name).fit(p, y).predict(new) - true).mean()
    assert after < (0.7 if name == "temperature" else 0.3) * before  # a temperature cannot shift


def test_venn_abers_is_isotonic_regression_with_the_row_in_it():
    from sklearn.isotonic import IsotonicRegression

    p, y = events(60)
    p = np.round(p, 1)
    made = Recalibrator("venn_abers").fit(p, y).document_.map
    for level, low, high in zip(np.unique(p), made.low, made.high, strict=True):
        for outcome, found in ((0, low), (1, high)):
            again = IsotonicRegression().fit(np.append(p, level), np.append(y, outcome))
            assert found == pytest.approx(again.predict([level])[0], abs=1e-12)
    assert ((made(p) > 0) & (made(p) < 1)).all()


def test_an_intra_order_map_changes_no_answer_and_mends_what_one_temperature_cannot():
    rng = np.random.default_rng(2)
    score = rng.normal(size=(4_000, 5)) * 2
    true = np.where(score > 0, 0.4, 1.5) * score  # bold where it is sure, timid where it is not
    p, q = (np.exp(s) / np.exp(s).sum(axis=1, keepdims=True) for s in (score, true))
    y = (q.cumsum(axis=1) < rng.random(4_000)[:, None]).sum(axis=1).clip(0, 4)
    bent, warmed = (Recalibrator(name).fit(p, y) for name in ("intra_order", "temperature"))
    assert (np.argsort(bent.predict(p), axis=1) == np.argsort(p, axis=1)).all()
    losses = [-np.log(one.predict(p)[np.arange(4_000), y]).mean() for one in (bent, warmed)]
    assert losses[0] < losses[1] - 0.003
    with pytest.raises(InputError, match="one slope more than knots, all above 0"):
        type(bent.document_.map).read({"knots": [-2.0, -1.0], "slopes": [1.0, 0.0, 1.0], "n_classes": 5})


def test_vector_and_dirichlet_find_the_slopes_the_classes_were_drawn_with():
    p, y = classes(20_000, 3)
    vector = Recalibrator("vector").fit(p, y).document_.map
    assert_allclose(vector.slope, 0.5, atol=0.06)
    assert_allclose(vector.intercept, 0, atol=0.1)
    matrix = Recalibrator("dirichlet").fit(p, y).document_.map.matrix
    # softmax knows a matrix up to a constant a column
    assert_allclose(matrix - matrix.mean(axis=0), 0.5 * (np.eye(3) - 1 / 3), atol=0.08)


@pytest.mark.parametrize(("k", "far"), [(3, 1e-6), (17, 1e-5)])
def test_a_dirichlet_map_of_nearly_separated_classes_is_at_its_minimum(k, far):
    """Certain forecasts, nearly all right: the loss is all but flat, and a method of first derivatives stops on the way."""
    rng = np.random.Generator(np.random.PCG64(8))
    y = np.append(np.arange(k), rng.integers(0, k, 300))
    z = 8 * rng.normal(size=(len(y), k)) + 30 * np.eye(k)[y]
    p = softmax(z, axis=1)
    made = Recalibrator("dirichlet").fit(p, y).document_.map
    log_p = np.log(np.clip(p, 1e-12, 1 - 1e-12))

    def loss(matrix, intercept):
        score = log_softmax(log_p @ matrix.T + intercept, axis=1)
        off = matrix[~np.eye(k, dtype=bool)]
        return -score[np.arange(len(y)), y].mean() + 1e-3 * ((off**2).mean() + (intercept**2).mean())

    here = loss(made.matrix, made.intercept)
    for _ in range(20):
        step = 1e-2 * rng.normal(size=(k, k + 1))
        assert loss(made.matrix + step[:, :k], made.intercept + step[:, k]) > here - far


def test_weights_are_copies_for_every_map():
    p, y = events(300)
    weight = np.random.Generator(np.random.PCG64(3)).integers(0, 4, 300)
    at = np.linspace(0.02, 0.98, 50)
    for name in CURVES:
        left = Recalibrator(name).fit(p, y, sample_weight=weight.astype(float)).predict(at)
        right = Recalibrator(name).fit(np.repeat(p, weight), np.repeat(y, weight)).predict(at)
        assert_allclose(left, right, atol=1e-8, err_msg=name)


def test_auto_leaves_calibrated_predictions_nearly_alone_and_says_how_clear_the_choice_was():
    rng = np.random.Generator(np.random.PCG64(5))
    p = rng.random(4000)
    y = (rng.random(4000) < p).astype(int)
    made = Recalibrator().fit(p, y)
    assert np.abs(made.predict(p) - p).mean() < 0.02
    choice = made.selection_
    ranked = sorted(choice.losses.values())
    assert choice.lead == pytest.approx(ranked[1] - ranked[0])
    assert math.isinf(choice.losses["isotonic"])  # it says 0 and 1, and once it is wrong
    assert choice.next in choice.sentence and made.document_.chosen["losses"]["isotonic"] is None


@pytest.mark.parametrize("outcome", [0, 1])
def test_a_choice_on_rows_without_exception_says_what_they_cannot_tell(outcome):
    p = np.linspace(0.6, 0.99, 300)
    made = Recalibrator(kind="answer").fit(p, np.full(300, outcome))
    assert f"Caution: every row has outcome {outcome}" in made.selection_.sentence
    assert "up to 0.99 % of new rows" in made.document_.chosen["caution"]  # 1 - 0.05^(1/300)
    matrix, _ = classes(300, 3)
    assert "the answer of every row was right" in Recalibrator().fit(matrix, matrix.argmax(axis=1)).selection_.caution
    assert "caution" not in Recalibrator().fit(*events()).document_.chosen


def test_rows_of_one_group_share_a_fold():
    groups = np.repeat(np.arange(40), 7)
    fold = folds_of(280, groups, 5, 0)
    assert all(len(set(fold[groups == g])) == 1 for g in range(40))
    assert set(np.bincount(fold)) == {56}
    with pytest.raises(InputError, match="5 folds need at least 5 groups; got 3"):
        folds_of(6, [0, 0, 1, 1, 2, 2], 5, 0)


def test_the_table_of_maps_is_held_out_and_paired():
    p, y = events(1200)
    found = compare_maps(view(y, p), names=("platt", "isotonic"), draws=99)
    told = {line["map"]: line for line in found.to_dict()["maps"]}
    assert set(told) == {"identity", "platt", "isotonic"}
    change = told["platt"]["brier_score"]["change"]
    assert change["high"] < 0 and told["identity"]["brier_score"]["change"] is None
    assert all(line["drmsce_bcs"]["interval"]["high"] > 0.005 for line in told.values())  # no error is 0 for certain
    assert told["isotonic"]["nll"]["value"] is None  # infinite, and said so in words
    assert "infinite" in str(found)
    assert found.choice.losses["identity"] == pytest.approx(told["identity"]["nll"]["value"], abs=1e-9)


def test_the_estimator_keeps_the_conventions_of_scikit_learn():
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.utils.validation import check_is_fitted

    made = Recalibrator("beta", seed=3)
    with pytest.raises(InputError, match=r"one column a class; got 0 feature\(s\)"):
        made.fit(np.empty((15, 0)), [0, 1, 1] * 5)
    assert clone(made).get_params() == made.get_params()
    with pytest.raises(NotFittedError, match="call fit"):
        made.predict([0.5])
    p, y = events(600)
    line = Pipeline([("sigmoid", FunctionTransformer(expit)), ("map", Recalibrator("platt"))]).fit(logit(p), y)
    assert_allclose(line.predict(logit(p)), Recalibrator("platt").fit(p, y).predict(p), atol=1e-6)
    check_is_fitted(line["map"])
    column = Recalibrator("platt").fit(p[:, None], y)
    assert column.n_features_in_ == 1 and not hasattr(Recalibrator(), "n_features_in_")
    np.testing.assert_array_equal(column.predict(p[:, None])[:, 0], Recalibrator("platt").fit(p, y).predict(p))
    found = GridSearchCV(Recalibrator(), {"map": ["identity", "platt"]}, scoring="neg_mean_squared_error", cv=3).fit(
        p, y
    )
    assert found.best_params_ == {"map": "platt"}


def write_csv(path, p, y, name="prob", label="label"):
    lines = [f"r{i},{a!r},{b},NA" for i, (a, b) in enumerate(zip(p.tolist(), y.tolist(), strict=True))]
    path.write_text("\n".join([f"id,{name},{label},place", *lines]) + "\n")
    return str(path)


def run(*arguments):
    return CliRunner().invoke(epimeter, [str(argument) for argument in arguments])


def test_fit_apply_and_evaluate_on_the_command_line(tmp_path):
    fitted, other = write_csv(tmp_path / "val.csv", *events(800)), write_csv(tmp_path / "new.csv", *events(700, seed=9))
    map_, out = tmp_path / "map.json", tmp_path / "out.csv"
    assert run("recalibrate", "fit", fitted, "--map", "platt", "-o", map_).exit_code == 0
    done = run("recalibrate", "apply", map_, other, "-o", out)
    assert done.exit_code == 0 and "WARNING" not in done.output
    with open(out, newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["id", "prob", "label", "place", "recalibrated_by"]
    assert rows[1][0] == "r0" and rows[1][3] == "NA" and rows[1][4].startswith("platt:sha256:")
    p, _ = events(700, seed=9)
    assert_allclose([float(row[1]) for row in rows[1:]], Recalibrator.load(map_).predict(p), rtol=1e-15)
    told = run("evaluate", out).output
    digest = json.loads(map_.read_text())["digest"]
    assert f"recalibrated after the model made them, by platt:{digest}" in told
    assert run("recalibrate", "compare", fitted, "--map", "platt", "--draws", "19", "--json").exit_code == 0


def test_rows_without_an_outcome_are_mapped_and_every_format_keeps_its_columns(tmp_path):
    p, y = events(300)
    map_ = Recalibrator("beta").fit(p, y).save(tmp_path / "map.json")
    (tmp_path / "new.jsonl").write_text(
        "".join(json.dumps({"prob": a, "tags": ["x"], "n": 3}) + "\n" for a in p.tolist())
    )
    assert run("recalibrate", "apply", map_, tmp_path / "new.jsonl", "-o", tmp_path / "out.jsonl").exit_code == 0
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert first["tags"] == ["x"] and first["n"] == 3
    assert first["prob"] == Recalibrator.load(map_).predict(p[:1])[0]


def test_a_map_applied_to_the_rows_it_was_fitted_on_is_said_loudly_and_refused_by_a_certificate(tmp_path):
    from datetime import UTC, datetime

    from epimeter.readers import read
    from epimeter.trust.assessing import assess

    path = write_csv(tmp_path / "val.csv", *events(600))
    run("recalibrate", "fit", path, "--map", "platt", "-o", tmp_path / "map.json")
    done = run("recalibrate", "apply", tmp_path / "map.json", path, "-o", tmp_path / "out.csv")
    assert done.exit_code == 0 and "WARNING: the map was fitted on the rows" in done.output
    found = assess(read(tmp_path / "out.csv"), domain="general", at=datetime(2026, 1, 1, tzinfo=UTC))
    assert any("not fitted on the rows evaluated" in obstacle for obstacle in found.obstacles)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 2}, "version 1"),
        ({"map": "magic"}, "the maps of event are"),
        ({"numbers": {"slope": 1.0}}, "digest"),
        ({"kind": "answer"}, "digest"),
        ({"extra": 1}, "differs in 'extra'"),
        ({"format": "x"}, "no recalibration map"),
    ],
)
def test_a_map_that_was_edited_or_is_none_is_refused_in_one_sentence(change, says, tmp_path):
    p, y = events(300)
    path = Recalibrator("platt").fit(p, y).save(tmp_path / "map.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=says):
        Recalibrator.load(path)


def test_an_edited_map_is_read_when_that_is_said_and_its_numbers_are_still_checked(tmp_path):
    p, y = events(300)
    path = Recalibrator("platt").fit(p, y).save(tmp_path / "map.json")
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"numbers": {"intercept": 0.0, "slope": 2.0}}))
    assert Recalibrator.load(path, edited=True).predict([0.5])[0] == 0.5
    for numbers in ({"intercept": 0.0}, {"intercept": "x", "slope": 1}, {"intercept": 0.0, "slope": [1, 2]}):
        path.write_text(json.dumps(document | {"numbers": numbers}))
        with pytest.raises(InputError, match="platt map"):
            Recalibrator.load(path, edited=True)


def test_a_map_is_refused_on_another_kind_other_classes_and_impossible_predictions(tmp_path):
    p, y = events(300)
    event = Recalibrator("platt").fit(p, y).save(tmp_path / "event.json")
    right = write_csv(tmp_path / "answers.csv", p, y, "confidence", "correct")
    assert "kind event needs" in str(run("recalibrate", "apply", event, right, "-o", tmp_path / "o.csv").exception)
    answer = run("recalibrate", "fit", right, "--map", "platt", "-o", tmp_path / "answer.json")
    assert answer.exit_code == 0
    told = write_csv(tmp_path / "events.csv", p, y)
    done = run("recalibrate", "apply", tmp_path / "answer.json", told, "-o", tmp_path / "o.csv")
    assert "this map is of kind answer; " in str(done.exception) and "--kind answer" in str(done.exception)
    assert not (tmp_path / "o.csv").exists()
    assert (
        run(
            "recalibrate", "apply", tmp_path / "answer.json", told, "--kind", "answer", "-o", tmp_path / "o.csv"
        ).exit_code
        == 0
    )
    for stream in (["-"], [str(tmp_path / "pipe")]):  # what can be read only once is asked the same
        if stream[0] != "-":
            os.mkfifo(stream[0])
            threading.Thread(
                target=lambda: (tmp_path / "pipe").write_bytes((tmp_path / "events.csv").read_bytes())
            ).start()
        command = ["recalibrate", "apply", str(tmp_path / "answer.json"), *stream, "-o", str(tmp_path / "p.csv")]
        done = CliRunner().invoke(epimeter, command, input=(tmp_path / "events.csv").read_bytes())
        assert "this map is of kind answer; " in str(done.exception) and not (tmp_path / "p.csv").exists()
    bad = write_csv(tmp_path / "bad.csv", np.append(p, 1.2), np.append(y, 1))
    done = run("recalibrate", "apply", event, bad, "-o", tmp_path / "o.csv")
    assert "y_prob[300] = 1.2" in str(done.exception) and "bad.csv, line 302" in str(done.exception)
    matrix, label = classes(300, 3)
    three = Recalibrator("temperature").fit(matrix, label)
    with pytest.raises(InputError, match="has 4 features, but Recalibrator is expecting 3"):
        three.predict(classes(5, 4)[0])
    with pytest.raises(InputError, match="has 3 features, but Recalibrator is expecting 1"):
        Recalibrator("platt").fit(p, y).predict(matrix)
    with pytest.raises(InputError, match="the maps of event are auto, identity"):
        Recalibrator("dirichlet").fit(p, y)
