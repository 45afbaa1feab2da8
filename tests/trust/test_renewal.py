"""The life of a certificate after its issue, by the commands that an offline issuer types."""

import json
import sqlite3
from pathlib import Path

from epimeter.trust.succession import newest_root

pytest_plugins = ("issuer_calendar",)
NAMES = ("--issuer", "shop", "--organization", "Acme", "--system", "bot", "--system-version", "1")


def opened(typed, written):
    assert typed("keys", "init", "shop", "--issuer", "https://registry.example")[0] == 0
    assert typed("certify", written("first.csv"), *NAMES, "-o", "c.json")[0] == 0
    return json.loads(Path("c.json").read_bytes())["certificate"]


def line(typed):
    code, out, err = typed("certificates", "--issuer", "shop", "--json")
    assert code == 0, err
    return json.loads(out)[0]


def verdict(typed):
    fingerprint = newest_root(Path("shop")).fingerprint
    words = ("verify", "c.json", "--root", "shop/trust-root.json", "--fingerprint", fingerprint)
    _, out, err = typed(*words, "--status", "shop/status/1.json", "--json")
    assert out, err
    return json.loads(out)["verdict"]


def turn(calendar, typed, days):
    calendar.days = days
    typed("keys", "rotate", "shop")
    assert typed("log", "publish", "--issuer", "shop", "web")[0] == 0


def test_ERS_4_1_c_an_evaluation_on_time_renews_a_failed_one_suspends_and_a_later_one_restores(
    calendar, typed, written
):
    head = opened(typed, written)
    assert head["level"] == "L3"
    first = line(typed)["next_evaluation"]
    turn(calendar, typed, 30)
    code, out, _ = typed("renew", written("second.csv", seed=2), *NAMES)
    assert code == 0 and "is renewed and VALID" in out
    second = line(typed)["next_evaluation"]
    assert second > first
    turn(calendar, typed, 45)  # more than a week after the first date: it counts from the last evaluation
    assert verdict(typed) == "VALID"

    code, _, err = typed("renew", written("third.csv", seed=3, over=0.3), *NAMES)
    assert code == 1 and "is SUSPENDED" in err and "the certificate states L3" in err
    assert verdict(typed) == "SUSPENDED" and "states L3" in line(typed)["reason"]
    assert line(typed)["next_evaluation"] == second
    code, _, err = typed("renew", "second.csv", *NAMES)
    assert code == 1 and "the same data were evaluated before" in err
    turn(calendar, typed, 50)
    assert typed("renew", written("fourth.csv", seed=4), *NAMES)[0] == 0
    assert verdict(typed) == "VALID" and line(typed)["reason"] is None

    calendar.days = 50 + 40  # nothing came: the schedule suspends, and an evaluation restores
    assert line(typed)["status"] == "SUSPENDED", "also where no list was signed since"
    turn(calendar, typed, 50 + 40)
    assert verdict(typed) == "SUSPENDED" and "is overdue" in line(typed)["reason"]
    assert typed("renew", written("fifth.csv", seed=5), *NAMES)[0] == 0
    assert verdict(typed) == "VALID"
    causes = [event["cause"] for event in line(typed)["life"]]
    assert causes == ["issued", "renewed", "missed", "renewed", "overdue", "renewed"]

    turn(calendar, typed, 366)  # twelve months end it in any case
    assert line(typed)["status"] == "EXPIRED"
    code, _, err = typed("renew", written("sixth.csv", seed=6), *NAMES)
    assert code == 1 and "needs a new one" in err


def test_what_decides_nothing_and_what_only_an_operator_lifts(calendar, typed, written):
    head = opened(typed, written)
    few, other = written("few.csv", seed=2, rows=200), ("--system-version", "2")
    for file, names, said in (
        (few, NAMES, "do not meet ERS 3.1"),
        (written("b.csv", seed=3), (*NAMES[:-2], *other), "it is of version 2"),
        (written("b.csv", seed=3), (*NAMES, "--domain", "medical"), "it is in the domain medical"),
        (written("b.csv", seed=3), (*NAMES, "--system", "another"), "has no certificate"),
    ):
        code, _, err = typed("renew", file, *names)
        assert code == 1 and "nothing is renewed" in err and said in err, err
    assert line(typed)["status"] == "VALID"
    assert typed("revoke", head["id"], "--issuer", "shop", "--suspend", "--reason", "an incident")[0] == 0
    calendar.days = 3
    assert typed("renew", written("c.csv", seed=4), *NAMES)[0] == 0
    assert (line(typed)["status"], line(typed)["reason"]) == ("SUSPENDED", "an incident")
    assert typed("revoke", head["id"], "--issuer", "shop", "--restore", "--reason", "it was none")[0] == 0
    assert line(typed)["status"] == "VALID"


