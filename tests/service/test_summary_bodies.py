"""Summaries as bodies: what the records would have earned, without the records; over a real connection and by the command."""

import hashlib
import json
import os
import subprocess
import sys

import ground
import msgspec
import pytest

SUMMARY = "application/vnd.epimeter.summary"


def epimeter(*words, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "epimeter", *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def made():
    return ground.columns(2400, seed=41)


@pytest.fixture(scope="module")
def summarised(made, tmp_path_factory):
    """Summaries of the same rows: with evidence, without, and by a column."""
    folder = tmp_path_factory.mktemp("sums")
    (folder / "rows.parquet").write_bytes(ground.as_parquet(made))
    for name, words in (("whole", ["--evidence"]), ("bare", []), ("by", ["--evidence", "--by", "correct"])):
        code, _, said = epimeter("summarise", folder / "rows.parquet", "-o", folder / f"{name}.epi", *words)
        assert code == 0, said
    return folder


def sent(client, data, **query):
    return client.post(
        "/v1/evaluate",
        content=data,
        params={"model_id": "m", "domain": "general", **query},
        headers={"content-type": SUMMARY},
    )


def test_a_summary_earns_what_its_records_earn_and_is_certified_with_its_report_and_passport(
    service, tenant, made, summarised
):
    by_rows = tenant.post("/v1/evaluate", json=ground.body(made)).json()
    answer = sent(tenant, (summarised / "whole.epi").read_bytes(), model_version="1")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    same = ("metrics", "compliance", "accuracy", "risk", "certifiable", "obstacles")
    assert {name: found[name] for name in same} == {name: by_rows[name] for name in same}
    assert found["certifiable"]
    assert found["attempt"] == 2, "records and their sums are attempts of one system"
    assert found["dataset"]["digest"].startswith("epi-parts-v1:sha-256:")
    assert any("evaluated from sums" in note for note in found["notes"])

    place = f"/v1/evaluations/{found['evaluation_id']}"
    for form in ("application/json", "text/plain", "text/html"):
        assert tenant.get(f"{place}/report", headers={"accept": form}).status_code == 200
    passport = tenant.get(f"{place}/passport", headers={"accept": "application/json"})
    assert passport.status_code == 200, passport.text
    issued = tenant.post("/v1/certificates", json={"evaluation_id": found["evaluation_id"]})
    assert issued.status_code == 201, issued.text
    evidence = issued.json()["evidence"]
    assert evidence["dataset_digest"] == found["dataset"]["digest"]

    # The rows behind the sums were certified with them: neither form earns a second certificate.
    again = sent(tenant, (summarised / "whole.epi").read_bytes()).json()
    assert not again["certifiable"]
    assert "rests on the same data set" in again["obstacles"][0]
    rows = tenant.post("/v1/evaluate", json=ground.body(made)).json()
    assert not rows["certifiable"]
    assert "rests on the same data set" in rows["obstacles"][0]


def test_rows_that_are_certified_earn_no_second_certificate_as_sums(tenant, summarised, made):
    number = tenant.post("/v1/evaluate", json=ground.body(made, model_id="rows")).json()["evaluation_id"]
    issued = tenant.post("/v1/certificates", json={"evaluation_id": number})
    assert issued.status_code == 201, issued.text
    found = sent(tenant, (summarised / "whole.epi").read_bytes(), model_id="rows").json()
    assert not found["certifiable"]
    assert "rests on the same data set" in found["obstacles"][0]


def test_a_summary_that_cannot_be_judged_is_refused_in_a_sentence(tenant, summarised):
    bare = sent(tenant, (summarised / "bare.epi").read_bytes())
    assert bare.status_code == 422
    assert "epimeter summarise --evidence" in bare.json()["detail"]
    by = sent(tenant, (summarised / "by.epi").read_bytes())
    assert by.status_code == 422
    assert "Summarise without --by" in by.json()["detail"]
    whole = (summarised / "whole.epi").read_bytes()
    assert "metrics must be left out" in sent(tenant, whole, metrics="ece").json()["detail"]
    assert sent(tenant, whole[:-1]).json()["detail"] == "the summary is damaged: its checksum does not match"
    assert "does not begin with EPI2" in sent(tenant, b"PAR1").json()["detail"]


def test_a_summary_with_a_right_checksum_over_anything_is_refused_in_a_sentence(tenant, summarised):
    document = msgspec.msgpack.decode((summarised / "whole.epi").read_bytes()[36:])

    def crafted(**changes):
        body = msgspec.msgpack.encode({**document, **changes})
        return b"EPI2" + hashlib.sha256(body).digest() + body

    pairs = document.get("dict", document)
    assert sent(tenant, crafted()).status_code == 200, "the untouched document is read"
    for name in list(pairs):
        for value in (None, 7, "x", b"", [], {}, -1):
            changed = {**pairs, name: value}
            answer = sent(tenant, crafted(**({"dict": changed} if pairs is not document else changed)))
            assert answer.status_code in (200, 422), (name, value, answer.text)
            assert name in ("epimeter", "unlabelled", "source", "skipped") or answer.status_code == 422, (name, value)


def test_the_command_submits_a_summary_and_gets_its_certificate(service, tenant, summarised, tmp_path):
    key = tenant.headers["x-api-key"]
    words = ["submit", summarised / "whole.epi", "--server", service.url, "--model-id", "by command"]
    code, out, said = epimeter(
        *words, "--certificate", tmp_path / "c.json", "--require", "L1", EPIMETER_KEY=key, EPIMETER_SERVER=service.url
    )
    assert code == 0, said
    assert json.loads(out)["certifiable"]
    assert json.loads((tmp_path / "c.json").read_bytes())["certificate"]["level"] in ("L1", "L2", "L3")
    code, _, said = epimeter(*words, "--column", "y_prob=p", EPIMETER_KEY=key)
    assert code == 2
    assert "is a summary already" in said
