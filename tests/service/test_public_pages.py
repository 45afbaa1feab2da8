"""The pages over HTTP, as anybody opens them; what people wrote stays text, and nothing on a page can run."""

import csv
import io
import re
import sqlite3
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from html.parser import HTMLParser
from importlib.resources import files

import ground
import httpx
import pytest
from servers import NO_TLS, running

from epimeter.trust.canonical import from_base64
from epimeter.trust.entries import system_digest
from epimeter.trust.merkle import leaf_hash, verify_inclusion

HTML = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
NASTY = "<script>alert(1)</script> \"onload='x' &amp; {{7*7}}"


class Tags(HTMLParser):
    """What a page is made of: every tag with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.found, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


def issued(client, n=2000, seed=0, **facts):
    made = client.post("/v1/evaluate", json=ground.body(ground.columns(n, seed), model_version="1", **facts))
    answer = client.post("/v1/certificates", json={"evaluation_id": made.json()["evaluation_id"]})
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def nasty(service):
    """A certificate of an organisation whose name is an attack."""
    with service.tenant(f"{NASTY} {service.url[-5:]}") as client:
        return issued(client, model_id="org/triage", domain="code")


@pytest.fixture
def nobody(service):
    with service.client() as client:
        client.headers.update(HTML)
        yield client


def addresses(id):
    return [
        "/",
        "/registry",
        f"/certificates/{id}",
        "/log",
        "/log/entries/0",
        "/docs",
        "/docs/schemas",
        "/docs/schemas/Evaluation",
        "/docs/registry",
    ]


def test_every_page_is_inert_small_and_sets_no_cookie(service, nobody, nasty):
    for path in addresses(nasty["certificate"]["id"]):
        answer = nobody.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        trying = (
            path == "/docs/registry"
        )  # where requests can be tried one file of ours runs, and asks this service alone
        assert ("script-src 'self'; connect-src 'self';" if trying else "default-src 'none'; style-src") in policy
        assert "set-cookie" not in answer.headers
        assert len(answer.content) < 100_000, path
        made = Tags(answer.text)
        for tag, attributes in made.found:
            if trying and tag == "script":
                assert attributes == {"src": "/static/try-it.js", "defer": None}
                continue
            assert tag not in ("script", "style", "iframe", "object", "base"), path
            assert "style" not in attributes and not any(name.startswith("on") for name in attributes), (path, tag)
            for name in ("href", "src", "action"):
                assert attributes.get(name, "/").startswith(("/", "#")), (path, attributes)
        assert [tag for tag, _ in made.found].count("main") == 1 and [tag for tag, _ in made.found].count("h1") == 1
        ids = [attributes["id"] for _, attributes in made.found if "id" in attributes]
        assert len(ids) == len(set(ids)), path
        again = nobody.get(path, headers={"if-none-match": answer.headers["etag"]})
        if path not in ("/", "/log", "/log/entries/0"):  # a signal may have come into the log meanwhile
            assert again.status_code == 304 and not again.content, path
            assert again.headers.get_list("content-security-policy") == [policy], path


def test_links_on_public_pages_lead_somewhere(nobody, nasty):
    seen = set()
    for path in addresses(nasty["certificate"]["id"]):
        for tag, attributes in Tags(nobody.get(path).text).found:
            target = attributes.get("href", attributes.get("src", "")).split("#")[0]
            if tag in ("a", "link", "img") and target.startswith("/"):
                seen.add(target)
    assert len(seen) > 20
    for target in seen:
        assert nobody.get(target, follow_redirects=True).status_code == 200, target


def test_every_page_has_a_json_twin_with_the_same_facts(nobody, nasty):
    id = nasty["certificate"]["id"]
    for path in addresses(id):
        twin = "/index.json" if path == "/" else f"{path}.json"
        first, second = nobody.get(twin), nobody.get(path, headers={"accept": "application/json"})
        assert first.headers["content-type"] == second.headers["content-type"] == "application/json", path
        assert first.json().keys() == second.json().keys()
    assert nobody.get("/verify.json").json()["fingerprint"]
    facts = nobody.get(f"/certificates/{id}.json").json()
    assert facts["document"] == nasty and facts["status"]["word"] == "VALID"


def test_what_people_wrote_stays_text(service, tenant, nobody, nasty):
    id, name = nasty["certificate"]["id"], nasty["subject"]["organization"]
    for path in (f"/certificates/{id}", "/", "/registry"):
        answer = nobody.get(path, params={"organization": name} if path == "/registry" else {})
        made = Tags(answer.text)
        assert "<script" not in answer.text
        assert any(name in word for word in made.words), path
    for field in ("q", "organization", "system"):
        answer = nobody.get("/registry", params={field: f'"><svg onload=alert(1)>{NASTY}'})
        assert answer.status_code == 200 and "<svg" not in answer.text and "<script" not in answer.text
    for path in ("/log?q=", "/certificates/", "/docs/", "/", "/log/entries/"):
        answer = nobody.get(f"{path}%3Cscript%3Ealert(1)%3C/script%3E")
        assert answer.status_code in (200, 404, 422) and "<script" not in answer.text


def test_characters_that_nobody_sees_are_written_out(nobody):
    answer = nobody.get("/registry", params={"q": "a\u202eb\u200bc\u2066d\u3164e"})
    assert "a⟨U+202E⟩b⟨U+200B⟩c⟨U+2066⟩d⟨U+3164⟩e" in answer.text
    assert not re.search("[\u202e\u200b\u2066\u3164]", answer.text)


def test_a_certificate_is_told_in_plain_words(tenant, nobody):
    document = issued(tenant, seed=3)
    id = document["certificate"]["id"]
    text = " ".join("".join(Tags(nobody.get(f"/certificates/{id}").text).words).split())
    for words in (
        "ECE Excellent (maintenance only)",
        "regulatory status: ",
        "ONTO-ERS 4.1 means this level for",
        "documentation: ",
    ):
        assert words in text
    for words in (
        f"version {document['subject']['system_version']}, evaluated on 2,000 records",
        "Kind of forecast: answer",
        f"ECE {document['metrics']['ece']:.4f}",
        "attempt 1 of this system: no evaluation came before",
        "What it does not prove",
        "that the system is safe, lawful or fit for a purpose",
        "The certificate is in force.",
        "The level is ",
    ):
        assert words in text, words
    assert "complies" not in text
    tenant.post(f"/v1/certificates/{id}/revoke", json={"reason": "labels were wrong & late"}).raise_for_status()
    text = " ".join("".join(Tags(nobody.get(f"/certificates/{id}").text).words).split())
    assert (
        "REVOKED" in text and "Reason: labels were wrong & late" in text and "The certificate is in force." not in text
    )


def test_a_certificate_is_had_as_a_credential_and_as_paper(nobody, nasty):
    from epimeter.trust.credential import did_key, verify_proof
    from epimeter.trust.envelope import Envelope
    from epimeter.trust.root import pin

    id = nasty["certificate"]["id"]
    made = nobody.get(f"/certificates/{id}/credential.json")
    assert made.headers["content-type"] == "application/vc+json"
    document = made.json()
    fingerprint = nobody.get("/verify.json").json()["fingerprint"]
    root = pin(Envelope.from_json(nobody.get("/trust-root.json").content), fingerprint)
    known = [root.ring.find(name, "issuer") for name in root.ring.keys("issuer")]
    (key,) = [one for one in known if did_key(one.public) == document["issuer"]["id"]]
    verify_proof(document, key.public)
    assert document["credentialSubject"]["certificate"]["certificate"]["id"] == id
    paper = nobody.get(f"/certificates/{id}/certificate.pdf")
    assert paper.content.startswith(b"%PDF-") and paper.headers["content-disposition"] == f'inline; filename="{id}.pdf"'


def test_the_log_is_searched_by_the_digest_of_an_entry_and_checked_from_an_old_checkpoint(tenant, nobody):
    held = nobody.get("/log/checkpoint").text
    issued(tenant, seed=5)
    digest = nobody.get("/log/entries/1.json").json()["digest"]
    assert [one["index"] for one in nobody.get("/log.json", params={"q": digest}).json()["entries"]] == [1]
    facts = nobody.get("/log/check.json", params={"checkpoint": held}).json()
    assert facts["holds"] is True and facts["kind"] == "consistency"
    lines = held.splitlines()
    for text, holds in (
        (held.replace(f"\n{lines[1]}\n", f"\n{10**9}\n", 1), False),
        (held.replace(lines[0], "other.example/log"), None),
        ("nonsense", None),
        ("<script>alert(1)</script>", None),
    ):
        answer = nobody.get("/log/check", params={"checkpoint": text})
        assert answer.status_code == 200 and "<script>alert" not in answer.text, text
        assert nobody.get("/log/check.json", params={"checkpoint": text}).json()["holds"] is holds, text
    assert nobody.get("/log/check", params={"entry": 10**9}).status_code == 404


def test_the_registry_is_searched_by_every_facet(tenant, nobody):
    first, second = issued(tenant, seed=1, domain="legal"), issued(tenant, seed=2, domain="medical", model_id="n")
    name = first["subject"]["organization"]
    tenant.post(f"/v1/certificates/{first['certificate']['id']}/revoke", json={"reason": "x"}).raise_for_status()

    def found(**words):
        answer = nobody.get("/registry.json", params={"organization": name, **words})
        assert answer.status_code == 200, answer.text
        return sorted(item["system_id"] for item in answer.json()["items"])

    assert found() == ["m", "n"]
    assert found(status="REVOKED") == ["m"] and found(status="VALID") == ["n"]
    assert found(domain="legal") == ["m"] and found(level="L3", domain="code") == []
    assert found(q=second["certificate"]["id"].lower()) == ["n"] and found(q="%") == []
    assert found(due_by="2999-01-01") == ["n"] and found(due_by="2020-01-01") == []
    assert found(level="", status="", domain="", q="", due_by="") == ["m", "n"]
    for words in ({"level": "L9"}, {"status": "GOOD"}, {"due_by": "soon"}, {"due_by": "2026-13-01"}):
        assert nobody.get("/registry", params=words).status_code == 422
    lines = csv.DictReader(io.StringIO(nobody.get("/registry.csv", params={"organization": name}).text))
    told = {(line["system_id"], line["status"], line["attempt"]) for line in lines}
    assert told == {("n", "VALID", "1"), ("m", "REVOKED", "1")}
    feed = ET.fromstring(nobody.get("/registry.atom", params={"organization": name}).content)
    assert len(feed.findall("{http://www.w3.org/2005/Atom}entry")) == 2
    calendar = nobody.get("/registry.ics", params={"organization": name}).text
    assert second["certificate"]["id"] in calendar and first["certificate"]["id"] not in calendar


def test_a_name_that_a_spreadsheet_would_compute_stays_text(service, nobody):
    with service.tenant(f"=HYPERLINK(1) {service.url[-5:]}") as client:
        name = issued(client)["subject"]["organization"]
    (line,) = csv.DictReader(io.StringIO(nobody.get("/registry.csv", params={"organization": name}).text))
    assert line["organization"] == f"'{name}"


def test_the_log_finds_entries_and_proves_that_they_are_in(nobody, nasty):
    id = nasty["certificate"]["id"]
    (found,) = nobody.get("/log.json", params={"q": id}).json()["entries"]
    assert (found["type"], found["id"]) == ("certificate.issued", id)
    facts = nobody.get(f"/log/entries/{found['index']}.json").json()
    hashes = [from_base64(one, "hash") for one in facts["path"]]
    assert (
        f"together with the {len(hashes)} hashes below" in nobody.get(f"/log/entries/{found['index']}").text
        or not hashes
    )
    root = from_base64(facts["root"], "root")
    verify_inclusion(leaf_hash(facts["text"].encode()), facts["index"], facts["size"], hashes, root)
    system = nobody.get("/log.json", params={"q": found["fields"]["system"]}).json()["entries"]
    assert [(one["type"], one["fields"]["attempt"]) for one in system] == [("evaluation.result", 1)]
    assert nobody.get("/log.json", params={"q": "999999999999"}).json()["entries"] == []
    for path in (
        "/log/entries/99999999",
        "/log/entries/-1",
        "/log/entries/x",
        "/certificates/ONTO-CERT-2026-0000000000000000",
    ):
        answer = nobody.get(path)
        assert answer.status_code in (404, 422) and answer.headers["content-type"].startswith("text/html"), path


def test_the_page_of_a_system_shows_every_attempt_and_nothing_of_systems_without_a_certificate(tenant, nobody):
    poor = ground.body({"confidence": [0.95] * 4, "correct": [False] * 4}, model_id="shy")
    assert tenant.post("/v1/evaluate", json=poor).status_code == 200
    tenant.post("/v1/evaluate", json=poor | {"model_id": "m"}).raise_for_status()
    document = issued(tenant)
    path = f"/systems/{system_digest(document['subject'])}"
    facts = nobody.get(f"{path}.json").json()
    told = [(one["number"], one["level"] == "NONE", one["certificate"]) for one in facts["attempts"]]
    assert told == [(2, False, document["certificate"]["id"]), (1, True, None)]
    assert [one["id"] for one in facts["certificates"]] == [document["certificate"]["id"]]
    answer = nobody.get(path)
    assert answer.status_code == 200 and "attempt 1 NONE, attempt 2 L" in answer.text
    assert f'href="{path}"' in nobody.get(f"/certificates/{document['certificate']['id']}").text
    for other in (system_digest(document["subject"] | {"system_id": "shy"}), "sha-256:" + "0" * 64, "%00", "x" * 90):
        assert nobody.get(f"/systems/{other}").status_code in (404, 422), other


def test_the_mapping_that_certificates_name_is_a_page(tenant, nobody):
    made = ground.columns(2000, seed=91)
    number = tenant.post("/v1/evaluate", json=ground.body(made, model_id="mapped")).json()["evaluation_id"]
    document = tenant.post("/v1/certificates", json={"evaluation_id": number}).json()
    day = document["compliance"]["mapping"].rpartition(":")[2]
    page = nobody.get(f"/mapping/{day}", headers={"accept": "text/html"})
    for words in (
        "Article 9",
        "Article 13",
        "Article 15",
        "MANAGE",
        "GOVERN",
        "6.1",
        "8.2",
        "9.1",
        "is not conformity",
    ):
        assert words in page.text, words
    assert f"/mapping/{day}" in nobody.get(f"/certificates/{document['certificate']['id']}").text
    assert nobody.get("/mapping/1999-01-01", headers={"accept": "application/json"}).status_code == 404


def test_faults_are_pages_for_browsers_and_problems_for_programs(service, nobody):
    assert "<h1>No such thing</h1>" in nobody.get("/nothing").text
    assert nobody.get("/v1/nothing").headers["content-type"] == "application/problem+json"
    with service.client() as program:
        assert program.get("/nothing").headers["content-type"] == "application/problem+json"
    answer = nobody.get("//evil.example/%0d%0aset-cookie:x=1")
    assert answer.status_code == 404 and "set-cookie" not in answer.headers


def test_the_reference_names_every_operation_and_every_field(service, nobody):
    document = nobody.get("/openapi.json").json()
    listed = {
        (one["method"], one["path"]) for area in nobody.get("/docs.json").json()["areas"] for one in area["operations"]
    }
    said = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert listed == said
    shown = {
        one["name"]: {field["name"] for field in one["fields"]}
        for one in nobody.get("/docs/schemas.json").json()["schemas"]
    }
    for name, schema in document["components"]["schemas"].items():
        assert shown[name] == set(schema.get("properties", {}))
        assert f"<h1>{name}</h1>" in nobody.get(f"/docs/schemas/{name}").text
        for field, one in schema.get("properties", {}).items():
            assert one.get("description"), f"{name}.{field} needs a sentence below it, or one in schemas/fields.py"


def test_words_stand_out_from_their_ground_in_light_and_dark():
    """WCAG 2.2: 4.5 for text; computed here, because a tool abstains where a sign stands before a word."""
    sheet = (files("epimeter") / "web" / "static" / "style.css").read_text()
    blocks = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6})", b)) for b in re.findall(r":root \{([^}]*)\}", sheet)]
    schemes = [colours for colours in blocks if colours]  # a block without colours names some of these again
    assert len(schemes) == 2
    for colours in schemes:
        pairs = [
            (ink, under) for under in ("ground", "raised") for ink in ("ink", "soft", "link", "good", "bad", "open")
        ]
        for ink, under in [*pairs, ("on-accent", "accent")]:
            assert contrast(colours[ink], colours[under]) >= 4.5, (ink, under)


def contrast(one, other):
    lights = sorted((light(one), light(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def light(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_log_of_an_older_service_is_indexed_at_the_start(tmp_path):
    def indexes():
        with closing(sqlite3.connect(log)) as connection:
            return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}

    with running(tmp_path) as first:
        digest = httpx.get(f"{first.url}/log/entries/0.json", verify=NO_TLS).json()["digest"]
    (log,) = tmp_path.glob("data/**/log.db")
    assert "leaves" in indexes()
    with closing(sqlite3.connect(log)) as connection:
        connection.execute("DROP INDEX leaves")
    assert "leaves" not in indexes()
    with running(tmp_path) as second:
        facts = httpx.get(f"{second.url}/log.json", params={"q": digest}, verify=NO_TLS).json()
    assert [one["index"] for one in facts["entries"]] == [0] and "leaves" in indexes()


def test_the_growth_of_the_log_is_drawn_and_told(service, tenant, nobody):
    issued(tenant, seed=6)
    facts = nobody.get("/log.json").json()
    assert facts["growth"][-1][1] == facts["size"] and facts["growth"][0][1] == 0
    page = nobody.get("/log").text
    assert "How it grew" in page and f"{facts['size']:,} on " in page


def test_the_reference_can_be_asked_for_by_many_at_once_after_a_start(tmp_path):
    with running(tmp_path) as fresh, ThreadPoolExecutor(12) as crowd:
        answers = crowd.map(
            lambda _: httpx.get(f"{fresh.url}/docs", headers=HTML, timeout=60, verify=NO_TLS).status_code, range(12)
        )
        assert set(answers) == {200}
