# SPDX-License-Identifier: Apache-2.0
"""Examples of the OpenAPI document, by operation: requests, and the answers that a server gave; a test compares their shape.

`epimeter demo --write predictions.parquet` and then `EPIMETER_KEY=… EPIMETER_AUDITOR=… python -m epimeter.service.examples URL
predictions.parquet examples.json` write the examples with what a running service answers today about evaluations, reports,
passports, pre-registrations and the life of one certificate. The second key is that of another organisation and may attest.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import sys
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from epimeter.trust.attestation import attest
from epimeter.trust.canonical import to_base64
from epimeter.trust.keys import PrivateKey

EXAMPLES: dict[str, Any] = json.loads(files("epimeter.service").joinpath("examples.json").read_text("utf-8"))
EVALUATE, REGISTER, CERTIFY = "POST /v1/evaluate", "POST /v1/preregistrations", "POST /v1/certificates"
EVALUATION, CERTIFICATE = "/v1/evaluations/{evaluation_id}", "/v1/certificates/{certificate_id}"


def refreshed(url: str, key: str, predictions: bytes, auditor: str) -> dict[str, Any]:
    """The examples, with the answers of a running service.

    Parameters
    ----------
    predictions
        Parquet, good enough for a certificate.
    key, auditor
        The keys of the organisation whose examples these are, and of one that attests.
    """
    made = copy.deepcopy(EXAMPLES)

    def ask(path: str, body: bytes | None = None, kind: str = "application/json", by: str = key) -> Any:
        headers = {"x-api-key": by, "Content-Type": kind, "Accept": "application/json, */*;q=0.5"}
        with urlopen(Request(url + path, body, headers), timeout=60) as answer:
            said = answer.read()
            plain = answer.headers["Content-Type"].startswith("application/json")
            return json.loads(said) if plain else said.decode("utf-8")

    small = made[EVALUATE]["request"]
    found = made[EVALUATE]["responses"]["200"] = ask("/v1/evaluate", json.dumps(small).encode())
    report = f"{EVALUATION}/report"
    made[f"GET {report}"]["responses"]["200"] = ask(report.format_map(found))
    said = urlencode({name: small[name] for name in ("model_id", "model_version", "domain")})
    found = ask(f"/v1/evaluate?{said}", predictions, "application/vnd.apache.parquet")
    for path in (EVALUATION, f"{EVALUATION}/passport"):
        made[f"GET {path}"]["responses"]["200"] = ask(path.format_map(found))
    promise = ask("/v1/preregistrations", json.dumps(made[REGISTER]["request"]).encode())
    made[REGISTER]["responses"]["201"] = promise
    made["GET /v1/preregistrations/{registration_id}"]["responses"]["200"] = promise
    wanted = made[CERTIFY]["request"]
    wanted["evaluation_id"] = found["evaluation_id"]
    certificate = ask("/v1/certificates", json.dumps(wanted).encode())
    made[CERTIFY]["responses"] = {"201": certificate, "200": certificate}
    place = CERTIFICATE.format(certificate_id=certificate["certificate"]["id"])
    audit = made[f"POST {CERTIFICATE}/attestations"]
    audit["request"] = _attested(certificate)
    audit["responses"]["201"] = ask(f"{place}/attestations", json.dumps(audit["request"]).encode(), by=auditor)
    for part in ("", ".dsse", "/verify", "/status", "/life", "/badge.svg", "/calendar.ics", "/attestations"):
        made[f"GET {CERTIFICATE}{part}"]["responses"]["200"] = ask(place + part)
    for path in ("/v1/evaluations", "/v1/registry"):
        made[f"GET {path}"]["responses"]["200"] = ask(f"{path}?limit=1")
    end = made[f"POST {CERTIFICATE}/revoke"]
    end["responses"]["200"] = ask(f"{place}/revoke", json.dumps(end["request"]).encode())
    return made


def _attested(certificate: dict[str, Any]) -> dict[str, Any]:
    """What an auditor sends, whose key is for examples only."""
    signer = PrivateKey.from_seed(hashlib.sha256(b"an auditor in examples").digest())
    said = {"auditor": "Audit AG", "basis": ("reproduced",), "scope": "numbers and digests"}
    sealed = attest(certificate, signer, at=datetime.now(UTC), **said)  # type: ignore[arg-type]
    return {"attestation": json.loads(sealed.to_json()), "public_key": to_base64(signer.public.raw)}


if __name__ == "__main__":
    address, rows, target = sys.argv[1:]
    examples = refreshed(address, os.environ["EPIMETER_KEY"], Path(rows).read_bytes(), os.environ["EPIMETER_AUDITOR"])
    Path(target).write_text(json.dumps(examples, indent=1, ensure_ascii=False) + "\n", "utf-8")
