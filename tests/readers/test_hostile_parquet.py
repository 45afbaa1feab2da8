# SPDX-License-Identifier: Apache-2.0
"""Parquet that lies: about its schema, its rows, its nulls, its size. It ends in a sentence on every route, or is read alike."""

import io
import os
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epimeter import scan
from epimeter.core import lib
from epimeter.core import read as pointer
from epimeter.core import write as room
from epimeter.errors import EpimeterError, ReadError
from epimeter.readers import parquet_pages as pages
from epimeter.readers import read
from epimeter.sources import parquet

N = 400


def sound(**options):
    rng = np.random.default_rng(0)
    p = rng.random(N)
    table = pa.table({"confidence": p, "correct": rng.random(N) < p, "model": pa.array(["a", "b"] * (N // 2))})
    made = io.BytesIO()
    pq.write_table(table, made, row_group_size=N // 2, **options)
    return made.getvalue()


def fault(raw):
    size = int.from_bytes(raw[-8:-4], "little")
    footer = np.frombuffer(raw[-8 - size : -8], np.uint8)
    counts, columns = np.zeros(2, np.int64), np.empty(0, np.int64)
    return lib.epi_parquet_footer_fault(pointer(footer), size, len(raw) - 8 - size, room(columns), 0, room(counts), 2)


def survived(raw, tmp_path, jobs):
    """How many mutants were tried in a child process that did not end by a signal."""
    path = tmp_path / "mutant.parquet"
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(120)
        for place, value in jobs:
            mutant = bytearray(raw)
            mutant[place] = value
            path.write_bytes(mutant)
            for route in (lambda: read(path), lambda: scan(path, ["ece"]), lambda: scan(path, ["ece"], by="model")):
                try:
                    route()
                except EpimeterError:
                    pass
                except MemoryError:
                    pass
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return status == 0


def test_a_sound_footer_has_no_fault():
    for options in ({}, {"compression": "zstd"}, {"data_page_version": "2.0"}, {"store_schema": False}):
        assert fault(sound(**options)) == 0
    nested = io.BytesIO()
    table = pa.table({"a": [[1, 2], [3]], "b": [{"x": 1, "y": [{"z": "u"}]}, None], "c": [0.5, 0.25]})
    pq.write_table(table, nested)
    assert fault(nested.getvalue()) == 0
    pq.write_table(table.slice(0, 0), nested)
    assert fault(nested.getvalue()) == 0


def test_one_wrong_byte_of_a_footer_never_ends_the_process(tmp_path):
    raw = sound()
    first = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    rng = np.random.default_rng(1)
    # An optional column that becomes a required one is what pyarrow aborted at; the rest is by chance.
    known = [(first + place, 0) for place in range(12, 60)]
    chance = [(int(place), int(rng.integers(0, 256))) for place in rng.integers(first, len(raw), 60)]
    assert survived(raw, tmp_path, known + chance)


@pytest.mark.slow
def test_thousands_of_wrong_bytes_never_end_the_process(tmp_path):
    rng = np.random.default_rng(2)
    for options in ({}, {"data_page_version": "2.0", "compression": "none"}, {"use_dictionary": False}):
        raw = sound(**options)
        places = rng.integers(4, len(raw), 1_000)
        assert survived(raw, tmp_path, [(int(place), int(rng.integers(0, 256))) for place in places])


def answer(path, by_pages):
    """A report, or the fact that there is none."""
    try:
        return scan(path, ["ece", "brier_score"], parquet_pages=by_pages).to_dict()
    except EpimeterError:
        return None


@pytest.mark.slow
def test_damaged_files_are_read_alike_with_and_without_the_decoder(tmp_path):
    rng, path, read_whole = np.random.default_rng(3), tmp_path / "x.parquet", 0
    for options in ({}, {"data_page_version": "2.0"}, {"use_dictionary": False, "compression": "none"}):
        raw = sound(**options)
        for place in rng.integers(4, len(raw) - 8, 700):
            mutant = bytearray(raw)
            mutant[place] = rng.integers(0, 256)
            path.write_bytes(mutant)
            answers = answer(path, True), answer(path, False)
            assert answers[0] == answers[1], (options, place)
            read_whole += answers[0] is not None
    assert read_whole > 100


def mutated(raw, old, new):
    assert raw.count(old) == 1
    return raw.replace(old, new)


def test_levels_that_say_null_where_the_header_says_none_are_read_alike_by_every_route(tmp_path):
    label = pa.array([True, False] * 50 + [None] * 4, pa.bool_())
    table = pa.table({"confidence": np.linspace(0, 1, 104), "correct": label})
    path = tmp_path / "x.parquet"
    for version in ("1.0", "2.0"):
        pq.write_table(table, path, data_page_version=version, compression="none", write_statistics=False)
        raw = path.read_bytes()
        if version == "2.0":  # the header of the label's page: 104 values, 4 nulls, 104 rows
            raw = mutated(raw, b"\x15\xd0\x01\x15\x08\x15\xd0\x01", b"\x15\xd0\x01\x15\x00\x15\xd0\x01")
            path.write_bytes(raw)
        answers = []
        for by_pages in (True, False):
            try:
                found = scan(path, ["ece"], parquet_pages=by_pages)
                answers.append(found.to_dict())
            except EpimeterError as sentence:
                answers.append(str(sentence))
        assert answers[0] == answers[1]


def test_a_footer_that_claims_other_rows_than_the_pages_hold_is_refused(tmp_path):
    path = tmp_path / "x.parquet"
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({"confidence": rng.random(100), "correct": rng.random(100) < 0.5}), path)
    raw = path.read_bytes()
    first = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    claimed = raw[:first] + raw[first:].replace(b"\xc8\x01", b"\xca\x01")  # 100 becomes 101, wherever it stands
    assert claimed != raw
    path.write_bytes(claimed)
    for route in (lambda: read(path), lambda: scan(path, ["ece"]), lambda: scan(path, ["ece"], parquet_pages=False)):
        with pytest.raises(ReadError, match="damaged"):
            route()


def bomb(path, entry=1 << 20, rows=20_000, compression="zstd"):
    rng = np.random.default_rng(0)
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * entry]))
    table = pa.table({"confidence": rng.random(rows), "correct": rng.random(rows) < 0.5, "model": text})
    pq.write_table(table, path, compression=compression, dictionary_pagesize_limit=1 << 22, store_schema=False)
    return path


def test_the_size_of_a_bomb_is_known_before_it_goes_off(tmp_path, monkeypatch):
    for compression in ("zstd", "snappy", "gzip", "none"):
        path = bomb(tmp_path / "x.parquet", compression=compression)
        with open(path, "rb") as file:
            footer = pages.checked_footer(file)
            assert pages.unpacked_bound(file, footer, range(3)) >= 20_000 << 20
            assert pages.unpacked_bound(file, footer, [0, 1]) < 1 << 20
    from epimeter.readers import files

    monkeypatch.setattr(files.os, "sysconf", lambda name: 1 << 16)  # a machine of 4 GiB
    with pytest.raises(ReadError, match="does not fit in memory"):
        read(path, columns={"group": "model"})
    with pytest.raises(ReadError, match="do not fit in memory"):
        scan(path, ["ece"], by="model", parquet_pages=False)
    assert scan(path, ["ece"]).n_rows == 20_000  # what is not read does not count


def test_texts_of_usual_files_are_not_taken_for_bombs(tmp_path):
    rng = np.random.default_rng(0)
    words = pa.array([f"id-{i:08}" for i in range(50_000)])
    for options in ({}, {"data_page_version": "2.0"}, {"use_dictionary": False}, {"compression": "zstd"}):
        pq.write_table(pa.table({"id": words, "p": rng.random(50_000)}), tmp_path / "x.parquet", **options)
        with open(tmp_path / "x.parquet", "rb") as file:
            footer = pages.checked_footer(file)
            assert pages.unpacked_bound(file, footer, [0, 1]) < 50_000 * 60


def test_text_columns_that_duckdb_writes_in_its_second_version_are_sound(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "x.parquet"
    rows = (
        "select random() as confidence, random() < 0.5 as correct, 'model-' || (i % 7) as model from range(5000) t(i)"
    )
    duckdb.sql(f"copy ({rows}) to '{path}' (format parquet, parquet_version v2)")
    reports = [scan(path, ["ece"], by="model", parquet_pages=by_pages) for by_pages in (True, False)]
    paged, plain = ({value: report[value].to_dict() for value in report} for report in reports)
    assert paged == plain
    assert read(path, columns={"group": "model"}).n_rows == 5000


def test_the_switch_turns_the_decoder_off(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    path.write_bytes(sound())
    monkeypatch.setattr(pages.Column, "fill", lambda self, out: pytest.fail("a page was decoded"))
    assert scan(path, ["ece"], parquet_pages=False).n_rows == N
    monkeypatch.setenv(pages.SWITCH, "off")
    assert scan(path, ["ece"]).n_rows == N
    monkeypatch.setenv(pages.SWITCH, "perhaps")
    with pytest.raises(EpimeterError, match="EPIMETER_PARQUET_PAGES must be on or off"):
        parquet.opened(str(path), "x")
