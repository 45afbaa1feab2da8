"""The published OpenAPI document, the shape of errors, health, metrics, the catalogue."""

import asyncio
import json
import re
import threading
import time
from types import SimpleNamespace

import ground
import jsonschema
import pytest

from epimeter.card_index import catalogue
from epimeter.service.api.catalogue import Readiness
from epimeter.service.examples import EXAMPLES, refreshed
from epimeter.service.problems import KINDS
from epimeter.service.schemas.certificate import SENTENCES, certificate_components


@pytest.fixture(scope="module")
def openapi(service):
    with service.client() as nobody:
        return nobody.get("/openapi.json").json()


def operations(openapi):
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def check(openapi, name, value):
    """Hold a value to a schema of the document."""
    whole = {"$ref": f"#/components/schemas/{name}", "components": openapi["components"]}
    jsonschema.Draft202012Validator(whole).validate(value)


def test_every_endpoint_that_was_promised_is_there(openapi):
    promised = {
        "/v1/evaluate": "post",
        "/v1/evaluations": "get",
        "/v1/evaluations/{evaluation_id}": "get",
        "/v1/evaluations/{evaluation_id}/report": "get",
        "/v1/preregistrations": "post",
        "/v1/certificates": "post",
        "/v1/certificates/{certificate_id}": "get",
        "/v1/certificates/{certificate_id}.dsse": "get",
        "/v1/certificates/{certificate_id}/badge.svg": "get",
        "/v1/certificates/{certificate_id}/verify": "get",
        "/v1/certificates/{certificate_id}/revoke": "post",
        "/v1/registry": "get",
        "/status/{number}": "get",
        "/.well-known/jwks.json": "get",
        "/.well-known/epimeter.json": "get",
        "/log/checkpoint": "get",
        "/log/tile/{path}": "get",
        "/v1/signal/status": "get",
        "/v1/signal/stream": "get",
        "/v1/usage": "get",
        "/v1/webhooks": "post",
        "/v1/metrics": "get",
        "/v1/plan": "get",
        "/v1/tiers": "get",
        "/healthz": "get",
        "/readyz": "get",
        "/v1/auth/api-keys": "post",
    }
    for path, method in promised.items():
        assert method in openapi["paths"][path], path
    assert {"post", "get"} <= set(openapi["paths"]["/v1/auth/api-keys"])
    assert "delete" in openapi["paths"]["/v1/auth/api-keys/{key_id}"]
    assert "/metrics" not in openapi["paths"]


def test_every_endpoint_says_its_errors_and_its_scope(openapi):
    for path, method, operation in operations(openapi):
        codes = set(operation["responses"])
        assert {"429", "500", "503"} <= codes, (path, method)
        assert operation["summary"], path
        if operation["x-scope"] != "public":
            assert {"401", "403"} <= codes, (path, method)
        assert {"400", "408", "431"} <= codes, (path, method)
        if method != "get":
            assert "507" in codes, (path, method)
        if "{" in path and method == "get":
            assert "404" in codes, path
        for code, response in operation["responses"].items():
            if code >= "400" and path != "/readyz":
                assert "application/problem+json" in response["content"], (path, code)


def test_no_answer_is_described_by_what_python_says_of_its_types(openapi):
    for path, method, operation in operations(openapi):
        for code, answer in operation["responses"].items():
            assert answer["description"] and "->" not in answer["description"], (path, method, code)


def test_every_parameter_says_what_it_is(openapi):
    silent = [
        (method, path, one["name"])
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
        for one in operation.get("parameters", ())
        if not one.get("description")
    ]
    assert silent == []


def test_every_reference_points_somewhere(openapi):
    names = set(openapi["components"]["schemas"])
    for found in re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(openapi)):
        assert found in names


def test_every_body_and_every_answer_has_an_example(openapi):
    """Binary ones and rendered pages aside."""
    from msgspec import Struct
    from msgspec import json as strict

    from epimeter.service import schemas

    pages = ("text/html", "text/markdown", "application/pdf", "application/octet-stream")
    for path, method, operation in operations(openapi):
        parts = [operation.get("requestBody", {}), *(r for code, r in operation["responses"].items() if code < "400")]
        for part in parts:
            for media, content in part.get("content", {}).items():
                binary = content["schema"].get("format") == "binary" or media in pages
                if binary or (path.endswith("/report") and media == "text/plain"):
                    continue
                assert "example" in content, (path, method, media)
                name = content["schema"].get("$ref", "").rpartition("/")[2]
                if not name or media != "application/json":
                    continue
                check(openapi, name, content["example"])
                kind = getattr(schemas, name)
                if issubclass(kind, Struct):
                    strict.decode(strict.encode(content["example"]), type=kind)
        for code, response in operation["responses"].items():
            if code >= "400" and path != "/readyz":
                assert response["content"]["application/problem+json"]["examples"], (path, code)


