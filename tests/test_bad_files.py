# SPDX-License-Identifier: Apache-2.0
"""What the readers refuse: each fault in one sentence, never as a foreign exception, leaving nothing behind."""

import gzip
import io
import json
import os
import pickle
import random
import tempfile
import time
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc
from pyarrow import parquet as pq

from epimeter import readers
from epimeter.errors import InputError, ReadError
from epimeter.readers.files import faults_of


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def parquet_bytes():
    sink = io.BytesIO()
    columns = {"confidence": [0.5, 0.75, 0.25], "correct": [True, False, None], "id": ["a", "b", "c"]}
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def arrow_bytes(open_writer):
    table = pa.table(
        {"confidence": [0.5, 0.75], "correct": [True, None], "group": ["a", "b"], "features": [[1.0], [2.0]]}
    )
    sink = io.BytesIO()
    with open_writer(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def npz_bytes(**arrays):
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


def office_bytes():
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    return sink.getvalue()


GOOD = {
    "a.csv": b'\xef\xbb\xbfconfidence,correct,group,timestamp\n0.5,1,"a\nb",2024-01-01\n0.25,true,\xc3\xa9,2024-01-01\n',
    "a.jsonl": b'{"confidence":0.5,"correct":true,"id":"\xc3\xa9"}\n{"confidence":1,"correct":null,"id":"a:b"}\n',
    "a.json": json.dumps({"domain": "legal", "predictions": [{"confidence": 0.5, "correct": True}]}, indent=1).encode(),
    "a.parquet": parquet_bytes(),
    "a.arrow": arrow_bytes(ipc.new_file),
    "a.arrows": arrow_bytes(ipc.new_stream),
    "a.npz": npz_bytes(confidence=np.array([0.5, 0.75]), correct=np.array([1, 0])),
}

BAD = [
    ("empty.csv", "", "empty.csv is empty"),
    ("empty.parquet", "", "empty.parquet is empty"),
    ("blank.json", " \n \n", "blank.json is empty"),
    ("header.csv", "prob,y\n", "header.csv has a header in line 1 but no rows"),
    ("header.csv", "prob,y", "header.csv has a header in line 1 but no rows"),
    ("none.json", "[]", "the list of records of none.json has no rows"),
    ("none.json", '{"predictions": []}', "predictions of none.json has no rows"),
    ("none.json", '{"confidence": [], "correct": []}', "none.json has columns but no rows"),
    ("names.csv", "0.5,1\n0.7,0\n", "the first line must name the columns; names.csv begins with 0.5, 1"),
    ("cut.csv", "prob,y\n0.5,1\n0.7", "line 3 of cut.csv has 1. The file seems cut off there"),
    ("cut.csv", 'prob,y,x\n0.5,1,a\n0.7,1,"b', "every quote must be closed; the one in line 3 of cut.csv is not"),
    ("long.csv", "prob,y\n0.5,1\n0.7,1,3\n0.2,1\n", "must have 2 cells, as the header has; line 3 of long.csv has 3"),
    ("long.csv", 'prob,y,x\n0.5,1,"a\nb"\n\n0.7,1\n0.2,1,c\n', "line 5 of long.csv has 2"),
    ("quote.csv", 'prob,y,x\n0.5,1,a\n0.7,1,5" pipe\n', "line 3 of quote.csv has one inside"),
    ("return.csv", "prob,y,x\n0.5,1,a\rb\n", "return.csv must break its lines in one way"),
    ("latin.csv", "prob,y,x\n0.5,1,é\n".encode("latin-1"), "latin.csv must be UTF-8; line 2 has the byte 0xe9"),
    ("latin.json", '[{"x":"é"}]'.encode("latin-1"), "latin.json must be UTF-8; line 1 has the byte 0xe9"),
    ("latin.jsonl", '{"y":1}\n{"x":"é"}'.encode("latin-1"), "latin.jsonl must be UTF-8; line 2 has the byte 0xe9"),
    (
        "wide.csv",
        "prob,y\n0.5,1\n".encode("utf-16-le"),
        "wide.csv holds UTF-16 text without its mark. Save it as UTF-8",
    ),
    ("wide.csv", "prob,y\n0.5,1\n".encode("utf-16")[:-1], "wide.csv must be sound UTF-16, as its first bytes say"),
    ("wider.csv", "prob,y\n0.5,1\n".encode("utf-32"), "wider.csv holds UTF-32 text. Save it as UTF-8"),
    ("zero.csv", b"prob,y\n0.5,1\0\n", "zero.csv must hold CSV, as its name says; it holds binary data"),
    ("zero.csv", b"prob,y\n0.5,1\n" + b"#" * 70000 + b"\0", "zero.csv must be text; line 3 has a zero byte"),
    ("word.csv", "prob,y\n0.5,1\nhigh,1\nlow,1\n", "prob must be numbers; line 3 of word.csv has 'high' (2 of 3 rows"),
    ("percent.csv", "prob,y\n87%,1\n0.5,0\n", "Percent? Write 0.87 for 87%"),
    ("comma.csv", "prob;y\n0,5;1\n0.5;0\n", "Decimal comma? Write 0.5 for 0,5"),
    ("thousand.csv", "prob;y\n1,000;1\n0;0\n", "Decimal comma? Write 0.5 for 0,5"),
    ("comma.jsonl", '{"prob":"0,5","y":1}', "Decimal comma? Write 0.5 for 0,5"),
    ("under.csv", "prob,y\n1_0,1\n", "prob must be numbers; line 2 of under.csv has '1_0'"),
    (
        "yes.csv",
        "prob,y\n0.5,1\n0.5,yes\n",
        "y must be 0 or 1, true or false; line 3 of yes.csv has 'yes'. Which label is",
    ),
    ("two.csv", "prob,y\n0.5,1\n0.5,2\n", "line 3 of two.csv has '2'. Labels 1 and 2? Say --positive 2. Classes?"),
    ("half.csv", "prob,y\n0.5,0.5\n", "y must be 0 or 1, true or false; line 2 of half.csv has '0.5'"),
    ("class.csv", "p_0,p_1,y\n0.5,0.5,2\n", "y must be a class that has a column; line 2 of class.csv has '2'"),
    ("gap.csv", "p_0,p_2,y\n0.5,0.5,1\n", "numbered from 0 without a gap; gap.csv has p_0, p_2"),
    ("one.csv", "p_2,y\n0.5,1\n", "Use --column confidence=p_2"),
    ("right.csv", "p_0,p_1,correct\n0.5,0.5,1\n", "class probabilities need the true class of each row"),
    ("none.csv", "a,b\n0.5,1\n", "none.csv has no column for confidence; its columns are a, b. Name it with --column"),
    ("label.csv", "prob,b\n0.5,1\n", "label.csv has no column for label; its columns are prob, b"),
    ("twice.csv", "prob,y,y\n0.5,1,0\n", "columns must have different names; twice.csv has 'y' twice"),
    ("all.csv", "prob,y\n0.5,\n0.5,\n", "y must be known for at least one row; all 2 outcomes of all.csv are missing"),
    ("flag.csv", "prob,y,unknown\n0.5,1,\n", "unknown must be present in every labelled row; line 2 of flag.csv"),
    ("weight.csv", "prob,y,weight\n0.5,1,\n", "weight must be present in every labelled row; line 2 of weight.csv"),
    ("double.jsonl", '{"prob":1,"y":1}\n{"prob":1,"prob":0,"y":1}\n', "line 2 of double.jsonl has 'prob' twice"),
    ("double.jsonl", '{"prob":1,"y":1}\n{"prob":1,"pr\\u006fb":0,"y":1}\n', "line 2 of double.jsonl has 'prob' twice"),
    ("double.jsonl", '{"prob":1,"y":1,"a":{"b:":"\\u003a","b:":2}}\n', "line 1 of double.jsonl has 'b:' twice"),
    ("double.json", '[{"prob":1,"y":1},\n{"prob":1,\n"prob":0,"y":1}]', "line 3 of double.json has 'prob' twice"),
    ("cut.jsonl", '{"prob":1,"y":1}\n{"prob":1,', "it ends in the middle, in line 2. The file seems cut off"),
    ("cut.json", '{"predictions":[\n{"prob":1', "it ends in the middle, in line 2. The file seems cut off"),
    ("nan.jsonl", '{"prob":1,"y":1}\n{"prob":NaN,"y":1}\n', "line 2 is not: NaN and Infinity are no JSON; write null"),
    ("list.jsonl", '{"prob":1,"y":1}\n[1]\n', "every record must be a JSON object; line 2 of list.jsonl is [1]"),
    ("entry.json", '[{"prob":1,"y":1},5]', "every record must be a JSON object; entry 1 of entry.json is 5"),
    ("lines.json", '{"prob":1,"y":1}\n{"prob":1,"y":1}\n', "One record a line? Use --format ndjson"),
    ("deep.json", "[" * 100_000, "deep.json must not nest so deep"),
    ("text.jsonl", '{"prob":"0.5","y":1}', "line 1 of text.jsonl has '0.5'. Write the number without quotes"),
    ("flag.jsonl", '{"prob":true,"y":1}', "prob must be numbers; line 1 of flag.jsonl has True"),
    ("word.jsonl", '{"prob":0.5,"y":"maybe"}', "y must be 0 or 1, true or false; line 1 of word.jsonl has 'maybe'"),
    ("ragged.json", '[{"probs":[0.5,0.5],"y":1},{"probs":[1],"y":0}]', "must have 2 numbers in every row; row 1 of"),
    ("uneven.json", '{"prob":[1,1],"y":[1]}', "in uneven.json 'prob' has 2 entries and 'y' 1"),
    (
        "a.csv",
        parquet_bytes(),
        "a.csv must hold CSV, as its name says; it holds Parquet. Rename it or use --format parquet",
    ),
    ("a.parquet", "prob,y\n0.5,1\n", "a.parquet must hold Parquet, as its name says; it holds text"),
    (
        "a.json",
        "prob,y\n0.5,1\n",
        "a.json must hold JSON, as its name says; it holds text. Rename it or use --format csv",
    ),
    ("a.csv", "[]", "a.csv must hold CSV, as its name says; it holds JSON. Rename it or use --format json"),
    ("a.npz", parquet_bytes(), "a.npz must hold an npz archive, as its name says; it holds Parquet"),
    ("half.parquet", parquet_bytes()[:500], "half.parquet must be a whole Parquet file; it is damaged or was cut off"),
    ("half.feather", arrow_bytes(ipc.new_file)[:500], "half.feather must be a whole Arrow file"),
    ("half.arrows", arrow_bytes(ipc.new_stream)[:300], "half.arrows must be a whole Arrow file"),
    ("half.npz", GOOD["a.npz"][:200], "half.npz must be a whole npz file; it is damaged or was cut off"),
    (
        "a.csv.gz",
        gzip.compress(gzip.compress(b"prob,y\n0.5,1\n", mtime=0), mtime=0),
        "a.csv.gz holds gzip-compressed data. Unpack",
    ),
    ("a.csv", gzip.compress(b"prob,y\n0.5,1\n", mtime=0), "a.csv holds gzip-compressed data. Unpack it first"),
    ("a.xlsx", office_bytes(), "a.xlsx must be a whole Excel workbook; it is damaged or was cut off"),
    ("a.npz", office_bytes(), "a.npz is an Office document, not npz. A workbook? Call it .xlsx"),
    ("a.xls", b"\xd0\xcf\x11\xe0" + bytes(600), "Save the sheet as .xlsx or CSV"),
    ("b.xlsx", b"\xd0\xcf\x11\xe0" + bytes(600), "Save the sheet as .xlsx or CSV"),
    ("c.xlsx", b"p,y\n0.5,1\n", "c.xlsx must hold an Excel workbook, as its name says; it holds text"),
    ("a.epi", b"EPI1" + bytes(40), "epimeter report prints what it says"),
    ("b.epi", b"EPI2" + bytes(40), "epimeter report prints what it says"),
    ("a.json", b'{"epimeter": "1.0", "measurements": [], "cautions": []}', "give the predictions that it is about"),
    ("a.pkl", pickle.dumps({"prob": [0.5]}), "A pickle can run code and is never opened"),
    ("a.npy", b"\x93NUMPY\x01\x00" + b"\0" * 50, "Save the columns by name: np.savez"),
]


@pytest.mark.parametrize(("name", "data", "sentence"), BAD)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, monkeypatch, name, data, sentence):
    path = written(tmp_path, name, data)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for attempt in (lambda: readers.read(path), lambda: list(readers.batches(path, rows=1))):
        with pytest.raises(ReadError) as refused:
            attempt()
        assert "\n" not in str(refused.value)
        assert refused.value.__cause__ is None
    with pytest.raises(InputError) as refused:
        readers.read(path)
    assert sentence in str(refused.value)
    assert sorted(os.listdir(tmp_path)) == sorted([name, "scratch"])
    assert os.listdir(scratch) == []


