"""One pass over any source gives the numbers of `evaluate`, bit for bit."""

import importlib

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as pa_csv
from pyarrow import feather

import epimeter
from epimeter import scan
from epimeter.errors import InputError, MergeError, ReadError
from epimeter.passes.batch import Batch, SliceCodes
from epimeter.passes.ledger import joined
from epimeter.passes.plan import Plan, identity
from epimeter.passes.tally import Tally
from epimeter.views import view
from slow_rows import same, slowly

N = 20_000
ROWS = ["ece", "brier_score", "nll", "dpe", "spiegelhalter_z", "smece", "ecce_mad", "lkce", "ece_sweep", "hl"]


def data(n=N, seed=0, decimals=None):
    rng = np.random.default_rng(seed)
    p = rng.random(n) if decimals is None else np.round(rng.random(n), decimals)
    return p, rng.random(n) < p**1.2, rng.choice(["a", "b", "c"], n)


def arrow(n=N, seed=0, **rest):
    p, y, g = data(n, seed, **rest)
    return pa.table({"note": [f"n{i}" for i in range(n)], "confidence": p, "correct": y, "model": g})


def numbers(report):
    return {m.metric: (m.value, dict(m.fields), m.exact) for m in report.values()}


DISTRIBUTIONS = {
    "uniform": lambda rng, n: rng.random(n),
    "half exactly one": lambda rng, n: np.where(rng.random(n) < 0.5, 1.0, rng.random(n)),
    "few values, some certain, one tiny": lambda rng, n: rng.choice([0.0, 0.1, 0.5, 0.9, 1.0, 1e-310], n),
    "float32": lambda rng, n: rng.random(n).astype(np.float32),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_loops_of_a_pass_give_the_integers_of_the_recipes(name):
    rng = np.random.default_rng(3)
    p = DISTRIBUTIONS[name](rng, 40_000)
    y = (rng.random(len(p)) < p).astype(np.uint8)
    code = rng.integers(-1, 5, len(p)).astype(np.int32)
    plan = Plan.of(None, {}, kind="event", weighted=False, cells=True)
    whole, cut = Tally(plan, lambda rows: False), Tally(plan, lambda rows: False)
    whole.add(Batch(true=y, prob=p, kind="event"))
    for part in (slice(0, 17_000), slice(17_000, None)):
        cut.add(
            Batch(true=y[part], prob=p[part], kind="event", slices=SliceCodes(code=code[part], values=list("vwxyz")))
        )
    shares = cut.ledger().slices
    for recipe in plan.streaming:
        assert same(whole.ledger().slices[None].totals[recipe], slowly(recipe, view(y, p))), identity(recipe)
        for number, value in enumerate([*"vwxyz", None]):
            rows = code == (number if value else -1)
            assert same(shares[value].totals[recipe], slowly(recipe, view(y[rows], p[rows]))), (identity(recipe), value)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same rows in every format, whole and in parts."""
    root = tmp_path_factory.mktemp("files")
    table = arrow()
    pq.write_table(table, root / "whole.parquet", row_group_size=3_000)
    pq.write_table(table, root / "version2.parquet", data_page_version="2.0", compression="zstd", row_group_size=7_000)
    pq.write_table(table, root / "bare.parquet", compression="none", use_dictionary=False)
    feather.write_feather(table, root / "whole.arrow")
    pa_csv.write_csv(table, root / "whole.csv")
    for part in range(7):
        pq.write_table(table.slice(part * 3_000, 3_000), root / f"part{part}.parquet")
    (root / "whole.ndjson").write_text(
        "\n".join(
            f'{{"confidence": {p!r}, "correct": {str(y).lower()}, "model": "{g}"}}'
            for p, y, g in zip(*(table[name].to_pylist() for name in ("confidence", "correct", "model")), strict=True)
        )
    )
    return root


@pytest.fixture(scope="module")
def exact():
    p, y, _ = data()
    return numbers(epimeter.evaluate(y, p, metrics=ROWS, intervals=None))


ROUTES = {
    "parquet": lambda root: root / "whole.parquet",
    "parquet, second page version": lambda root: root / "version2.parquet",
    "parquet, bare": lambda root: root / "bare.parquet",
    "parquet, in parts": lambda root: root / "part*.parquet",
    "parquet, as a list": lambda root: [root / f"part{i}.parquet" for i in range(7)],
    "arrow": lambda root: root / "whole.arrow",
    "csv": lambda root: root / "whole.csv",
    "ndjson": lambda root: root / "whole.ndjson",
    "dataset": lambda root: ds.dataset(root / "whole.parquet"),
    "arrow table": lambda root: arrow(),
    "record batches": lambda root: pa.RecordBatchReader.from_batches(arrow().schema, arrow().to_batches(1_000)),
    "columns": lambda root: {
        name: arrow()[name].to_numpy(zero_copy_only=False) for name in ("confidence", "correct", "model")
    },
    "pandas": lambda root: arrow().to_pandas(),
    "polars": lambda root: importlib.import_module("polars").from_arrow(arrow()),
    "polars, lazy": lambda root: importlib.import_module("polars").scan_parquet(root / "part*.parquet"),
    "duckdb": lambda root: importlib.import_module("duckdb").read_parquet(str(root / "part*.parquet")),
    "sql": lambda root: importlib.import_module("duckdb") and f"select * from '{root / 'whole.parquet'}'",
}


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_gives_the_same_bits(route, files, exact):
    assert numbers(scan(ROUTES[route](files), ROWS)) == exact


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_gives_the_same_slices(route, files):
    p, y, g = data()
    found = scan(ROUTES[route](files), ["ece", "nll", "smece"], by="model")
    assert list(found) == ["a", "b", "c"]
    for value in "abc":
        rows = g == value
        assert numbers(found[value]) == numbers(
            epimeter.evaluate(y[rows], p[rows], metrics=["ece", "nll", "smece"], intervals=None)
        )


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_no_bit(threads, files, exact):
    assert numbers(scan(files / "part*.parquet", ROWS, threads=threads)) == exact


def test_the_report_of_a_pass_says_what_evaluate_says(files):
    p, y, _ = data()
    streamed, whole = scan(files / "whole.parquet").to_dict(), epimeter.evaluate(y, p, kind="answer").to_dict()
    for name in ("n_rows", "n_classes", "kind", "base_rate", "mean_confidence", "measurements", "cautions", "bins"):
        assert streamed[name] == whole[name], name
    assert streamed["source"]["columns"] == {"confidence": "confidence", "label": "correct"}


def test_class_probabilities_and_weights_stream_too(tmp_path):
    rng = np.random.default_rng(5)
    prob = rng.dirichlet(np.ones(3), 5_000)
    label, weight = rng.integers(0, 3, 5_000), rng.integers(1, 4, 5_000).astype(float)
    columns = {f"p_{k}": prob[:, k] for k in range(3)} | {"label": label}
    pq.write_table(pa.table(columns), tmp_path / "classes.parquet", row_group_size=999)
    assert numbers(scan(tmp_path / "classes.parquet")) == numbers(epimeter.evaluate(label, prob, intervals=None))
    p, y, _ = data(5_000)
    pq.write_table(pa.table({"p": p, "y": y, "weight": weight}), tmp_path / "w.parquet", row_group_size=999)
    streamed = scan(tmp_path / "w.parquet", ["ece", "nll", "dpe"])
    whole = epimeter.evaluate(y, p, sample_weight=weight, metrics=["ece", "nll", "dpe"], intervals=None)
    for metric in ("ece", "nll", "dpe"):
        assert streamed[metric].value == pytest.approx(whole[metric].value, rel=1e-13)


def test_rows_without_an_outcome_are_left_out_and_counted(tmp_path):
    p, y, g = data(4_000)
    known = np.arange(4_000) % 5 != 0
    table = pa.table({"confidence": p, "correct": pa.array(y, mask=~known), "model": g})
    pq.write_table(table, tmp_path / "holes.parquet", row_group_size=700)
    found = scan(tmp_path / "holes.parquet", ["ece", "smece"])
    assert numbers(found) == numbers(epimeter.evaluate(y[known], p[known], metrics=["ece", "smece"], intervals=None))
    assert found.source["unlabelled"] == 800
    sliced = scan(tmp_path / "holes.parquet", ["ece"], by="model")
    rows = known & (g == "b")
    assert sliced["b"]["ece"].value == epimeter.metrics.ece(y[rows], p[rows])


def test_a_missing_slice_is_a_slice_of_its_own(tmp_path):
    p, y, g = data(3_000)
    column = pa.array(g, mask=g == "a")
    pq.write_table(pa.table({"confidence": p, "correct": y, "model": column}), tmp_path / "x.parquet")
    found = scan(tmp_path / "x.parquet", ["ece"], by="model")
    assert list(found) == ["b", "c", None]
    assert found[None]["ece"].value == epimeter.metrics.ece(y[g == "a"], p[g == "a"])


def test_folders_named_key_value_are_slices(tmp_path):
    p, y, g = data()
    for value in "abc":
        folder = tmp_path / f"model={value}" / "year=2026"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"confidence": p[g == value], "correct": y[g == value]}), folder / "part.parquet")
    found = scan(tmp_path, ["ece"], by="model")
    assert list(found) == ["a", "b", "c"]
    assert found["b"]["ece"].value == epimeter.metrics.ece(y[g == "b"], p[g == "b"])
    assert list(scan(tmp_path, ["ece"], by="year")) == [2026]
    assert scan(tmp_path, ["ece"])["ece"].value == epimeter.metrics.ece(y, p)


def test_above_the_row_limit_a_metric_says_why_it_is_not_measured(files):
    found = scan(files / "part*.parquet", ["ece", "ece_sweep"], row_limit=5_000)
    assert [m.metric for m in found.values()] == ["ece"]
    assert found.left_out == {
        "ece_sweep": "needs all rows, which are more than row_limit (5,000); sample=… measures it on a uniform sample"
    }
    assert scan(files / "whole.csv", ["ece", "ece_sweep"], row_limit=5_000).left_out == found.left_out


def test_a_sample_is_taken_only_when_asked_for_and_is_the_same_on_every_route(files):
    found = {
        name: scan(ROUTES[name](files), ["ece", "ece_sweep"], row_limit=5_000, sample=2_000)
        for name in ("parquet", "parquet, in parts", "csv", "pandas", "duckdb")
    }
    first = found["parquet"]
    assert first["ece_sweep"].sample == 2_000 and not first["ece_sweep"].exact and first["ece"].exact
    assert first["ece"].sample is None
    assert all(numbers(other) == numbers(first) for other in found.values())
    other = scan(files / "whole.parquet", ["ece_sweep"], row_limit=5_000, sample=2_000, seed=1)
    assert other["ece_sweep"].value != first["ece_sweep"].value


def test_only_the_columns_needed_are_read(files, monkeypatch):
    asked = []
    true_iter = pq.ParquetFile.iter_batches

    def spied(self, *rest, columns=None, **more):
        asked.append(columns)
        return true_iter(self, *rest, columns=columns, **more)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spied)
    scan(files / "version2.parquet")
    assert all(set(columns) <= {"confidence", "correct"} for columns in asked)


def test_progress_is_told_all_rows(files):
    seen = []

    def progress(total):
        seen.append(total)
        return lambda rows: seen.append(-rows)

    scan(files / "part*.parquet", progress=progress)
    assert sum(seen) == 0


# What is refused, in one sentence each.


def refusal(kind, *rest, **more):
    with pytest.raises(kind) as caught:
        scan(*rest, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_empty_pattern_is_refused(tmp_path):
    assert refusal(ReadError, tmp_path / "*.parquet").startswith("no file matches ")
    assert "holds no file of a known format" in refusal(ReadError, tmp_path)
    assert refusal(ReadError, tmp_path / "gone.parquet").startswith("no file is called ")


@pytest.fixture
def hundred(tmp_path):
    """A hundred files, one of them damaged in its second row group."""
    for number in range(100):
        pq.write_table(arrow(300, number), tmp_path / f"f{number:03}.parquet", row_group_size=100, compression="snappy")
    damaged = tmp_path / "f042.parquet"
    group = pq.ParquetFile(damaged).metadata.row_group(1).column(1)
    raw = bytearray(damaged.read_bytes())
    start = group.dictionary_page_offset or group.data_page_offset
    raw[start : start + 40] = b"\xff" * 40
    damaged.write_bytes(raw)
    return tmp_path


def test_a_damaged_file_among_a_hundred_is_named_with_its_row_group(hundred):
    assert refusal(ReadError, hundred / "*.parquet").startswith(
        "row group 1 of f042.parquet is damaged or was cut off ("
    )


def test_damaged_parts_are_left_out_when_asked_and_listed(hundred):
    (hundred / "f043.parquet").write_bytes(b"PAR1 this is no file PAR1")
    found = scan(hundred / "*.parquet", skip_damaged=True)
    assert found.n_rows == 99 * 300 - 100
    assert [note.split(" is damaged")[0] for note in found.source["skipped"]] == [
        "f043.parquet",
        "row group 1 of f042.parquet",
    ]
    assert any(caution.startswith("2 damaged parts were left out: ") for caution in found.cautions)


def test_files_that_differ_in_their_columns_are_refused(tmp_path):
    pq.write_table(arrow(100), tmp_path / "a.parquet")
    pq.write_table(arrow(100).drop_columns(["confidence"]), tmp_path / "b.parquet")
    assert refusal(ReadError, tmp_path / "*.parquet") == (
        "all files must have the column confidence; a.parquet has it and b.parquet has not"
    )
    table = arrow(100)
    words = table.set_column(1, "confidence", pa.array(["high"] * 100))
    pq.write_table(words, tmp_path / "b.parquet")
    assert refusal(ReadError, tmp_path / "*.parquet") == (
        "confidence must be of one type in all files; it is double in a.parquet and string in b.parquet"
    )


def test_a_folder_key_that_is_also_a_column_is_refused(tmp_path):
    (tmp_path / "model=a").mkdir()
    pq.write_table(arrow(100), tmp_path / "model=a" / "x.parquet")
    assert refusal(ReadError, tmp_path, by="model") == (
        "model must be a folder or a column, not both; model=a/x.parquet lies in a folder model=… and has a column "
        "model. Rename one of them"
    )


def test_a_missing_confidence_is_refused_with_its_row(tmp_path):
    p, y, _ = data(1_000)
    column = pa.array(p, mask=np.arange(1_000) == 700)
    pq.write_table(pa.table({"confidence": column, "correct": y}), tmp_path / "x.parquet", row_group_size=300)
    assert refusal(ReadError, tmp_path / "x.parquet") == (
        "confidence must be present in every labelled row; row 700 of x.parquet has none"
    )


@pytest.mark.parametrize("n", [1_000, 60_000])
def test_a_confidence_beyond_one_is_refused_with_its_row(tmp_path, n):
    p, y, _ = data(n)
    p[n - 1] = 1.5
    pq.write_table(pa.table({"confidence": p, "correct": y}), tmp_path / "x.parquet", row_group_size=n // 2)
    found = refusal(InputError, tmp_path / "x.parquet")
    assert "must lie in [0, 1]" in found and found.endswith(f"(x.parquet, row {n - 1:,})")


def test_an_unknown_slice_column_and_an_empty_file_are_refused(files, tmp_path):
    assert "has no column 'modle' to slice by" in refusal(ReadError, files / "whole.parquet", by="modle")
    pq.write_table(arrow(0), tmp_path / "x.parquet")
    assert refusal(ReadError, tmp_path / "x.parquet") == "x.parquet has columns but no rows"
    assert refusal(ReadError, []) == "a list of files must name at least one"
    assert "a source must be files, a frame" in refusal(ReadError, 7)
    assert "row_limit must be a whole number" in refusal(InputError, files / "whole.parquet", row_limit=-1)


def test_ledgers_of_different_rows_do_not_merge():
    made = []
    for matrix in (False, True):
        tally = Tally(Plan.of(["ece"], {}, kind="classes" if matrix else "event", weighted=False), lambda rows: False)
        prob = np.array([[0.2, 0.8]]) if matrix else np.array([0.8])
        tally.add(Batch(true=np.array([1], np.uint8), prob=prob, kind="classes" if matrix else "event"))
        made.append(tally.ledger())
    with pytest.raises(MergeError, match="different kinds of forecast"):
        joined(made)
