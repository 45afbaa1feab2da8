"""Every field of every body, every parameter of every query and every part of a path, beyond the bounds of the OpenAPI document:
422 with a sentence that points at the field, and never a fault of the server.
"""

import pytest
from bound_probes import Probes, written

KNOWN = {"certificate_id": "ONTO-CERT-2026-0000000000000000", "system_id": "triage", "webhook_id": "wh_none"}
STREAM = "/v1/signal/stream"


@pytest.fixture
def probes(service):
    with service.client() as nobody:
        return Probes(nobody.get("/openapi.json").json())


@pytest.fixture
def operator(service, tenant):
    """The administrator, and a way to write an address with ids in it."""
    with service.admin as client:
        found = client.get("/v1/organizations", params={"limit": 200}).json()["items"]
        ids = {**KNOWN, "organization_id": found[-1]["id"]}
        yield (
            client,
            lambda path: path.format_map({**ids, **dict.fromkeys(("key_id", "job_id", "evaluation_id"), "none")}),
        )


def faults(answer, pointer, refused):
    """What is wrong with an answer; nothing, where it says what must hold."""
    if answer.status_code >= 500:
        return f"{answer.status_code}"
    if refused and answer.status_code != 422:
        return f"{answer.status_code} where 422 is due"
    if answer.status_code >= 400 and not answer.json().get("detail"):
        return "no sentence"
    named = any(word in answer.text for word in (pointer[0], "nobody-knows", "JSON integers"))
    if answer.status_code == 422 and refused and not named:
        return "the sentence names no field"
    return None


def test_every_field_of_every_body_is_held_to_its_bounds(probes, operator):
    client, address = operator
    wrong, tried = [], 0
    for method, path, body, pointer, refused in probes.bodies():
        headers = {"content-type": "application/json"}
        answer = client.request(method, address(path), content=written(body), headers=headers)
        tried += refused
        if fault := faults(answer, [str(one) for one in pointer], refused):
            wrong.append((fault, method, path, pointer, answer.text[:200]))
    assert not wrong
    assert tried > 250


def test_every_parameter_of_every_query_is_held_to_its_bounds(probes, operator):
    client, address = operator
    wrong, tried = [], 0
    for method, path, query, pointer, refused in probes.queries():
        if path == STREAM or "\ud800" in next(iter(query.values())):
            continue
        answer = client.request(method, address(path), params=query)
        tried += refused
        if fault := faults(answer, pointer, refused):
            wrong.append((fault, method, path, query, answer.text[:200]))
    assert not wrong
    assert tried > 100


def test_no_part_of_a_path_is_a_fault_of_the_server(probes, operator):
    client, address = operator
    wrong, tried = [], 0
    for method, path in probes.paths():
        answer = client.request(method, address(path), headers={"content-type": "application/json"})
        tried += 1
        if answer.status_code >= 500:
            wrong.append((answer.status_code, method, path[:100], answer.text[:200]))
    assert not wrong
    assert tried > 200
