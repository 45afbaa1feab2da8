"""The page about scale does what it says."""

import importlib
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"


@pytest.fixture
def logs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(["logs/a", "logs/b", "hive/day=2026-01-01/p", "hive/day=2026-01-02/p"]):
        rng = np.random.default_rng(number)
        p = rng.random(6_000)
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"confidence": p, "correct": rng.random(6_000) < p, "note": ["x"] * 6_000}), path)


def test_the_page_runs_from_top_to_bottom(logs, capsys):
    importlib.import_module("polars")
    importlib.import_module("duckdb")
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    assert len(blocks) == 5
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert "['2026-01-01', '2026-01-02']" in said and "sha-256:" in said and "True" in said
