# SPDX-License-Identifier: Apache-2.0
"""What the readers read: every format and frame gives the same table."""

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import ipc
from pyarrow import parquet as pq

from epimeter import readers
from epimeter.errors import ReadError

CONFIDENCE = [0.5, 0.75, 0.1, 1.0]
CORRECT = [True, False, None, True]


def written(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def csv_text(delimiter=","):
    rows = [f"{p}{delimiter}{'' if y is None else int(y)}" for p, y in zip(CONFIDENCE, CORRECT, strict=True)]
    return "\n".join([f"confidence{delimiter}correct", *rows]) + "\n"


def records():
    return [{"confidence": p, "correct": y} for p, y in zip(CONFIDENCE, CORRECT, strict=True)]


def arrow_table():
    return pa.table({"confidence": CONFIDENCE, "correct": CORRECT})


def arrow_bytes(open_writer):
    sink = io.BytesIO()
    with open_writer(sink, arrow_table().schema) as writer:
        writer.write_table(arrow_table())
    return sink.getvalue()


def parquet_bytes(table=None, **options):
    sink = io.BytesIO()
    pq.write_table(table if table is not None else arrow_table(), sink, **options)
    return sink.getvalue()


def npz_bytes(**arrays):
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


LABELS = np.array([1.0, 0.0, np.nan, 1.0])
FILES = {
    "a.csv": csv_text(),
    "semicolon.csv": csv_text(";"),
    "bar.csv": csv_text("|"),
    "a.tsv": csv_text("\t"),
    "tabs.txt": csv_text("\t"),
    "marked.csv": "\ufeff" + csv_text(),
    "windows.csv": csv_text().replace("\n", "\r\n"),
    "old mac.csv": csv_text().replace("\n", "\r"),
    "no last line end.csv": csv_text().rstrip("\n"),
    "blank lines.csv": "\n" + csv_text().replace("\n", "\n\n"),
    "Übung 1.csv": csv_text(),
    "no suffix": csv_text(),
    "a.json": json.dumps({"domain": "legal", "predictions": records()}),
    "pretty.json": json.dumps({"predictions": records()}, indent=2),
    "list.json": json.dumps(records()),
    "columns.json": json.dumps({"confidence": CONFIDENCE, "correct": CORRECT}),
    "a.jsonl": "".join(json.dumps(record) + "\n" for record in records()),
    "windows.ndjson": "".join(json.dumps(record) + "\r\n" for record in records()),
    "records": "\n".join(json.dumps(record) for record in records()),
    "a.parquet": parquet_bytes(),
    "zstd.parquet": parquet_bytes(compression="zstd"),
    "a.arrow": arrow_bytes(ipc.new_file),
    "a.feather": arrow_bytes(ipc.new_file),
    "a.arrows": arrow_bytes(ipc.new_stream),
    "stream": arrow_bytes(ipc.new_stream),
    "a.npz": npz_bytes(confidence=np.array(CONFIDENCE), correct=LABELS),
}
FRAMES = {
    "pandas": pd.DataFrame({"confidence": CONFIDENCE, "correct": CORRECT}),
    "pandas floats": pd.DataFrame({"confidence": CONFIDENCE, "correct": LABELS}),
    "pandas nullable": pd.DataFrame({"confidence": CONFIDENCE, "correct": CORRECT}).convert_dtypes(),
    "pandas with an index": pd.DataFrame({"confidence": CONFIDENCE, "correct": CORRECT}, index=[9, 8, 7, 6]),
    "polars": pl.DataFrame({"confidence": CONFIDENCE, "correct": CORRECT}),
    "Arrow table": arrow_table(),
    "Arrow batch": arrow_table().to_batches()[0],
    "Arrow chunks": pa.concat_tables([arrow_table().slice(0, 1), arrow_table().slice(1)]),
    "lists": {"confidence": CONFIDENCE, "correct": CORRECT},
    "arrays": {"confidence": np.array(CONFIDENCE), "correct": LABELS},
    "series": {"confidence": pd.Series(CONFIDENCE), "correct": pl.Series(CORRECT)},
    "masked": {"confidence": CONFIDENCE, "correct": np.ma.array([1, 0, 0, 1], mask=[0, 0, 1, 0])},
    "numpy records": np.array(
        list(zip(CONFIDENCE, LABELS, strict=True)), dtype=[("confidence", "f8"), ("correct", "f8")]
    ),
    "records": records(),
}


def check(table):
    assert table.confidence.tolist() == [0.5, 0.75, 1.0]
    assert table.label.dtype == np.uint8
    assert table.label.tolist() == [1, 0, 1]
    assert table.unlabelled == 1
    assert table.n_rows == 3
    assert table.roles == {"confidence": "confidence", "label": "correct"}


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_table(tmp_path, name):
    check(readers.read(written(tmp_path, name, FILES[name])))


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_gives_the_same_table(name):
    check(readers.read(FRAMES[name]))


class Standard:
    def __init__(self, data):
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith(".tsv")])
def test_standard_input_is_known_by_its_content(monkeypatch, name):
    data = FILES[name]
    monkeypatch.setattr(sys, "stdin", Standard(data if isinstance(data, bytes) else data.encode()))
    table = readers.read("-")
    check(table)
    assert table.source == "standard input"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_batches_laid_end_to_end_are_the_whole(tmp_path, name, rows):
    path = written(tmp_path, name, FILES[name])
    whole, parts = readers.read(path), list(readers.batches(path, rows=rows))
    assert np.concatenate([part.confidence for part in parts]).tolist() == whole.confidence.tolist()
    assert np.concatenate([part.label for part in parts]).tolist() == whole.label.tolist()
    assert [int(row) for part in parts for row in part.rows] == [int(row) for row in whole.rows]
    assert sum(part.unlabelled for part in parts) == whole.unlabelled


