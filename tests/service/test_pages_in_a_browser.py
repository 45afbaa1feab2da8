"""The pages in a real Chromium: from the certificate's page to the verdict, narrow, dark, and with a name that attacks."""

import importlib.util
from pathlib import Path

import pytest
from test_public_pages import NASTY, issued

_place = Path(__file__).parents[1] / "trust" / "browser.py"
_found = importlib.util.spec_from_file_location("browser", _place)
browser_module = importlib.util.module_from_spec(_found)
_found.loader.exec_module(browser_module)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser():
    assert browser_module.chromium(), "these tests need Chromium: apt-get install chromium"
    made = browser_module.Browser()
    yield made
    made.close()


def verdict(browser, service, id):
    """What the browser says after following the link of a certificate's page."""
    browser.open(f"{service.url}/certificates/{id}")
    browser.until("!!document.querySelector('.standing a.button')")
    browser.open(browser.evaluate("document.querySelector('.standing a.button').href"))
    browser.until("location.pathname === '/verify' && !!document.getElementById('verdict').dataset.done")
    assert browser.complaints() == []
    return browser.evaluate("document.getElementById('verdict').textContent")


def test_from_the_page_of_a_certificate_to_the_verdict_of_the_browser_itself(service, tenant, browser):
    id = issued(tenant)["certificate"]["id"]
    assert verdict(browser, service, id) == "VALID"
    tenant.post(f"/v1/certificates/{id}/revoke", json={"reason": "labels were wrong"}).raise_for_status()
    assert verdict(browser, service, id) == "REVOKED"


def test_a_search_is_typed_and_found_without_script(service, tenant, browser):
    document = issued(tenant, model_id="needle/7")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.call("Page.navigate", url=f"{service.url}/")
        browser.until("document.readyState === 'complete' && !!document.querySelector('#q')")
        browser.evaluate("document.querySelector('#q').focus()")
        browser.call("Input.insertText", text=document["subject"]["organization"])
        for kind in ("keyDown", "keyUp"):
            browser.call(
                "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
            )
        browser.until("location.pathname === '/registry' && !!document.querySelector('tbody th a')")
        assert browser.evaluate("document.querySelector('tbody th a').textContent") == "needle/7"
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_no_page_is_wider_than_a_telephone_and_a_hostile_name_runs_nowhere(service, browser):
    with service.tenant(f"{NASTY} <img src=x onerror=document.title=1> {service.url[-5:]}") as client:
        id = issued(client, model_id="org/" + "long" * 40)["certificate"]["id"]
    browser.call("Emulation.setDeviceMetricsOverride", width=320, height=700, deviceScaleFactor=1, mobile=False)
    for path in (
        "/",
        "/registry",
        f"/certificates/{id}",
        "/log",
        "/log/entries/1",
        "/docs",
        "/docs/registry",
        "/docs/schemas",
    ):
        browser.open(f"{service.url}{path}")
        wide = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0 and browser.evaluate("document.title") != "1", path
        assert browser.evaluate("document.querySelectorAll('script, [onerror]').length") == 0
        assert browser.complaints() == [], path
