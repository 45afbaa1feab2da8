"""Which files a pattern or a folder stands for."""

import gzip

import numpy as np
import pytest

from epimeter import evaluate, scan
from epimeter.sources.paths import suffix_of


@pytest.mark.parametrize("pattern", ["day=*/*.csv.gz", "."])
def test_packed_text_in_patterns_and_folders_is_read(tmp_path, pattern):
    rng = np.random.Generator(np.random.PCG64(3))
    prob = rng.random(300)
    true = (rng.random(300) < prob).astype(int)
    for day in range(3):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        rows = "".join(f"{p!r},{y}\n" for p, y in zip(prob[day::3].tolist(), true[day::3].tolist(), strict=True))
        (folder / "rows.csv.gz").write_bytes(gzip.compress(f"y_prob,y_true\n{rows}".encode()))
    by_day = scan(str(tmp_path / pattern), "ece", by="day")
    assert list(by_day) == [0, 1, 2]
    whole = scan(str(tmp_path / pattern), "ece")
    assert whole.n_rows == 300
    assert whole["ece"].value == evaluate(true, prob, metrics="ece")["ece"].value


@pytest.mark.parametrize(
    ("path", "suffix"),
    [("a/x.CSV", "csv"), ("x.ndjson.zst", "ndjson"), ("x.gz", ""), ("x.parquet", "parquet"), ("x", "")],
)
def test_the_suffix_before_a_packing_says_the_format(path, suffix):
    assert suffix_of(path) == suffix
