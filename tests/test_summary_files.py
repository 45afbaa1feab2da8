"""Summaries as files: written, merged, reported; refused when damaged or of another recipe."""

import hashlib
import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import epimeter
from epimeter import scan
from epimeter.cli import main
from epimeter.errors import InputError, MergeError, ReadError
from epimeter.passes.ledger import joined
from epimeter.report.building import reports
from epimeter.report.scan import summarised
from epimeter.summaries.travel import to_bytes
from epimeter.summary_files import from_file, merged_files, packed, to_file, unpacked


def columns(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return {"confidence": p, "correct": rng.random(n) < p**1.2, "model": rng.choice(["a", "b"], n)}


def numbers(report):
    return {m.metric: (m.value, dict(m.fields)) for m in report.values()}


@pytest.fixture
def days(tmp_path):
    """Nine days as Parquet files and as summaries."""
    for day in range(9):
        pq.write_table(pa.table(columns(500 + day, day)), tmp_path / f"day{day}.parquet")
        to_file(summarised(tmp_path / f"day{day}.parquet"), tmp_path / f"day{day}.epi")
    return tmp_path


def run(capsys, *arguments):
    """Exit code, output and errors of a command."""
    with pytest.raises(SystemExit) as done:
        main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return done.value.code, said.out, said.err


@pytest.mark.parametrize("names", [None, ["ece", "smece", "ecce_mad"], ["brier_score", "root_brier_score", "ers_ece"]])
def test_what_was_written_comes_back(tmp_path, names):
    made = summarised(columns(), names, row_limit=0)
    to_file(made, tmp_path / "x.epi")
    back = from_file(tmp_path / "x.epi")
    assert back.plan == made.plan.without_rows()
    assert numbers(reports(back)) == numbers(reports(made))
    assert packed(back) == packed(made)


def test_merged_summaries_have_the_bits_of_the_whole(days):
    merged = reports(merged_files(sorted(days.glob("*.epi"))))
    assert numbers(merged) == numbers(scan(days / "day*.parquet", row_limit=0))
    backwards = merged_files(sorted(days.glob("*.epi"), reverse=True))
    assert numbers(reports(backwards)) == numbers(merged)
    assert merged.source["name"] == "9 summaries"


def test_a_report_says_of_which_bytes_it_was_made(days, capsys):
    files = sorted(days.glob("*.epi"))
    sums = [hashlib.sha256(path.read_bytes()).digest() for path in files]
    _, out, _ = run(capsys, "report", files[0], "--json")
    assert json.loads(out)["source"]["summary"] == f"sha-256:{sums[0].hex()}"
    for order in (files, files[::-1]):
        made = reports(merged_files(order)).source["summary"]
        assert made == f"sha-256:{hashlib.sha256(b''.join(sorted(sums))).hexdigest()}"
    run(capsys, "merge", *files, "-o", days / "month.epi")
    run(capsys, "merge", *files[::-1], "-o", days / "again.epi")
    assert (days / "month.epi").read_bytes() == (days / "again.epi").read_bytes()


def test_slices_and_cells_travel(tmp_path):
    for seed in (1, 2):
        to_file(summarised(columns(seed=seed), ["ece"], by="model", cells=True), tmp_path / f"{seed}.epi")
    merged = reports(merged_files([tmp_path / "1.epi", tmp_path / "2.epi"]))
    both = {name: np.concatenate([columns(seed=s)[name] for s in (1, 2)]) for name in columns()}
    whole = scan(both, ["ece"], by="model")
    assert {value: numbers(merged[value]) for value in merged} == {value: numbers(whole[value]) for value in whole}


def test_a_score_that_diverges_travels(tmp_path):
    data = columns(100)
    data["confidence"][:3] = [0.0, 1.0, 1e-310]
    made = summarised(data, ["nll", "dss"])
    assert numbers(reports(unpacked(packed(made), "x"))) == numbers(reports(made))


def test_no_row_is_in_the_file(tmp_path):
    rare = 0.123456789012345
    data = columns()
    data["confidence"][7] = rare
    to_file(summarised(data), tmp_path / "x.epi")
    assert np.float64(rare).tobytes() not in (tmp_path / "x.epi").read_bytes()
    assert all(one.rows is None for one in from_file(tmp_path / "x.epi").slices.values())


def test_every_flipped_byte_is_noticed(tmp_path):
    data = packed(summarised(columns(100), ["ece"]))
    for place in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[place] ^= 1
        with pytest.raises(ReadError, match=r"x\.epi"):
            unpacked(bytes(damaged), "x.epi")


def test_summaries_of_other_recipes_do_not_merge(tmp_path):
    to_file(summarised(columns(), ["ece"]), tmp_path / "a.epi")
    for options in ({"metrics": ["ece", "mce"]}, {"metrics": ["ece"], "bins": 15}, {"metrics": ["ece"], "by": "model"}):
        to_file(summarised(columns(), **options), tmp_path / "b.epi")
        with pytest.raises(MergeError, match=r"a\.epi and b\.epi were summarised by different recipes"):
            merged_files([tmp_path / "a.epi", tmp_path / "b.epi"])
    with pytest.raises(InputError, match="was named twice"):
        merged_files([tmp_path / "a.epi", tmp_path / "a.epi"])


def test_a_copy_under_another_name_is_not_merged(tmp_path, capsys):
    to_file(summarised(columns(), ["ece"]), tmp_path / "a.epi")
    shutil.copy(tmp_path / "a.epi", tmp_path / "b.epi")
    code, _, err = run(capsys, "merge", tmp_path / "a.epi", tmp_path / "b.epi", "-o", tmp_path / "c.epi")
    assert code == 2 and "b.epi and a.epi hold the same bytes" in err and not (tmp_path / "c.epi").exists()


def test_doubling_a_summary_beyond_what_can_be_counted_is_refused_in_a_sentence():
    whole = summarised(columns(1024), ["ece"])
    for _ in range(43):
        whole = joined([whole, whole])
    assert whole.n_rows == 2**53
    with pytest.raises(MergeError, match="at most 2\\^53 rows"):
        joined([whole, whole])


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ReadError, match="it does not begin with EPI2"):
        unpacked(b"PAR1....", "x.epi")
    with pytest.raises(ReadError, match="nothing to report"):
        unpacked(to_bytes((1, 2)), "x.epi")
    with pytest.raises(ReadError, match="is of format 9, written by epimeter 7"):
        unpacked(to_bytes({"format": 9, "epimeter": "7"}), "x.epi")
    with pytest.raises(ReadError, match="no file is called"):
        from_file(tmp_path / "gone.epi")


