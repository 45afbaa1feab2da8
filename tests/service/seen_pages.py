"""Every page as somebody sees it: a registry with something in it, and its addresses by who may open them."""

import importlib.util
import re
from pathlib import Path

import ground
from test_members_pages import as_csv
from test_public_pages import issued
from visitor import Visitor, secret

from epimeter.trust.entries import system_digest

_place = Path(__file__).parents[1] / "trust" / "browser.py"
_found = importlib.util.spec_from_file_location("browser", _place)
browser_module = importlib.util.module_from_spec(_found)
_found.loader.exec_module(browser_module)
AXE = Path(__file__).with_name("axe") / "axe.min.js"


def furnished(client):
    """An organisation with evaluations, a certificate, a webhook and a watched system; what stands for {…} in addresses."""
    first = client.post(
        "/v1/evaluate", json=ground.body(ground.columns(1500, 21, over=0.12), model_id="triage", model_version="1.0")
    ).json()
    document = issued(client, 1500, 22, model_id="triage")
    second = client.get("/v1/evaluations").json()["items"][0]["evaluation_id"]
    ground.watched(client, "triage", "row-1")
    hook = {"url": "http://127.0.0.1:9/hook", "events": ["evaluation.completed"]}
    client.post("/v1/webhooks", json=hook).raise_for_status()
    visitor = Visitor(client)
    visitor.sign_in(key=client.key["key"])
    invited = secret(visitor.submit("/account/members", name=f"{client.organization}@example.org", role="reader"))
    table = as_csv(ground.columns(40, 23), ("how sure", "hit", "when"))
    sent = visitor.post("/upload", data={"token": visitor.token()}, files={"file": ("records.csv", table)})
    visitor.close()
    return {
        "{invitation}": invited.rsplit("/", 1)[1],
        "{upload}": sent.headers["location"].rsplit("/", 1)[1],
        "{organization}": client.organization,
        "{id}": document["certificate"]["id"],
        "{system}": system_digest(document["subject"]),
        "{evaluation}": second,
        "{before}": first["evaluation_id"],
    }


PUBLIC = (
    "/",
    "/registry",
    "/certificates/{id}",
    "/systems/{system}",
    "/log",
    "/log/entries/1",
    "/log/check?entry=1",
    "/docs",
    "/docs/registry",
    "/docs/schemas",
    "/docs/schemas/Evaluation",
    "/mapping",
    "/verify",
    "/verify/registry?id={id}",
    "/sign-in",
    "/invitation/{invitation}",
    "/nowhere",
)
MEMBERS = (
    "/evaluations",
    "/evaluations/{evaluation}",
    "/evaluations/{before}",
    "/systems/{system}",
    "/compare",
    "/compare?a={before}&b={evaluation}",
    "/upload",
    "/upload/{upload}",
    "/account",
    "/account/audit",
)
OPERATORS = ("/admin", "/admin/organizations/{organization}")


def filled(address, words):
    for word, value in words.items():
        address = address.replace(word, value)
    return address


def sign_in(browser, service, key, place="/account"):
    """Sign in as a person does: open the page, type the key, press the button."""
    browser.open(f"{service.url}/sign-in?next={place}")
    type_into(browser, "#key", key)
    browser.evaluate("document.querySelector('#key').form.querySelector('button').click()")
    browser.until(f"location.pathname === '{place}' && document.readyState === 'complete'")


def type_into(browser, selector, text):
    browser.evaluate(f"document.querySelector({selector!r}).focus()")
    browser.call("Input.insertText", text=text)


def click(browser, selector, until):
    browser.until(f"!!document.querySelector({selector!r})")
    browser.evaluate(f"document.querySelector({selector!r}).click()")
    browser.until(f"document.readyState === 'complete' && ({until})")
    assert browser.complaints() == []


def words(browser):
    return re.sub(r"\s+", " ", browser.evaluate("document.querySelector('main').innerText"))


def violations(browser):
    """What axe-core finds wrong with the page that is open, in the rules of WCAG and of good practice."""
    browser.evaluate(AXE.read_text() + ";undefined")
    found = browser.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(one => "
        "one.id + ': ' + one.nodes.slice(0, 3).map(node => node.target.join(' ') + ' ' + node.failureSummary).join(' | ')))"
    )
    return found


def coloured(browser, scheme):
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