FRAMES = [
    ({"confidence": [0.5, "0.7"], "correct": [1, 0]}, "row 1 of the columns given has '0.7'"),
    ({"confidence": [0.5, 0.7], "correct": [1]}, "'confidence' has 2 entries and 'correct' 1"),
    ({"confidence": [0.5, None], "correct": [1, 0]}, "confidence must be present in every labelled row; row 1 of"),
    ({"confidence": np.array([0.5, np.nan]), "correct": [1, 0]}, "row 1 of the columns given has none"),
    ({"confidence": [0.5, 10**400], "correct": [1, 0]}, "row 1 of the columns given has one beyond all floats"),
    (
        {"confidence": np.array([True]), "correct": [1]},
        "confidence must be numbers; row 0 of the columns given has true",
    ),
    (
        {"confidence": [0.5], "correct": ["perhaps"]},
        "correct must be 0 or 1, true or false; row 0 of the columns given",
    ),
    ({"confidence": [0.5], "correct": [2]}, "row 0 of the columns given has 2. Labels 1 and 2?"),
    ({"confidence": [0.5], "correct": [-1]}, "correct must be 0 or 1"),
    ({"confidence": [0.5], "correct": [{"a": 1}]}, "correct must be 0 or 1"),
    ({"confidence": [], "correct": []}, "the columns given has columns but no rows"),
    ({"probs": [[0.5, 0.5], None], "label": [0, 1]}, "probs must be present in every labelled row; row 1"),
    ({"probs": [[0.5, 0.5], [0.5, "x"]], "label": [0, 1]}, "probs must be numbers; row 1 of the columns given has 'x'"),
    ({"probs": [[0.5, 0.5]], "label": ["a"]}, "label must be a class number from 0 to 1"),
    ({"probs": [[0.2, 0.3, 0.5]], "label": [True]}, "label must be a class number from 0 to 2"),
    ({}, "has no column for confidence"),
    (np.zeros((3, 2)), "a numpy array must have named columns; got shape (3, 2)"),
    (pd.DataFrame({"confidence": [], "correct": []}), "the pandas DataFrame has columns but no rows"),
    (pd.DataFrame([[0.5, 1, 0]], columns=["confidence", "correct", "correct"]), "has 'correct' twice"),
    (pa.table({"confidence": pa.array([], pa.float64()), "correct": pa.array([], pa.int8())}), "but no rows"),
    (5, "a source must be a path, '-', or a frame"),
    (None, "a source must be a path, '-', or a frame"),
    ([], "the list of records of the records given has no rows"),
    ([1, 2], "every record must be a JSON object; entry 0 of the records given is 1"),
]


