"""Reports that one can hold: printed, shown, framed, saved; the same numbers in every form."""

import csv
import io
import json
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import epimeter
from epimeter import inference, metrics
from epimeter.cli import main
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.report.text import text


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    prob = rng.random(n)
    return (rng.random(n) < prob**1.4).astype(int), prob


@pytest.fixture(scope="module")
def report():
    return epimeter.evaluate(*sample(), source={"name": "a & b <c>_%"})


def run(*arguments):
    with pytest.raises(SystemExit) as done:
        main([str(argument) for argument in arguments])
    return done.value.code


def test_a_report_is_a_mapping_of_names_to_measurements(report):
    names = [m.metric for m in report.measurements]
    assert list(report) == list(report.keys()) == names
    assert len(report) == len(names)
    assert "ece" in report
    assert "no_such_metric" not in report
    assert report.get("no_such_metric") is None
    assert [m.metric for m in report.values()] == names
    assert dict(report.items())["ece"] is report["ece"]
    with pytest.raises(KeyError):
        report["no_such_metric"]


def test_a_line_and_a_number_both_have_a_value(report):
    number = metrics.ece(*sample(), bins=10)
    assert float(report["ece"]) == report["ece"].value
    assert number.value == float(number)
    result = metrics.spiegelhalter_z(*sample())
    assert float(result) == result.headline == result.value
    assert pickle.loads(pickle.dumps(result)) == result
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = result.nonsense
    undefined = epimeter.evaluate([1, 1], [1.0, 1.0], metrics=["spiegelhalter_z"])["spiegelhalter_z"]
    if undefined.value is None:
        with pytest.raises(UndefinedMetricError):
            float(undefined)


def test_a_report_prints_as_the_terminal_shows_it(report):
    assert str(report) == text(report)
    assert repr(report).startswith("<Report of 400 rows: ")
    assert "\n" not in repr(report)


def test_a_notebook_shows_a_report_with_its_diagram_and_nothing_that_runs(report):
    shown = report._repr_html_()
    assert shown.startswith('<div class="epimeter">')
    assert shown.count("<svg") == 1
    assert "a &amp; b &lt;c&gt;" in shown
    assert "<script" not in shown and "javascript:" not in shown and not re.search(r"<[^>]*\son\w+=", shown)
    assert 'fill="#0b5fa5"' in shown, "colours by value: the page around has no style of ours"
    style = shown[shown.index("<style>") + 7 : shown.index("</style>")]
    rules = [rule for rule in style.split("}") if rule.strip()]
    assert all(part.strip().startswith(".epimeter") for rule in rules for part in rule.split("{")[0].split(","))


@pytest.mark.parametrize("library", [None, "pandas", "polars"])
def test_a_frame_has_a_line_a_metric(report, library):
    frame = report.to_frame(library)
    assert type(frame).__module__.split(".")[0] == (library or "pandas")
    assert list(frame["metric"]) == list(report)
    np.testing.assert_array_equal(np.asarray(frame["value"], float), [m.value for m in report.values()])
    with pytest.raises(InputError, match="'pandas' or 'polars'"):
        report.to_frame("excel")


def test_csv_json_markdown_and_latex_hold_the_same_values(report):
    lines = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert [float(line["value"]) for line in lines] == [m.value for m in report.values()]
    assert json.loads(report.to_json()) == json.loads(json.dumps(report.to_dict()))
    for form in (report.to_markdown(), report.to_latex(), report.to_html()):
        assert f"{report['ece'].value:.6g}" in form
    tex = report.to_latex()
    assert r"a \& b \textless{}c\textgreater{}\_\%" in tex
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") >= 1
    assert not re.search(r"(?<!\\)_", tex.replace("% needs", ""))