@pytest.mark.parametrize("name", FRAMES)
def test_batches_of_a_frame_are_its_rows(name):
    parts = list(readers.batches(FRAMES[name], rows=2))
    assert [part.n_rows for part in parts] == [2, 1]
    assert [int(row) for part in parts for row in part.rows] == [0, 1, 3]


CELL = st.one_of(st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=6), st.just('a"b\n,c'))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans(), CELL), min_size=1, max_size=12), st.sampled_from(",;|\t"))
def test_what_the_csv_module_writes_is_read_back_with_its_lines(rows, delimiter):
    import csv

    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(["confidence", "correct", "group"])
    lines = []
    for row in rows:
        lines.append(text.getvalue().count("\n") + 1)
        writer.writerow([repr(row[0]), row[1], row[2]])
    data = text.getvalue().encode()
    for size in (None, 1):
        stdin, sys.stdin = sys.stdin, Standard(data)
        try:
            parts = (
                [readers.read("-", format="csv")]
                if size is None
                else list(readers.batches("-", format="csv", rows=size))
            )
        finally:
            sys.stdin = stdin
        assert [p for part in parts for p in part.confidence.tolist()] == [row[0] for row in rows]
        assert [g for part in parts for g in part.group] == [row[2] or None for row in rows]
        assert [int(line) for part in parts for line in part.rows] == lines


def test_lines_are_those_of_the_file_despite_quoted_line_ends_and_blank_lines(tmp_path):
    text = 'prob,label,question\n0.5,1,"a\nb"\n\n0.7,0,c\n0.9,,d\n0.8,1,e\n'
    table = readers.read(written(tmp_path, "a.csv", text))
    assert [table.place(i) for i in range(3)] == ["line 2", "line 5", "line 7"]
    assert table.group.tolist() == ["a\nb", "c", "e"]


def test_roles_are_found_whatever_the_case(tmp_path):
    text = "Is Correct,Score,Sample-Weight,QUESTION_ID,is_unknown\nTRUE,0.5,2,q1,0\nfalse,0.25,1,q1,1\n"
    table = readers.read(written(tmp_path, "a.csv", text))
    assert table.roles == {
        "confidence": "Score",
        "label": "Is Correct",
        "unknown": "is_unknown",
        "weight": "Sample-Weight",
        "group": "QUESTION_ID",
    }
    assert table.weight.tolist() == [2.0, 1.0]
    assert table.unknown.tolist() == [False, True]
    assert table.group.tolist() == ["q1", "q1"]


def test_a_role_can_be_given_and_can_be_left_out():
    columns = {"a": [0.5, 0.25], "score": [7, 8], "y": [1, 0], "weight": ["x", "y"]}
    table = readers.read(columns, columns={"probability": "A", "weight": ""})
    assert table.confidence.tolist() == [0.5, 0.25]
    assert table.weight is None
    assert table.roles == {"confidence": "a", "label": "y"}


