"""The pages by keyboard alone, on paper, and with what others bring: requests tried, foreign certificates, a damaged log."""

import base64
import sqlite3

import pytest
from seen_pages import MEMBERS, OPERATORS, PUBLIC, click, filled, furnished, sign_in, type_into, words
from servers import running
from test_public_pages import issued

from epimeter.trust.canonical import to_base64url

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("service", ["sqlite"], indirect=True)]
REACHED = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"


def press(browser, key, code):
    for kind in ("rawKeyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)
    if key == "Enter":
        browser.call("Input.dispatchKeyEvent", type="char", key=key, text="\r")


def tabbed(browser):
    """Press Tab through a whole page: what was focused, by its place among all that should be; what could not be seen."""
    browser.evaluate(
        f"window.all = [...document.querySelectorAll({REACHED!r})].filter(one => one.checkVisibility() && !one.disabled); 1"
    )
    order, unseen = [], []
    for _ in range(browser.evaluate("all.length")):
        press(browser, "Tab", 9)
        place, name, seen = browser.evaluate(
            "(() => { const one = document.activeElement, how = getComputedStyle(one), box = one.getBoundingClientRect();"
            "return [all.indexOf(one), one.outerHTML.slice(0, 80), how.outlineStyle !== 'none' && parseFloat(how.outlineWidth) >= 2"
            " && box.left >= 0 && box.right <= innerWidth + 1 && box.bottom > 0 && box.top < innerHeight]; })()"
        )
        order.append(place)
        if not seen:
            unseen.append(name)
    return order, unseen


def test_every_control_is_reached_by_tab_in_the_order_of_the_page_and_seen_when_it_is(service, tenant, browser):
    known = furnished(tenant)
    sign_in(browser, service, tenant.key["key"])
    for page in ("/", "/registry", "/certificates/{id}", "/compare?a={before}&b={evaluation}", "/account", "/upload"):
        browser.open(service.url + filled(page, known))
        order, unseen = tabbed(browser)
        groups = browser.evaluate(  # of radio buttons and parts of a date one stop stands for all
            "all.filter(one => one.type === 'radio' || one.type === 'date').length"
        )
        assert unseen == [], page
        reached = [place for at, place in enumerate(order) if at == 0 or place != order[at - 1]]
        rising = reached if -1 not in reached else reached[: reached.index(-1)]
        assert rising == sorted(rising) and rising[0] == 0, (page, order)
        assert groups or rising == list(range(len(order))), (page, order)


def test_the_first_tab_offers_to_skip_to_the_content_and_nothing_holds_the_focus(service, browser):
    browser.open(f"{service.url}/registry")
    assert browser.evaluate("document.querySelector('.skip').getBoundingClientRect().right") < 0
    press(browser, "Tab", 9)
    assert browser.evaluate("document.activeElement.className") == "skip"
    assert browser.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    press(browser, "Enter", 13)
    browser.until("location.hash === '#content'")
    press(browser, "Tab", 9)
    assert browser.evaluate("document.querySelector('main').contains(document.activeElement)")
    type_into(browser, "#q", "absent")
    press(browser, "Escape", 27)  # no page opens anything over itself that would have to be closed
    press(browser, "Tab", 9)
    assert browser.evaluate("document.activeElement.id") != "q"


def test_every_page_is_printed_whole_with_its_address(service, tenant, browser):
    known = furnished(tenant)
    pages = [(None, page) for page in PUBLIC if page not in ("/verify", "/nowhere")]
    pages += [(tenant.key["key"], page) for page in MEMBERS] + [(service.admin_key, page) for page in OPERATORS]
    signed_in = None
    for key, page in pages:
        if key != signed_in:
            browser.call("Emulation.setEmulatedMedia", media="")  # on paper there is no form to sign in with
            sign_in(browser, service, key)
            signed_in = key
        address = filled(page, known)
        browser.open(service.url + address)
        browser.call("Emulation.setEmulatedMedia", media="print")
        browser.call("Emulation.setDeviceMetricsOverride", width=700, height=1000, deviceScaleFactor=1, mobile=False)
        cut = browser.evaluate(
            "[...document.querySelectorAll('main *, footer *')].filter(one => one.checkVisibility() && !one.closest('svg') && "
            "(one.getBoundingClientRect().right > innerWidth + 1 || (getComputedStyle(one).overflow !== 'visible' && "
            "(one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)) && one.className !== 'aloud'))"
            ".map(one => one.outerHTML.slice(0, 120))"
        )
        assert cut == [], page
        assert browser.evaluate("document.querySelector('.printed').checkVisibility()")
        assert browser.evaluate("document.querySelector('.printed').textContent").endswith(address)
        controls = (
            "[...document.querySelectorAll('form, button, textarea, nav.mine')].filter(one => one.checkVisibility())"
        )
        assert browser.evaluate(f"{controls}.length") == 0, page
        broken = browser.evaluate(  # a heading has a line a word at most, or its column has room for letters only
            "[...document.querySelectorAll('thead th:not(.name)')].filter(one => one.checkVisibility() && (range => "
            "(range.selectNodeContents(one), range.getClientRects().length))(document.createRange()) > "
            "one.textContent.trim().split(/[\\s-]+/).length).map(one => one.textContent)"
        )
        assert broken == [], page
    browser.open(service.url + filled("/certificates/{id}", known))
    printed = base64.b64decode(browser.call("Page.printToPDF", printBackground=False)["data"])
    assert printed.startswith(b"%PDF-") and b"/Type /Page" in printed


def test_a_request_of_the_reference_is_tried_from_the_page_with_ones_own_key(service, tenant, browser):
    id = issued(tenant, model_id="tried")["certificate"]["id"]

    def sent(path, method="GET"):
        form = f'form.try[data-path="{path}"][data-method="{method}"]'
        browser.evaluate(f"document.querySelector({form!r}).querySelector('button').click(); 1")
        browser.until(f"!!document.querySelector({form!r}).querySelector('output').dataset.done")
        output = f"document.querySelector({form!r}).querySelector('output')"
        return browser.evaluate(f"{output}.dataset.done"), browser.evaluate(f"{output}.textContent")

    sign_in(browser, service, tenant.key["key"])  # the session must not speak for the key
    browser.open(f"{service.url}/docs")
    click(browser, 'a[href*="get-v1-evaluations"]', "!!document.querySelector('form.try:not([hidden])')")
    assert sent("/v1/evaluations")[0] == "401"
    type_into(browser, "#key", tenant.key["key"])
    status, text = sent("/v1/evaluations")
    assert status == "200" and '"model_id": "tried"' in text, text
    status, text = sent("/v1/evaluate", "POST")
    assert status in ("200", "422") and "application/" in text, text
    browser.open(f"{service.url}/docs/registry")
    browser.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    type_into(browser, 'form.try[data-path="/v1/certificates/{certificate_id}"] input', "../../<b>")
    assert sent("/v1/certificates/{certificate_id}")[0] in ("404", "422")
    assert browser.evaluate("document.querySelectorAll('output b').length") == 0
    type_into(browser, 'form.try[data-path="/v1/certificates/{certificate_id}/status"] input', id)
    status, text = sent("/v1/certificates/{certificate_id}/status")
    assert status == "200" and "VALID" in text
    faults = [one for one in browser.complaints() if "Content Security" in str(one) or "exceptionThrown" in str(one)]
    assert faults == []


def test_without_script_the_reference_shows_the_request_for_a_command_line(service, browser):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.call("Page.navigate", url=f"{service.url}/docs/registry")
        browser.until("document.readyState === 'complete' && !!document.querySelector('form.try')")
        assert browser.evaluate("[...document.querySelectorAll('form.try, #try-key')].every(one => one.hidden)")
        assert "curl" in browser.evaluate("document.querySelector('form.try').previousElementSibling.textContent")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_a_foreign_certificate_and_a_log_whose_hashes_do_not_fit_its_checkpoint_are_not_believed(
    service, tenant, browser, tmp_path
):
    foreign = tenant.get(f"/v1/certificates/{issued(tenant)['certificate']['id']}").content
    with running(tmp_path) as own:
        browser.open(f"{own.url}/verify#certificate={to_base64url(foreign)}")
        browser.until("!!document.getElementById('verdict').dataset.done")
        assert browser.evaluate("document.getElementById('verdict').textContent") == "UNTRUSTED_KEY"
        with own.client(own.admin_key) as client:
            size = client.get("/log.json").json()["size"]
        with sqlite3.connect(own.folder / "registry" / "log.db", timeout=60) as log:
            log.execute("DROP TRIGGER nodes_no_UPDATE")
            log.execute("UPDATE nodes SET hash = zeroblob(32) WHERE level = 0 AND idx = 1")
        log.close()
        assert size > 1
        browser.open(f"{own.url}/log/check?entry=0")
        browser.until("!!document.querySelector('#verdict[data-done]')")
        assert browser.evaluate("document.getElementById('verdict').dataset.done") == "no"
        assert "does not hold" in words(browser)
        browser.open(f"{own.url}/log/entries/0")
        assert "The proof does not hold" in words(browser)