@pytest.mark.parametrize(("frame", "sentence"), FRAMES)
def test_a_bad_frame_is_refused_in_one_sentence(frame, sentence):
    with pytest.raises(ReadError) as refused:
        readers.read(frame)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file_a_directory_and_a_bad_name_are_refused(tmp_path):
    for path, sentence in [
        (tmp_path / "no.csv", "no file is called"),
        (tmp_path, "is a directory; name one file in it"),
        (f"{tmp_path}/a\0b", "no file can be called"),
        ("x" * 5000, "could not be read"),
    ]:
        with pytest.raises(ReadError, match=sentence):
            readers.read(path)


def test_a_file_without_rights_is_refused(tmp_path):
    # Raised by hand: an administrator may read everything.
    with pytest.raises(ReadError, match="may not be read by this user; check its permissions"), faults_of("a", "/x/a"):
        raise PermissionError(13, "Permission denied")
    with pytest.raises(ReadError, match="could not be read: Input/output error"), faults_of("a", "/x/a"):
        raise OSError(5, "Input/output error")


def test_a_pickled_array_is_refused_and_never_opened(tmp_path):
    marker = tmp_path / "ran"

    class Trap:
        def __reduce__(self):
            return (open, (str(marker), "w"))

    bait = np.array([Trap(), Trap()], object)
    for arrays in ({"confidence": bait, "correct": [1, 0]}, {"confidence": [0.5, 0.5], "correct": [1, 0], "x": bait}):
        path = written(tmp_path, "trap.npz", npz_bytes(**arrays))
        with pytest.raises(ReadError, match="pickled Python objects, which can run code and are never opened"):
            readers.read(path)
        assert not marker.exists()