def test_examples_have_the_shape_of_what_the_server_answers(service, tenant, openapi):
    """The same fields, and the same types of values, wherever both have one."""

    def alike(shown, given, at):
        if isinstance(shown, dict) and isinstance(given, dict):
            free = {
                "detail",
                "parameters",
                "ground_truth",
                "ground_truth_sources",
                "left_out",
                "where",
                "default",
                "source",
                "fields",
            } & set(at)
            assert free or set(shown) == set(given), (at, set(shown) ^ set(given))
            for name in set(shown) & set(given):
                alike(shown[name], given[name], (*at, name))
        elif isinstance(shown, list) and isinstance(given, list):
            if shown and given and not {"measurements", "items"} & {at[-1]}:
                alike(shown[0], given[0], (*at, 0))
        elif shown is not None and given is not None:
            number = (int, float)
            assert isinstance(given, number if isinstance(shown, number) else type(shown)), (at, shown, given)

    def example(path, method="get", code="200"):
        return openapi["paths"][path][method]["responses"][code]["content"]["application/json"]["example"]

    body = openapi["paths"]["/v1/evaluate"]["post"]["requestBody"]["content"]["application/json"]["example"]
    answer = tenant.post("/v1/evaluate", json=body)
    assert answer.status_code == 200, answer.text
    alike(example("/v1/evaluate", "post"), answer.json(), ("evaluate",))
    assert example("/v1/evaluate", "post")["metrics"] == answer.json()["metrics"]
    good = tenant.post("/v1/evaluate", json=ground.body(ground.columns(2000), model_version="1")).json()[
        "evaluation_id"
    ]
    certificate = tenant.post("/v1/certificates", json={"evaluation_id": good})
    alike(example("/v1/certificates", "post", "201"), certificate.json(), ("certificate",))
    time.sleep(1.5)  # until there is a signal
    known = {
        "evaluation_id": good,
        "certificate_id": certificate.json()["certificate"]["id"],
        "key_id": tenant.key["id"],
        "number": "1",
        "name": "ece",
        "kind": "invalid",
    }
    seen = 0
    for path, method, operation in operations(openapi):
        names = set(re.findall(r"{(\w+)}", path))
        content = operation["responses"].get("200", {}).get("content", {})
        if (
            method != "get"
            or "application/json" not in content
            or operation["x-scope"] == "admin"
            or names - set(known)
        ):
            continue
        query = {"expected_ece": 0.06, "expected_u_recall": 75} if path == "/v1/plan" else {}
        answer = tenant.get(path.format(**known), params=query)
        assert answer.status_code == 200, (path, answer.text)
        alike(example(path), answer.json(), (path,))
        seen += 1
    assert seen >= 25


def test_examples_are_made_again_by_a_running_service(service, tenant, openapi):
    with service.tenant("Audit of examples", scopes=["attest"]) as auditor:
        made = refreshed(service.url, tenant.key["key"], ground.as_parquet(ground.columns(2000)), auditor.key["key"])
    assert set(made) == set(EXAMPLES)
    for examples in (made, EXAMPLES):
        told = [one for name, one in examples.items() if "certificate" in name or "registry" in name]
        ids = set(re.findall("ONTO-CERT-[0-9]{4}-[0-9A-Z]{16}", json.dumps(told)))
        assert len(ids) == 1, "every example is of one certificate"
    for path, method, operation in operations(openapi):
        for code, answer in made.get(f"{method.upper()} {path}", {}).get("responses", {}).items():
            media = operation["responses"][code]["content"].get("application/json", {"schema": {}})
            name = media["schema"].get("$ref", "").rpartition("/")[2]
            if name:
                check(openapi, name, answer)

    def facts(examples):
        """Of each metric in the report: which facts stand there, and why there is no interval."""
        report = json.dumps(examples["GET /v1/evaluations/{evaluation_id}/report"]["responses"]["200"])
        found = {}
        json.loads(
            report,
            object_hook=lambda one: (
                found.setdefault(one["metric"], (sorted(one), one.get("no_interval")))
                if {"metric", "n_rows"} <= set(one)
                else one
            ),
        )
        return found

    assert facts(made) == facts(EXAMPLES) and len(facts(made)) > 10, "make the examples again, see service/examples.py"


