"""POST /v1/evaluate with forecasts of a number or of a set, over a real connection."""

import io
import json
import time

import ground
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from epimeter import evaluate_forecasts

PATH = "/v1/evaluate"
ARROW, PARQUET, NDJSON = (
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.parquet",
    "application/x-ndjson",
)


def forecasts(kind, n=300, seed=5):
    """Columns of a kind of forecast, as a file would have them."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(10, 3, n), rng.uniform(0.5, 2, n)
    y = mean + std * rng.normal(size=n)
    made = {
        "normal": {"y": y, "mean": mean, "std": std},
        "quantiles": {"y": y, "q0.05": mean - 1.645 * std, "q0.5": mean, "q0.95": mean + 1.645 * std},
        "ensemble": {"y": y} | {f"member_{i}": mean + std * rng.normal(size=n) for i in range(8)},
        "interval": {"y": y, "lower": mean - 1.645 * std, "upper": mean + 1.645 * std},
        "state": {"y_0": y, "y_1": y, "mean_0": mean, "mean_1": mean, "std_0": std, "std_1": std},
        "count": {"y": rng.poisson(np.abs(mean)), "rate": np.abs(mean), "dispersion": std / 4},
    }
    if kind == "set":
        labels = [["a", "b"][i % 2] for i in range(n)]
        return {"label": labels, "set": [["a"], ["a", "b"], ["b", "c"]] * (n // 3)}
    return {name: values.tolist() for name, values in made[kind].items()}


def rows_of(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def arrow(columns):
    table, sink = pa.table(columns), io.BytesIO()
    with ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def as_parquet(columns):
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def sent(client, data, kind, **query):
    return client.post(PATH, content=data, params={"model_id": "demand", **query}, headers={"content-type": kind})


@pytest.mark.parametrize("kind", ["normal", "quantiles", "ensemble", "interval", "set", "state", "count"])
def test_every_kind_of_forecast_has_the_numbers_of_the_library_in_every_format(tenant, kind):
    columns = forecasts(kind)
    lines = "".join(json.dumps(row) + "\n" for row in rows_of(columns)).encode()
    answers = [
        tenant.post(PATH, json={"model_id": "demand", "forecasts": columns}),
        tenant.post(PATH, json={"model_id": "demand", "forecasts": rows_of(columns)}),
        sent(tenant, lines, NDJSON),
        sent(tenant, arrow(columns), ARROW),
        sent(tenant, as_parquet(columns), PARQUET),
    ]
    assert [one.status_code for one in answers] == [200] * 5, [one.text for one in answers]
    found = [one.json() for one in answers]
    assert all(one["forecasts"] == found[0]["forecasts"] for one in found)
    told = found[0]
    assert told["forecasts"]["kind"] == kind and told["forecasts"]["sample_size"] == 300
    assert told["compliance"] is None and told["metrics"] is None and not told["certifiable"]
    assert "forecasts" in told["obstacles"][0]
    if kind == "normal":
        expected = evaluate_forecasts(columns["y"], mean=columns["mean"], std=columns["std"])
        assert told["forecasts"]["values"] == {one.metric: one.value for one in expected.measurements}
        assert told["forecasts"]["verdict"] == list(expected.verdict.sentences)
    for form in ("text/html", "text/plain", "text/markdown", "application/json"):
        report = tenant.get(f"/v1/evaluations/{told['evaluation_id']}/report", headers={"accept": form})
        assert report.status_code == 200
        assert {"state": "nees", "count": "ranked probability score of counts"}.get(
            kind, "coverage"
        ) in report.text.lower()


@pytest.mark.parametrize(
    ("change", "says", "pointer"),
    [
        ({"std": -1.0}, "std must be above 0", "/forecasts/std/7"),
        ({"mean": None}, "mean", "/forecasts/mean/7"),
        ({"y": "many"}, "y", "/forecasts/y/7"),
    ],
)
def test_what_no_forecast_can_be_is_refused_with_its_row(tenant, change, says, pointer):
    columns = forecasts("normal", 30)
    for name, value in change.items():
        columns[name][7] = value
    answer = tenant.post(PATH, json={"model_id": "demand", "forecasts": columns})
    assert answer.status_code == 422, answer.text
    assert says in answer.json()["detail"] and answer.json()["errors"][0]["pointer"] == pointer


def test_crossing_quantiles_and_intervals_upside_down_are_refused_in_lines_and_tables(tenant):
    crossing, upside_down = forecasts("quantiles", 30), forecasts("interval", 30)
    crossing["q0.5"][3] += 100
    upside_down["lower"][4], upside_down["upper"][4] = upside_down["upper"][4], upside_down["lower"][4]
    lines = "".join(json.dumps(row) + "\n" for row in rows_of(crossing)).encode()
    answer = sent(tenant, lines, NDJSON)
    assert answer.status_code == 422 and "must not cross" in answer.json()["detail"]
    assert answer.json()["errors"][0]["pointer"].startswith("/lines/4")
    answer = sent(tenant, arrow(upside_down), ARROW)
    assert answer.status_code == 422 and "lower must not be above upper" in answer.json()["detail"]
    empty = {"label": ["a", "b"], "set": [[], []]}
    answer = tenant.post(PATH, json={"model_id": "demand", "forecasts": empty})
    assert answer.status_code == 422 and "empty" in answer.json()["detail"]


def test_what_is_said_of_records_alone_is_refused_beside_forecasts_and_the_other_way_round(tenant):
    body = {"model_id": "demand", "forecasts": forecasts("normal", 30)}
    for name, value in (("onto_domain", "medical"), ("new_baseline", "why"), ("declaration", {"flags": {}})):
        answer = tenant.post(PATH, json=body | {name: value})
        assert answer.status_code == 422 and name in answer.json()["detail"], answer.text
    answer = tenant.post(PATH, json=ground.body(ground.columns(30)) | {"level": 0.8})
    assert answer.status_code == 422 and "level" in answer.json()["detail"]
    answer = tenant.post(PATH, json=body | {"metrics": ["ece"]})
    assert answer.status_code == 422 and "ece" in answer.json()["detail"]
    answer = tenant.post(PATH, json=body | {"predictions": [{"confidence": 0.5, "correct": True}]})
    assert answer.status_code == 422 and "one of predictions" in answer.json()["detail"]
    twice = json.dumps(body).replace('"mean": [', '"mean": [0], "mean": [', 1).encode()
    answer = tenant.post(PATH, content=twice, headers={"content-type": "application/json"})
    assert answer.status_code == 422 and "twice" in answer.json()["detail"]


def test_level_and_metrics_of_forecasts_are_those_asked_for(tenant):
    body = {"model_id": "demand", "forecasts": forecasts("normal"), "level": 0.8, "metrics": ["picp", "crps"]}
    found = tenant.post(PATH, json=body).json()["forecasts"]
    assert found["level"] == 0.8 and set(found["values"]) == {"picp", "crps"}
    answer = sent(tenant, arrow(forecasts("normal")), ARROW, level="1.5")
    assert answer.status_code == 422 and "level" in answer.text


def test_many_forecasts_become_a_job_and_no_certificate(tenant):
    columns = forecasts("normal", 100_001)
    answer = sent(tenant, as_parquet(columns), PARQUET, metrics="picp,crps")
    assert answer.status_code == 202
    place, until = answer.headers["location"], time.monotonic() + 120
    while (found := tenant.get(place).json())["status"] == "queued" and time.monotonic() < until:
        time.sleep(0.2)
    assert found["status"] == "completed", found
    assert found["forecasts"]["sample_size"] == 100_001 and set(found["forecasts"]["values"]) == {"picp", "crps"}
    refused = tenant.post("/v1/certificates", json={"evaluation_id": found["evaluation_id"]})
    assert refused.status_code == 409 and "forecasts" in refused.json()["detail"]
    listed = tenant.get("/v1/evaluations").json()["items"]
    assert any(one["evaluation_id"] == found["evaluation_id"] and one["level"] is None for one in listed)
