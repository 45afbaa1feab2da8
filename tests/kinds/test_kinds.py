"""What was said: events, answers and classes, from the columns of a file to the words of a report, as a user meets them."""

import json

import numpy as np
import pandas as pd
import pytest

import epimeter
from epimeter.cli import main
from epimeter.errors import EpimeterError, ReadError


def model(n=3000, seed=1):
    """Probabilities of outcome 1 by a model that is somewhat too sure, and what came true."""
    rng = np.random.default_rng(seed)
    truth = rng.beta(0.7, 1.3, n)
    logit = np.log(truth / (1 - truth))
    return (rng.random(n) < truth).astype(int), 1 / (1 + np.exp(-1.4 * logit))


def answers(y, p):
    """The same model as answers: right or wrong, and the confidence in the answer given."""
    return ((p >= 0.5) == (y == 1)).astype(int), np.maximum(p, 1 - p)


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return done.value.code or 0, said.out, said.err


def written(folder, name="data.csv", **columns):
    path = folder / name
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def report(capsys, *arguments):
    code, out, err = run(capsys, "evaluate", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize(
    "names", [("y_true", "y_prob"), ("label", "score"), ("target", "probability"), ("outcome", "p")]
)
def test_names_say_an_event(tmp_path, capsys, names):
    y, p = model(300)
    found = report(capsys, written(tmp_path, **{names[0]: y, names[1]: p}))
    assert found["kind"] == "event"
    assert found["states"] == "events: each row states the probability of outcome 1"
    assert found["base_rate"] == pytest.approx(y.mean())


def test_a_prediction_beside_label_and_confidence_gives_right_and_wrong(tmp_path, capsys):
    y, p = model()
    right, confidence = answers(y, p)
    numbers = written(tmp_path, y_true=y, y_pred=(p >= 0.5).astype(int), confidence=confidence)
    words = written(
        tmp_path, "w.csv", label=np.where(y, "cat", "dog"), prediction=np.where(p >= 0.5, "cat", "dog"), conf=confidence
    )
    expected = epimeter.evaluate(correct=right, confidence=confidence)
    for file in (numbers, words):
        found = report(capsys, file, "-m", "ece")
        assert found["kind"] == "answer"
        assert found["measurements"][0]["value"] == float(expected["ece"])
        assert any("counts as right where" in note for note in found["source"]["notes"])


def test_a_confidence_beside_bare_labels_is_ambiguous_until_it_is_said(tmp_path, capsys):
    y, p = model(300)
    file = written(tmp_path, confidence=p, label=y)
    code, out, err = run(capsys, "evaluate", file)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert "--kind event" in err and "--kind answer" in err
    assert report(capsys, file, "--kind", "event")["kind"] == "event"
    assert report(capsys, file, "--kind", "answer")["kind"] == "answer"


def test_a_standard_reads_an_event_by_its_top_label_to_the_last_digit(tmp_path, capsys):
    y, p = model()
    right, confidence = answers(y, p)
    found = []
    for file in (
        written(tmp_path, y_true=y, y_prob=p),
        written(tmp_path, "b.csv", correct=right, confidence=confidence),
    ):
        code, out, err = run(capsys, "evaluate", file, "--standard", "ers", "--json")
        assert code == 0, err
        found.append(json.loads(out))
    event, answer = found
    assert event["metrics"] == answer["metrics"]
    assert event["readings"] == answer["readings"]
    assert event["records"]["kind"] == "event" and "top label" in event["records"]["read_as"]
    assert event["report"]["kind"] == "event"  # metrics of an event keep their definition


def test_a_page_of_an_event_counts_its_answers_and_ends_at_their_errors(tmp_path, capsys):
    y, p = model()
    right, _ = answers(y, p)
    code, _, _ = run(capsys, "evaluate", written(tmp_path, y_true=y, y_prob=p), "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert code == 0
    assert f"{right.sum():,} right and {(1 - right).sum():,} wrong answers" in page
    assert f"of all answers {1 - right.mean():.1%} are wrong" in page
    assert "over-confident" not in page


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ({"correct": [1, 0], "confidence": [0.9, 0.2]}, ["--kind", "event"], "kind event needs what came true"),
        ({"y_true": [1, 0], "y_prob": [0.9, 0.2]}, ["--kind", "classes"], "kind classes needs one probability column"),
        (
            {"label": [0, 1], "p_0": [0.4, 0.3], "p_1": [0.6, 0.7]},
            ["--kind", "event"],
            "kind event needs one number a row",
        ),
        (
            {"y_true": [1, 0], "y_pred": [1, None], "confidence": [0.9, 0.2]},
            [],
            "y_pred must be present in every labelled row",
        ),
        ({"y_true": ["a", "b"], "y_pred": [1, 2], "confidence": [0.9, 0.2]}, [], "must be of the kind of y_true"),
        ({"y_true": [1, -1], "y_prob": [0.9, 0.2]}, [], "Say --positive 1"),
        ({"y_true": [1, 2], "y_prob": [0.9, 0.2]}, [], "Say --positive 2"),
        ({"y_true": ["good", "bad"], "y_prob": [0.9, 0.2]}, [], "Say --positive 'good'"),
        ({"y_true": ["a", "b"], "y_prob": [0.9, 0.2]}, ["--positive", "c"], "no row of data.csv has 'c' in y_true"),
        ({"y_true": [None, None], "y_prob": [0.9, 0.2]}, [], "must be known for at least one row"),
        (
            {"label": ["a", "b"], "a": [0.4, 0.3], "b": [0.6, 0.7]},
            ["--classes", "a,c"],
            "every class must have a column",
        ),
    ],
)
def test_contradictions_are_one_sentence(tmp_path, capsys, columns, options, sentence):
    code, out, err = run(capsys, "evaluate", written(tmp_path, **columns), *options)
    assert code == 2 and not out and err.count("\n") == 1
    assert sentence in err