def test_certificates_have_the_closed_schema_that_verifiers_hold_them_to(tenant, openapi):
    good = tenant.post("/v1/evaluate", json=ground.body(ground.columns(2000), model_version="schema"))
    issued = tenant.post("/v1/certificates", json={"evaluation_id": good.json()["evaluation_id"]}).json()
    at = f"/v1/certificates/{issued['certificate']['id']}"
    answers = {
        "Certificate": [issued, tenant.get(at).json()],
        "CertificateVerdict": [tenant.get(f"{at}/verify").json()],
        "DsseEnvelope": [tenant.get(f"{at}.dsse").json()],
    }
    for name, values in answers.items():
        for value in values:
            check(openapi, name, value)
    check(openapi, "CertificateBody", answers["CertificateVerdict"][0]["certificate"])
    for path, code in (
        ("/v1/certificates", "201"),
        ("/v1/certificates", "200"),
        ("/v1/certificates/{certificate_id}", "200"),
    ):
        operation = openapi["paths"][path]["get" if "{" in path else "post"]
        said = operation["responses"][code]["content"]["application/json"]["schema"]
        assert said == {"$ref": "#/components/schemas/Certificate"}, path

    def fields(value):
        for field, inner in value.items():
            yield value, field
            if isinstance(inner, dict):
                yield from fields(inner)

    for place, field in (places := list(fields(issued))):
        held = place.pop(field)
        if field != "forecast":  # which certificates of before do not have
            with pytest.raises(jsonschema.ValidationError):
                check(openapi, "Certificate", issued)
        place[field] = {"nothing": "of the kind"}
        with pytest.raises(jsonschema.ValidationError):
            check(openapi, "Certificate", issued)
        place[field] = held
    assert len(places) >= 60
    with pytest.raises(jsonschema.ValidationError):
        check(openapi, "Certificate", issued | {"more": 1})
    made = certificate_components("{name}")
    assert sum(len(one["properties"]) for name, one in made.items() if name != "CertificateBody") == len(SENTENCES)


def test_every_route_answers_errors_in_one_shape(service, openapi):
    with service.client() as nobody, service.admin as admin:
        for path, method, operation in operations(openapi):
            url = re.sub(r"\{\w+\}", "nothing", path)
            for client in (nobody, admin):
                if path.endswith("/stream") or (client is admin and method in ("post", "put", "delete")):
                    continue
                answer = client.request(method, url)
                if answer.status_code >= 400:
                    assert answer.headers["content-type"] == "application/problem+json", (path, answer.text)
                    found = answer.json()
                    assert {"type", "title", "status", "detail", "instance", "trace"} <= set(found)
                    assert found["status"] == answer.status_code
                    assert found["type"].removeprefix("/problems/") in KINDS
                    assert found["trace"] == answer.headers["x-request-id"]
                    assert str(answer.status_code) in operation["responses"], (path, method, answer.status_code)
        assert nobody.get("/nowhere").json()["type"] == "/problems/not-found"
        answer = nobody.delete("/v1/usage")
        assert answer.status_code == 405 and answer.headers["allow"]


def test_every_endpoint_refuses_parameters_that_it_does_not_have_and_lists_those_it_has(service, openapi):
    """`/v1/registry?status=VALID` gave certificates of every status."""
    with service.client() as nobody, service.admin as admin:
        for path, method, operation in operations(openapi):
            if path in ("/healthz", "/readyz"):
                assert nobody.get(path, params={"probe": "1"}).status_code == 200
                continue
            answer = admin.request(method, re.sub(r"\{\w+\}", "1", path), params={"colour": "red"})
            assert answer.status_code == 422, (path, method, answer.text)
            known = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
            listed = f"takes {', '.join(known)};" if known else "takes no parameter in the query;"
            assert answer.json()["detail"].startswith("/query/colour: ") and listed in answer.json()["detail"], path
            assert "422" in operation["responses"], path
        twice = nobody.get("/v1/registry", params={"level": ["L1", "L3"]})
        assert twice.status_code == 422 and "came 2 times" in twice.json()["detail"]
        assert nobody.get("/registry", params={"utm_source": "letter"}).status_code == 200, "pages are lenient"


