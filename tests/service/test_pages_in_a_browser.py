"""The pages in a real Chromium: four people's ways through them, narrow, light and dark, and with names that attack."""

import contextlib
import http.server
import re
import threading

import ground
import pandas as pd
import pytest
from seen_pages import (
    MEMBERS,
    OPERATORS,
    PUBLIC,
    click,
    coloured,
    filled,
    furnished,
    sign_in,
    type_into,
    violations,
    words,
)
from test_forecast_bodies import forecasts
from test_members_pages import as_csv
from test_public_pages import NASTY, issued

pytestmark = pytest.mark.slow


def without_policy(browser):
    """Open the page anew so that the test may fetch from within it, which the page's own policy forbids."""
    browser.call("Page.setBypassCSP", enabled=True)
    browser.open(browser.evaluate("location.href"))


@contextlib.contextmanager
def site_of(text):
    """A foreign site with one page: its address."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


def verdict(browser, service, id):
    """What the browser says after following the link of a certificate's page."""
    browser.open(f"{service.url}/certificates/{id}")
    browser.until("!!document.querySelector('.standing a.button')")
    browser.open(browser.evaluate("document.querySelector('.standing a.button').href"))
    browser.until("location.pathname === '/verify' && !!document.getElementById('verdict').dataset.done")
    assert browser.complaints() == []
    return browser.evaluate("document.getElementById('verdict').textContent")


def test_the_public_comes_from_a_badge_to_the_verdict_of_the_browser_itself(service, tenant, browser):
    id = issued(tenant)["certificate"]["id"]
    foreign = f'<a href="{service.url}/certificates/{id}"><img src="{service.url}/v1/certificates/{id}/badge.svg"></a>'
    with site_of(foreign) as address:
        browser.open(address)
        browser.until("document.querySelector('img').naturalWidth > 0")
        click(browser, "a", "location.pathname.startsWith('/certificates/')")
    said = words(browser)
    assert "VALID" in said and "The certificate is in force." in said and "What it does not prove" in said
    assert verdict(browser, service, id) == "VALID"
    tenant.post(f"/v1/certificates/{id}/revoke", json={"reason": "labels were wrong"}).raise_for_status()
    assert verdict(browser, service, id) == "REVOKED"


def test_a_compliance_officer_finds_what_lapses_why_a_level_fell_and_files_the_report(service, tenant, browser):
    issued(tenant, model_id="triage")
    body = ground.body(ground.columns(1500, 31, over=0.2), model_id="triage", model_version="2")
    tenant.post("/v1/evaluate", json=body).raise_for_status()
    sign_in(browser, service, tenant.key["key"], "/evaluations")
    name = browser.evaluate("document.querySelector('.who').textContent")
    browser.open(f"{service.url}/registry?organization={name}&due_by=2099-01-01")
    assert "triage" in words(browser)
    click(browser, "tbody th a", "location.pathname.startsWith('/certificates/')")
    click(browser, "a[href^='/systems/']", "location.pathname.startsWith('/systems/')")
    assert "Over time" in words(browser) and browser.evaluate("document.querySelectorAll('figure svg').length") >= 4
    click(browser, "tbody a[href^='/compare']", "location.pathname === '/compare'")
    assert "Side by side" in words(browser)
    click(browser, "table thead a", "location.pathname.startsWith('/evaluations/')")
    without_policy(browser)
    fetched = "fetch(document.querySelector(\"a[href$='passport.pdf']\").href).then(r => r.arrayBuffer())"
    assert browser.evaluate(f"{fetched}.then(b => new TextDecoder().decode(b.slice(0, 5)))") == "%PDF-"


