"""Requests made up from the published OpenAPI document: no 5xx, no undocumented status, no answer against its schema."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from servers import running


@pytest.mark.slow
def test_made_up_requests_find_no_fault(tmp_path):
    seconds = int(os.environ.get("EPIMETER_SCHEMA_SECONDS", "60"))
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    with running(tmp_path, failures_per_minute=10**6, webhook_networks="127.0.0.0/8", max_json=1 << 20) as made:
        done = subprocess.run(
            [
                *(Path(sys.executable).parent / "schemathesis", "run", f"{made.url}/openapi.json"),
                *("--checks", checks, "--header", f"x-api-key: {made.admin_key}"),
                *(
                    "--exclude-path",
                    "/v1/signal/stream",
                    "--max-time",
                    str(seconds),
                    "--phases",
                    "examples,coverage,fuzzing",
                ),
                *(
                    "--max-examples",
                    "200",
                    "--rate-limit",
                    "32/s",
                    "--request-timeout",
                    "20",
                    "--no-color",
                    "--continue-on-failure",
                ),
            ],
            capture_output=True,
            text=True,
            timeout=seconds + 600,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout[-6000:]
        assert "unforeseen" not in made.log
