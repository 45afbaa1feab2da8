"""The page about scale does what it says."""

import importlib
import re
import shlex
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


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask, when it reads Parquet
def test_the_page_runs_from_top_to_bottom(logs, capsys):
    importlib.import_module("polars")
    importlib.import_module("duckdb")
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    assert len(blocks) == 6
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert "['2026-01-01', '2026-01-02']" in said and "sha-256:" in said and "True" in said


def test_the_auditors_commands_can_be_typed(tmp_path, monkeypatch, capsys):
    from epimeter.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EPIMETER_PASSPHRASE", "a long passphrase 123")
    monkeypatch.setenv("EPIMETER_ISSUER", "issuer")
    folder = tmp_path / "logs/day=2026-01-01"
    folder.mkdir(parents=True)
    for number in range(2):
        rng = np.random.default_rng(number)
        p = rng.random(2_000)
        times = np.datetime64("2026-01-01", "us") + rng.integers(0, 9 * 86_400_000_000, 2_000).astype("m8[us]")
        table = {
            "confidence": p,
            "correct": rng.random(2_000) < p,
            "timestamp": pa.array(times, pa.timestamp("us", "UTC")),
        }
        pq.write_table(pa.table(table), folder / f"{number}.parquet")
    chapter = PAGE.read_text().partition("### For an auditor who may not see the records")[2].partition("\n## ")[0]
    commands = [line.partition("#")[0] for line in re.findall(r"^    (epimeter .*)$", chapter, re.M)]
    assert len(commands) == 5
    for command in ["epimeter keys init issuer --issuer https://registry.example", *commands]:
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command)[1:])
        assert ended.value.code == 0, (command, capsys.readouterr())
    assert "reproduced: every number" in capsys.readouterr().out
