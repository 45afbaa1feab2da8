# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/operations.md, typed in their order: started, copied, lost, put back, refused, succeeded, started again."""

import re
import shlex
import subprocess
from pathlib import Path

import ground
import httpx
import pytest
from servers import NO_TLS, Service

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text("utf-8")
PROGRAM = re.compile(r"^(?:/opt/epimeter/bin/)?epimeter ")
TYPED = [line.strip() for line in PAGE.splitlines() if line.startswith("    ") and "epimeter" in line]


def command(verb, *, postgres=None):
    """The words of the page that begin with this verb; with PostgreSQL the line that names one, where there is one."""
    lines = [PROGRAM.sub("", line).split("     with ")[0] for line in TYPED if PROGRAM.sub("", line).startswith(verb)]
    wanted = [line for line in lines if ("--postgres" in line) == (postgres is not None)] or lines
    return wanted[0]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_guide_leads_from_the_first_start_to_a_successor(kind, tmp_path, request):
    def database():
        return request.getfixturevalue("postgres").database() if kind == "postgres" else None

    url = database()

    def words(line):
        told = [
            word.replace("/var/lib/epimeter/data", str(tmp_path / "data")).replace(
                "registry-2026-11-15.tar", str(tmp_path / "registry.tar")
            )
            for word in shlex.split(line)
        ]
        told = [str(tmp_path / word) if word == "last-status-list.json" else word for word in told]
        told = [url if word.startswith("postgresql://") else word for word in told]
        return [*told, "--postgres", url] if url and "--postgres" not in told else told

    def typed(verb):
        return subprocess.run(
            [*Service.program, *words(command(verb, postgres=url))], capture_output=True, text=True, cwd=tmp_path
        )

    def served():
        verb, *rest = words(command("serve", postgres=url))
        assert verb == "serve"
        return Service(tmp_path / "data", words=tuple(rest)).start()

    service = served()
    key = service.admin_key
    with service.client(key) as client:
        made = []
        for seed in (1, 2):
            body = ground.body(ground.columns(1000, seed=seed), model_id=f"m{seed}", model_version="1")
            number = client.post("/v1/evaluate", json=body).json()["evaluation_id"]
            made.append(client.post("/v1/certificates", json={"evaluation_id": number}).json()["certificate"]["id"])
        done = typed("backup")
        assert done.returncode == 0, done.stderr
        assert client.post(f"/v1/certificates/{made[0]}/revoke", json={"reason": "wrong data"}).status_code == 200
        asked = re.search(r"curl https://registry\.example(/\S+) -o last-status-list\.json", PAGE)[1]
        last = httpx.get(service.url + asked, verify=NO_TLS)
        assert last.status_code == 200
        (tmp_path / "last-status-list.json").write_bytes(last.content)
    service.stop()
    (tmp_path / "data").rename(tmp_path / "lost")
    url = database()

    done = typed("restore")
    assert done.returncode == 0, done.stderr
    with pytest.raises(RuntimeError, match="an older state than the world has seen"):
        served()
    done = typed("succeed")
    assert done.returncode == 0, done.stderr
    back = served()
    try:
        with back.client(key) as client:
            states = [client.get(f"/v1/certificates/{each}/status").json()["status"] for each in made]
            assert states == ["REVOKED", "VALID"]
        publish = re.search(r"`epimeter (log publish /[^`]+)`", PAGE)
        line = publish[1].replace("/srv/www", str(tmp_path / "www")).replace("data/", f"{tmp_path}/data/")
        done = subprocess.run([*Service.program, *shlex.split(line)], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "www" / "trust-root-2.json").exists()
    finally:
        back.stop()


def test_every_command_of_the_guide_is_typed_here():
    verbs = {PROGRAM.sub("", line).split()[0] for line in TYPED if PROGRAM.match(line)}
    assert verbs == {"serve", "backup", "restore", "succeed"}
