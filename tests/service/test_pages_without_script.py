"""Every form of the pages in a Chromium that runs no script: what a member and the public do there is done all the same."""

import ground
import pytest
from seen_pages import type_into, words
from test_members_pages import as_csv

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("service", ["sqlite"], indirect=True)]


@pytest.fixture
def plain(browser):
    """A browser with scripts off."""
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    yield browser
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def press(browser, selector):
    """Click, and wait until another document stands there."""
    browser.until(f"!!document.querySelector({selector!r})")
    browser.evaluate(f"window.before = true; document.querySelector({selector!r}).click(); 1")
    browser.until("!window.before && document.readyState === 'complete'")


def filled_in(browser, **fields):
    for selector, text in fields.items():
        type_into(browser, f"#{selector.replace('_', '-')}", text)


def opened(browser, service, path):
    browser.open(service.url + path)


def test_a_member_signs_in_uploads_certifies_compares_and_keeps_keys_and_webhooks(service, tenant, plain, tmp_path):
    opened(plain, service, "/upload")
    filled_in(plain, key=tenant.key["key"])
    press(plain, "form:has(#key) button")
    assert plain.evaluate("location.pathname") == "/upload"
    evaluations = []
    for seed in (41, 42):
        path = tmp_path / f"records{seed}.csv"
        path.write_bytes(as_csv(ground.columns(1500, seed), ("how sure", "hit", "when")))
        opened(plain, service, "/upload")
        plain.choose_files("#file", [path])
        press(plain, "main form button")
        for place, role in enumerate(("confidence", "correct", "timestamp")):
            plain.evaluate(f"document.querySelector('select[name=role{place}]').value = {role!r}")
        press(plain, "button[value=look]")
        assert "1,500 rows" in words(plain)
        type_into(plain, "#model_id", "triage")
        press(plain, "button[value=evaluate]")
        plain.until("location.pathname.startsWith('/evaluations/')")
        evaluations.append(plain.evaluate("location.pathname").rsplit("/", 1)[1])
    assert "firm" in words(plain) or "marginal" in words(plain)
    press(plain, "form[action$='/certify'] button")
    assert "The certificate is in force." in words(plain)
    press(plain, "a[href^='/verify/registry']")
    assert "VALID" in words(plain) and "Step by step" in words(plain)
    opened(plain, service, "/compare")
    for side, id in zip("ab", evaluations, strict=True):
        plain.evaluate(f"document.getElementById({side!r}).value = {id!r}")
    press(plain, "main form button")
    assert "Side by side" in words(plain) and "Both were measured on different rows." in words(plain)


def test_a_member_makes_rotates_and_revokes_a_key_and_tests_a_webhook(service, tenant, plain):
    opened(plain, service, "/account")
    filled_in(plain, key=tenant.key["key"])
    press(plain, "form:has(#key) button")
    plain.evaluate("document.querySelectorAll('details').forEach(one => one.open = true); 1")
    filled_in(plain, key_name="nightly")
    press(plain, "form:has(#key-name) button")
    assert plain.evaluate("document.querySelector('code.secret').textContent").startswith("onto_live_")
    opened(plain, service, "/account")
    press(plain, "button[aria-label='Rotate nightly']")
    assert plain.evaluate("document.querySelector('code.secret').textContent").startswith("onto_live_")
    opened(plain, service, "/account")
    press(plain, "button[aria-label='Revoke nightly']")
    assert "revoked" in words(plain)
    plain.evaluate("document.querySelectorAll('details').forEach(one => one.open = true); 1")
    filled_in(plain, url="http://127.0.0.1:9/told")
    plain.evaluate("document.querySelector('input[name=events]').checked = true")
    press(plain, "form:has(#url) button")
    opened(plain, service, "/account")
    press(plain, "button[aria-label^='Send a test to']")
    opened(plain, service, "/account")
    assert "Nothing was sent yet" not in words(plain)
    press(plain, "nav form button")
    assert plain.evaluate("location.pathname") == "/"


def test_the_public_searches_the_log_and_has_a_certificate_checked(service, tenant, plain):
    made = tenant.post("/v1/evaluate", json=ground.body(ground.columns(1500, 43), model_id="triage")).json()
    document = tenant.post("/v1/certificates", json={"evaluation_id": made["evaluation_id"]}).json()
    id = document["certificate"]["id"]
    opened(plain, service, "/log")
    filled_in(plain, q=id)
    press(plain, "main form button")
    assert "certificate issued" in words(plain)
    opened(plain, service, "/verify")
    press(plain, "noscript a[href='/verify/registry']")
    filled_in(plain, id=id)
    press(plain, "form:has(#id) button")
    assert "VALID" in words(plain) and "signature" in words(plain)
    text = tenant.get(f"/v1/certificates/{id}").text
    for said, verdict in (
        (text, "VALID"),
        (text.replace('"L3"', '"L2"'), "INVALID"),
        ("<b>no</b>", "INVALID(malformed)"),
    ):
        opened(plain, service, "/verify/registry")
        type_into(plain, "#certificate", said)
        press(plain, "form:has(#certificate) button")
        assert plain.evaluate("document.getElementById('standing').textContent").startswith(verdict)
    assert plain.evaluate("document.querySelectorAll('main b').length") == 0