SUFFIXES = ["html", "md", "json", "txt", "csv", "tex", "pdf", "png", "svg"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_save_knows_its_suffixes(report, suffix, tmp_path):
    made = report.save(tmp_path / f"r.{suffix}").read_bytes()
    begins = {"html": b"<!doctype html>", "md": b"# ", "json": b"{", "txt": b"epimeter ", "csv": b"metric,value",
              "tex": b"% ", "pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<?xml"}  # fmt: skip
    assert made.startswith(begins[suffix])
    assert made == report.save(tmp_path / f"s.{suffix}").read_bytes()


def test_save_refuses_another_suffix(report, tmp_path):
    with pytest.raises(InputError, match=r"\.html, \.md, \.json"):
        report.save(tmp_path / "r.docx")
    assert not list(tmp_path.iterdir())


def test_a_plot_is_the_reliability_diagram_of_the_bins_asked_for():
    true, prob = sample()
    weight = np.random.default_rng(1).random(400)
    from epimeter import draw

    for choices in ({}, {"bins": 4}, {"bins": 5, "binning": "mass"}):
        report = epimeter.evaluate(true, prob, sample_weight=weight, metrics=["ece", "brier_score"], **choices)
        expected = draw.reliability_curve(true, prob, sample_weight=weight, **({"bins": 10} | choices))
        line = next(c for c in report.plot().axes[0].containers if c.get_label() == "bin, with interval")
        np.testing.assert_allclose(line[0].get_ydata(), expected.frequency[expected.count > 0])
        np.testing.assert_allclose(report.bins.frequency, expected.frequency)
        assert report.bins.count.tolist() == expected.count.tolist()


def test_a_report_without_its_rows_still_has_its_diagram(report):
    again = pickle.loads(pickle.dumps(report))
    assert again.rows.view is None
    assert again["ece"] == report["ece"]
    assert "<svg" in again._repr_html_()
    np.testing.assert_allclose(
        again.plot().axes[0].containers[0][0].get_ydata(), report.plot().axes[0].containers[0][0].get_ydata()
    )


@pytest.fixture
def weighted_file(tmp_path):
    true, prob = sample()
    weight = np.random.default_rng(2).integers(1, 9, 400)
    file = tmp_path / "w.csv"
    rows = "".join(f"{p},{t},{w}\n" for t, p, w in zip(true, prob, weight, strict=True))
    file.write_text("y_prob,y_true,weight\n" + rows)
    return file


@pytest.mark.parametrize("options", [[], ["--bins", "4"], ["--bins", "4", "--binning", "mass"]])
def test_every_rendering_honours_weights_and_bins(weighted_file, options, tmp_path):
    """The numbers of the bins in the HTML and Markdown tables are those of the JSON, which the terminal draws."""
    for suffix in ("json", "html", "md"):
        assert run("evaluate", weighted_file, "-m", "ece,brier_score", *options, "-o", tmp_path / f"r.{suffix}") == 0
    bins = json.loads((tmp_path / "r.json").read_text())["bins"]
    true, prob = sample()
    weight = np.random.default_rng(2).integers(1, 9, 400)
    if not options:
        cell = np.minimum((prob * 10).astype(int), 9)
        expected = [np.average(true[cell == b], weights=weight[cell == b]) for b in range(10)]
        np.testing.assert_allclose(bins["frequency"], expected)
    else:
        assert len(bins["count"]) == 4
    page, markdown = (tmp_path / "r.html").read_text(), (tmp_path / "r.md").read_text()
    for said, seen in zip(bins["confidence"], bins["frequency"], strict=True):
        assert f'<td class="n">{said:.3f}</td><td class="n">{seen:.3f}</td>' in page
        assert f"| {said:.3f} | {seen:.3f} |" in markdown
    right = (prob >= 0.5) == true  # an event is answered by its top label
    assert f"{int(weight[right].sum()):,} right and {int(weight[~right].sum()):,} wrong" in page


@pytest.mark.parametrize("command", [["evaluate"], ["test", "--draws", "19"], ["compare", "--draws", "19"]])
def test_commands_refuse_a_suffix_they_do_not_know(weighted_file, command, tmp_path, capsys):
    target = tmp_path / "out.docx"
    files = [weighted_file] * (2 if command[0] == "compare" else 1)
    assert run(command[0], *files, *command[1:], "-o", target) == 2
    assert ".html, .md, .json, .txt, .csv, .tex, .pdf, .png or .svg; got" in capsys.readouterr().err
    assert not target.exists()
    assert run("evaluate", weighted_file, "--json", "-o", tmp_path / "x.html") == 2
    assert "--json writes JSON" in capsys.readouterr().err


def test_a_weighted_summary_draws_its_own_error_and_no_interval_it_cannot_know(weighted_file, tmp_path):
    from epimeter.report.building import reports
    from epimeter.summary_files import merged_files

    assert run("summarise", weighted_file, "-o", tmp_path / "s.epi") == 0
    report = reports(merged_files([str(tmp_path / "s.epi")]))
    said = report.plot().get_label()
    assert f"ece = {report['ece'].value:.4f}" in said
    assert "not known once weighted rows are gone" in said
    assert "not known once weighted rows are gone" in report.to_html()


def test_evaluating_draws_nothing():
    program = (
        "import sys, epimeter; r = epimeter.evaluate([0, 1, 1], [0.2, 0.7, 0.9]); r.to_json(); str(r); r.to_csv();"
        "assert not [m for m in sys.modules if m.startswith(('epimeter.draw', 'matplotlib', 'pandas'))]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_comparisons_and_tests_can_be_held():
    true, prob = sample()
    made = inference.compare(true, {"a": prob, "b": prob**2}, metrics=["brier_score", "ece"], draws=49)
    assert [d.metric for d in made] == ["brier_score", "ece"]
    assert list(made.to_frame()["metric"]) == ["brier_score", "ece"]
    assert "a against b" in str(made) and "difference" in str(made)
    assert made.plot()._repr_png_().startswith(b"\x89PNG")
    assert pickle.loads(pickle.dumps(made)).to_dict() == made.to_dict()
    found = inference.calibration_tests(true, prob, metrics=["ece", "spiegelhalter_z"], draws=49)
    assert "Perfect calibration is" in str(found)
    assert json.loads(found.to_json())["calibration"][1]["metric"] == "spiegelhalter_z"
    assert found.to_csv().splitlines()[0].startswith("metric,value,p_value")
    assert found.plot()._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="no figure of its own"):
        metrics.spiegelhalter_z(true, prob).plot()
    for result in (made, found):
        assert result._repr_html_().startswith('<div class="epimeter">')
    single = metrics.spiegelhalter_z(true, prob)
    assert single.to_frame()["z"][0] == single.z if hasattr(single, "z") else len(single.to_frame()) == 1


def test_reports_by_slice_can_be_held(tmp_path):
    true, prob = sample()
    file = tmp_path / "s.csv"
    rows = [f"{p},{t},{'ab'[i % 2]}\n" for i, (t, p) in enumerate(zip(true, prob, strict=True))]
    file.write_text("".join(["y_prob,y_true,day\n", *rows]))
    found = epimeter.scan(str(file), ["ece", "brier_score"], by="day")
    frame = found.to_frame()
    assert list(frame["slice"]) == ["a", "a", "b", "b"]
    assert float(frame["value"][2]) == found["b"]["ece"].value
    assert "Calibration by slice" in found.to_markdown()
    assert run("evaluate", file, "--by", "day", "-o", tmp_path / "s.html") == 0
    assert "<td>b</td>" in (tmp_path / "s.html").read_text()
    assert run("evaluate", file, "--by", "day", "-o", tmp_path / "s.png") == 0


def test_tests_and_comparisons_are_found_by_name_and_draw_themselves(tmp_path):
    rng = np.random.default_rng(0)
    said = rng.random(400)
    true = (rng.random(400) < said).astype(int)
    tests = inference.calibration_tests(true, said, metrics=["ece", "spiegelhalter_z"], draws=20)
    assert "ece" in tests and tests["Expected calibration error"] is tests[0] and tests[0] in tests
    assert tests.keys() == ("ece", "spiegelhalter_z") and dict(tests)["ece"] is tests[0] and len(tests) == 2
    assert tests.get("mce") is None and "mce" not in tests and tests.items()[1][0] == "spiegelhalter_z"
    with pytest.raises(KeyError):
        tests["mce"]
    for suffix in ("png", "svg"):
        assert tests.save(tmp_path / f"tests.{suffix}").stat().st_size > 3_000
    two = inference.compare(true, {"a": said, "b": said**2}, metrics=["ece"], draws=20)
    assert two.keys() == ("ece",) and two["ECE"] is two[0]
    three = inference.compare(true, {"a": said, "b": said**2, "c": said**3}, metrics=["ece"], draws=20)
    assert three["b", "c", "ece"].second == "c" and ("a", "c", "ece") in three and "ece" not in three