def test_words_for_outcomes_are_read_and_said(tmp_path, capsys):
    y, p = model(400)
    plain = report(capsys, written(tmp_path, y_true=y, y_prob=p))
    yes = report(capsys, written(tmp_path, "yes.csv", y_true=np.where(y, "Yes", "No"), y_prob=p))
    named = report(
        capsys, written(tmp_path, "named.csv", y_true=np.where(y, "churn", "stay"), y_prob=p), "--positive", "churn"
    )
    assert plain["measurements"] == yes["measurements"] == named["measurements"]
    assert yes["source"]["notes"] == ["'Yes' in y_true is 1 and 'No' in y_true is 0"]
    assert named["source"]["notes"] == ["outcome 1 is 'churn' in y_true; 'stay' is 0"]


def test_rows_without_a_label_stand_on_the_first_lines_everywhere(tmp_path, capsys):
    y, p = model(1000)
    gone = y.astype(object)
    gone[::4] = None
    file = written(tmp_path, y_true=gone, y_prob=p)
    sentence = "250 of 1,000 rows have no label and were left out."
    code, out, _ = run(capsys, "evaluate", file)
    assert code == 0 and sentence in out.splitlines()[2]
    run(capsys, "evaluate", file, "-o", tmp_path / "r.html")
    assert sentence in (tmp_path / "r.html").read_text("utf-8")
    in_python = epimeter.evaluate(gone, p)
    assert sentence in str(in_python)
    assert (
        float(in_python["ece"])
        == float(epimeter.evaluate(file)["ece"])
        == float(epimeter.evaluate(pd.read_csv(file))["ece"])
    )


def test_a_system_that_is_right_on_average_and_wrong_everywhere_is_refuted():
    rng = np.random.default_rng(4)
    p = np.where(rng.random(4000) < 0.5, 0.9, 0.1)
    made = epimeter.evaluate((rng.random(4000) < np.where(p > 0.5, 0.6, 0.4)).astype(int), p)
    assert made.verdict.refuted
    assert made.verdict.bias_low < 0 < made.verdict.bias_high
    text = str(made)
    assert "neither too much nor too little" in text and "points too much" in text and "points too little" in text
    assert "as sure as it is right" not in text


def test_a_calibrated_system_is_refuted_at_most_so_often():
    rng = np.random.default_rng(9)
    refuted = 0
    for _ in range(200):
        p = rng.beta(2, 2, 500)
        refuted += bool(epimeter.evaluate((rng.random(500) < p).astype(int), p, metrics=["ece"]).verdict.refuted)
    assert refuted <= 20  # 5 % of 200 and three standard errors


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda y, p: (y, np.maximum(p, 1 - p)), "every probability of outcome 1 is at least 0.5"),
        (lambda y, p: (y, 1 - p), "1 - p passed?"),
        (lambda y, p: (y, (p > 0.5).astype(float)), "only 0 and 1 are stated"),
    ],
)
def test_data_that_look_like_something_else_are_suspected(change, sentence):
    assert any(sentence in caution for caution in epimeter.evaluate(*change(*model())).cautions)


def test_an_honest_model_is_not_suspected():
    assert not any("passed?" in c or "instead of" in c for c in epimeter.evaluate(*model()).cautions)


def test_an_infinite_score_says_which_rows_make_it_so():
    y, p = model(200)
    p[7], y[7] = 0.0, 1
    made = epimeter.evaluate(y, p)
    line = made["nll"].to_dict()
    assert line["value"] == "inf" and "1 row said 0 for what came true (row 7" in line["infinite"]
    assert any("nll" in caution and "row 7" in caution for caution in made.cautions)


def test_every_line_has_an_interval_or_says_why_not():
    for made in (epimeter.evaluate(*model()), epimeter.evaluate([0, 1, 2] * 100, np.full((300, 3), 1 / 3))):
        for line in made.values():
            assert (line.interval is None) != (line.no_interval is None), line.metric