def test_an_engineer_drops_a_file_sees_its_columns_and_certifies(service, tenant, browser, tmp_path):
    path = tmp_path / "records.csv"
    path.write_bytes(as_csv(ground.columns(1500, 32), ("how sure", "hit", "when")))
    sign_in(browser, service, tenant.key["key"], "/upload")
    browser.choose_files("#file", [path])
    click(browser, "main form button", "location.pathname.startsWith('/upload/')")
    assert "fault" in browser.evaluate("document.querySelector('main').innerHTML")
    for place, role in enumerate(("confidence", "correct", "timestamp")):
        browser.evaluate(f"document.querySelector('select[name=role{place}]').value = {role!r}")
    click(browser, "button[value=look]", "document.body.innerText.includes('1,500 rows')")
    type_into(browser, "#model_id", "triage")
    click(browser, "button[value=evaluate]", "location.pathname.startsWith('/evaluations/')")
    assert "Issue the certificate" in browser.evaluate("document.querySelector('main').textContent")
    click(browser, "form[action$='/certify'] button", "location.pathname.startsWith('/certificates/')")
    assert "The certificate is in force." in words(browser)


@pytest.mark.parametrize("kind", ["normal", "quantiles", "count"])
def test_an_engineer_drops_forecasts_and_reads_their_report(service, tenant, browser, tmp_path, kind):
    path = tmp_path / "forecasts.csv"
    pd.DataFrame(forecasts(kind)).to_csv(path, index=False)
    sign_in(browser, service, tenant.key["key"], "/upload")
    browser.choose_files("#file", [path])
    click(browser, "main form button", "location.pathname.startsWith('/upload/')")
    assert "300 rows" in words(browser)
    type_into(browser, "#model_id", "demand")
    click(browser, "button[value=evaluate]", "location.pathname.startsWith('/evaluations/')")
    assert ("rps_counts" if kind == "count" else "crps") in words(browser)
    assert "Issue the certificate" not in words(browser) and ("Coverage claimed" in words(browser)) == (kind != "count")
    assert not browser.complaints() and not violations(browser)


def test_an_auditor_finds_every_attempt_verifies_the_log_and_takes_the_evidence(service, tenant, browser):
    for seed in (33, 34):
        body = ground.body(ground.columns(1200, seed, over=0.3), model_id="triage")
        tenant.post("/v1/evaluate", json=body).raise_for_status()
    id = issued(tenant, model_id="triage")["certificate"]["id"]
    browser.open(f"{service.url}/certificates/{id}")
    click(browser, "a[href^='/systems/']", "location.pathname.startsWith('/systems/')")
    assert browser.evaluate("document.querySelectorAll('tbody a[href^=\"/log/entries/\"]').length") == 3
    click(browser, "tbody a[href^='/log/entries/']", "location.pathname.startsWith('/log/entries/')")
    assert "inclusion" in words(browser).lower() or "proof" in words(browser).lower()
    assert verdict(browser, service, id) == "VALID"
    browser.open(f"{service.url}/certificates/{id}")
    without_policy(browser)
    evidence = browser.evaluate(
        "Promise.all(Array.from(document.querySelectorAll('main li a')).filter(a => a.origin === location.origin)"
        ".map(a => fetch(a.href).then(r => r.status)))"
    )
    assert len(evidence) >= 5 and set(evidence) == {200}


