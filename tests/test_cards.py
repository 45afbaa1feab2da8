"""What the cards say is what the review reports, and what pages and commands print."""

import pydoc

from click.testing import CliRunner

from epimeter.card_index import catalogue, find
from epimeter.cli import epimeter
from epimeter.generate import properties_page, reference_page


def test_a_value_that_calibration_does_not_fix_has_no_ideal():
    assert [find(name).card.ideal for name in ("qgc", "sgc", "laace0")] == [None, None, None]
    assert find("ecd_gaussian").card.ideal == 1
    assert find("ecd_gaussian")([1.0, -1.0], [0.0, 0.0]).headline == 1


def test_cards_name_the_tests_that_exist():
    assert {find(name).card.test for name in ("ce2_db", "ece_db")} == {"resampling"}
    assert find("test_based_ce").card.test == "exact"
    # No function that draws takes the columns of detections.
    assert {metric.card.test for metric in catalogue("detection").values()} == {None}


def test_every_card_cites_its_section_of_the_review_or_says_that_it_has_none():
    for metric in catalogue().values():
        source = metric.card.source
        assert "Lane" in source or "ONTO" in source or "eyond the review" in source, metric.name


def test_the_card_and_the_page_say_whether_it_is_proper_how_it_is_tested_what_it_costs_and_when_to_use_it():
    shown = CliRunner().invoke(epimeter, ["metrics", "Brier"]).output
    page = reference_page(find("brier_score"))
    for text in (shown, page):
        assert "strictly proper" in text
        assert "consistency_test" in text
        assert "grows with the rows" in text
        assert "Use it when whole forecasts are compared" in text
        assert "not when calibration alone is the question" in " ".join(text.split())


def test_one_page_lists_every_metric():
    page = properties_page()
    assert all(f"[{name}]({name}.md)" in page for name in catalogue())


def test_help_shows_the_call_and_every_parameter():
    shown = pydoc.render_doc(find("ece"), renderer=pydoc.plaintext)
    assert "ece(y_true, y_prob, *, sample_weight=None, bins=10, binning='width'" in shown
    assert "bins : default 10" in shown
    assert "Number of bins B." in shown