def test_an_array_that_lies_about_its_size_is_refused(tmp_path):
    good = npz_bytes(confidence=np.array([0.5, 0.75]), correct=np.array([1, 0]))
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(sink, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"(2,), }", b"(9,), }"))
    with pytest.raises(ReadError, match="must have the size its header says"):
        readers.read(written(tmp_path, "a.npz", sink.getvalue()))


def test_words_of_the_caller_are_checked(tmp_path):
    frame = {"confidence": [0.5], "correct": [1], "probs": [[0.5, 0.5]]}
    for columns, sentence in [
        ({"konfidenz": "a"}, "no role is called 'konfidenz'; the roles are confidence, probability"),
        ({"confidence": "confidenze"}, "no column 'confidenze' for confidence; did you mean 'confidence'"),
        ({"correct": ""}, "the column of correct must be named"),
        ({"correct": "correct", "label": "correct"}, "correct and label cannot both say the outcome"),
        ({"confidence": "confidence", "probabilities": "probs"}, "cannot both be read"),
        ({"probabilities": "confidence"}, "One probability a row? Use --column confidence=confidence"),
    ]:
        with pytest.raises(ReadError) as refused:
            readers.read(frame, columns=columns)
        assert sentence in str(refused.value)
    path = written(tmp_path, "a.csv", "prob,y\n0.5,1\n")
    with pytest.raises(ReadError, match="no format is called 'xls'; the formats are csv"):
        readers.read(path, format="xls")
    with pytest.raises(ReadError, match=r"a\.csv must hold Parquet, as asked; it holds text"):
        readers.read(path, format="parquet")