def test_the_browser_computes_the_proofs_of_the_log_and_sees_a_forged_one(service, tenant, browser):
    held = tenant.get("/log/checkpoint").text
    issued(tenant, model_id="triage")
    browser.open(f"{service.url}/log/check")
    type_into(browser, "#checkpoint", held)
    click(browser, "main form button", "!!document.querySelector('#verdict[data-done]')")
    assert browser.evaluate("document.getElementById('verdict').dataset.done") == "yes"
    size = tenant.get("/log.json").json()["size"]
    for index in range(0, size, max(1, size // 6)):
        browser.open(f"{service.url}/log/check?entry={index}")
        browser.until("!!document.querySelector('#verdict[data-done]')")
        assert browser.evaluate("document.getElementById('verdict').dataset.done") == "yes", index
    text = tenant.get("/log/check", params={"checkpoint": held}, headers={"accept": "text/html"}).text
    good = re.search(r"<li><code>([^<]+)", text)
    if good:  # the same page from a server that lies about one hash
        lie = text.replace(good[1], "A" + good[1][1:] if good[1][0] != "A" else "B" + good[1][1:])
        with site_of(lie.replace('"/static/', f'"{service.url}/static/')) as address:
            browser.open(address)
            browser.until("!!document.querySelector('#verdict[data-done]')")
            assert browser.evaluate("document.getElementById('verdict').dataset.done") == "no"
    root = held.splitlines()[2]
    forged = held.replace(root, ("A" if root[0] != "A" else "B") + root[1:])
    browser.open(f"{service.url}/log/check")
    type_into(browser, "#checkpoint", forged)
    click(browser, "main form button", "document.body.innerText.includes('does not hold')")


def test_a_search_is_typed_and_found_without_script(service, tenant, browser):
    document = issued(tenant, model_id="needle/7")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.call("Page.navigate", url=f"{service.url}/")
        browser.until("document.readyState === 'complete' && !!document.querySelector('#q')")
        type_into(browser, "#q", document["subject"]["organization"])
        for kind in ("keyDown", "keyUp"):
            browser.call(
                "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
            )
        browser.until("location.pathname === '/registry' && !!document.querySelector('tbody th a')")
        assert browser.evaluate("document.querySelector('tbody th a').textContent") == "needle/7"
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.parametrize("service", ["sqlite"], indirect=True)  # what axe sees is the same on either database
def test_no_page_has_a_fault_for_axe_in_light_or_dark_or_is_wider_than_a_telephone(service, tenant, browser):
    """axe-core 4.14 on every page; its own script needs the policy of the pages put aside."""
    known = furnished(tenant)
    browser.call("Page.setBypassCSP", enabled=True)
    browser.call("Emulation.setDeviceMetricsOverride", width=320, height=700, deviceScaleFactor=1, mobile=False)
    wrong = []
    for key, pages in ((None, PUBLIC), (tenant.key["key"], MEMBERS), (service.admin_key, OPERATORS)):
        if key:
            sign_in(browser, service, key)
        for page in pages:
            for scheme in ("light", "dark"):
                coloured(browser, scheme)
                browser.open(service.url + filled(page, known))
                wrong += [f"{page} {scheme}: {one}" for one in violations(browser)]
            wide = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if wide:
                wrong.append(f"{page}: {wide} px too wide")
    assert not wrong, "\n".join(wrong)


def test_a_hostile_name_runs_nowhere(service, browser):
    with service.tenant(f"{NASTY} <img src=x onerror=document.title=1> {service.url[-5:]}") as client:
        known = furnished(client)
        key = client.key["key"]
        more = {"name": NASTY, "scopes": ["evaluations:read"]}
        client.post("/v1/auth/api-keys", json=more).raise_for_status()
    for who, pages in ((None, PUBLIC), (key, MEMBERS), (service.admin_key, OPERATORS)):
        if who:
            sign_in(browser, service, who)
        for page in pages:
            browser.open(service.url + filled(page, known))
            assert browser.evaluate("document.title") != "1", page
            scripts = browser.evaluate("document.querySelectorAll('script, [onerror], iframe, object').length")
            assert scripts == 0 or page.startswith(("/verify", "/log/check", "/docs/registry")), page
            if page != "/nowhere":
                assert browser.complaints() == [], page


def test_a_page_of_another_site_can_neither_frame_nor_change_anything(service, tenant, browser):
    sign_in(browser, service, tenant.key["key"])
    before = len(tenant.get("/v1/auth/api-keys").json()["items"])
    token = browser.evaluate("document.querySelector('input[name=token]').value")
    form = (
        f'<form method="post" action="{service.url}/account/keys"><input name="token" value="{token}"><input name="name" '
        'value="k"><input name="scopes" value="evaluate"></form>'
        f'<iframe src="{service.url}/account"></iframe>'
    )
    with site_of(form) as address:
        browser.open(address)
        assert browser.evaluate("document.querySelector('iframe').contentDocument") is None
        browser.evaluate("document.forms[0].submit()")
        browser.until("location.pathname === '/account/keys' && document.readyState === 'complete'")
    shown = words(browser).lower()
    assert "a change must be sent from a page of this service" in shown or "sign" in shown
    assert len(tenant.get("/v1/auth/api-keys").json()["items"]) == before
