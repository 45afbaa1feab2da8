"""An auditor with an account and a key of his own attests a certificate of somebody else."""

import json

import ground
import pytest

from epimeter.trust.attestation import open_attestation
from epimeter.trust.canonical import to_base64
from epimeter.trust.keys import PrivateKey

BOTH = ["attest", "evaluate", "certificates:write"]


@pytest.fixture
def visitor(service):
    with service.client() as client:
        yield client


def test_an_auditor_attests_over_the_service_and_everybody_reads_it(service, tenant, visitor):
    found = tenant.post("/v1/evaluate", json=ground.body(ground.columns(2000, seed=77), model_id="audited")).json()
    document = tenant.post("/v1/certificates", json={"evaluation_id": found["evaluation_id"]}).json()
    id = document["certificate"]["id"]
    at = f"/v1/certificates/{id}/attestations"
    with service.tenant("Audit AG", scopes=["attest"]) as auditor, service.tenant("Both", scopes=BOTH) as owner:
        entered(tenant, visitor, auditor, owner, document, at)


def entered(tenant, visitor, auditor, owner, document, at):
    id = document["certificate"]["id"]
    assert visitor.get(at).json() == {"items": []}
    assert "No auditor has attested" in visitor.get(f"/certificates/{id}", headers={"accept": "text/html"}).text

    assert tenant.post(at, json=ground.attested(document)).status_code == 403
    other = ground.attested(document)
    other["public_key"] = to_base64(PrivateKey.from_seed(bytes(32)).public.raw)
    refused = auditor.post(at, json=other)
    assert refused.status_code == 422 and "none of the trusted keys" in refused.json()["detail"]
    changed = ground.attested(document | {"subject": {**document["subject"], "system_id": "better"}})
    assert auditor.post(at, json=changed).status_code in (409, 422)
    own = owner.post("/v1/evaluate", json=ground.body(ground.columns(2000, seed=78))).json()["evaluation_id"]
    mine = owner.post("/v1/certificates", json={"evaluation_id": own}).json()
    refused = owner.post(f"/v1/certificates/{mine['certificate']['id']}/attestations", json=ground.attested(mine))
    assert refused.status_code == 409 and "third party" in refused.json()["detail"]

    made = auditor.post(at, json=ground.attested(document))
    assert made.status_code == 201, made.text
    assert (
        auditor.post(at, json={**ground.attested(document), "attestation": made.json()["envelope"]}).status_code == 409
    )
    (line,) = visitor.get(at).json()["items"]
    assert line == made.json() and line["entered_by"] == "Audit AG"
    proven = open_attestation(
        json.dumps(line["envelope"]).encode(), document, {ground.AUDITOR.public.id: ground.AUDITOR.public}
    )
    assert proven.auditor == "Audit AG"
    life = visitor.get(f"/v1/certificates/{id}/life").json()["events"]
    assert (life[-1]["cause"], life[-1]["log_index"]) == ("attested", line["log_index"])
    page = visitor.get(f"/certificates/{id}", headers={"accept": "text/html"}).text
    assert "reproduced from the data; scope: numbers and digests" in page
