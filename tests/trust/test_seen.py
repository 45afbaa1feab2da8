"""What an offline issuer has seen before: the same data in another form, the same system under another name."""

import json
import sqlite3
from pathlib import Path

import pandas
import pytest

pytest_plugins = ("issuer_calendar",)
WHO = ("--issuer", "shop", "--organization", "Acme", "--system-version", "1")


@pytest.fixture
def shop(calendar, typed, written):
    """An issuer; and records as one file, as the two halves of it, in another order, and as sums of each."""
    assert typed("keys", "init", "shop", "--issuer", "https://registry.example")[0] == 0
    frame = pandas.read_csv(written("whole.csv", rows=3000, days=28.0), dtype=str)
    frame[:1500].to_csv("early.csv", index=False)
    frame[1500:].to_csv("late.csv", index=False)
    frame.sample(frac=1, random_state=1).to_csv("mixed.csv", index=False)
    for name in ("whole", "early", "late"):
        assert typed("summarise", f"{name}.csv", "--evidence", "-o", f"{name}.epi")[0] == 0
    assert typed("merge", "early.epi", "late.epi", "-o", "both.epi")[0] == 0

    def certify(file, system="bot"):
        return typed("certify", file, *WHO, "--system", system)

    return certify


@pytest.mark.parametrize(
    ("first", "again"),
    [("whole.epi", "whole.csv"), ("whole.csv", "whole.epi"), ("both.epi", "whole.csv"), ("whole.csv", "both.epi"),
     ("whole.csv", "mixed.csv"), ("both.epi", "early.csv"), ("late.csv", "both.epi")],
)  # fmt: skip
def test_the_same_data_earn_one_certificate_in_whatever_form_they_come(shop, first, again):
    assert shop(first)[0] == 0
    code, _, said = shop(again)
    assert code == 1 and "a certificate needs data of its own" in said
    code, _, said = shop(again, "another kind of system")
    assert code == 0


def test_an_issuer_from_before_remembers_what_its_certificates_say(shop, typed):
    assert shop("both.epi")[0] == 0
    with sqlite3.connect("shop/log.db") as log:
        log.execute("DROP TABLE certified_data")
        log.execute("DROP TABLE systems")
    assert shop("whole.csv")[0] == 1
    assert "1 further system" in shop("early.csv", "bot 2")[2]


def test_further_systems_with_similar_names_stand_in_the_certificate(shop, typed, written):
    bad = written("bad.csv", seed=8, over=0.5)
    for name in ("bot-1", "bot-2", "Bot-2", "bot-2"):
        assert shop(bad, name)[0] == 1
    assert shop("early.csv", "weather")[0] == 0
    code, _, said = typed("certify", "late.csv", *WHO, "--system", "bot-3", "-o", "c.json")
    assert code == 0 and "2 further systems of this organisation have similar names, with 4 evaluations" in said
    body = json.loads(Path("c.json").read_bytes())
    assert body["evidence"]["similar_systems"] == {"systems": 2, "evaluations": 4}
    issued = [json.loads(path.read_bytes()) for path in Path("shop/certificates").glob("*.json")]
    assert [one["subject"]["system_id"] for one in issued if "similar_systems" in one["evidence"]] == ["bot-3"]