def test_two_candidates_are_named_with_the_way_out():
    with pytest.raises(ReadError, match=r"'confidence' and 'score'\. Choose with --column confidence=NAME"):
        readers.read({"score": [1], "confidence": [1], "correct": [1]})
    with pytest.raises(ReadError, match=r"'label' and 'target'\. Choose with --column label=NAME"):
        readers.read({"prob": [1], "target": [1], "label": [1]})
    with pytest.raises(ReadError, match=r"'confidence' and 'p_0 … p_1'.*--column probabilities=p_"):
        readers.read({"confidence": [1], "p_0": [1], "p_1": [0], "label": [1]})
    chosen = readers.read({"confidence": [1], "correct": [1], "label": [0]}, columns={"correct": "label"})
    assert chosen.label.tolist() == [0]


@pytest.mark.parametrize("prefix", ["p", "prob", "class", "proba", "PROB"])
def test_class_columns_are_put_in_the_order_of_their_numbers(prefix):
    columns = {f"{prefix}_{k}": [k / 66, 0.5] for k in reversed(range(12))}
    table = readers.read({**columns, "label": [11, 0]})
    assert table.probabilities[0].tolist() == [k / 66 for k in range(12)]
    assert table.label.tolist() == [11, 0]
    assert table.class_names == tuple(map(str, range(12)))
    assert table.y_prob is table.probabilities


def test_labels_may_be_class_names(tmp_path):
    text = "proba_cat,proba_New York,label\n0.5,0.5,New York\n0.25,0.75,cat\n0.25,0.75,\n"
    table = readers.read(written(tmp_path, "a.csv", text))
    assert table.class_names == ("cat", "New York")
    assert table.label.tolist() == [1, 0]
    assert table.unlabelled == 1
    assert readers.read({"proba_cat": [0.5], "proba_dog": [0.5], "label": [1]}).label.tolist() == [1]


def test_a_class_called_na_is_a_class(tmp_path):
    table = readers.read(written(tmp_path, "a.csv", "proba_NA,proba_EU,label\n0.5,0.5,NA\n0.5,0.5,EU\n"))
    assert table.label.tolist() == [0, 1]


def test_classes_called_by_other_numbers_go_by_name(tmp_path):
    text = "proba_3,proba_5,label\n0.5,0.5,5\n0.25,0.75,3\n"
    assert readers.read(written(tmp_path, "a.csv", text)).label.tolist() == [1, 0]
    frame = {"proba_3": [0.5, 0.5], "proba_5": [0.5, 0.5], "label": np.array([5, 3])}
    assert readers.read(frame).label.tolist() == [1, 0]
    with pytest.raises(ReadError, match="classes are 3, 5"):
        readers.read(written(tmp_path, "b.csv", "proba_3,proba_5,label\n0.5,0.5,1\n"))
    with pytest.raises(ReadError, match="label must be"):
        readers.read({**frame, "label": np.array([0, 3])})


MATRIX = [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]


@pytest.mark.parametrize(
    "probabilities",
    [
        MATRIX,
        np.array(MATRIX),
        np.array(MATRIX, np.float32),
        pa.array(MATRIX),
        pa.array(MATRIX, pa.list_(pa.float32(), 3)),
        pa.array(MATRIX, pa.large_list(pa.float64())),
        pl.Series(MATRIX),
        pd.Series(MATRIX),
    ],
)
def test_a_column_of_lists_is_a_matrix(probabilities):
    table = readers.read({"y_prob": probabilities, "y_true": [0, 1]})
    assert table.probabilities.tolist() == MATRIX
    assert table.roles["probabilities"] == "y_prob"
    assert table.label.dtype == np.int64


def test_lists_in_files_are_matrices(tmp_path):
    table = pa.table({"probs": pa.array(MATRIX, pa.list_(pa.float32(), 3)), "label": [2, 0]})
    read = readers.read(written(tmp_path, "a.parquet", parquet_bytes(table)))
    assert read.probabilities.dtype == np.float32
    assert read.probabilities.tolist() == MATRIX
    data = npz_bytes(y_prob=np.array(MATRIX), y_true=np.array(["b", "a"]), class_names=np.array(["a", "b", "c"]))
    read = readers.read(written(tmp_path, "a.npz", data))
    assert read.label.tolist() == [1, 0]
    assert read.class_names == ("a", "b", "c")