def test_a_recipe_this_version_does_not_know_is_refused(monkeypatch, tmp_path):
    data = packed(summarised(columns(), ["ece"]))
    import epimeter.summary_files as files

    monkeypatch.setattr(files, "identity", lambda recipe: f"older {recipe}")
    files._head.cache_clear()
    with pytest.raises(ReadError, match=r"x\.epi cannot be read by this version: it was summarised by another recipe"):
        unpacked(data, "x.epi")
    files._head.cache_clear()


def test_a_thousand_summaries_merge(tmp_path):
    made = [summarised(columns(300, seed)) for seed in range(5)]
    for number in range(1_100):
        to_file(replace(made[number % 5], source={"name": f"day {number}"}), tmp_path / f"s{number}.epi")
    merged = merged_files([tmp_path / f"s{number}.epi" for number in range(1_100)])
    assert merged.n_rows == 330_000
    parts = [columns(300, seed) for seed in range(5)]
    p, y = (np.tile(np.concatenate([part[name] for part in parts]), 220) for name in ("confidence", "correct"))
    whole = numbers(epimeter.evaluate(y, p, intervals=None))
    assert numbers(reports(merged)) == {name: whole[name] for name in numbers(reports(merged))}


# The commands.


def test_summarise_merge_report(days, capsys):
    code, out, err = run(capsys, "summarise", days / "day*.parquet", "-o", days / "all.epi")
    assert (code, out) == (0, "") and err.endswith("all.epi: 4,536 rows\n")
    code, _, err = run(capsys, "merge", days / "day*.epi", "-o", days / "month.epi")
    assert code == 0 and err.endswith("month.epi: 9 summaries, 4,536 rows\n")
    code, first, _ = run(capsys, "report", days / "month.epi", "--json")
    code, second, _ = run(capsys, "evaluate", days / "day*.parquet", "--row-limit", "0", "--json")
    assert code == 0 and json.loads(first)["measurements"] == json.loads(second)["measurements"]
    code, out, _ = run(capsys, "report", days / "month.epi")
    assert code == 0 and "4,536 rows" in out
    code, _, err = run(capsys, "report", days / "month.epi", "--require", "ece<=0.001")
    assert code == 1 and "ece is 0." in err


