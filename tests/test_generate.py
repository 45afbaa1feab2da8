"""Generated pages say what the cards say."""

import re
from pathlib import Path

from epimeter.card import catalogue
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
