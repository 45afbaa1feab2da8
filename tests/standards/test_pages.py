# SPDX-License-Identifier: Apache-2.0
"""Renderings: what a page must hold, and what must stay text."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from standard_samples import NOW, columns, declared, evaluated, liable, sample

from epimeter.documents.html import html
from epimeter.documents.markdown import markdown
from epimeter.documents.sections import Document, Grid, Items, Paragraph, Section
from epimeter.documents.terminal import terminal
from epimeter.report import evaluate
from epimeter.report.curves import Reliability, curves
from epimeter.report.figures import cumulative, gauge, histogram, reliability, risk_coverage
from epimeter.report.pages import document, pictures
from epimeter.standards.pages import standards_document, standards_sections
from epimeter.views import view

EVIL = "</style></script><script>alert(1)</script><img src=x onerror=y> \"&' | `#panic()` \u001b[31m"


class Page(HTMLParser):
    """What a browser would see: tags, attributes, and whether every tag is closed."""

    VOID = ("meta", "path", "rect", "circle", "br")

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.attributes = [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page():
    given = sample(600, category=np.array([EVIL] * 600, object))
    told = declared(system={"system_id": EVIL[:-5], "organization": "<b>A&B</b>"})
    made = evaluated(given, declaration=told)
    report = evaluate(given.given.true, given.given.prob, source={"name": EVIL})
    whole = document(report, before=standards_sections(made, pictures(curves(given.given))), title=EVIL)
    return html(whole, footer=EVIL)


def test_a_page_is_well_formed_and_holds_nothing_that_runs_or_loads(page):
    seen = Page(page)
    assert not {"script", "img", "iframe", "link", "object", "form", "b"} & set(seen.tags)
    assert not [a for a in seen.attributes if a[1].startswith("on") or a[1] in ("src", "href", "style")]
    assert "http:" not in page and "https:" not in page


def test_a_page_forbids_itself_everything_but_its_style(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src &#x27;none&#x27;; style-src &#x27;sha256-")


def test_every_figure_has_words_and_a_table(page):
    seen = Page(page)
    figures = seen.tags.count("figure")
    assert figures >= 10
    assert seen.tags.count("svg") == figures
    assert len([a for a in seen.attributes if a[0] == "svg" and a[1] == "aria-label" and a[2]]) == figures
    assert page.count("In words and as a table") == figures


def test_a_page_knows_the_dark_the_phone_and_paper(page):
    assert "prefers-color-scheme:dark" in page
    assert 'name="viewport"' in page
    assert "@media print" in page
    assert '<html lang="en">' in page


def test_markdown_escapes_what_could_be_markup():
    made = markdown(
        Document(EVIL, EVIL, (Section(EVIL, (Paragraph(EVIL), Items((EVIL,)), Grid(EVIL, (EVIL,), ((EVIL,),)))),))
    )
    assert "<script>" not in made.replace("\\<script\\>", "")
    assert made.count("\n|") == 3, "a cell stays one cell"


def test_a_terminal_is_not_told_to_change_colour():
    made = terminal(
        Document("a", "b", (Section("c", (Paragraph(EVIL), Grid("d", ("e",), ((EVIL,),), frozenset(), ("bad",)))),))
    )
    assert "\u001b" not in made
    assert "✗" in made


def test_all_renderings_hold_the_same_numbers():
    made = evaluated(declaration=declared())
    whole = standards_document(made)
    for text in (terminal(whole), markdown(whole).replace("\\", ""), html(whole)):
        for part in (f"{made.ers.ece:.4f}", f"{made.onto.ors:.1f}", made.dataset_digest, "What this does not prove"):
            assert part in text


def test_the_liability_sections_are_part_of_the_report():
    from dataclasses import replace

    text = terminal(standards_document(replace(evaluated(), liability=liable())))
    assert "Liability: executive summary" in text
    assert "Liability: recommendations" in text


def test_the_diagram_counts_every_row_and_puts_an_interval_around_every_bin():
    correct, prob, *_ = columns(700)
    data = curves(view(correct, prob))
    assert data.count.sum() == 700
    filled = data.count > 0
    assert ((data.low <= data.frequency) & (data.frequency <= data.high))[filled].all()
    drawn = reliability(data)
    assert drawn.svg.count("<circle") == filled.sum()
    assert sum(int(row[1].replace(",", "")) for row in drawn.twin.rows) == 700


def test_the_cumulative_differences_end_at_the_mean_gap():
    correct, prob, *_ = columns(700)
    data = curves(view(correct, prob))
    assert data.difference[-1] == pytest.approx(np.mean(correct - prob))
    assert cumulative(data).alt.startswith("Cumulative differences end at")


def test_full_coverage_has_the_share_of_wrong_answers_as_its_risk():
    correct, prob, *_ = columns(700)
    data = curves(view(correct, prob, kind="answer"))
    assert data.coverage[-1] == 1
    assert data.risk[-1] == pytest.approx(1 - correct.mean())
    slow = [1 - correct[prob >= level].mean() for level in np.sort(prob)[::-1]]
    assert data.risk[0] == pytest.approx(slow[0])
    assert risk_coverage(data).twin.rows[0][0] == "100.0%"


def test_the_histogram_has_right_and_wrong_apart():
    data = curves(view([1, 1, 0], [0.95, 0.95, 0.15], kind="answer"))
    assert data.right.sum() == 2
    assert data.wrong[3] == 1
    assert "2 right and 1 wrong" in histogram(data).alt


@pytest.mark.parametrize("rows", [([1], [1.0]), ([0], [0.0]), ([1, 0], [0.5, 0.5]), ([0, 0], [1.0, 1.0])])
def test_figures_of_few_rows_are_drawn_without_a_warning(rows):
    data = curves(view(*rows))
    for draw in (reliability, cumulative, histogram, risk_coverage):
        svg = draw(data).svg
        assert "nan" not in svg
        assert "inf" not in svg


def test_a_gauge_says_which_limits_are_met():
    drawn = gauge("ECE", 0.4, (0.35, 0.5), [("ERS L1", 0.2, False)], (0.0, 0.3), "0.4000")
    assert "ERS L1 at 0.2 not met" in drawn.alt


def test_a_diagram_can_be_drawn_from_what_a_report_remembers():
    correct, prob, *_ = columns(300)
    table = evaluate(correct, prob, metrics=["ece"]).bins
    again = Reliability.of_bins(table.count, table.confidence, table.frequency, "event")
    assert reliability(again).svg == reliability(curves(view(correct, prob))).svg


def test_now_is_an_argument():
    assert sample(10, now=NOW).period is not None
