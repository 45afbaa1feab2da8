"""What members do on pages: upload, look, evaluate, certify, and the same refusals as everywhere, beside the column."""

import csv
import io
import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape

import ground
import pytest
from installation import until
from visitor import Visitor

from epimeter.trust.envelope import Envelope
from epimeter.trust.passports import open_passport
from epimeter.trust.root import pin

HEADER = ("confidence", "correct", "timestamp")


@pytest.fixture
def engineer(service, tenant):
    with Visitor(service) as made:
        made.sign_in(tenant.key["key"])
        yield made


BESIDE = r'<bdi>{}</bdi></th>(?:(?!<bdi>)[\s\S])*?<p class="{}"[^>]*>([^<]*)'
"""What is said of a column: in the row below it, before the next."""


def as_csv(columns, names=HEADER):
    sink = io.StringIO()
    writer = csv.writer(sink)
    writer.writerow(names)
    for row in ground.rows(columns):
        writer.writerow([row[name] for name in columns])
    return sink.getvalue().encode()


def drop(visitor, data, name="records.csv"):
    """Drop a file on the page; the address where its columns are talked about."""
    answer = visitor.post("/upload", data={"token": visitor.token()}, files={"file": (name, data)})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def filled(visitor, place, **changes):
    """The form of the page as a browser would send it, with some fields changed."""
    page = visitor.get(place).text
    fields = {"kind": "", "model_id": "org/m", "model_version": "1", "domain": "general", "preregistration": ""}
    for number, name in re.findall(r'name="column(\d+)" value="([^"]*)"', page):
        chosen = re.search(rf'name="role{number}".*?</select>', page, re.DOTALL)[0]
        found = re.search(r"<option selected>([^<]*)|<option([^>]*) selected", chosen)
        fields |= {f"column{number}": unescape(name), f"role{number}": found[1] if found else ""}
    return fields | {"do": "evaluate"} | changes


def test_a_dropped_file_is_looked_at_evaluated_and_certified(engineer):
    place = drop(engineer, as_csv(ground.columns(2000)))
    facts = engineer.get(f"{place}.json").json()
    assert facts["found"]["kind"] == "answer" and facts["found"]["n_rows"] == 2000
    assert facts["found"]["roles"] == {one: one for one in HEADER}
    answer = engineer.submit(place, filled(engineer, place))
    assert answer.status_code == 303, answer.text
    page = engineer.get(answer.headers["location"])
    assert page.status_code == 200 and "Issue the certificate" in page.text and "reliability" in page.text.lower()
    assert "<script" not in page.text and " style=" not in page.text
    certified = engineer.submit(f"{answer.headers['location']}/certify")
    assert certified.headers["location"].startswith("/certificates/ONTO-CERT-")
    assert engineer.get(certified.headers["location"]).status_code == 200
    assert "Issue the certificate" not in engineer.get(answer.headers["location"]).text
    assert engineer.get(place).status_code == 404  # the file is no longer kept
    for name in ("report.html", "report.md", "report.json", "passport.json", "passport.pdf"):
        got = engineer.get(f"{answer.headers['location']}/files/{name}")
        assert got.status_code == 200 and got.headers["content-disposition"].startswith("attachment"), name
    root = pin(
        Envelope.from_json(engineer.get("/trust-root.json").content), engineer.get("/verify.json").json()["fingerprint"]
    )
    assert open_passport(got.content, root.ring).pages, "the passport is signed, and its pages are its own"


def test_a_file_that_is_sent_twice_at_once_is_one_attempt(engineer):
    """The file was forgotten in a commit of its own, after that of its evaluation."""
    place = drop(engineer, as_csv(ground.columns(1200, seed=8)))
    fields = filled(engineer, place, model_id="twice") | {"token": engineer.token()}
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: engineer.post(place, data=fields), range(3)))
    (done,) = (one for one in answers if one.status_code == 303)
    assert {one.status_code for one in answers if one is not done} <= {404, 409}
    place = drop(engineer, as_csv(ground.columns(1200, seed=9)))
    later = engineer.submit(place, filled(engineer, place, model_id="twice"))
    assert engineer.get(f"{later.headers['location']}.json").json()["evaluation"]["attempt"] == 2


def test_a_parquet_file_gives_the_numbers_of_the_api(engineer, tenant):
    columns = ground.columns(1500, seed=4)
    place = drop(engineer, ground.as_parquet(columns), "records.parquet")
    made = engineer.submit(place, filled(engineer, place))
    mine = engineer.get(f"{made.headers['location']}.json").json()["evaluation"]
    theirs = tenant.post("/v1/evaluate", json=ground.body(columns, model_id="other")).json()
    assert mine["metrics"] == theirs["metrics"] and mine["dataset"]["digest"] == theirs["dataset"]["digest"]


