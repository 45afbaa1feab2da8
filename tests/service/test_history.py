"""An evaluation beside what the service knows of its system: the whole report, the last evaluation, certificates on the data."""

import json

import ground
import numpy as np

from epimeter.service.columns import to_records
from epimeter.service.errands import assessed
from epimeter.service.json_rows import from_document
from epimeter.service.settings import Settings
from epimeter.standards.stored import evaluation_of
from epimeter.store.moments import moment, now

PATH = "/v1/evaluate"
TOLD = {
    "unknowns": {"taxonomy": "operational", "method": "confidence", "threshold": "0.5", "validation": "held out"},
    "flags": {"frequency_kept": True},
}


def with_unknowns(n=1500, seed=1):
    made = ground.columns(n, seed=seed)
    rng = np.random.default_rng(seed)
    made["unknown"] = rng.random(n) < 0.4
    made["confidence"] = np.where(made["unknown"], made["confidence"] * 0.5, made["confidence"])
    made["correct"] = rng.random(n) < made["confidence"]
    made["category"] = np.where(made["unknown"], np.where(rng.random(n) < 0.5, "novel", "ambiguous"), "known")
    return made


def test_the_report_has_both_standards_in_every_form(tenant):
    made = tenant.post(PATH, json=ground.body(with_unknowns(), model_id="whole", declaration=TOLD)).json()
    at = f"/v1/evaluations/{made['evaluation_id']}/report"
    assert set(made["onto_42001"]["categories"]) == {"novel", "ambiguous"}
    found = tenant.get(at).json()
    assert found["schema"] == "epimeter-evaluation-1" and found["report"]["measurements"]
    assert found["verdicts"]["ers"]["obstacles"] == made["obstacles"]
    for accept in ("text/html", "text/plain", "text/markdown"):
        answer = tenant.get(at, headers={"accept": accept})
        assert answer.status_code == 200, answer.text
        for part in (
            "U-Recall of ONTO-ERS: of the answers",
            "ONTO 42001:",
            "ERS-3.1-a",
            "What this is evidence for",
            "What this does not prove",
            "ambiguous",
        ):
            assert part in answer.text, (accept, part)


def test_the_last_evaluation_is_the_baseline_of_the_next(tenant):
    facts = {"model_id": "watched", "declaration": TOLD, "model_version": "1"}
    first = tenant.post(PATH, json=ground.body(with_unknowns(seed=2), **facts)).json()
    assert first["onto_42001"]["baseline"] is None
    second = tenant.post(PATH, json=ground.body(with_unknowns(seed=3), **facts)).json()
    assert second["onto_42001"]["baseline"].startswith("same method as the evaluation of")
    other = {"strategy": "equal_mass"}
    refused = tenant.post(PATH, json=ground.body(with_unknowns(seed=4), **facts, **other))
    assert refused.status_code == 422 and "42001-5.2.3-b" in refused.json()["detail"]
    fresh = tenant.post(PATH, json=ground.body(with_unknowns(seed=4), **facts, **other, new_baseline="a new design"))
    assert fresh.json()["onto_42001"]["baseline"] == "a new baseline was declared: a new design"
    updated = tenant.post(PATH, json=ground.body(with_unknowns(seed=5), **{**facts, "model_version": "2"}, **other))
    assert any("42001-5.1.1-b" in one for one in updated.json()["onto_42001"]["due"]), updated.json()["onto_42001"]


def test_data_that_were_certified_are_an_obstacle_before_a_second_certificate_is_asked_for(tenant):
    made = ground.columns(2000, seed=31)
    first = tenant.post(PATH, json=ground.body(made, model_id="once")).json()
    assert first["certifiable"]
    certificate = tenant.post("/v1/certificates", json={"evaluation_id": first["evaluation_id"]})
    assert certificate.status_code == 201, certificate.text
    id = certificate.json()["certificate"]["id"]
    again = tenant.post(PATH, json=ground.body(made, model_id="once")).json()
    assert not again["certifiable"] and id in again["obstacles"][0]
    assert id in tenant.get(f"/v1/evaluations/{again['evaluation_id']}/report", headers={"accept": "text/html"}).text
    refused = tenant.post("/v1/certificates", json={"evaluation_id": again["evaluation_id"]})
    assert refused.status_code == 409 and id in refused.json()["detail"]
    elsewhere = tenant.post(PATH, json=ground.body(made, model_id="twice")).json()
    assert elsewhere["certifiable"] and any(id in note for note in elsewhere["notes"])


def test_rows_are_doubted_once(monkeypatch):
    import epimeter.views

    seen = []
    doubt = epimeter.views.view

    def counted(*columns, **facts):
        seen.append(1)
        return doubt(*columns, **facts)

    import sys

    for module in [module for name, module in sys.modules.items() if name.startswith("epimeter")]:
        if getattr(module, "view", None) is doubt:
            monkeypatch.setattr(module, "view", counted)
    body = json.dumps(ground.body(with_unknowns(), declaration=TOLD)).encode()
    columns, at = from_document(body, Settings()), moment(now())
    found = assessed(to_records(columns, at), columns.facts, at)
    assert len(seen) == 1
    written = json.loads(found.evaluation)
    assert json.loads(json.dumps(evaluation_of(written).to_dict())) == written
