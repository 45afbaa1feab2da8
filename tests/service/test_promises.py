"""What the log promises: every evaluation counts, a pre-registration is for one, an evaluation has one certificate."""

import time

import ground
import pytest
from servers import running

from epimeter.trust.names import name_key, near

PATH = "/v1/evaluate"
ARROW = "application/vnd.apache.arrow.stream"
ONE = ground.body({"confidence": [0.9], "correct": [True]})


def done(client, number, seconds=90):
    end = time.monotonic() + seconds
    while (found := client.get(f"/v1/evaluations/{number}").json())["status"] == "queued":
        assert time.monotonic() < end
        time.sleep(0.2)
    return found


def test_a_pre_registration_is_spent_by_the_first_evaluation_that_names_it(tenant, other):
    """One served eight evaluations, and the best was certified."""
    promise = {"model_id": "m", "model_version": "1", "aim": "L1", "data_source": "here"}
    registration = tenant.post("/v1/preregistrations", json=promise).raise_for_status().json()["id"]
    facts = {"model_version": "1", "preregistration": registration}
    assert other.post(PATH, json=ground.body(ground.columns(20), **facts)).status_code == 404
    bad = tenant.post(PATH, json={**ONE, **facts, "predictions": [{"confidence": 2, "correct": True}]})
    assert bad.status_code == 422  # what is refused has spent nothing
    first = tenant.post(PATH, json=ground.body(ground.columns(2000), **facts))
    assert first.status_code == 200, first.text
    for again in (
        tenant.post(PATH, json=ground.body(ground.columns(2000, seed=1), **facts)),
        tenant.post(PATH, content=ground.arrow(ground.columns(6000)), headers={"content-type": ARROW},
                    params={"model_id": "m", "model_version": "1", "preregistration": registration}),
    ):  # fmt: skip
        assert again.status_code == 409 and first.json()["evaluation_id"] in again.text
    made = tenant.post("/v1/certificates", json={"evaluation_id": first.json()["evaluation_id"]})
    assert made.status_code == 201 and made.json()["evidence"]["preregistration"]["id"] == registration
    assert tenant.post("/v1/usage").status_code == 405


def test_every_accepted_evaluation_is_counted_under_every_spelling(tenant):
    """Queued ones were not counted, and each spelling of a name began at 1."""
    queued = tenant.post(
        PATH, content=ground.arrow(ground.columns(6000)), params={"model_id": "triage"}, headers={"content-type": ARROW}
    ).json()
    assert queued["attempt"] == 1
    spellings = ["Triage", "triage.", "TRIAGE", "tri-age", "tri age", "t.r/i@a+g:e", "tr1age"]
    numbers = [tenant.post(PATH, json={**ONE, "model_id": name}).json()["attempt"] for name in spellings]
    assert numbers == list(range(2, 2 + len(spellings)))
    for number in range(3):
        found = tenant.post(PATH, json={**ONE, "model_id": f"triage-{number + 2}"}).json()
        assert found["attempt"] == 1 and "similar name" in " ".join(found["notes"])
    number = tenant.post(PATH, json=ground.body(ground.columns(2000), model_id="triage")).json()
    assert "3 further systems of this organisation have similar names, with 3 evaluations" in number["notes"]
    made = tenant.post("/v1/certificates", json={"evaluation_id": number["evaluation_id"]})
    assert made.status_code == 201, made.text
    assert made.json()["evidence"]["attempt"] == number["attempt"] == 2 + len(spellings)
    assert made.json()["evidence"]["similar_systems"] == {"systems": 3, "evaluations": 3}
    verdict = tenant.get(f"/v1/certificates/{made.json()['certificate']['id']}/verify").json()
    assert verdict["verdict"] == "VALID"
    assert "3 further systems" in verdict["similar_systems"]
    done(tenant, queued["evaluation_id"])


def test_names_are_counted_by_what_they_look_like():
    assert name_key("Triage") == name_key("triage.") == name_key("trіage") == name_key("T R I A G E")
    assert name_key("...") != name_key("???") and name_key("触診") != name_key("問診")
    assert name_key("triage-2") != name_key("triage-3")
    assert near("triage-2", "triage-13") and near("triage-v2", "triage-v3") and near("triages", "triage")
    assert not near("triage", "billing") and not near("ab", "cd")


def test_an_evaluation_has_one_certificate_however_long_the_issuing_takes(tmp_path):
    """The claim lapsed while ten million rows were assessed, and a second request issued a second certificate."""
    from concurrent.futures import ThreadPoolExecutor

    with running(tmp_path, request_lease=0.3) as made, made.tenant("Slow") as client:
        number = client.post(
            PATH,
            content=ground.arrow(ground.columns(60_000)),
            params={"model_id": "m"},
            headers={"content-type": ARROW},
        ).json()["evaluation_id"]

        def certify(at):
            time.sleep(0.4 * at)
            with made.client(client.key["key"]) as one:
                return one.post("/v1/certificates", json={"evaluation_id": number})

        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(certify, range(6)))
        assert {answer.status_code for answer in answers} <= {200, 201, 409}
        assert sum(answer.status_code == 201 for answer in answers) == 1, [answer.text[:200] for answer in answers]
        with made.client() as nobody:
            assert len(nobody.get("/v1/registry").json()["items"]) == 1


@pytest.mark.parametrize("body", [{**ONE, "preregistration": "ONTO-REG-2026-0000000000000000"}])
def test_a_pre_registration_that_nobody_made_is_refused_at_once(tenant, body):
    assert tenant.post(PATH, json=body).status_code == 404