def test_evaluate_takes_patterns_folders_and_several_files(days, capsys):
    whole = json.loads(run(capsys, "evaluate", days / "day*.parquet", "--json")[1])
    several = json.loads(run(capsys, "evaluate", *sorted(days.glob("*.parquet")), "--json")[1])
    assert whole["n_rows"] == several["n_rows"] == 4_536
    assert whole["measurements"] == several["measurements"]
    (days / "folder").mkdir()
    for path in days.glob("*.parquet"):
        shutil.move(path, days / "folder" / path.name)
    assert json.loads(run(capsys, "evaluate", days / "folder", "--json")[1])["measurements"] == whole["measurements"]


def test_evaluate_by_slice(days, capsys):
    code, out, _ = run(capsys, "evaluate", days / "day*.parquet", "--by", "model", "--metric", "ece,nll")
    table = out[out.index("slice  ") :]
    assert code == 0 and [line.split()[0] for line in table.splitlines()] == ["slice", "all", "a", "b"]
    assert "2 slices by model" in out.splitlines()[0]
    found = json.loads(run(capsys, "evaluate", days / "day*.parquet", "--by", "model", "--json")[1])
    assert sum(report["n_rows"] for report in found.values()) == 4_536
    code, out, _ = run(capsys, "evaluate", days / "day*.parquet", "--by", "model", "--slice", "b", "--json")
    assert json.loads(out) == found["b"]
    code, _, err = run(capsys, "evaluate", days / "day*.parquet", "--by", "model", "--slice", "z")
    assert code == 2 and "no slice is called 'z'" in err


def test_a_damaged_file_writes_nothing(days, capsys):
    (days / "day4.parquet").write_bytes((days / "day4.parquet").read_bytes()[:-100])
    for command in ("summarise", "evaluate"):
        code, out, err = run(capsys, command, days / "day*.parquet", "-o", days / "out")
        assert code == 2 and out == "" and not (days / "out").exists()
        assert err.count("\n") == 1 and "day4.parquet is damaged or was cut off" in err
    code, out, _ = run(capsys, "evaluate", days / "day*.parquet", "--skip-damaged")
    assert code == 0 and "1 damaged part was left out: day4.parquet" in out
    code, _, err = run(capsys, "summarise", days / "day*.parquet", "--skip-damaged", "-o", days / "some.epi")
    assert code == 0 and "left out: day4.parquet" in err
    assert "day4.parquet" in from_file(days / "some.epi").skipped[0]


def test_a_requirement_on_a_metric_that_was_not_measured_does_not_hold(days, capsys):
    code, _, err = run(capsys, "evaluate", days / "day*.parquet", "--row-limit", "10", "--require", "ece_sweep<=1")
    assert code == 1 and "ece_sweep was not measured: needs all rows" in err
