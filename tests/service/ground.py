"""Predictions for the tests, and the same ones in every format."""

import datetime
import gzip
import json
import time

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from epimeter.store.moments import moment, now
from epimeter.trust.attestation import attest
from epimeter.trust.canonical import to_base64
from epimeter.trust.keys import PrivateKey

START = datetime.datetime(2026, 10, 1, tzinfo=datetime.UTC)
AUDITOR = PrivateKey.from_seed(bytes(range(32)))


def columns(n=2000, seed=0, days=10.0, timestamps=True, over=0.0):
    """A calibrated system that knows when it does not know: earns a level, unless it is too confident by `over`."""
    rng = np.random.default_rng(seed)
    confidence = np.round(np.concatenate([rng.uniform(0, 0.7, n // 2), rng.uniform(0.7, 1, n - n // 2)]), 6)
    correct = rng.random(n) < confidence - over
    made = {"confidence": confidence, "correct": correct}
    if timestamps:
        steps = np.linspace(0, days * 86_400, n).round().astype(int)
        made["timestamp"] = [START + datetime.timedelta(seconds=int(step)) for step in steps]
    return made


def rows(made):
    """Columns as a list of records, ready for JSON."""
    names = list(made)
    lists = [
        [
            value.isoformat() if isinstance(value, datetime.datetime) else value
            for value in np.asarray(made[name]).tolist()
        ]
        if name != "timestamp"
        else [value.isoformat() for value in made[name]]
        for name in names
    ]
    return [dict(zip(names, values, strict=True)) for values in zip(*lists, strict=True)]


def body(made, **facts):
    return {"model_id": "m", "domain": "general", **facts, "predictions": rows(made)}


def as_columns(made, **facts):
    lists = {name: [row[name] for row in rows(made)] for name in made}
    return {"model_id": "m", "domain": "general", **facts, "columns": lists}


def ndjson(made):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows(made))


def table(made):
    arrays = {"confidence": np.asarray(made["confidence"]), "correct": np.asarray(made["correct"])}
    if "timestamp" in made:
        arrays["timestamp"] = pa.array(made["timestamp"], pa.timestamp("us", tz="UTC"))
    for name in ("id", "class", "category", "unknown", "detected", "question", "group"):
        if name in made:
            arrays[name] = pa.array(list(made[name]))
    return pa.table(arrays)


def arrow(made, compression=None):
    sink = pa.BufferOutputStream()
    found = table(made)
    with pa.ipc.new_stream(sink, found.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as stream:
        stream.write_table(found)
    return sink.getvalue().to_pybytes()


def as_parquet(made):
    sink = pa.BufferOutputStream()
    parquet.write_table(table(made), sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


def gzipped(data):
    return gzip.compress(data)


def watched(client, system, row):
    """A system that an organisation watches and that has fallen silent: its rows, a correction, the name of its alarm."""
    assert client.put(f"/v1/systems/{system}/monitor", json={"delay": 1}).status_code == 200
    at = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=6)).isoformat()
    said = [{"id": row, "confidence": 0.75, "time": at, "slices": {"region": f"{row}-region"}}]
    assert client.post(f"/v1/systems/{system}/predictions", json={"predictions": said}).json()["new"] == 1
    for correct in (True, False):
        told = {"outcomes": [{"id": row, "correct": correct}]}
        assert client.post(f"/v1/systems/{system}/outcomes", json=told).status_code == 200
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for entry in client.get("/v1/audit").json()["items"]:
            name = entry["detail"].get("alarm", "")
            if entry["action"] == "alarm.opened" and name.startswith(f"silence-predictions:{system}:"):
                return name
        time.sleep(0.1)
    raise AssertionError("a silent system raised no alarm")


def attested(document, signer=AUDITOR, **changes):
    """An auditor's signed statement on a certificate, as it is sent."""
    facts = {"auditor": "Audit AG", "basis": ("reproduced",), "scope": "numbers and digests", "at": moment(now())}
    sealed = attest(document, signer, **{**facts, **changes})
    return {"attestation": json.loads(sealed.to_json()), "public_key": to_base64(signer.public.raw)}
