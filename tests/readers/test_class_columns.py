# SPDX-License-Identifier: Apache-2.0
"""Class columns are found by the labels beside them, whatever the file."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import epimeter
from epimeter import readers
from epimeter.errors import ReadError

ANIMALS = ("cat", "dog", "red fox")
SAID = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5], [0.6, 0.3, 0.1]])
TRUE = [0, 1, 2, 1]


def frame(names: list[str], label: str = "label") -> pd.DataFrame:
    return pd.DataFrame(SAID, columns=names).assign(**{label: [ANIMALS[k] for k in TRUE], "id": list("abcd")})


def forms(made: pd.DataFrame, folder):
    made.to_csv(folder / "a.csv", index=False)
    made.to_csv(folder / "a.tsv", index=False, sep="\t")
    (folder / "a.csv.gz").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    made.to_json(folder / "a.json")
    made.to_json(folder / "a.jsonl", orient="records", lines=True)
    made.to_parquet(folder / "a.parquet")
    made.to_feather(folder / "a.arrow")
    yield from (folder / name for name in ("a.csv", "a.tsv", "a.csv.gz", "a.json", "a.jsonl", "a.parquet", "a.arrow"))
    yield from (made, pa.Table.from_pandas(made), made.to_dict("list"), made.to_dict("records"))


@pytest.mark.parametrize("shape", ["{}", "score_{}", "{}_prob", "P({})", "model-a: {}", "p_{}"])
def test_columns_called_like_the_labels_are_the_classes(shape, tmp_path):
    made = frame([shape.format(name) for name in ANIMALS])
    for source in forms(made, tmp_path):
        table = readers.read(source)
        assert table.kind == "classes"
        assert table.class_names == ANIMALS
        assert table.label.tolist() == TRUE
        assert table.probabilities.tolist() == SAID.tolist()


def test_a_pass_over_files_finds_them_too(tmp_path):
    made = frame([f"{name}_prob" for name in ANIMALS])
    for part in ("a", "b"):
        made.to_parquet(tmp_path / f"{part}.parquet")
        made.to_csv(tmp_path / f"{part}.csv", index=False)
    for suffix in ("parquet", "csv"):
        report = epimeter.scan([str(tmp_path / f"{part}.{suffix}") for part in ("a", "b")])
        assert report.n_rows == 8 and report.kind == "classes"
    assert epimeter.scan(made).kind == "classes"


def test_numbers_name_columns_and_are_put_in_order():
    made = pd.DataFrame(SAID[:, ::-1], columns=[2, 1, 0]).assign(y=TRUE)
    assert readers.read(made).probabilities.tolist() == SAID.tolist()
    from_one = pd.DataFrame(SAID, columns=["p_1", "p_2", "p_3"]).assign(y=[k + 1 for k in TRUE])
    assert readers.read(from_one).label.tolist() == TRUE


def test_a_label_may_be_called_like_the_column_of_its_class():
    made = pd.DataFrame(SAID, columns=["class_0", "class_1", "class_2"]).assign(label=[f"class_{k}" for k in TRUE])
    assert readers.read(made).label.tolist() == TRUE


def test_a_class_that_no_label_names_is_one_where_the_rows_sum_to_one_with_it():
    made = frame(list(ANIMALS))[:2].assign(age=[31, 45], weight=[1.0, 0.5])
    table = readers.read(made)
    assert table.class_names == ANIMALS and table.label.tolist() == [0, 1]


@pytest.mark.parametrize(
    "made",
    [
        frame(["a", "b", "c"]),  # no column is called like a label
        frame(["concat", "hotdog", "red foxes"]),  # a name that only contains one
        frame(list(ANIMALS)).assign(cat=[3.0, 4.0, 5.0, 6.0]),  # what is called so is no probability
    ],
)
def test_what_is_called_otherwise_is_not_guessed(made):
    with pytest.raises(ReadError, match=r"no column for confidence.*--classes"):
        readers.read(made)


def test_two_families_for_the_same_labels_are_refused():
    with pytest.raises(ReadError, match="only one column can serve as probabilities"):
        both = {f"{model}_{name}": SAID[:, k] for model in ("old", "new") for k, name in enumerate(ANIMALS)}
        readers.read({**both, "label": [ANIMALS[k] for k in TRUE]})


@pytest.mark.parametrize("shape", ["{}", "score_{}", "p_{}"])
def test_the_one_column_whose_words_name_the_classes_is_the_label_and_the_report_says_so(shape, tmp_path):
    made = frame([shape.format(name) for name in ANIMALS], label="animal").assign(note="seen")
    for source in forms(made, tmp_path):
        table = readers.read(source)
        assert (table.kind, table.class_names, table.label.tolist()) == ("classes", ANIMALS, TRUE)
        assert "the label is read from animal" in table.notes[0]
    assert "label is read from animal" in str(epimeter.evaluate(made))
    assert "label is read from animal" in str(epimeter.scan(str(tmp_path / "a.parquet")))


@pytest.mark.parametrize(
    ("further", "words"),
    [
        ({"breed": ["cat", "dog", "dog", "cat"]}, "only one column can serve as label"),
        ({"animal": ["cat", "dog", "red fox", "cat"]}, "could be the prediction"),
        ({"animal": ["cat", "dog", "wolf", "cat"]}, "no column for confidence"),
        ({"animal": [0, 1, 2, 1]}, "no column for confidence"),
        ({"cat": [0.1, 0.1, 0.1, 0.1]}, "no column for confidence"),
    ],
)
def test_a_label_is_not_guessed_where_it_could_be_something_else(further, words, tmp_path):
    made = frame(list(ANIMALS), label="animal").assign(**further)
    for source in forms(made, tmp_path):
        with pytest.raises(ReadError, match=words):
            readers.read(source)