def test_a_column_that_changes_its_name_halfway_is_refused(tmp_path):
    text = '{"prob":0.5,"y":1}\n' * 20 + '{"prob":0.5,"y":1,"weight":2}\n' * 20
    path = written(tmp_path, "a.jsonl", text)
    with pytest.raises(ReadError, match="weight must be present in every labelled row; line 1 of"):
        readers.read(path)
    with pytest.raises(ReadError, match=r"from line 1?\d of a\.jsonl on the column of weight|weight must be present"):
        list(readers.batches(path, rows=8))


def test_control_characters_of_a_name_are_not_printed(tmp_path):
    path = written(tmp_path, "a.jsonl", '{"a\\u001b[31m\\n":1}\n')
    with pytest.raises(ReadError) as refused:
        readers.read(path)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("names", ["c", "p_"])
def test_a_million_columns_are_answered_quickly(tmp_path, names):
    count = 1_000_000 if names == "c" else 20_000
    header = ",".join(f"{names}{i}" for i in range(count))
    path = written(tmp_path, "a.csv", f"{header},y\n{'0,' * count}1\n")
    start = time.process_time()
    if names == "c":
        with pytest.raises(ReadError, match="and 999993 more"):
            readers.read(path)
    else:
        assert readers.read(path).probabilities.shape == (1, count)
    assert (
        time.process_time() - start < 20
    )  # seconds of the processor, whoever else is busy; a quadratic search takes minutes


def test_a_quote_that_is_never_closed_takes_no_quadratic_time(tmp_path):
    path = written(tmp_path, "a.csv", '"prob,y\n' + "0.5,1\n" * 300_000)
    start = time.process_time()
    with pytest.raises(ReadError, match="every quote must be closed"):
        readers.read(path)
    assert time.process_time() - start < 10