def test_every_kind_of_problem_is_explained(service):
    with service.client() as nobody:
        for kind, facts in KINDS.items():
            assert nobody.get(f"/problems/{kind}").json()["status"] == facts.status
        assert nobody.get("/problems/nothing").status_code == 404


def test_the_catalogue_is_the_packages(service):
    with service.client() as nobody:
        names, cursor = [], None
        while True:
            page = nobody.get("/v1/metrics", params={"limit": 100, **({"cursor": cursor} if cursor else {})}).json()
            names += [card["name"] for card in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert names == list(catalogue())
        assert nobody.get("/v1/metrics/ece").json()["title"] == "Expected calibration error"
        answer = nobody.get("/v1/metrics/ecee")
        assert answer.status_code == 404 and "did you mean" in answer.json()["detail"]
        assert nobody.get("/v1/metrics", params={"cursor": "nothing"}).status_code == 422


def test_health_and_numbers_for_prometheus(service, tenant):
    import httpx

    tenant.post("/v1/evaluate", json=ground.body({"confidence": [0.9], "correct": [True]}))
    with service.client() as nobody:
        assert nobody.get("/healthz").json()["status"] == "ok"
        assert nobody.get("/readyz").json()["checks"] == {"database": "ok", "trust": "ok", "keys": "ok"}
        assert nobody.get("/metrics").status_code == 404
    text = httpx.get(f"{service.admin_url}/metrics").text
    assert 'epimeter_requests_total{method="POST",route="/v1/evaluate",status="200"}' in text
    assert "epimeter_jobs_waiting 0" in text
    assert tenant.organization not in text and tenant.key["id"] not in text


def test_a_plan_says_how_many_rows_make_a_verdict_firm(tenant):
    found = tenant.get("/v1/plan", params={"expected_ece": 0.06, "level": "L2", "domain": "medical"}).json()
    assert found["rows"] >= 1000 and [need["name"] for need in found["needs"]] == ["ece"]
    near = tenant.get("/v1/plan", params={"expected_ece": 0.149, "expected_u_recall": 62, "level": "L2"}).json()
    assert near["rows"] > found["rows"] and len(near["needs"]) == 3
    assert tenant.get("/v1/plan", params={"expected_ece": 0.15, "level": "L2"}).json()["rows"] is None
    for wrong in ({}, {"expected_ece": 2}, {"expected_ece": 0.1, "level": "L9"}, {"expected_ece": "nan"}):
        assert tenant.get("/v1/plan", params=wrong).status_code == 422


def test_tiers_are_those_of_the_standard(service):
    with service.client() as nobody:
        found = {one["tier"]: one for one in nobody.get("/v1/tiers").json()["items"]}
    assert {tier: (one["requests_per_minute"], one["evaluations_per_month"]) for tier, one in found.items()} == {
        "OPEN": (10, 100),
        "STANDARD": (500, 10_000),
        "CRITICAL": (2000, None),
    }
    assert found["OPEN"]["signal_delay_seconds"] == 3600 and found["STANDARD"]["signal_delay_seconds"] == 0


def test_a_trace_id_is_kept_or_made(tenant):
    assert tenant.get("/v1/usage", headers={"x-request-id": "my-trace-0001"}).headers["x-request-id"] == "my-trace-0001"
    odd = tenant.get("/v1/usage", headers={"x-request-id": "a b\tc"}).headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{16}", odd)


def test_what_does_not_answer_is_called_by_its_name(monkeypatch):
    """A log that another process held was told as a database that does not answer."""
    monkeypatch.setattr(Readiness, "PATIENCE", 1.0)
    monkeypatch.setattr(Readiness, "_database", lambda self: "ok")
    held = threading.Event()
    readiness = Readiness(SimpleNamespace(ledger=SimpleNamespace(check=held.wait, key_warning=lambda: "ok")))
    found, status = asyncio.run(readiness.look())
    held.set()
    readiness.close()
    assert status == 503
    assert found.checks == {"database": "ok", "trust": "fault: no answer within 1 s"}
