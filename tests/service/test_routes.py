"""Who may open what: one table of every page and every form, and of what six kinds of people get there.

A route without a row fails; so does a row without a route.
"""

import os
from itertools import count

import pytest
from test_public_pages import issued
from visitor import Visitor, member

from epimeter.trust.entries import system_digest
from epimeter.web import site

WHO = ("nobody", "reader", "operator", "auditor", "administrator", "stranger")
"""Nobody signed in; the roles of one organisation; the administrator of another organisation."""
numbers = count()
ALL = (200,) * 6
MEMBERS = (303, 200, 200, 200, 200, 200)
"""Everybody who is signed in: each sees his own."""
OWN = (303, 200, 200, 200, 200, 404)
"""What belongs to the organisation: a stranger does not learn that it is there."""
OPERATOR = (303, 403, 403, 403, 403, 403)
"""The operator of the service alone."""


def twins(path, address, expected):
    """A page and its JSON twin; the twin sends nobody on to a page."""
    plain = tuple(401 if status == 303 else status for status in expected)
    return {("GET", path): (address, expected), ("GET", f"{path}.json"): (f"{address}.json", plain)}


def forms(scope_holders, *paths, found=404):
    """Forms, sent empty to a thing that is not there: whoever may is told so, whoever may not is told that."""
    expected = tuple(401 if who == "nobody" else found if who in scope_holders else 403 for who in WHO)
    return {("POST", path): (path.replace("{organization}", "x").replace("{member}", "x"), expected) for path in paths}


WORKERS, BOSSES = ("operator", "administrator", "stranger"), ("administrator", "stranger")
ROUTES = {
    ("GET", "/"): ("/", ALL),
    ("GET", "/index.json"): ("/index.json", ALL),
    **twins("/registry", "/registry", ALL),
    ("GET", "/registry.csv"): ("/registry.csv", ALL),
    ("GET", "/registry.atom"): ("/registry.atom", ALL),
    ("GET", "/registry.ics"): ("/registry.ics", ALL),
    **twins("/certificates/{certificate_id}", "/certificates/{id}", ALL),
    ("GET", "/certificates/{certificate_id}/credential.json"): ("/certificates/{id}/credential.json", ALL),
    ("GET", "/certificates/{certificate_id}/certificate.pdf"): ("/certificates/{id}/certificate.pdf", ALL),
    **twins("/systems/{system}", "/systems/{system}", ALL),
    **twins("/log", "/log", ALL),
    **twins("/log/check", "/log/check", ALL),
    **twins("/log/entries/{index}", "/log/entries/0", ALL),
    **twins("/mapping", "/mapping", ALL),
    **twins("/mapping/{as_of}", "/mapping/2026-11-01", ALL),
    ("GET", "/verify.html"): ("/verify.html", ALL),
    **twins("/verify", "/verify", ALL),
    **twins("/verify/registry", "/verify/registry", ALL),
    ("POST", "/verify/registry"): ("/verify/registry", ALL),
    **twins("/docs", "/docs", ALL),
    **twins("/docs/schemas", "/docs/schemas", ALL),
    **twins("/docs/schemas/{name}", "/docs/schemas/Evaluation", ALL),
    **twins("/docs/{slug}", "/docs/trust", ALL),
    ("GET", "/static/{name}"): ("/static/style.css", ALL),
    **twins("/sign-in", "/sign-in", ALL),
    ("POST", "/sign-in"): ("/sign-in", (401,) * 6),
    ("GET", "/sign-in/oidc"): ("/sign-in/oidc", (404,) * 6),  # no provider is set here
    ("GET", "/sign-in/oidc/back"): ("/sign-in/oidc/back", (404,) * 6),
    **twins("/invitation/{token}", "/invitation/x", (404,) * 6),
    ("POST", "/invitation/{token}"): ("/invitation/x", (404,) * 6),
    **twins("/account", "/account", MEMBERS),
    **twins("/account/audit", "/account/audit", MEMBERS),
    **forms(BOSSES, "/account/keys", "/account/members", found=422),
    **forms(BOSSES, "/account/keys/{key_id}/end"),
    **forms(BOSSES, "/account/members/{member}/invite", "/account/members/{member}/role"),
    **forms(BOSSES, "/account/members/{member}/remove"),
    **forms(WORKERS, "/account/webhooks", found=422),
    **forms(WORKERS, "/account/webhooks/{webhook_id}/test", "/account/webhooks/{webhook_id}/remove"),
    **twins("/evaluations", "/evaluations", MEMBERS),
    **twins("/evaluations/{evaluation_id}", "/evaluations/{evaluation}", OWN),
    ("GET", "/evaluations/{evaluation_id}/files/{name}"): ("/evaluations/{evaluation}/files/report.html", OWN),
    **forms(WORKERS, "/evaluations/{evaluation_id}/certify"),
    **twins("/upload", "/upload", (303, 403, 200, 403, 200, 200)),
    ("POST", "/upload"): ("/upload", (401, 403, 415, 403, 415, 415)),
    **twins("/upload/{upload_id}", "/upload/x", (303, 403, 404, 403, 404, 404)),
    **forms(WORKERS, "/upload/{upload_id}"),
    **twins("/compare", "/compare", MEMBERS),
    **twins("/admin", "/admin", OPERATOR),
    **twins("/admin/organizations/{organization}", "/admin/organizations/x", OPERATOR),
    **forms((), "/admin/organizations", "/admin/organizations/{organization}/tier"),
    **forms((), "/admin/organizations/{organization}/members"),
    ("POST", "/sign-out"): ("/sign-out", (401, 303, 303, 303, 303, 303)),
}


def test_every_route_has_a_row_and_every_row_a_route():
    routes = [route for area in (*site.AREAS, site.assets) for route in area.routes]
    assert {(method, route.path) for route in routes for method in route.methods - {"HEAD"}} == set(ROUTES)


@pytest.fixture
def people(service, tenant, other):
    """One browser each."""
    made = {"nobody": Visitor(service)}
    for role, key in (("administrator", tenant.key["key"]), ("stranger", other.key["key"])):
        made[role] = Visitor(service)
        made[role].sign_in(key)
    for role in ("reader", "operator", "auditor"):
        made[role] = member(service, made["administrator"], f"{role}{next(numbers)}@{os.getpid()}.example", role)
    yield made
    for one in made.values():
        one.close()


def test_every_page_and_form_is_for_whom_the_table_says(people, tenant):
    document = issued(tenant)
    words = {
        "{id}": document["certificate"]["id"],
        "{system}": system_digest(document["subject"]),
        "{evaluation}": tenant.get("/v1/evaluations").json()["items"][0]["evaluation_id"],
    }
    tokens = {who: "" if who == "nobody" else people[who].token() for who in WHO}
    for (method, path), (address, expected) in ROUTES.items():
        for word, value in words.items():
            address = address.replace(word, value)
        got = tuple(
            (
                people[who].get(address) if method == "GET" else people[who].post(address, data={"token": tokens[who]})
            ).status_code
            for who in WHO
        )
        assert got == expected, (method, path, dict(zip(WHO, got, strict=True)))
        if method == "GET" and expected is not ALL and expected[0] == 303:
            there = people["nobody"].get(address).headers["location"]
            assert there.startswith("/sign-in?next=/"), address
