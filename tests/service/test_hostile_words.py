"""Words of strangers in every field that takes words, in a real Chromium: they are shown, and run nowhere."""

import datetime
import json

import ground
import pytest
from seen_pages import OPERATORS, filled, sign_in
from visitor import Visitor

from epimeter.trust.entries import system_digest

pytestmark = pytest.mark.slow
WORDS = (
    '"><svg/onload=alert(1)>',
    "</title></textarea><script>alert(2)</script>",
    "';alert(3)//{{7*7}}{%raw%}",
    "<img src=x onerror=alert(4)>&lt;script&gt;",
)
BACKWARDS = "\u202egnp.exe\u2066 a\u200bb"
RUNS = "script:not([src^='/static/']):not([type]), [onload], [onerror], iframe, object, embed, base, bdo"
UNSEEN = r"(document.body.innerText.match(/[\u202a-\u202e\u2066-\u2069\u200b]/g) || []).length"


def written(client, auditor):
    """Evaluations, certificates, keys, webhooks, files and predictions with such words wherever the service takes them."""
    columns = ground.columns(1500, 41)
    columns["class"] = [WORDS[row % 4] for row in range(1500)]
    columns["category"] = [BACKWARDS if row % 2 else WORDS[1] for row in range(1500)]
    pages = []
    for version in ("1", "2"):
        body = ground.body(columns, model_id="watched", model_version=version, new_baseline=WORDS[1])
        made = client.post("/v1/evaluate", json=body).raise_for_status().json()["evaluation_id"]
        pages.append(made)
    document = client.post("/v1/certificates", json={"evaluation_id": pages[1]}).raise_for_status().json()
    id, subject = document["certificate"]["id"], document["subject"]
    sealed = ground.attested(document, auditor=f"Audit {WORDS[3]}", scope=WORDS[1])
    auditor.post(f"/v1/certificates/{id}/attestations", json=sealed).raise_for_status()
    client.post(f"/v1/certificates/{id}/revoke", json={"reason": WORDS[0] + WORDS[1]}).raise_for_status()
    for word in WORDS:
        client.post("/v1/auth/api-keys", json={"name": word, "scopes": ["evaluate"]}).raise_for_status()
    hidden = client.post("/v1/auth/api-keys", json={"name": BACKWARDS, "scopes": ["evaluate"]})
    assert hidden.status_code == 422 and "invisible" in hidden.json()["detail"]
    for word in WORDS[:3:2]:
        hook = {"url": f"http://127.0.0.1:9/{word}", "events": ["evaluation.completed"]}
        client.post("/v1/webhooks", json=hook).raise_for_status()
    at = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=2)).isoformat()
    said = [{"id": WORDS[1], "confidence": 0.5, "time": at, "slices": {"region": WORDS[0], "site": BACKWARDS}}]
    client.post("/v1/systems/watched/predictions", json={"predictions": said}).raise_for_status()
    told = {"outcomes": [{"id": WORDS[1], "correct": True}]}
    client.post("/v1/systems/watched/outcomes", json=told).raise_for_status()
    places = []
    with Visitor(client) as visitor:
        visitor.sign_in(key=client.key["key"])
        for name in (*WORDS, BACKWARDS, 'a"\r\nSet-Cookie: x=1'):
            heads = ",".join('"' + word.replace('"', '""') + '"' for word in (WORDS[0], WORDS[1]))
            file = (f"{name}.csv", f"{heads}\n0.5,{BACKWARDS}\n".encode())
            sent = visitor.post("/upload", data={"token": visitor.token()}, files={"file": file})
            assert sent.status_code == 303 and "set-cookie" not in sent.headers, name
            places.append(sent.headers["location"])
    public = [
        f"/certificates/{id}",
        f"/systems/{system_digest(subject)}",
        f"/verify/registry?id={id}",
        "/",
        "/registry",
    ]
    members = [*(f"/evaluations/{one}" for one in pages), f"/compare?a={pages[0]}&b={pages[1]}", *places]
    return public, [*members, f"/systems/{system_digest(subject)}", "/evaluations", "/account", "/account/audit"]


def asked():
    """Addresses that bring the words themselves."""
    quoted = "%22%3E%3Csvg/onload=alert(1)%3E%3C/textarea%3E%3Cscript%3Ealert(2)%3C/script%3E%E2%80%AE"
    public = (
        "/registry?q={}",
        "/registry?level={}",
        "/registry?due_by={}",
        "/log?q={}",
        "/log/check?checkpoint={}",
        "/{}",
    )
    public += (
        "/verify/registry?id={}",
        "/sign-in?next={}",
        "/docs/{}",
        "/docs/schemas/{}",
        "/certificates/{}",
        "/systems/{}",
    )
    return [
        address.replace("{}", quoted)
        for address in (*public, "/invitation/{}", "/evaluations?system={}", "/compare?a={}&b={}")
    ]


def test_words_of_strangers_are_shown_and_run_nowhere(service, browser):
    name = f"Strangers {json.dumps(WORDS[0])} {service.url[-5:]}"
    with service.tenant(name) as client, service.tenant(f"Audit {service.url[-5:]}", scopes=["attest"]) as auditor:
        public, members = written(client, auditor)
        known, key = {"{organization}": client.organization}, client.key["key"]
    operators, named = [filled(page, known) for page in OPERATORS], False
    for who, pages in ((None, public + asked()), (key, members + asked()), (service.admin_key, operators)):
        if who:
            sign_in(browser, service, who)
        for page in pages:
            browser.open(service.url + page)
            assert browser.evaluate(f'document.querySelectorAll("{RUNS}").length') == 0, page
            assert browser.evaluate(UNSEEN) == 0, page
            opened = [one for one in browser.events if one.get("method") == "Page.javascriptDialogOpening"]
            faults = [str(one) for one in browser.complaints() if "Failed to load resource" not in str(one)]
            assert opened == [] and faults == [], page
            named |= "\u27e8U+202E\u27e9" in browser.evaluate("document.body.innerText")
    assert named, "a name is shown, and what is hidden in it"