def attempt(path):
    """Read a file in both ways; only a table or a ReadError of one line may come of it."""
    for work in (lambda: readers.read(path), lambda: list(readers.batches(path, rows=1))):
        try:
            work()
        except ReadError as refused:
            assert "\n" not in str(refused)


@pytest.mark.parametrize("name", GOOD)
def test_no_beginning_of_a_file_breaks_the_reader(tmp_path, name):
    data = GOOD[name]
    for end in range(0, len(data), max(1, len(data) // 150)):
        attempt(written(tmp_path, name, data[:end]))


@pytest.mark.parametrize("name", GOOD)
def test_no_damaged_byte_breaks_the_reader(tmp_path, name):
    chance = random.Random(name)
    for _ in range(150):
        data = bytearray(GOOD[name])
        for _ in range(chance.choice([1, 1, 2, 5])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        attempt(written(tmp_path, name, bytes(data)))


def header_only(shape, kind):
    """An .npy file that states a shape and holds no values."""
    sink = io.BytesIO()
    np.lib.format.write_array_header_1_0(sink, {"descr": kind, "fortran_order": False, "shape": shape})
    return sink.getvalue()


def test_arrays_whose_values_have_no_size_are_refused(tmp_path):
    for shape, kind in (((10**12,), "<U0"), ((10**12,), "|V0"), ((10**12, 0), "<f8")):
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as archive:
            for name in ("confidence", "correct"):
                archive.writestr(f"{name}.npy", header_only(shape, kind))
        with pytest.raises(ReadError, match="must have values; its 1000000000000 rows are of no size"):
            readers.read(written(tmp_path, "a.npz", sink.getvalue()))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_two_arrays_of_one_name_is_refused(tmp_path):
    parts = {name: npz_bytes(**{name: np.array([0.5, 1.0])}) for name in ("confidence", "correct")}
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name in ("confidence", "correct", "confidence"):
            archive.writestr(f"{name}.npy", zipfile.ZipFile(io.BytesIO(parts[name])).read(f"{name}.npy"))
    with pytest.raises(ReadError, match="must have different names; a.npz has one twice"):
        readers.read(written(tmp_path, "a.npz", sink.getvalue()))


@pytest.mark.parametrize("cell", ["１.0", "٠.٥", "0.５", "1_0"])
def test_digits_of_other_scripts_are_no_numbers(tmp_path, cell):
    with pytest.raises(ReadError, match="confidence must be numbers; line 3 of a.csv has"):
        readers.read(written(tmp_path, "a.csv", f"confidence,correct\n0.5,1\n{cell},0\n"))
    with pytest.raises(ReadError, match="correct must be 0 or 1, true or false; line 3 of a.csv has"):
        readers.read(written(tmp_path, "a.csv", "confidence,correct\n0.5,1\n0.5,１\n"))


def test_a_small_file_that_stands_for_more_rows_than_fit_is_refused_at_once(tmp_path):
    import pyarrow as pa

    rows = 10**12
    nothing = pa.NullArray.from_buffers(pa.null(), rows, [None])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int64()), pa.array([0.5]))
    for columns in ([nothing, nothing], [runs, runs]):
        batch = pa.RecordBatch.from_arrays(columns, names=["confidence", "correct"])
        path = tmp_path / "a.arrow"
        with (
            pa.OSFile(str(path), "wb") as file,
            pa.ipc.new_file(file, batch.schema, options=pa.ipc.IpcWriteOptions(allow_64bit=True)) as writer,
        ):
            writer.write(batch)
        assert path.stat().st_size < 5000
        with pytest.raises(ReadError, match="does not fit in memory"):
            readers.read(path)


def test_runs_of_equal_values_are_read_as_the_values(tmp_path):
    import pyarrow as pa

    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5]), pa.array([0.5, 0.25]))
    table = readers.read(pa.table({"confidence": runs, "correct": [1, 0, 1, 0, 1]}))
    assert table.y_prob.tolist() == [0.5, 0.5, 0.25, 0.25, 0.25]
