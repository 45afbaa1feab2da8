# SPDX-License-Identifier: Apache-2.0
"""Sums that a database makes: the report has the bits of one made from the rows (here, since PostgreSQL is started here)."""

import csv
import json
import subprocess
import sys

import duckdb
import numpy as np
import pandas
import psycopg
import pytest

from epimeter import scan
from epimeter.errors import InputError, ReadError
from epimeter.report.building import reports
from epimeter.sources.sums import from_sums, sums_files
from epimeter.sources.sums_query import DIALECTS, query

COLUMNS = {"confidence": "said", "outcome": "came true"}


def rows(n_rows=6000, seed=0):
    """Rows with everything that the loops treat on their own: ends, halves and what is next to them, ties, wrong certainty."""
    rng = np.random.Generator(np.random.PCG64(seed))
    prob = rng.beta(2, 1, n_rows)
    true = (rng.random(n_rows) < prob**1.3).astype(int)
    special = [0.0, 1.0, 0.5, 0.5 + 1e-10, 1e-17, 5e-324, 1 - 2.0**-53, 0.1, 0.3, 0.7 - 2.0**-53, 2.0**-50, 2.0**-49]
    prob[: 40 * len(special)] = np.repeat(special, 40)
    language = np.array(["de", "en", "o'k"])[rng.integers(0, 3, n_rows)]
    return pandas.DataFrame({"said": prob, "came true": true, "language": language})


def numbers(report):
    return {name: value for name, value in report.to_dict().items() if name != "source"}


def expected(frame, kind="event"):
    return numbers(scan(frame, row_limit=0, kind=kind, columns={"confidence": "said", "label": "came true"}))


def from_duckdb(frame, **options):
    cursor = duckdb.connect()
    cursor.register("predictions", frame)
    cursor.execute(query("duckdb", "predictions", **COLUMNS, **options))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, line, strict=True)) for line in cursor.fetchall()]


def test_duckdb_gives_the_bits_of_a_scan_and_few_lines():
    frame = rows()
    lines = from_duckdb(frame)
    assert len(lines) < 80
    assert numbers(reports(from_sums(lines, "sums"))) == expected(frame)


def test_slices_answers_singles_and_missing_outcomes_are_told_apart():
    frame = rows()
    frame["said"] = frame["said"].astype(np.float32)
    frame["came true"] = frame["came true"].astype(object).where(frame.index % 7 > 0, None)
    made = reports(from_sums(from_duckdb(frame, kind="answer", by="language"), "sums"))
    assert sorted(made) == ["de", "en", "o'k"]
    known = frame[frame["came true"].notna()].astype({"came true": int})
    for language, report in made.items():
        one = numbers(report)
        assert one == expected(known[known["language"] == language], "answer") and report.kind == "answer"
        assert report.source["unlabelled"] == (frame.index % 7 == 0).sum()


def test_postgres_gives_the_bits_of_a_scan_on_the_command_line(postgres, tmp_path):
    frame = rows()
    typed = ["sql", "--dialect", "postgres", "--table", "scores", "--confidence", "said", "--outcome", "came true"]
    printed = subprocess.run(
        [sys.executable, "-m", "epimeter", *typed], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    url = postgres.database().replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute('CREATE TABLE scores (said double precision, "came true" boolean)')
        with cursor.copy("COPY scores FROM STDIN") as copy:
            for said, came in zip(frame["said"], frame["came true"], strict=True):
                copy.write_row((said, bool(came)))
        cursor.execute(printed.strip().rstrip(";"))
        with open(tmp_path / "sums.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([column.name for column in cursor.description])
            writer.writerows(cursor.fetchall())
    command = [sys.executable, "-m", "epimeter", "report", "--from-sums", str(tmp_path / "sums.csv"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    made = json.loads(done.stdout)
    assert made.pop("source")["notes"] == ["totals were added up by a database"]
    assert made == json.loads(json.dumps(expected(frame)))


def test_results_are_read_in_every_form_and_parts_are_joined(tmp_path):
    frame = rows()
    parts = [from_duckdb(frame[:2500]), from_duckdb(frame[2500:])]
    paths = [tmp_path / "a.json", tmp_path / "b.parquet"]
    paths[0].write_text(json.dumps(parts[0]))
    pandas.DataFrame(parts[1]).to_parquet(paths[1])
    assert numbers(reports(sums_files([str(path) for path in paths]))) == expected(frame)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda line: line | {"uu": "1.5e+17"}, "whole numbers must be whole"),
        (lambda line: line | {"row_count": "many"}, "line 1 of sums is not what the query gives"),
        (lambda line: line | {"epimeter_sums": "9 event"}, "query again"),
        (lambda line: line | {"bin_15": 40}, "is not what the query gives"),
        (lambda line: {"confidence": 0.5}, "it has no column 'epimeter_sums'"),
        (lambda line: line | {"state": 1, "confidence": "0.25"}, "has lost digits"),
        (lambda line: line | {"state": 3, "row_count": 12}, "12 rows behind sums are otherwise"),
    ],
)
def test_a_result_that_is_none_is_refused_in_one_sentence(spoil, sentence):
    lines = sorted(from_duckdb(rows(1000)), key=lambda line: line["state"])
    with pytest.raises(ReadError, match=sentence):
        reports(from_sums([spoil(lines[0]), *lines[1:]], "sums"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b'epimeter_sums,"x\n1,"2"3'),
        ("a.json", b'{"a":'),
        ("a.csv", b"\x89PNG\r\n\xff"),
        ("a.parquet", b"PAR"),
    ],
)
def test_a_file_that_is_no_result_is_refused_in_one_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReadError, match="cannot be read as the result of a query"):
        sums_files([str(tmp_path / name)])


def test_rows_that_are_no_forecasts_are_counted_not_summed():
    frame = rows(1000)
    frame.loc[:2, "said"] = [1.5, float("nan"), 1e300]
    with pytest.raises(ReadError, match="3 rows behind sums are otherwise"):
        from_sums(from_duckdb(frame), "sums")
    with pytest.raises(ReadError, match="no lines"):
        from_sums([], "sums")


def test_every_dialect_has_its_own_words_and_names_cannot_break_out():
    for name, dialect in DIALECTS.items():
        printed = query(name, "t", confidence="p", outcome="y", by="it's")
        assert f"AS {dialect.wide})" in printed and f"{dialect.quote}p{dialect.quote}" in printed
        assert "'it''s' AS slice_of" in printed
        # ClickHouse reads a name as the result of that name, unless told: SUM(…) AS p and MIN(p) would be one in the other.
        assert printed.endswith("prefer_column_name_to_alias = 1") == (name == "clickhouse")
    for wrong in ({"table": "t; drop table t"}, {"confidence": 'p"'}, {"dialect": "oracle"}, {"kind": "classes"}):
        given = {"dialect": "duckdb", "table": "t", "confidence": "p", "outcome": "y", **wrong}
        with pytest.raises(InputError):
            query(given.pop("dialect"), given.pop("table"), **given)
