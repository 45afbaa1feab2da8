"""The verifying page in a real Chromium, from file://, with no network."""

import json
import os
from datetime import timedelta

import pytest
from browser import Browser, chromium
from certificates import (
    BODY,
    CERTIFICATE,
    DOCUMENT,
    FROM_SUMS,
    GOOD,
    INDEX,
    ISSUER,
    OTHER,
    RING,
    ROOT,
    SIGNED_ROOT,
    STATUS,
    TRUST,
    changed,
    data_of,
    judged,
    logged,
    resigned,
    root,
    signed,
    status_list,
)
from test_attacks import cosigned
from trust_ground import AT, DAY, LOG_KEY, ORIGIN, key, witness

from epimeter.errors import VerificationError
from epimeter.trust.anchors import Trust
from epimeter.trust.attestation import attest
from epimeter.trust.canonical import canonical_json, to_base64, to_base64url, to_moment
from epimeter.trust.note import NoteKey
from epimeter.trust.page import page
from epimeter.trust.root import sign_root

pytestmark = pytest.mark.slow
LATER = AT + DAY
PROOF = DOCUMENT["transparency"]["tlog_proof"]


@pytest.fixture(scope="module")
def browser():
    assert chromium(), "these tests need Chromium: apt-get install chromium"
    made = Browser()
    yield made
    made.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")

    def written(signed_root):
        path = folder / f"{abs(hash(signed_root))}.html"
        path.write_text(page(signed_root), encoding="utf-8")
        return path.as_uri()

    return written


def said(browser):
    browser.until("document.getElementById('verdict').dataset.done")
    text = browser.evaluate("document.getElementById('verdict').textContent")
    answers = browser.evaluate("Array.from(document.querySelectorAll('#answers td'), cell => cell.textContent)")
    assert browser.complaints() == []
    return text, answers


def shown(browser, address, data, *, status=GOOD, at=LATER):
    data = data if isinstance(data, bytes) else data_of(data)
    parts = {"certificate": to_base64url(data), "at": to_moment(at)}
    if status is not None:
        parts["status"] = to_base64url(status)
    browser.open(address + "#" + "&".join(f"{name}={value}" for name, value in parts.items()))
    return said(browser)