def test_python_takes_what_people_hold():
    y, p = model(500)
    plain = float(epimeter.evaluate(y, p)["brier_score"])
    assert float(epimeter.evaluate(np.where(y, "yes!", "no"), p, positive="yes!")["brier_score"]) == plain
    assert float(epimeter.evaluate(pd.DataFrame({"y_true": y, "y_prob": p}))["brier_score"]) == plain
    assert float(epimeter.evaluate(y, np.log(p / (1 - p)), logits=True)["brier_score"]) == pytest.approx(plain)
    matrix = np.column_stack([1 - p, p])
    named = epimeter.evaluate(np.where(y, "b", "a"), matrix, classes=["a", "b"])
    assert named.kind == "classes" and float(named["ece"]) == float(epimeter.evaluate(y, matrix)["ece"])
    assert epimeter.evaluate(y, p, kind="answer").kind == "answer"
    for wrong in ({"kind": "classes"}, {"kind": "sure"}, {"positive": 7}, {"columns": {"label": "y"}}):
        with pytest.raises(EpimeterError):
            epimeter.evaluate(y, p, **wrong)
    with pytest.raises(EpimeterError, match="y_true comes first"):
        epimeter.evaluate(p, y)


def test_a_pass_over_files_has_kind_and_verdict_too(tmp_path):
    y, p = model()
    for number, part in enumerate(np.array_split(np.arange(len(y)), 3)):
        pd.DataFrame({"y_true": y[part], "y_prob": p[part]}).to_parquet(tmp_path / f"part{number}.parquet")
    streamed, whole = epimeter.scan(str(tmp_path / "*.parquet")), epimeter.evaluate(y, p)
    assert streamed.kind == "event"
    assert streamed.verdict.p_value == whole.verdict.p_value and streamed.verdict.bias == whole.verdict.bias


@pytest.mark.parametrize(
    "option",
    [
        "--domain medical",
        "--weights 1,1,1",
        "--truth x.json",
        "--slice a",
        "--strategy x",
        "--assume-utc",
        "--date 2026-01-01",
    ],
)
def test_an_option_without_its_task_is_refused(tmp_path, capsys, option):
    y, p = model(100)
    code, out, err = run(capsys, "evaluate", written(tmp_path, y_true=y, y_prob=p), *option.split())
    assert code == 2 and not out and option.split()[0] in err


def test_the_options_of_intervals_work_on_every_evaluation(tmp_path, capsys):
    y, p = model(400)
    file = written(tmp_path, y_true=y, y_prob=p)
    found = {
        name: report(capsys, file, "-m", "ece", *options.split())["measurements"][0].get("interval")
        for name, options in {
            "plain": "", "none": "--interval none", "wide": "--level 0.99", "drawn": "--interval bootstrap --draws 99",
            "other": "--interval bootstrap --draws 99 --seed 5",
        }.items()
    }  # fmt: skip
    assert found["none"] is None and found["wide"]["high"] > found["plain"]["high"]
    assert "bootstrap" in found["drawn"]["method"] and found["drawn"]["high"] != found["other"]["high"]


def test_packed_files_and_what_pandas_writes_are_read(tmp_path, capsys):
    y, p = model(300)
    frame = pd.DataFrame({"y_true": y, "y_prob": p})
    frame.to_csv(tmp_path / "plain.csv", index=False)
    expected = report(capsys, tmp_path / "plain.csv")["measurements"]
    frame.to_csv(tmp_path / "packed.csv.gz", index=False)
    frame.to_json(tmp_path / "columns.json", double_precision=15)
    assert report(capsys, tmp_path / "packed.csv.gz")["measurements"] == expected
    assert report(capsys, tmp_path / "columns.json")["n_rows"] == 300
    cut = (tmp_path / "packed.csv.gz").read_bytes()[:900]
    (tmp_path / "cut.csv.gz").write_bytes(cut)
    code, _, err = run(capsys, "evaluate", tmp_path / "cut.csv.gz")
    assert code == 2 and err.count("\n") == 1


def test_half_precision_is_judged_by_its_own_precision():
    rng = np.random.default_rng(3)
    scores = np.exp(rng.normal(size=(400, 50)))
    half = (scores / scores.sum(axis=1, keepdims=True)).astype(np.float16)
    assert np.abs(half.astype(np.float64).sum(axis=1) - 1).max() > 1e-6
    assert epimeter.evaluate(rng.integers(0, 50, 400), half).kind == "classes"
    with pytest.raises(EpimeterError, match="rows must sum to 1"):
        epimeter.evaluate(rng.integers(0, 50, 400), (half * np.float16(0.9)).astype(np.float16))


def test_refusals_of_a_call_speak_of_its_parameters():
    for frame, spoken in (
        ({"p": [0.9, 0.2], "target": [">50K", "<=50K"]}, "Say positive='>50K' or positive='<=50K', or write 1"),
        ({"confidence": [0.9, 0.2], "label": [1, 0]}, "(kind='event')"),
        ({"p": [0.9, 0.2], "income": [1, 0]}, "Name it with columns={'label': 'NAME'}"),
        ({"logit": [3.0, -2.0], "label": [1, 0]}, "Say logits=True"),
        ({"y": [1.0, 2.0], "mean": [1.0, 2.0], "std": [1.0, 1.0]}, "Use evaluate_forecasts"),
    ):
        with pytest.raises(ReadError) as refused:
            epimeter.evaluate(frame)
        assert spoken in str(refused.value) and "--" not in str(refused.value)
