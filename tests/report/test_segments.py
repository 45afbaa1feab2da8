"""Slices and segments: crossed columns, quartiles, the false finds held."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from epimeter.cli import epimeter
from epimeter.errors import InputError


def rows(path, n=4000, seed=0, off=0.2):
    rng = np.random.Generator(np.random.PCG64(seed))
    p, lang, device = rng.random(n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    age = rng.integers(18, 90, n)
    truth = np.clip(p - off * ((lang == 2) & (device == 0)), 0, 1)
    y = (rng.random(n) < truth).astype(int)
    lines = [
        f"{i},{float(p[i])!r},{y[i]},{('en', 'de', 'fr')[lang[i]]},{('ios', 'web')[device[i]]},{age[i]}"
        for i in range(n)
    ]
    path.write_text("\n".join(["id,prob,label,lang,device,age", *lines]) + "\n")
    return p, y, lang, device, age


def run(*arguments):
    return CliRunner().invoke(epimeter, [str(argument) for argument in arguments])


def told(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


def test_a_search_finds_the_segment_that_is_off_and_holds_back_where_none_is(tmp_path):
    p, y, lang, device, _ = rows(tmp_path / "a.csv")
    found = told("slices", tmp_path / "a.csv")
    first = found["segments"][0]
    assert first["where"] == {"lang": "fr", "device": "ios"}
    here = (lang == 2) & (device == 0)
    assert first["n_rows"] == here.sum() and first["gap"] == pytest.approx((p - y)[here].mean(), abs=1e-12)
    assert first["low"] < first["gap"] < first["high"] and first["adjusted"] < 1e-6
    assert {"id", "prob", "label"}.isdisjoint({name for segment in found["segments"] for name in segment["where"]})
    assert any(segment["where"].get("age", "").startswith("[") for segment in found["segments"])  # numbers in quartiles
    rows(tmp_path / "b.csv", off=0.0, seed=3)
    assert all(segment["adjusted"] > 0.05 for segment in told("slices", tmp_path / "b.csv")["segments"])
    assert "None of" in run("slices", tmp_path / "b.csv").output


def test_named_slices_are_crossed_with_a_total_and_a_test_of_homogeneity(tmp_path):
    rows(tmp_path / "a.csv")
    found = told("slices", tmp_path / "a.csv", "--by", "lang", "--by", "device")
    assert (
        len(found["segments"]) == 6 and found["total"]["n_rows"] == sum(s["n_rows"] for s in found["segments"]) == 4000
    )
    assert found["homogeneity"]["p_value"] < 1e-6 and found["homogeneity"]["degrees_of_freedom"] == 5
    run("slices", tmp_path / "a.csv", "--by", "lang", "--by", "device", "-o", tmp_path / "slices.html")
    page = (tmp_path / "slices.html").read_text()
    assert (
        page.count("<svg") == 1
        and "gap in points of 7 segments, each with its interval; lang=fr, device=ios is furthest" in page
    )
    rows(tmp_path / "b.csv", off=0.0, seed=4)
    assert told("slices", tmp_path / "b.csv", "--by", "lang")["homogeneity"]["p_value"] > 0.01


def test_evaluate_crosses_the_columns_it_is_given(tmp_path):
    rows(tmp_path / "a.csv")
    found = told("evaluate", tmp_path / "a.csv", "--by", "lang", "--by", "device", "-m", "ece")
    assert set(found) == {f"lang={a}, device={b}" for a in ("de", "en", "fr") for b in ("ios", "web")}
    done = run(
        "evaluate", tmp_path / "a.csv", "--by", "lang", "--by", "device", "-m", "ece", "--require", "ece.high<=0.1"
    )
    assert done.exit_code == 1 and "lang=fr, device=ios: ece.high is" in done.output and "lang=de" not in done.stderr


def test_a_requirement_on_an_interval_stands_in_the_json(tmp_path):
    rows(tmp_path / "a.csv")
    done = run(
        "evaluate", tmp_path / "a.csv", "-m", "ece", "--require", "ece.high<=0.5", "--require", "ece.low>=0.4", "--json"
    )
    held = json.loads(done.stdout)["requirements"]
    assert done.exit_code == 1 and [one["holds"] for one in held] == [True, False]


def test_requirements_stand_in_the_json_of_every_way_to_a_report(tmp_path):
    rows(tmp_path / "a.csv")
    rows(tmp_path / "b.csv", seed=4)
    run("summarise", tmp_path / "a.csv", "-o", tmp_path / "a.epi")
    required = ("--require", "ece<=0.5", "--require", "ece>=0.9", "--json")
    for way in (
        ("evaluate", tmp_path / "a.csv"),
        ("evaluate", tmp_path / "a.csv", tmp_path / "b.csv"),
        ("evaluate", tmp_path / "a.csv", "--by", "lang", "--slice", "de"),
        ("report", tmp_path / "a.epi"),
    ):
        done = run(*way, *required)
        assert done.exit_code == 1, way
        assert [one["holds"] for one in json.loads(done.stdout)["requirements"]] == [True, False], way
    sliced = json.loads(run("evaluate", tmp_path / "a.csv", "--by", "lang", *required).stdout)
    held = {name: [one["holds"] for one in made["requirements"]] for name, made in sliced.items()}
    assert held == {name: [True, False] for name in ("de", "en", "fr")}


def test_slices_of_one_row_and_unknown_columns_are_answered_in_a_sentence(tmp_path):
    (tmp_path / "a.csv").write_text("prob,label,place\n0.2,0,x\n0.9,1,y\n0.8,1,y\n")
    found = told("slices", tmp_path / "a.csv", "--by", "place")
    assert [s["n_rows"] for s in found["segments"]] == [1, 2] and found["segments"][0]["low"] == -1
    assert isinstance(run("slices", tmp_path / "a.csv", "--by", "nowhere").exception, InputError)


def test_segments_say_what_is_stated_how_rows_were_read_and_what_is_odd(tmp_path):
    rng = np.random.default_rng(0)
    prob = rng.random(400)
    true = (rng.random(400) < prob).astype(object)
    true[:5] = ""
    lines = [f"{y},{1 - p},{'ab'[k % 2]}" for k, (y, p) in enumerate(zip(true, prob, strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(["y_true,y_prob,site", *lines]))
    said = CliRunner().invoke(epimeter, ["slices", str(tmp_path / "rows.csv")]).output
    for words in ("events: each row states", "5 of 400 rows have no label and were left out", "1 - p passed?"):
        assert words in said