def test_a_slice_of_an_arrow_list_column_is_its_own_rows():
    table = pa.table({"probs": pa.array(MATRIX), "label": [2, 0]}).slice(1)
    assert readers.read(table).probabilities.tolist() == MATRIX[1:]
    bits = pa.array([True, False] * 9 + [None])
    read = readers.read(pa.table({"confidence": np.linspace(0, 1, 19), "correct": bits}).slice(9))
    assert read.label.tolist() == [0, 1] * 4 + [0]
    assert read.confidence[0] == 0.5


def test_the_data_set_of_the_standard_is_read_with_its_metadata(tmp_path):
    one = {
        "id": "pred_001",
        "timestamp": "2026-01-01T00:00:00Z",
        "confidence": 0.85,
        "correct": True,
        "ground_truth_source": "human",
    }
    other = {**one, "id": "pred_002", "timestamp": "2026-01-01T01:00:00+01:00", "correct": None}
    about = {"dataset_id": "1b4e28ba-2fa1-11d2-883f-0016d3cca427", "created_at": "2026-02-01", "domain": "medical"}
    path = written(tmp_path, "a.json", json.dumps({**about, "predictions": [one, other, {**one, "id": "pred_003"}]}))
    table = readers.read(path)
    assert table.metadata == about
    assert list(table.id) == ["pred_001", "pred_003"]
    assert table.ground_truth_source.tolist() == ["human", "human"]
    assert table.timestamp.tolist() == [np.datetime64("2026-01-01T00:00:00").item()] * 2
    assert table.unlabelled == 1


STAMPS = ["2026-01-01T00:00:00Z", "2026-01-01T02:30:00.5+02:30", "2026-01-01T00:00:01Z"]
SAME = np.array(["2026-01-01T00:00:00", "2026-01-01T00:00:00.5", "2026-01-01T00:00:01"], "datetime64[us]")


@pytest.mark.parametrize(
    "stamps",
    [
        STAMPS,
        pa.array(STAMPS),
        [*STAMPS[:2], "2026-01-01 00:00:01"],
        SAME.astype("datetime64[ns]"),
        pd.Series(SAME).dt.tz_localize("UTC").dt.tz_convert("Asia/Kolkata"),
        pl.Series(SAME),
        SAME.tolist(),
    ],
)
def test_times_are_utc_whatever_writes_them(stamps):
    table = readers.read({"confidence": [0.1, 0.2, 0.3], "correct": [1, 0, 1], "time": stamps})
    assert (table.timestamp == SAME).all()


def test_a_missing_time_is_no_time(tmp_path):
    table = readers.read(written(tmp_path, "a.csv", "prob,y,date\n0.5,1,2026-01-01\n0.5,1,\n"))
    assert str(table.timestamp[0]) == "2026-01-01T00:00:00.000000"
    assert np.isnat(table.timestamp[1])
    assert table.zoneless == "line 2"
    zoned = readers.read(written(tmp_path, "b.csv", "prob,y,date\n0.5,1,2026-01-01T00:00:00Z\n0.5,1,\n"))
    assert zoned.zoneless is None


def test_a_column_only_called_time_is_left_out_with_a_note(tmp_path):
    path = written(tmp_path, "a.csv", "prob,y,time\n0.5,1,0.31\n")
    table = readers.read(path)
    assert table.timestamp is None
    assert "timestamp" not in table.roles
    assert table.notes == ("time must hold ISO 8601 times; line 2 of a.csv has '0.31'; the column was left out",)
    with pytest.raises(ReadError, match="time must hold ISO 8601 times"):
        readers.read(path, columns={"timestamp": "time"})


def test_ids_above_two_to_the_53_keep_their_digits(tmp_path):
    big = [9007199254740993, 18446744073709551615]
    path = written(tmp_path, "a.csv", f"id,prob,y\n{big[0]},0.5,1\n{big[1]},0.5,1\n")
    assert list(map(str, readers.read(path).id)) == list(map(str, big))
    path = written(tmp_path, "a.jsonl", "".join(f'{{"id":{i},"prob":0.5,"y":1}}\n' for i in big))
    assert list(readers.read(path).id) == list(map(str, big))
    table = pa.table({"id": pa.array(big, pa.uint64()), "prob": [0.5, 0.5], "y": [1, 1]})
    assert list(map(str, readers.read(table).id)) == list(map(str, big))


def test_an_id_with_leading_zeros_keeps_them(tmp_path):
    assert list(map(str, readers.read(written(tmp_path, "a.csv", "id,prob,y\n007,0.5,1\n")).id)) == ["007"]