CASES = {
    "valid": (CERTIFICATE, {}),
    "tampered": (CERTIFICATE.replace(b"0.0742", b"0.0741"), {}),
    "expired": (CERTIFICATE, {"at": AT + 366 * DAY, "status": status_list(at=AT + 366 * DAY)}),
    "not yet": (CERTIFICATE, {"at": AT - timedelta(seconds=1)}),
    "revoked": (CERTIFICATE, {"status": status_list({INDEX: "REVOKED"})}),
    "suspended": (CERTIFICATE, {"status": status_list({INDEX: "SUSPENDED"})}),
    "superseded": (CERTIFICATE, {"status": status_list({INDEX: "SUPERSEDED"})}),
    "no list": (CERTIFICATE, {"status": None}),
    "stale list": (CERTIFICATE, {"status": status_list(at=AT - 30 * DAY)}),
    "list of another role": (CERTIFICATE, {"status": status_list(signer=ISSUER)}),
    "wrong key": (logged(signed(changed("issuer.key_id", OTHER.public.id, BODY), OTHER)), {}),
    "our id on another key": (
        changed("signature.key_id", ISSUER.public.id, logged(signed(changed("issuer.key_id", OTHER.public.id, BODY), OTHER))),
        {},
    ),
    "weak key": (changed("signature.public_key", to_base64((1).to_bytes(32, "little"))), {}),
    "no signature": (changed("signature", None), {}),
    "algorithm none": (changed("signature.algorithm", "none"), {}),
    "another kind": (logged(signed(BODY, ISSUER, "passport")), {}),
    "not logged": (changed("transparency", ...), {}),
    "another log": (logged(signed(), signer=OTHER), {}),
    "wrong index": (changed("transparency.tlog_proof", DOCUMENT["transparency"]["tlog_proof"].replace("index 5", "index 4")), {}),
    "promise gone": (changed("transparency.preregistration", None), {}),
    "contradiction": (resigned("metrics.ers", 29), {}),
    "level not earned": (resigned("certificate.level", "L3"), {}),
    "extra field": (resigned("metrics.extra", 1), {}),
    "name in another form": (resigned("subject.system_version", "u\u0308"), {}),
    "name with override": (resigned("subject.system_version", "a\u202eb"), {}),
    "ten decimals": (resigned("metrics.ece", 0.07420000001), {}),
    "duplicate key": (CERTIFICATE.replace(b'"level":"L2"', b'"level":"L3","level":"L2"', 1), {}),
    "pretty": (json.dumps(DOCUMENT, indent=1).encode(), {}),
    "mark": (b"\xef\xbb\xbf" + CERTIFICATE, {}),
    "nan": (CERTIFICATE.replace(b"0.0742", b"NaN", 1), {}),
    "other number": (CERTIFICATE.replace(b"0.0742", b"7.42e-2", 1), {}),
    "deep": (b"[" * 5000 + b"]" * 5000, {}),
    "empty": (b"", {}),
    **{
        f"signature line of {name!r}": (changed("transparency.tlog_proof", PROOF + f"\u2014 {name} AAAAAAA=\n"), {})
        for name in ("other", "o+ther", "o\x85ther", "o\tther", "o\xa0ther", "\ufeff", "", "o\x1cther")
    },
    "as deep as may be": (b'{"signature":' + b"[" * 63 + b"]" * 63 + b"}", {}),
    "one deeper": (b'{"signature":' + b"[" * 64 + b"]" * 64 + b"}", {}),
    "an unknown signature without bytes": (
        CERTIFICATE,
        {"status": GOOD.replace(b'"signatures":[', b'"signatures":[{"keyid":"x","sig":""},')},
    ),
    "an unknown signature of no base64": (
        CERTIFICATE,
        {"status": GOOD.replace(b'"signatures":[', b'"signatures":[{"keyid":"x","sig":"A"},')},
    ),
    "recalibrated": (resigned("evidence.recalibrated_by", "isotonic:sha256:" + "ab" * 32), {}),
    "recalibrated by nobody knows what": (resigned("evidence.recalibrated_by", "isotonic"), {}),
    "similar names": (resigned("evidence.similar_systems", {"systems": 29, "evaluations": 4100}), {}),
    "no similar names": (resigned("evidence.similar_systems", {"systems": 0, "evaluations": 0}), {}),
    "eleven bins": (resigned("evidence.covered_bins", 11), {}),
    "from sums": (logged(signed(FROM_SUMS)), {}),
    "from sums, drawn again": (logged(signed(changed("evidence.interval_method", "bootstrap", FROM_SUMS))), {}),
    "half from sums": (resigned("evidence.records_root", "epi-rec-parts-v1:sha-256:" + "cd" * 32), {}),
    "from sums of another kind": (resigned("evidence.dataset_digest", "epi-part-v1:sha-256:" + "cd" * 32), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_page_says_what_the_command_says(browser, pages, case):
    data, more = CASES[case]
    expected = judged(data, TRUST, **{"at": LATER, "status": GOOD, **more})
    text, answers = shown(browser, pages(SIGNED_ROOT), data, **more)
    words = {True: "yes", False: "no", None: "unknown"}
    assert text == expected.shown
    assert answers == [words[getattr(expected, name)] for name in ("authentic", "current", "consistent")]


@pytest.mark.parametrize(
    ("ring", "certificate"),
    [
        (RING.retire(ISSUER.public.id, AT + timedelta(seconds=1)), CERTIFICATE),
        (RING.retire(ISSUER.public.id, AT), CERTIFICATE),
        (RING.compromise(ISSUER.public.id, AT + 5 * DAY), data_of(cosigned(AT + DAY))),
        (RING.compromise(ISSUER.public.id, AT + 5 * DAY), data_of(cosigned(AT + 5 * DAY))),
        (RING.compromise(ISSUER.public.id, AT + 5 * DAY), CERTIFICATE),
        (RING.compromise(STATUS.public.id, AT), CERTIFICATE),
        (RING.retire(LOG_KEY.public.id, AT), CERTIFICATE),
        (RING.retire(LOG_KEY.public.id, AT + timedelta(seconds=1)), CERTIFICATE),
    ],
)
def test_the_page_judges_ended_keys_as_the_command_does(browser, pages, ring, certificate):
    made = root(ring, witnesses=(witness("seer"),))
    expected = judged(certificate, Trust.of(made), at=LATER).shown
    assert shown(browser, pages(sign_root(made, ROOT).to_json()), certificate)[0] == expected


def test_the_page_asks_for_witnesses_as_the_command_does(browser, pages):
    made = root(witnesses=(witness("seer"),), quorum=1)
    address = pages(sign_root(made, ROOT).to_json())
    assert shown(browser, address, CERTIFICATE)[0] == "NOT_LOGGED"
    assert shown(browser, address, data_of(cosigned(AT + DAY)))[0] == "VALID"
    assert key("seer").public == witness("seer").public


def test_files_and_keys_given_by_hand(browser, tmp_path):
    (tmp_path / "verify.html").write_text(page(), encoding="utf-8")
    (tmp_path / "c.json").write_bytes(CERTIFICATE)
    (tmp_path / "s.json").write_bytes(GOOD)
    browser.open((tmp_path / "verify.html").as_uri())
    keys = {
        "key": to_base64(ISSUER.public.raw),
        "log-key": NoteKey(ORIGIN, LOG_KEY.public).to_vkey(),
        "status-key": to_base64(STATUS.public.raw),
        "at": to_moment(LATER),
    }

    def fill(values):
        for name, value in values.items():
            browser.evaluate(f"document.getElementById({name!r}).value = {value!r}; 1")

    fill(keys)
    browser.choose_files("#files", [tmp_path / "c.json", tmp_path / "s.json"])
    assert said(browser)[0] == "VALID"
    for name, value, expected in (
        ("key", to_base64(OTHER.public.raw), "UNTRUSTED_KEY"),
        ("key", to_base64((1).to_bytes(32, "little")), "UNTRUSTED_KEY"),  # refused on import
        ("key", "", "UNTRUSTED_KEY"),
        ("log-key", "", "NOT_LOGGED"),
        ("status-key", to_base64(OTHER.public.raw), "STATUS_UNKNOWN"),
    ):
        fill({**keys, name: value})
        browser.evaluate(
            "delete document.getElementById('verdict').dataset.done; document.getElementById('go').click(); 1"
        )
        assert said(browser)[0] == expected, (name, value)


def test_the_page_shows_an_auditors_attestation_as_the_command_does(browser, tmp_path):
    (tmp_path / "verify.html").write_text(page(), encoding="utf-8")
    (tmp_path / "c.json").write_bytes(CERTIFICATE)
    document = json.loads(CERTIFICATE)
    facts = {"auditor": "Audit <b>AG</b>", "basis": ("reproduced",), "scope": "numbers", "at": AT}
    (tmp_path / "a.json").write_bytes(attest(document, OTHER, **facts).to_json())
    strange = document | {"subject": {**document["subject"], "system_id": "better"}}
    (tmp_path / "b.json").write_bytes(attest(strange, OTHER, **facts).to_json())
    browser.open((tmp_path / "verify.html").as_uri())

    def audit(key, file=None):
        values = {"key": to_base64(ISSUER.public.raw), "auditor-key": key}
        for name, value in values.items():
            browser.evaluate(f"document.getElementById({name!r}).value = {value!r}; 1")
        browser.evaluate("delete document.getElementById('verdict').dataset.done; 1")
        if file is None:
            browser.evaluate("document.getElementById('go').click(); 1")
        else:
            browser.choose_files("#files", [tmp_path / "c.json", tmp_path / file])
        said(browser)
        return browser.evaluate("[...document.querySelectorAll('#facts tr')].map(row => row.innerText).join('|')")

    key = to_base64(OTHER.public.raw)
    assert "attested by Audit <b>AG</b> on " in audit(key, "a.json")
    assert "NOT proven: the document is signed by none" in audit(to_base64(STATUS.public.raw))
    assert "whom you believe" in audit("")
    assert "not of these bytes" in audit(key, "b.json")


def test_a_root_needs_the_fingerprint_that_is_known(browser, tmp_path):
    (tmp_path / "verify.html").write_text(page(), encoding="utf-8")
    for name, data in (("c.json", CERTIFICATE), ("s.json", GOOD), ("r.json", SIGNED_ROOT)):
        (tmp_path / name).write_bytes(data)
    for fingerprint, expected in (("", "UNTRUSTED_KEY"), ("0" * 64, "UNTRUSTED_KEY"), (root().fingerprint, "VALID")):
        browser.open((tmp_path / "verify.html").as_uri())
        browser.evaluate(f"document.getElementById('fingerprint').value = {fingerprint!r}; 1")
        browser.evaluate(f"document.getElementById('at').value = {to_moment(LATER)!r}; 1")
        browser.choose_files("#files", [tmp_path / name for name in ("c.json", "s.json", "r.json")])
        assert said(browser)[0] == expected


def test_a4_an_address_never_brings_a_key(browser, tmp_path):
    (tmp_path / "verify.html").write_text(page(), encoding="utf-8")
    forged = data_of(logged(signed(changed("issuer.key_id", OTHER.public.id, BODY), OTHER)))
    evil = {
        "certificate": to_base64url(forged),
        "key": to_base64(OTHER.public.raw),
        "root": to_base64url(SIGNED_ROOT),
        "fingerprint": root().fingerprint,
    }
    browser.open((tmp_path / "verify.html").as_uri() + "#" + "&".join(f"{n}={v}" for n, v in evil.items()))
    assert said(browser)[0] == "UNTRUSTED_KEY"


def test_a26_what_names_say_is_text(browser, pages):
    evil = '</script><img src=x onerror="document.title=1"><b>bold</b>'
    made = resigned("subject.system_version", evil)
    assert shown(browser, pages(SIGNED_ROOT), made)[0] == "VALID"
    assert browser.evaluate("document.title") == "Verify a certificate"
    assert browser.evaluate("document.querySelectorAll('img, b').length") == 0
    assert evil in browser.evaluate("document.getElementById('facts').innerText")


def test_nothing_but_its_own_script_runs_in_the_page(browser, pages):
    shown(browser, pages(SIGNED_ROOT), CERTIFICATE)
    blocked = browser.evaluate(
        "new Promise(done => { document.addEventListener('securitypolicyviolation', event => done(event.effectiveDirective));"
        "const other = document.createElement('img'); other.src = 'https://example.invalid/x'; document.body.append(other); })"
    )
    assert blocked == "img-src"


def test_a8_the_page_writes_numbers_as_python_does(browser, pages):
    import random
    import struct

    shown(browser, pages(SIGNED_ROOT), CERTIFICATE)
    chance = random.Random(8)
    values = [0.1 + 0.2, 1e-7, 1e16, 5e-324, 1.0, -1.5, 1e21, 123456789012345680.0, 0.000001, 1e-6, 9007199254740991]
    while len(values) < 20_000:
        value = struct.unpack("<d", chance.randbytes(8))[0]
        if value == value and abs(value) != float("inf"):
            values.append(value)
    theirs = browser.evaluate(f"{json.dumps(values)}.map(canonical)")
    assert theirs == [canonical_json(value).decode() for value in values]


ODD = (None, True, 0, 1, -1, 0.5, 1e-10, 2**53 - 1, 100, "", " a", "\xa0a", "e\u0301", "\u200bx", "\x7f", "\U0001f600" * 300,
       "x" * 301, [], {}, ["L1"], "2026-02-29T00:00:00Z", "2026-11-15T24:00:00Z", "0001-01-01T00:00:00Z", "L1", "L3", "firm",
       "marginal", "medical", "sha-256:" + "0" * 64 + "\n", "ONTO-CERT-2025-0000000000000000", "__proto__")  # fmt: skip


def places(value, way=()):
    for name, content in value.items() if isinstance(value, dict) else ():
        yield ".".join((*way, name))
        yield from places(content, (*way, name))


def test_the_page_and_the_command_agree_on_whatever_an_issuer_may_sign(browser, pages):
    import random

    chance, cases = random.Random(27), []
    for place in places(BODY):
        for odd in (..., *chance.sample(ODD, 6)):
            made = signed(changed(place, odd, BODY))
            try:
                made = logged(made)
            except (KeyError, TypeError, AttributeError, VerificationError):  # the entry of the log cannot even be made
                made = {**made, "transparency": DOCUMENT["transparency"]}
            cases.append(data_of(made))
    for _ in range(200):
        data = bytearray(CERTIFICATE)
        data[chance.randrange(len(data))] = chance.choice(b'0123456789"{}[],:\\ eE.-\x00\xff')
        cases.append(bytes(data))
    shown(browser, pages(SIGNED_ROOT), CERTIFICATE)
    script = (
        "(async () => { const bytes = text => fromBase64url(text, 'bytes'), said = [];"
        f"const trust = await pinnedRoot(given.root, find('fingerprint').value, new Date({to_moment(LATER)!r}));"
        "for (const one of %s) { const found = await verify(bytes(one), trust, "
        f"new Date({to_moment(LATER)!r}), bytes({to_base64url(GOOD)!r}));"
        "said.push([found.shown, found.authentic, found.current, found.consistent, found.steps.map(step => step.holds)]); }"
        "return said; })()"
    )
    for start in range(0, len(cases), 50):
        part = cases[start : start + 50]
        theirs = browser.evaluate(script % json.dumps([to_base64url(data) for data in part]))
        for data, found in zip(part, theirs, strict=True):
            ours = judged(data, TRUST, at=LATER, status=GOOD)
            steps = [step.holds for step in sorted(ours.steps)]
            assert found == [ours.shown, ours.authentic, ours.current, ours.consistent, steps], data


def test_a_link_that_asks_about_the_past_says_so(browser, pages):
    # The certificate may be revoked since, and the list an old one: the verdict must not look like one of today.
    assert shown(browser, pages(SIGNED_ROOT), CERTIFICATE)[0] == "VALID"
    assert f"asked about {to_moment(LATER)}, not about now" in browser.evaluate(
        "document.getElementById('sentence').textContent"
    )
    assert browser.evaluate("document.getElementById('verdict').className") == "open"


def test_a_root_that_has_expired_is_not_revived_by_asking_about_the_past(browser, pages):
    made = root()
    old = type(made)(
        version=1, issued_at=AT - 400 * DAY, expires_at=AT - 300 * DAY, threshold=1,
        ring=RING.add(key("old root").public, "root", AT - 500 * DAY),
    )  # fmt: skip
    address = pages(sign_root(old, key("old root")).to_json())
    assert shown(browser, address, CERTIFICATE, at=AT - 350 * DAY)[0] == "UNTRUSTED_KEY"


def test_a_file_that_is_too_large_does_not_leave_the_last_verdict_standing(browser, pages, tmp_path):
    assert shown(browser, pages(SIGNED_ROOT), CERTIFICATE)[0] == "VALID"
    (tmp_path / "large.json").write_bytes(CERTIFICATE + b" " * (1 << 20))
    browser.evaluate("delete document.getElementById('verdict').dataset.done; 1")
    browser.choose_files("#files", [tmp_path / "large.json"])
    assert said(browser)[0] == "INVALID(malformed)"
    assert browser.evaluate("document.getElementById('facts').innerText").strip() in ("", "What the certificate states")


def test_command_and_page_reckon_one_score(browser, pages):
    """Doubles added in another order differ in the last bit, as of ECE 0.025129068 and U-Recall 48.051627202."""
    import numpy as np

    from epimeter.standards.ers import DOMAINS, ers_score

    rng = np.random.default_rng(0)
    count = int(os.environ.get("TRIPLES", "100000"))
    domains = list(DOMAINS)
    triples = [[0.025129068, 48.051627202, "financial"]]
    # Half of them lie at the edge of a whole number, where the last digit decides.
    for ece, recall, domain, edge in zip(
        rng.integers(0, 10**9, count), rng.integers(0, 10**11, count), rng.integers(0, len(domains), count), rng.random(count)
    ):  # fmt: skip
        ece, recall = int(ece), int(recall)
        if edge < 0.5:
            recall = min(10**11, max(0, recall - (recall - 400 * ece) % (2 * 10**9) + int(rng.integers(-4, 5))))
        triples.append([ece / 10**9, recall / 10**9, domains[domain]])
    browser.open(pages(SIGNED_ROOT))
    for begin in range(0, len(triples), 20_000):
        part = triples[begin : begin + 20_000]
        found = browser.evaluate(f"JSON.stringify({json.dumps(part)}.map(one => ersScore(...one)))")
        expected = [ers_score(*one) for one in part]
        wrong = [one for one, here, there in zip(part, expected, json.loads(found)) if here != there]
        assert not wrong, wrong[:3]
