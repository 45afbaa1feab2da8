"""Every snippet of every page of the site runs, and the site is built with every link leading somewhere."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "site"))
ELSEWHERE = {"scale.md": "tests/test_scale_doc.py", "service.md": "tests/service/test_service_doc.py"}
"""Pages whose code is typed in a test of their own, against what they need."""


def runnable():
    """Pages with code and no figure; where there is a figure, the build of the site runs the whole page."""
    from snippets import blocks

    pages = {path.relative_to(DOCS).as_posix(): blocks(path.read_text("utf-8")) for path in sorted(DOCS.rglob("*.md"))}
    return [
        page
        for page, found in pages.items()
        if found and page not in ELSEWHERE and not any(remark.startswith("figure=") for _, remark, _ in found)
    ]


@pytest.mark.parametrize("page", runnable())
def test_every_snippet_of_the_page_runs(page, tmp_path):
    from snippets import run

    run((DOCS / page).read_text("utf-8"), tmp_path)


def test_a_snippet_that_fails_is_a_failure_of_its_page(tmp_path):
    from snippets import run

    with pytest.raises(AssertionError, match="ended with 2, not 0"):
        run("```sh\nepimeter evaluate missing.csv\n```\n", tmp_path)
    with pytest.raises(NameError):
        run("```python\nnothing_of_that_name\n```\n", tmp_path)


def test_output_that_a_page_states_is_held_against_what_was_printed(tmp_path):
    from snippets import run

    page = "```python\nprint('said   74 %, came true 60 %')\n```\n\n```text output\n{}\n```\n"
    run(page.format("said 74 %, … 60 %"), tmp_path)
    with pytest.raises(AssertionError, match="states 'said 75 %', which was not printed"):
        run(page.format("said 75 %"), tmp_path)


TYPED_BY_HAND = {
    "operations.md": "tests/service/test_backup.py",
    "trust.md": "log monitor",
}
"""Pages with commands that need a machine, a network or files of a user's own, and where these are tested."""


def test_no_page_hides_a_command_from_the_suite():
    pages = {path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in DOCS.rglob("*.md")}
    hidden = [page for page, text in pages.items() if re.search(r"^    epimeter [a-z]+ ", text, re.M)]
    assert set(hidden) == {"scale.md", "experiments/bias.md", "experiments/ecd.md", *TYPED_BY_HAND}


PIECES = {
    "integrations.md": "tests/docs/test_fragments.py",
    "scale.md": "tests/clusters/test_cluster_frames.py",
}
"""Pages with pieces of programs (```py), and the test that runs them inside what they are pieces of."""
WORDS = {"": ("architecture.md", "service.md"), "text": ()}
"""Pages with blocks that are no code: a drawing, and commands that start servers."""


def test_every_block_of_every_page_is_run_or_named_here():
    """What is fenced is run by `snippets`, written to a file, held against what was printed, an equation, or a piece."""
    from snippets import FENCE, blocks

    for path in sorted(DOCS.rglob("*.md")):
        page, text = path.relative_to(DOCS).as_posix(), path.read_text("utf-8")
        fences = re.findall(r"^ *```([^\n]*)\n(.*?)^ *```$", text, re.S | re.M)
        assert 2 * len(fences) == len(re.findall(r"^ *```", text, re.M)), page
        assert len(FENCE.findall(text)) == sum(bool(head) for head, _ in fences), (
            f"{page}: an indented block is not run"
        )
        done = len(blocks(text))
        for head, content in fences:
            language, _, remark = head.partition(" ")
            if language in ("python", "sh") or remark.startswith(("file=", "output")):
                done -= 1
            elif language == "py":
                assert page in PIECES and (ROOT / PIECES[page]).exists(), page
            else:
                assert language == "math" or page in WORDS.get(language, ()), (page, head)
                assert "import " not in content
        assert done == 0, page
    for test in (*ELSEWHERE.values(), *PIECES.values()):
        text = (ROOT / test).read_text("utf-8")
        assert any(page in text for page in (*ELSEWHERE, *PIECES)), test


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "site"
    built = subprocess.run([sys.executable, str(DOCS / "site/build.py"), str(out)], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return out


def test_the_site_asks_no_other_host_and_has_its_parts(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 200
    for page in pages:
        text = page.read_text("utf-8")
        assert not re.search(r'(?:src|@import|url\()\s*=?\s*["\']?https?:', text), page
        assert 'rel="stylesheet" href="http' not in text and text.count("<h1") == 1, page
    start = (site / "index.html").read_text()
    for part in ("Start", "Guides", "Gallery", "Field notes", "Reference", "Architecture and decisions"):
        assert f"<summary>{part}</summary>" in start
    assert "<math" in (site / "reference/ece.html").read_text()
    assert (site / "figures/gallery-simplex.svg").stat().st_size > 5_000
    commands = (site / "reference/commands.html").read_text()
    assert "epimeter evaluate" in commands and "epimeter keys init" in commands
    assert "/v1/" in (site / "reference/service.html").read_text()


def test_every_metric_and_every_command_is_on_the_site(site):
    from epimeter.card_index import catalogue
    from epimeter.cli import COMMANDS

    assert not [name for name in catalogue() if not (site / f"reference/{name}.html").exists()]
    commands = (site / "reference/commands.html").read_text()
    assert not [name for name in COMMANDS if f'id="epimeter-{name}"' not in commands]


def test_the_gallery_has_every_curve():
    from epimeter.draw import CURVES

    gallery = (DOCS / "gallery.md").read_text("utf-8")
    assert not [name for name in (*CURVES, "recalibration", "grouping") if f"draw.{name}(" not in gallery]


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path):
    from build import Page, Site

    made = Site.__new__(Site)
    made.faults, made.pages, made.out = [], {}, tmp_path
    assert made.link(Page("guides/x.md", ""), "../missing.md") and made.faults == ["docs/guides/x.md: ../missing.md"]
    assert made.link(Page("guides/x.md", ""), "../trust.md") == "../trust.html"


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a browser")
def test_search_and_dark_paper_work_in_a_browser_and_axe_finds_nothing(site):
    sys.path[:0] = [str(ROOT / "tests" / room) for room in ("trust", "service")]
    from browser import Browser
    from seen_pages import violations

    opened = Browser()
    try:
        opened.open((site / "guides/which-metric.html").as_uri())
        typed = (
            "const q = document.getElementById('query'); q.value = 'smooth ece'; q.dispatchEvent(new Event('input'));"
        )
        links = "[...document.querySelectorAll('#found a')].map(a => a.getAttribute('href')).join(' ')"
        assert "../reference/smece.html" in opened.evaluate(f"(() => {{ {typed} return {links}; }})()")
        pressed = (
            "(() => { document.getElementById('theme').click(); return document.documentElement.dataset.theme; })()"
        )
        assert {opened.evaluate(pressed), opened.evaluate(pressed)} == {"dark", "light"}
        assert not opened.complaints()
        for page in ("index", "gallery", "benchmarks", "architecture", "trust", "reference/ece", "experiments/bias"):
            opened.open((site / f"{page}.html").as_uri())
            assert not opened.complaints(), page
            opened.call("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=1, mobile=True)
            assert opened.evaluate("document.documentElement.scrollWidth") <= 320, page
            opened.call("Emulation.clearDeviceMetricsOverride")
            assert not violations(opened), page
    finally:
        opened.close()