def test_columns_of_any_name_are_given_their_roles_by_hand(engineer):
    columns = ground.columns(1200, seed=5)
    place = drop(engineer, as_csv(columns, ("how sure", "hit", "when")), "ranking.tsv.csv")
    found = engineer.get(f"{place}.json").json()["found"]
    assert found["refusal"] and found["roles"] == {}
    fields = filled(engineer, place, role0="confidence", role1="correct", role2="timestamp")
    looked = engineer.submit(place, fields | {"do": "look"})
    assert looked.status_code == 200 and "1,200 rows" in looked.text
    assert engineer.submit(place, fields).status_code == 303


def test_rows_without_an_outcome_are_counted(engineer):
    data = as_csv(ground.columns(1200, seed=6)) + b"0.5,,2026-10-02T00:00:00+00:00\n" * 7
    place = drop(engineer, data)
    made = engineer.submit(place, filled(engineer, place))
    evaluation = engineer.get(f"{made.headers['location']}.json").json()["evaluation"]
    assert evaluation["dataset"]["unlabelled"] == 7 and evaluation["dataset"]["sample_size"] == 1200


@pytest.mark.parametrize(
    ("data", "column", "words"),
    [
        (b"confidence,correct\n0.5,1\n1.7,0\n", "confidence", "1.7"),
        (b"confidence,correct\n0.5,1\nhigh,0\n", "confidence", "high"),
        (b"confidence,correct\n0.5,perhaps\n0.5,1\n", "correct", "perhaps"),
        (b"confidence,correct,timestamp\n0.5,1,2026-10-01T00:00:00\n", "timestamp", "zone"),
    ],
)
def test_a_refusal_stands_beside_its_column(engineer, data, column, words):
    place = drop(engineer, data)
    page = engineer.get(place).text
    row = re.search(BESIDE.format(column, "fault"), page)
    assert row and words in row[1], page
    assert engineer.submit(place, filled(engineer, place)).status_code == 422


def test_a_column_that_was_found_and_left_out_says_so_and_is_refused_when_it_was_asked_for(engineer):
    place = drop(engineer, b"confidence,correct,timestamp\n0.5,1,yesterday\n")
    said = re.search(BESIDE.format("timestamp", "note"), engineer.get(place).text)
    assert said and "yesterday" in said[1]
    answer = engineer.submit(place, filled(engineer, place, role2="timestamp"))
    said = re.search(BESIDE.format("timestamp", "fault"), answer.text)
    assert answer.status_code == 422 and said and "yesterday" in said[1]


def test_a_refusal_of_the_page_names_no_option_of_the_command(engineer):
    page = engineer.get(drop(engineer, b"how sure,hit\n0.5,1\n")).text
    assert "has no column for" in page and "--column" not in page
    assert "Choose below what each column is" in page
    assert page.index("has no column for") < page.index("<h2>Columns</h2>")  # it speaks of none of them


def test_a_file_that_is_none_is_refused_in_one_sentence(engineer):
    token = engineer.token()
    for name, data, status in (
        ("a.csv", b"", 422),
        ("a.parquet", b"PAR1 nothing PAR1", 422),
        ("a.exe", b"MZ", 422),
        ("a.csv", b"\xff\xfe\x00", 422),
        ("a.json", b"{}", 422),
    ):
        answer = engineer.post("/upload", data={"token": token}, files={"file": (name, data)})
        if answer.status_code == 303:
            answer = engineer.get(answer.headers["location"])
        assert answer.status_code == status and "Traceback" not in answer.text, (name, answer.status_code)
    plain = engineer.post("/upload", content=b"x", headers={"content-type": "multipart/form-data; boundary=b"})
    assert plain.status_code in (400, 403)
    assert engineer.post("/upload", files={"file": ("a.csv", b"a,b\n")}).status_code == 403  # no token


def test_a_large_file_becomes_a_job_whose_page_asks_again(engineer):
    place = drop(engineer, as_csv(ground.columns(6000, seed=7)))
    made = engineer.submit(place, filled(engineer, place))
    there = made.headers["location"]
    first = engineer.get(there)
    assert first.status_code == 200
    if "Being measured" in first.text:
        assert first.headers["refresh"] == "2" and "<progress" in first.text
    until(lambda: engineer.get(f"{there}.json").json()["evaluation"]["status"] == "completed", 60)
    assert "refresh" not in engineer.get(there).headers


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>.csv",
        "a\r\nX-Evil: 1.csv",
        "../../etc/passwd.csv",
        "a\u202egpj.csv",
        '";x="y.csv',
        "…\u200b.csv",
    ],
)
def test_a_hostile_name_of_a_file_stays_text(engineer, name):
    data = b'--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n' + engineer.token().encode()
    data += b'\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="' + name.encode() + b'"\r\n\r\n'
    data += as_csv(ground.columns(50)) + b"\r\n--b--\r\n"
    answer = engineer.post("/upload", content=data, headers={"content-type": "multipart/form-data; boundary=b"})
    assert answer.status_code in (303, 400, 422), answer.text
    assert "x-evil" not in answer.headers
    if answer.status_code == 303:
        page = engineer.get(answer.headers["location"])
        assert "<script" not in page.text and "\u202e" not in page.text and "\u200b" not in page.text
        assert "x-evil" not in page.headers and "../" not in page.text