@pytest.mark.parametrize("one", ["1", "1.0", "true", "TRUE", "True", " 1 ", '"1"', "1e0"])
def test_csv_labels_may_be_spelt_so(tmp_path, one):
    assert readers.read(written(tmp_path, "a.csv", f"prob,y\n0.5,{one}\n0.5,0\n")).label.tolist() == [1, 0]


@pytest.mark.parametrize("nothing", ["", "NA", "n/a", "null", "NaN", "None", " "])
def test_csv_cells_that_say_nothing_are_missing(tmp_path, nothing):
    table = readers.read(written(tmp_path, "a.csv", f"prob,y\n0.5,1\n{nothing},{nothing}\n"))
    assert (table.n_rows, table.unlabelled) == (1, 1)
    with pytest.raises(ReadError, match=r"prob must be present in every labelled row; line 3 of b\.csv has none"):
        readers.read(written(tmp_path, "b.csv", f"prob,y\n0.5,1\n{nothing},0\n"))


def test_na_in_a_column_of_words_is_a_word(tmp_path):
    table = readers.read(written(tmp_path, "a.csv", "prob,y,segment,id\n0.5,1,NA,NA\n0.5,1,,null\n"))
    assert table.group.tolist() == ["NA", None]
    assert list(map(str, table.id)) == ["NA", "null"]


def test_floats_in_csv_are_read_to_the_last_bit(tmp_path):
    values = np.random.default_rng(0).random(1000)
    text = "confidence,correct\n" + "".join(f"{value!r},1\n" for value in values.tolist())
    assert (readers.read(written(tmp_path, "a.csv", text)).confidence == values).all()


def test_decimals_become_the_nearest_floats():
    confidence = pa.array([0.7, 0.1]).cast(pa.decimal128(5, 3))
    assert readers.read({"confidence": confidence, "correct": [1, 0]}).confidence.tolist() == [0.7, 0.1]


def test_float32_stays_float32():
    assert readers.read({"confidence": np.array([0.1], np.float32), "correct": [1]}).confidence.dtype == np.float32


@pytest.mark.parametrize("labels", [[1, 0], [1.0, 0.0], [True, False], np.array([1, 0], np.uint8), pa.array([1, 0])])
def test_labels_of_any_numeric_kind(labels):
    assert readers.read({"confidence": [0.5, 0.5], "correct": labels}).label.tolist() == [1, 0]


def test_features_come_as_columns_or_as_lists():
    rows = {"confidence": [0.5, 0.5], "correct": [1, 0]}
    assert readers.read({**rows, "feature_a": [1, 2], "feature_b": [3, 4]}).features.tolist() == [[1, 3], [2, 4]]
    assert readers.read({**rows, "embedding": [[1.0, 3.0], [2.0, 4.0]]}).features.tolist() == [[1, 3], [2, 4]]
    named = readers.read({**rows, "a": [1, 2], "b": [3, 4]}, columns={"features": "b,a"})
    assert named.features.tolist() == [[3, 1], [4, 2]]


def test_ranges_are_not_doubted_here():
    assert readers.read({"confidence": [1.5, -3.0], "correct": [1, 0]}).confidence.tolist() == [1.5, -3.0]


def test_a_missing_confidence_is_no_fault_when_nobody_knows_the_outcome():
    table = readers.read({"confidence": [0.5, None], "correct": [1, None]})
    assert (table.n_rows, table.unlabelled) == (1, 1)


def test_unused_columns_may_hold_anything(tmp_path):
    text = 'text,prob,y,text\n"a, ""b""\n",0.5,1,\n,0.5,0,x\n'
    assert readers.read(written(tmp_path, "a.csv", text)).n_rows == 2


def test_a_table_can_be_cut():
    table = readers.read({"confidence": [0.1, 0.2, 0.3], "correct": [1, 0, 1], "id": pa.array(["a", "b", "c"])})
    part = table.take(np.array([2, 0]))
    assert part.confidence.tolist() == [0.3, 0.1]
    assert [str(i) for i in part.id] == ["c", "a"]
    assert table.take(slice(1, 2)).place(0) == "row 1"


def test_a_cold_read_of_csv_imports_neither_pandas_nor_parquet(tmp_path):
    path = written(tmp_path, "a.csv", csv_text())
    code = (
        "import sys; from epimeter import readers; light = 'pyarrow' not in sys.modules; "
        f"readers.read({str(path)!r}); "
        "print(light, [m for m in ('pandas', 'polars', 'pyarrow.parquet', 'pyarrow.compute') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True []"
