"""The code of docs/service.md, shell and Python, run from top to bottom against a real server."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from servers import running

from epimeter.service.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```", PAGE, re.S | re.M)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the page types curl")
def test_every_command_of_the_page_works(tmp_path):
    with running(tmp_path, signal_period=1) as made:
        code = {language: "".join(part for kind, part in BLOCKS if kind == language) for language in ("sh", "python")}
        (tmp_path / "page.py").write_text(code["python"].replace("http://127.0.0.1:8600", made.url))
        script = f"set -e\n{code['sh']}\npython page.py"
        script = script.replace("http://127.0.0.1:8600", made.url).replace("curl -s", "curl -s --fail-with-body -S")
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", script],
            env={**os.environ, "KEY": made.admin_key, "PATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    assert (tmp_path / "passport.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "badge.svg").read_text().startswith("<svg")
    for word in (
        '"verdict":"VALID"',
        '"status":"REVOKED"',
        '"level":"L3"',
        "event: signal",
        '"signal_id"',
        "too narrow",
    ):
        assert word in done.stdout, word
    assert (tmp_path / "triage.json").exists()


def test_the_page_lists_every_setting_and_every_scope():
    table = PAGE[PAGE.index("| setting |") :]
    named = set(re.findall(r"`(\w+)`", table[: table.index("\n\n")]))
    assert named - {"data"} >= {field.name for field in msgspec.structs.fields(Settings)} - {"data"}
    for kind in ("evaluation.completed", "evaluation.failed", "certificate.issued", "certificate.status"):
        assert kind in PAGE