def evaluated(client, columns, **facts):
    answer = client.post("/v1/evaluate", json=ground.body(columns, **facts))
    assert answer.status_code == 200, answer.text
    return answer.json()["evaluation_id"]


def test_two_evaluations_are_compared_in_pairs_where_their_rows_are_the_same(engineer, tenant, other):
    good = ground.columns(1200, seed=8) | {"class": ["cat", "dog"] * 600}
    worse = good | {"confidence": (good["confidence"] * 0.9).round(6)}
    a, b = evaluated(tenant, good, model_version="1"), evaluated(tenant, worse, model_version="2")
    facts = engineer.get("/compare.json", params={"a": a, "b": b}).json()
    assert facts["difference"]["pairing"] == "same rows", facts["why_not"]
    slices = facts["difference"]["slices"]
    assert {one["value"] for one in slices} == {"cat", "dog"} and slices[0]["records"] == [600, 600]
    assert all(one["interval"][0] <= one["difference"] <= one["interval"][1] for one in slices)
    assert abs(slices[0]["difference"]) >= abs(slices[1]["difference"]) > 0.03
    page = engineer.get("/compare", params={"a": a, "b": b}).text
    assert "Slices by difference" in page and "class: cat" in page
    assert "Side by side" in page and "<svg" in page and "brier_score" in page and "<script" not in page
    apart = evaluated(tenant, ground.columns(1100, seed=9), model_version="3")
    assert (
        engineer.get("/compare.json", params={"a": a, "b": apart}).json()["difference"]["pairing"] == "different rows"
    )
    bad = evaluated(
        tenant, ground.columns(1200, seed=9, over=0.4), model_version="4"
    )  # no certificate, so no rows kept
    facts = engineer.get("/compare.json", params={"a": a, "b": bad}).json()
    assert facts["difference"] is None and "not kept here" in facts["why_not"] and facts["overlaid"]
    theirs = evaluated(other, good)
    assert engineer.get("/compare", params={"a": a, "b": theirs}).status_code == 404


def test_members_see_their_system_over_time_and_others_only_what_is_public(engineer, tenant, other, service):
    from epimeter.trust.entries import system_digest

    name = engineer.get("/account.json").json()["organization"]
    place = f"/systems/{system_digest({'organization': name, 'system_id': 'triage'})}"
    with Visitor(service) as nobody, Visitor(service) as stranger:
        stranger.sign_in(other.key["key"])
        assert engineer.get(place).status_code == 404
        first = evaluated(tenant, ground.columns(1200, seed=10, over=0.3), model_id="triage")
        assert [one.get(place).status_code for one in (engineer, stranger, nobody)] == [200, 404, 404]
        second = evaluated(tenant, ground.columns(1200, seed=11), model_id="triage")
        tenant.post("/v1/certificates", json={"evaluation_id": second}).raise_for_status()
        pages = [one.get(place) for one in (engineer, stranger, nobody)]
        assert [page.status_code for page in pages] == [200] * 3
        mine, theirs, public = (page.text for page in pages)
        for word in ("ECE", "U-Recall, %", "Brier score", "Bias (outcome minus confidence)"):
            assert f"<figcaption>{word}</figcaption>" in mine and f"<figcaption>{word}" not in public
        assert f"/compare?a={first}&amp;b={second}" in mine and first not in public and first not in theirs
        assert pages[0].headers["cache-control"] == "no-store" and "Cookie" in pages[2].headers["vary"]
        twin = engineer.get(f"{place}.json").json()
        assert [one["attempt"] for one in twin["members"]["attempts"]] == [2, 1]
        assert nobody.get(f"{place}.json").json()["members"] is None
    ground.watched(tenant, "triage", "row-1")
    watched = engineer.get(place).text
    assert "open alarm" in watched
    ids = re.findall(r' id="([^"]+)"', watched)
    assert len(ids) == len(set(ids))
    # A system that was never evaluated is found on the page of evaluations, by its members alone.
    ground.watched(tenant, "only watched", "row-1")
    (own,) = re.findall(r'<a href="(/systems/[^"]+)"><bdi>only watched</bdi>', engineer.get("/evaluations").text)
    page = engineer.get(own)
    assert page.status_code == 200 and "open alarm" in page.text and "<h2>Evaluations</h2>" not in page.text
    with Visitor(service) as nobody:
        assert nobody.get(own).status_code == 404
