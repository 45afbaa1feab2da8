"""What the cells say of how they are read is repeated by every report: from memory, in one pass, from summaries."""

import gzip

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import epimeter
from epimeter.cli import epimeter as command_line
from epimeter.errors import ReadError
from epimeter.readers.findings import Findings
from epimeter.summary_files import merged_files, packed, to_file, unpacked

CLASSES = np.array(["cat", "dog", "fox"])


@pytest.fixture
def events():
    rng = np.random.default_rng(4)
    said = rng.integers(0, 10_001, 600) / 10_000
    return pd.DataFrame({"p": said, "y": np.where(rng.random(600) < said, "Yes", "No")})


@pytest.fixture
def classes():
    rng = np.random.default_rng(5)
    prob = rng.dirichlet([1, 1, 1], 300)
    frame = pd.DataFrame(prob, columns=["p_cat", "p_dog", "p_fox"])
    frame["label"] = CLASSES[[rng.choice(3, p=row) for row in prob]]
    frame["y_pred"] = CLASSES[prob.argmax(axis=1)]
    frame.loc[:6, "y_pred"] = CLASSES[prob[:7].argmin(axis=1)]
    return frame


def test_a_pass_over_any_file_repeats_which_word_is_1(events, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    events = pd.concat([events[events.y == "Yes"], events[events.y == "No"]])  # each row group has one word
    events.to_parquet("a.parquet", row_group_size=100)
    events.to_feather("a.arrow")
    events.to_csv("a.csv", index=False)
    for source in ("a.parquet", "a.arrow", "a.csv", events):
        report = epimeter.scan(source, ["ece"], row_limit=10)
        assert report.source["notes"] == ["'Yes' in y is 1 and 'No' in y is 0"], source
    for name, word in (("one", "Yes"), ("two", "No")):
        events[events.y == word].to_parquet(f"{name}.parquet")
        assert CliRunner().invoke(command_line, ["summarise", f"{name}.parquet", "-o", f"{name}.epi"]).exit_code == 0
    told = CliRunner().invoke(command_line, ["report", "one.epi"]).output
    assert "'Yes' in y is 1.\n" in told
    assert merged_files(["one.epi", "two.epi"]).findings.sentences == ("'Yes' in y is 1 and 'No' in y is 0",)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predictions_that_are_not_the_likeliest_class_are_counted(classes, suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    classes.to_csv(path, index=False) if suffix == "csv" else classes.to_parquet(path, row_group_size=50)
    for report in (epimeter.evaluate(str(path)), epimeter.scan(str(path), row_limit=10)):
        assert report.source["predictions"] == {"column": "y_pred", "rows": 300, "contrary": 7}
        assert sum("y_pred is not the likeliest class in 7 of 300 rows" in line for line in report.cautions) == 1
    ledger = unpacked(packed(epimeter.report.scan.summarised(str(path))), "a.epi")
    assert ledger.findings.contrary == 7
    tied = pd.DataFrame({"p_0": [0.5, 0.2], "p_1": [0.5, 0.8], "y": [0, 1], "pred": [1, 1]})
    assert not any("likeliest" in line for line in epimeter.evaluate(tied).cautions)
    odd = epimeter.evaluate(classes.assign(y_pred="wolf"))
    assert any("'wolf' in it names no class: it was not compared" in line for line in odd.cautions)


def test_predictions_that_are_not_the_likeliest_class_stand_in_the_way_of_a_certificate(classes, tmp_path):
    classes.to_csv(tmp_path / "a.csv", index=False)
    told = CliRunner().invoke(command_line, ["evaluate", str(tmp_path / "a.csv"), "--standard", "ers"]).output
    assert "y_pred is not the likeliest class in 7 of 300 rows" in " ".join(told.split())


def test_percent_and_decimal_commas_are_read_where_every_cell_is_so_and_the_report_says_it(events, tmp_path):
    path, wide = tmp_path / "a.csv", tmp_path / "wide.csv.gz"
    plain = epimeter.evaluate(events)["brier_score"].value
    percent = events.assign(p=[f"{100 * p:.2f}%" for p in events.p])
    comma = events.assign(p=[f"{p:.4f}".replace(".", ",") for p in events.p])
    both = events.assign(p=[f"{100 * p:.2f} %".replace(".", ",") for p in events.p])
    for frame, how in (
        (percent, "in percent"),
        (comma, "with a decimal comma"),
        (both, "in percent with a decimal comma"),
    ):
        for separator in (",", ";"):
            frame.to_csv(path, index=False, sep=separator)
            for report in (epimeter.evaluate(str(path)), epimeter.scan(str(path), row_limit=10)):
                assert report["brier_score"].value == plain
                assert any(f"the numbers of p are written {how}: " in note for note in report.source["notes"])
    assert epimeter.evaluate(percent)["brier_score"].value == plain
    with gzip.open(wide, "wb") as file:
        file.write(events.to_csv(index=False).encode("utf-16"))
    report = epimeter.evaluate(str(wide))
    assert report["brier_score"].value == plain and "the text of the file is UTF-16" in report.source["notes"]
    assert epimeter.evaluate(events.to_dict("records"))["brier_score"].value == plain


def test_pieces_that_are_written_in_two_ways_are_refused():
    percent, point, whole, comma = (Findings(forms={"p": form}) for form in ("percent", "point", "whole", "comma"))
    assert comma.merge(whole).forms == whole.merge(comma).forms == {"p": "comma"}
    for first, second in ((percent, point), (percent, whole), (comma, point), (comma, percent)):
        with pytest.raises(ReadError, match="p must be written in one way"):
            first.merge(second)


def test_columns_in_another_order_are_suspected_in_one_pass_too(classes, tmp_path):
    path = tmp_path / "a.parquet"
    frame = classes.drop(columns="y_pred").rename(columns={"p_cat": "p_dog", "p_dog": "p_fox", "p_fox": "p_cat"})
    frame.to_parquet(path, row_group_size=50)
    memory, one_pass = epimeter.evaluate(str(path)), epimeter.scan(str(path), row_limit=10)
    (suspicion,) = (line for line in memory.cautions if "columns in another order" in line)
    assert suspicion in one_pass.cautions
    to_file(epimeter.report.scan.summarised(str(path)), tmp_path / "a.epi")
    assert suspicion in CliRunner().invoke(command_line, ["report", str(tmp_path / "a.epi"), "--json"]).output