def test_two_suspensions_end_each_by_itself(calendar, typed, written):
    """An evaluation does not lift what the operator suspended, nor the operator what an evaluation did, in either order."""
    head = opened(typed, written)
    change = ("revoke", head["id"], "--issuer", "shop", "--reason")
    days = iter(range(3, 40, 3))
    for first in ("operator", "evaluation"):
        calendar.days = next(days)
        if first == "operator":
            assert typed(*change, "an incident", "--suspend")[0] == 0
        assert typed("renew", written(f"bad-{first}.csv", seed=10 + calendar.days, over=0.3), *NAMES)[0] == 1
        if first == "evaluation":
            assert typed(*change, "an incident", "--suspend")[0] == 0
        assert "an incident" in line(typed)["reason"] and "the certificate states" in line(typed)["reason"]
        code, _, err = typed(*change, "it was none", "--restore")
        assert code != 0 and "an evaluation that reaches the level restores it" in err
        calendar.days = next(days)
        assert typed("renew", written(f"good-{first}.csv", seed=10 + calendar.days), *NAMES)[0] == 0
        assert (line(typed)["status"], line(typed)["reason"]) == ("SUSPENDED", "an incident")
        assert typed(*change, "it was none", "--restore")[0] == 0
        assert line(typed)["status"] == "VALID" and verdict(typed) == "VALID"


def test_certificates_under_a_stolen_log_key_get_proofs_of_a_sound_one(calendar, typed, written):
    opened(typed, written)
    (old,) = [row["id"] for row in json.loads(typed("keys", "list", "shop", "--json")[1]) if row["role"] == "log"]
    assert typed("keys", "rotate", "shop", "log")[0] == 0
    code, out, err = typed("keys", "end", "shop", old, "--compromised")
    assert code == 0 and "1 certificates in shop/certificates have new proofs" in out, err
    assert verdict(typed) == "NOT_LOGGED", "the file that was handed out before"
    (fresh,) = Path("shop/certificates").glob("*.json")
    Path("c.json").write_bytes(fresh.read_bytes())
    assert verdict(typed) == "VALID"


def test_the_dates_go_into_a_calendar_and_an_older_issuer_learns_its_past(calendar, typed, written, tmp_path):
    head = opened(typed, written)
    calendar.days = 40
    assert typed("log", "publish", "--issuer", "shop", "web")[0] == 0
    before = line(typed)
    with sqlite3.connect(tmp_path / "shop" / "log.db") as connection:
        connection.execute("DROP TABLE standings")
    connection.close()
    after = line(typed)
    assert before["status"] == "SUSPENDED" and after == before | {"life": after["life"]}
    assert [event["cause"] for event in after["life"]] == ["issued", "overdue"]
    assert typed("certificates", "--issuer", "shop", "--calendar", "due.ics")[0] == 0
    text = (tmp_path / "due.ics").read_bytes().decode()
    assert f"DTSTART;VALUE=DATE:{after['next_evaluation'].replace('-', '')}\r\n" in text
    assert f"DTSTART;VALUE=DATE:{head['expires_at'][:10].replace('-', '')}\r\n" in text
    assert all(len(row.encode()) <= 75 for row in text.split("\r\n"))


def test_a_status_list_from_before_a_revocation_is_not_believed_twice(calendar, typed, written):
    head = opened(typed, written)
    old = Path("shop/status/1.json").read_bytes()
    trust = ("--root", "shop/trust-root.json", "--fingerprint", newest_root(Path("shop")).fingerprint)
    verify = ("verify", "c.json", *trust, "--memory", "seen.json", "--status")
    assert typed(*verify, "shop/status/1.json")[0] == 0
    assert typed("revoke", head["id"], "--issuer", "shop", "--reason", "labels were wrong")[0] == 0
    assert typed(*verify, "shop/status/1.json")[1].startswith("REVOKED")
    Path("old.json").write_bytes(old)
    code, out, _ = typed(*verify, "old.json")
    assert code == 4 and out.startswith("STATUS_UNKNOWN") and "was seen before" in out
