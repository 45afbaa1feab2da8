# SPDX-License-Identifier: Apache-2.0
"""Examples of the OpenAPI document, by operation: requests, and the answers that a server gave; a test compares their shape.

`epimeter demo --write predictions.parquet` and then `EPIMETER_KEY=… python -m epimeter.service.examples URL predictions.parquet
examples.json` write the examples with what a running service answers today about evaluations, reports, passports, certificates.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

EXAMPLES: dict[str, Any] = json.loads(files("epimeter.service").joinpath("examples.json").read_text("utf-8"))
EVALUATE, CERTIFY = "POST /v1/evaluate", "POST /v1/certificates"
EVALUATION, CERTIFICATE = "/v1/evaluations/{evaluation_id}", "/v1/certificates/{certificate_id}"


def refreshed(url: str, key: str, predictions: bytes) -> dict[str, Any]:
    """The examples, with the answers of a running service.

    Parameters
    ----------
    predictions
        Parquet, good enough for a certificate.
    """
    made = copy.deepcopy(EXAMPLES)

    def ask(path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        headers = {"x-api-key": key, "Content-Type": kind, "Accept": "application/json"}
        with urlopen(Request(url + path, body, headers), timeout=60) as answer:
            return json.load(answer)

    small = made[EVALUATE]["request"]
    found = made[EVALUATE]["responses"]["200"] = ask("/v1/evaluate", json.dumps(small).encode())
    report = f"{EVALUATION}/report"
    made[f"GET {report}"]["responses"]["200"] = ask(report.format_map(found))
    said = urlencode({name: small[name] for name in ("model_id", "model_version", "domain")})
    found = ask(f"/v1/evaluate?{said}", predictions, "application/vnd.apache.parquet")
    for path in (EVALUATION, f"{EVALUATION}/passport"):
        made[f"GET {path}"]["responses"]["200"] = ask(path.format_map(found))
    wanted = made[CERTIFY]["request"]
    wanted["evaluation_id"] = found["evaluation_id"]
    certificate = ask("/v1/certificates", json.dumps(wanted).encode())
    made[CERTIFY]["responses"] = {"201": certificate, "200": certificate}
    for part in ("", ".dsse", "/verify", "/status", "/life"):
        path = CERTIFICATE + part
        answer = ask(path.format(certificate_id=certificate["certificate"]["id"]))
        made[f"GET {path}"]["responses"]["200"] = answer
    for path in ("/v1/evaluations", "/v1/registry"):
        made[f"GET {path}"]["responses"]["200"] = ask(f"{path}?limit=1")
    return made


if __name__ == "__main__":
    address, rows, target = sys.argv[1:]
    examples = refreshed(address, os.environ["EPIMETER_KEY"], Path(rows).read_bytes())
    Path(target).write_text(json.dumps(examples, indent=1, ensure_ascii=False) + "\n", "utf-8")
