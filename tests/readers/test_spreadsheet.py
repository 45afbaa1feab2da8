# SPDX-License-Identifier: Apache-2.0
"""Excel workbooks and Hugging Face data sets hold what their tables hold as CSV."""

from __future__ import annotations

import builtins

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

import epimeter
from epimeter import readers
from epimeter.errors import MissingExtraError, ReadError

ROWS = {"y_true": ["yes", "no", None, "no"], "y_prob": [0.9, 0.2, 0.5, 0.75], "id": ["a", "b", "c", "d"]}


def saved(folder, *sheets, name="a.xlsx"):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(folder / name)
    return folder / name


def test_a_workbook_is_read_as_its_table(tmp_path):
    pd.DataFrame(ROWS).to_excel(tmp_path / "a.xlsx", index=False)
    table = readers.read(tmp_path / "a.xlsx")
    assert (table.kind, table.label.tolist(), table.unlabelled) == ("event", [1, 0, 0], 1)
    assert table.source == "a.xlsx, sheet Sheet1"
    assert epimeter.evaluate(str(tmp_path / "a.xlsx"))["ece"].value == epimeter.evaluate(ROWS)["ece"].value
    with open(tmp_path / "a.xlsx", "rb") as raw:
        (tmp_path / "plain").write_bytes(raw.read())
    assert readers.read(tmp_path / "plain", format="xlsx").n_rows == 3


def test_the_first_sheet_with_cells_is_read_and_rows_keep_their_numbers(tmp_path):
    sheet = [[None], ["prob", "y"], [0.5, 1], [None, None], [1.5, 0]]
    path = saved(tmp_path, ("empty", []), ("said", sheet), ("other", [["x"], [1]]))
    with pytest.raises(epimeter.errors.InputError, match=r"1\.5"):
        epimeter.evaluate(str(path))
    assert readers.read(path).source == "a.xlsx, sheet said"
    assert readers.read(path).rows.tolist() == [3, 5]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([["prob", "y"]], "column names but no rows"),
        ([[0.5, 1], [0.25, 0]], "must name the columns"),
        (
            [["prob", "y"], [0.5, 1], ["#N/A", 0]],
            "must be present in every labelled row; row 3 of a.xlsx, sheet s has none",
        ),
        ([["prob", "y"], ["half", 1]], "must be numbers"),
        ([], "all of its sheets are empty"),
    ],
)
def test_what_a_sheet_lacks_is_said(rows, says, tmp_path):
    with pytest.raises(ReadError, match=says):
        readers.read(saved(tmp_path, ("s", rows)))


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch):
    path, load = saved(tmp_path, ("s", [["prob", "y"], [0.5, 1]])), builtins.__import__

    def missing(name, *rest, **more):
        if name.startswith("openpyxl"):
            raise ImportError(name)
        return load(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match=r"epimeter\[excel\]"):
        readers.read(path)


class ClassLabel:
    """A feature that names its classes."""

    def __init__(self, names):
        self.names = names


class Dataset:
    """What `datasets.Dataset` offers and the readers use."""

    def __init__(self, table, features=None):
        self.table, self.features = table, features or {}

    @property
    def column_names(self):
        return self.table.column_names

    def with_format(self, form):
        assert form == "arrow"
        return self

    def __len__(self):
        return self.table.num_rows

    def __getitem__(self, key):
        return self.table[key] if isinstance(key, str) else self.table.slice(0, len(self))


SAID = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])


def test_class_labels_of_a_data_set_go_by_their_names():
    columns = {"cat": SAID[:, 0], "dog": SAID[:, 1], "fox": SAID[:, 2], "label": [2, 0, -1]}
    table = readers.read(Dataset(pa.table(columns), {"label": ClassLabel(["dog", "fox", "cat"])}))
    assert table.class_names == ("cat", "dog", "fox")
    assert (table.label.tolist(), table.unlabelled) == ([0, 1], 1)


def test_a_data_set_of_numbers_is_read_as_it_stands():
    event = Dataset(pa.table({"prob": [0.9, 0.4], "label": [1, 0]}), {"label": ClassLabel(["ham", "spam"])})
    assert epimeter.evaluate(event).kind == "event"
    lists = Dataset(pa.table({"probs": SAID.tolist(), "label": [0, 1, 2]}))
    assert readers.read(lists).label.tolist() == [0, 1, 2]


def test_splits_and_streams_are_refused():
    whole = Dataset(pa.table({"prob": [0.9], "label": [1]}))
    with pytest.raises(ReadError, match=r"one split must be chosen.*data\['train'\]"):
        epimeter.evaluate({"train": whole, "test": whole})
    stream = type("IterableDataset", (), {"with_format": None, "column_names": ["prob"], "features": {}})()
    with pytest.raises(ReadError, match="not be a stream"):
        epimeter.evaluate(stream)


def test_a_workbook_that_claims_more_than_memory_is_refused(tmp_path, monkeypatch):
    path = saved(tmp_path, ("s", [["prob", "y"], [0.5, 1]]))
    monkeypatch.setattr("os.sysconf", lambda name: {"SC_PHYS_PAGES": 1, "SC_PAGE_SIZE": 100}[name])
    with pytest.raises(ReadError, match="does not fit in memory"):
        readers.read(path)
