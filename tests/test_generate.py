"""Generated pages say what the cards say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from epimeter.card_index import catalogue
from epimeter.generate import main, pages, stale

ROOT = Path(__file__).parent.parent


def test_no_generated_page_is_stale():
    assert stale(ROOT) == []


def test_every_metric_has_its_page():
    assert {f"docs/reference/{name}.md" for name in catalogue()} <= set(pages())


def test_a_changed_page_is_found(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    assert main(["--check"]) == 0
    page = tmp_path / "docs/reference/ece.md"
    page.write_text(page.read_text().replace("0", "1"))
    (tmp_path / "docs/reference/gone.md").write_text("a metric that no longer exists")
    assert main(["--check"]) == 1
    said = capsys.readouterr().out
    assert "ece.md is stale" in said
    assert "gone.md" in said


def test_a_test_that_is_off_its_level_says_so_on_its_card():
    """The table of simulated levels and the cards tell the same."""
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    table = page.split("## Level of the tests")[1].split("\n## ")[0]
    off = 0
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[3] in ("conservative", "too eager"):
            told = catalogue()[re.split(r"[ .]", cells[0])[0]].card.simulated
            assert cells[1] in told and cells[3] in told, line
            off += 1
    assert off > 3


@pytest.mark.slow
def test_type_checkers_see_the_metrics_and_their_parameters(tmp_path):
    """mypy, as a user would run it."""
    use = tmp_path / "use.py"
    use.write_text(
        "from epimeter import metrics\n"
        "from epimeter.metrics import corp, ece\n"
        "reveal_type(ece([0, 1], [0.1, 0.9], bins=10))\n"
        "reveal_type(corp([0, 1], [0.1, 0.9]).mcb)\n"
        "ece([0, 1], [0.1, 0.9], bin=10)\n"
        "metrics.ece([0, 1], [0.1, 0.9], binning='masss')\n"
        "import epimeter\n"
        "reveal_type(epimeter.draw.ReliabilityDisplay.from_predictions([0, 1], [0.1, 0.9]))\n"
    )
    told = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), str(use)],
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        cwd=tmp_path,
    ).stdout
    assert 'use.py:3: note: Revealed type is "epimeter.results.Number"' in told
    assert 'use.py:4: note: Revealed type is "float"' in told
    assert 'use.py:5: error: Unexpected keyword argument "bin"' in told
    assert "use.py:6: error" in told and "Literal['width', 'mass', 'area']" in told
    assert 'use.py:8: note: Revealed type is "epimeter.draw.display.ReliabilityDisplay"' in told
    assert "use.py:7" not in told and "use.py:9" not in told
