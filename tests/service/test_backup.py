"""Backup and restore while serving, on both databases; older states, other folders and other peppers are refused."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading

import ground
import httpx
import pytest
from servers import NO_TLS, Service, running

PATH = "/v1/evaluate"
ONE = ground.body({"confidence": [0.9], "correct": [True]})


def epimeter(*words, **environment):
    settings = {f"EPIMETER_{name.upper()}": str(value) for name, value in environment.items()}
    return subprocess.run(
        [sys.executable, "-m", "epimeter", *map(str, words)], env={**os.environ, **settings}, capture_output=True, text=True
    )  # fmt: skip


def refused(folder, postgres=None, **environment):
    """What a server says that does not start."""
    settings = {f"EPIMETER_{name.upper()}": str(value) for name, value in environment.items()}
    with pytest.raises(RuntimeError) as fault:
        Service(folder, settings, postgres).start()
    return str(fault.value)


def trust(folder):
    """The words that pin the first trust root of a registry, and give the later ones."""
    roots = sorted((folder / "registry").glob("trust-root-*.json"), key=lambda path: int(path.stem.split("-")[-1]))
    first = json.loads(roots[0].read_bytes())
    fingerprint = hashlib.sha256(base64.b64decode(first["payload"])).hexdigest()
    return [word for root in roots for word in ("--root", root)] + ["--fingerprint", fingerprint]


def monitor(folder, memory):
    return epimeter("log", "monitor", folder / "registry", "--memory", memory, *trust(folder))


def _goes_on_with_a_successor(folder, database, words, key, certificate, seen, tmp_path):
    """The way out: a new log that names the old one's end; both verify, no number comes twice, nothing revoked is valid again."""
    before = json.loads((folder.parent / "data.published.json").read_bytes())
    old = tmp_path / "older.json"
    old.write_bytes((folder / "registry/status/1.json").read_bytes())
    stale = epimeter("succeed", "--data", folder, *words, "--status", old)
    assert stale.returncode == 2 and "or later" in stale.stderr
    last = ["--status", tmp_path / "last.json"] if not words else []  # once with the last status list, once without
    done = epimeter("succeed", "--data", folder, *words, *last)
    assert done.returncode == 0, done.stderr
    assert "/log has a successor" in done.stdout and "/log/2" in done.stdout and "1 certificates changed" in done.stdout
    again = epimeter("succeed", "--data", folder, *words)
    assert again.returncode == 2 and "start it with" in again.stderr
    # Who remembers the old log is told what became of it, and who remembers another end of it is not content.
    followed = monitor(folder, seen)
    lost = f"{before['log_size']} entries; "
    assert followed.returncode == 0 and "follows" in followed.stdout and lost in followed.stdout, followed.stderr
    assert monitor(folder, seen).stdout.count("consistent with the last visit") == 1
    for log in (folder / "registry").glob("log*.db"):
        sound = epimeter("log", "verify", log, *trust(folder))
        assert sound.returncode == 0, (log, sound.stdout, sound.stderr)
    back = Service(folder, {}, database).start()
    try:
        with back.client(key) as client:
            word = "REVOKED" if last else "SUSPENDED"
            assert client.get(f"/v1/certificates/{certificate}/status").json()["status"] == word
            newer = client.post(
                PATH, json=ground.body(ground.columns(2000, seed=9), model_id="other", model_version="1")
            )
            made = client.post("/v1/certificates", json={"evaluation_id": newer.json()["evaluation_id"]}).json()
            (tmp_path / "new.json").write_bytes(client.get(f"/v1/certificates/{made['certificate']['id']}").content)
            numbers = [line["number"] for line in client.get("/v1/audit").json()["items"]]
            assert max(numbers) > before["journal_number"] + 1 and len(set(numbers)) == len(numbers)
            status = tmp_path / "status.json"
            status.write_bytes(client.get("/status/1").content)
        # The certificate of the old log, with its old proof, and that of the new one.
        for file, verdict in (("certificate.json", word), ("new.json", "VALID")):
            found = epimeter("verify", tmp_path / file, *trust(folder), "--status", status)
            assert verdict in found.stdout and "INVALID" not in found.stdout, (found.stdout, found.stderr)
    finally:
        back.stop()


def _refused_by_its_tiles(newest, older, tmp_path):
    """A copy without any memory does not start where its log was published further, or where nobody can say."""
    web, memory = tmp_path / "web", older.with_name("data.published.json")
    assert "neither" in refused(older, tiles=web) and not memory.exists()
    done = epimeter("log", "publish", web, "--issuer", newest / "registry", "--passphrase-file", newest / "passphrase")
    assert done.returncode == 0, done.stderr
    sentence = refused(older, tiles=web)
    assert "older state than the world has seen: log entries" in sentence and "status list" in sentence, sentence
    point = web / "log" / "checkpoint"
    point.write_bytes(point.read_bytes().replace(b"\n\n", b"\nforged\n\n", 1))
    assert "it does not" in refused(older, tiles=web)
    memory.unlink()


def _no_command_signs_in_it(folder):
    """Commands that sign refuse a registry that was put back: its log would get a second face, its trust root a second version."""
    for words in (
        ("log", "publish", folder.parent / "second-face", "--issuer"),
        ("keys", "rotate"),
        ("certificates", "--issuer"),
    ):
        secret = () if words[0] == "certificates" else ("--passphrase-file", folder / "passphrase")
        done = epimeter(*words, folder / "registry", *secret)
        assert done.returncode == 2 and "older state than the world has seen" in done.stderr, done.stderr
    assert not (folder.parent / "second-face").exists()


def _forked(folder, tmp_path):
    """A memory-less copy that was published further elsewhere, then shown to the server as its tiles, with the memory put back."""
    memory = folder.with_name("data.published.json")
    kept = memory.read_bytes()
    memory.unlink()
    while json.loads(kept)["log_size"] > _publish(folder, tmp_path / "fork"):
        words = ("--root-keys", folder.with_name("data.root"), "--passphrase-file", folder / "passphrase")
        rotated = epimeter("keys", "rotate", folder / "registry", "status", *words)
        assert rotated.returncode == 0, rotated.stderr
    memory.write_bytes(kept)


def _publish(folder, target):
    done = epimeter(
        "log", "publish", target, "--issuer", folder / "registry", "--passphrase-file", folder / "passphrase"
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split("the log has ")[1].split()[0].replace(",", ""))


def test_a_log_with_a_second_face_is_refused_also_where_its_tiles_show_that_face(tmp_path):
    with running(tmp_path) as made, made.tenant("Forked") as client:
        file = tmp_path / "registry.tar"
        assert epimeter("backup", file, "--data", made.folder).returncode == 0
        number = client.post(PATH, json=ground.body(ground.columns(2000), model_version="1")).json()["evaluation_id"]
        client.post("/v1/certificates", json={"evaluation_id": number}).raise_for_status()
    shutil.rmtree(made.folder)
    assert epimeter("restore", file, "--data", made.folder).returncode == 0
    _forked(made.folder, tmp_path)
    for settings in ({}, {"tiles": tmp_path / "fork"}, {}):  # and what the tiles say is not remembered
        assert "are not those that were published" in refused(made.folder, **settings)
    done = epimeter("succeed", "--data", made.folder)
    assert done.returncode == 2 and "Restore the backup again" in done.stderr, done.stderr


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_backup_made_under_load_is_the_registry_and_an_older_one_is_refused(kind, tmp_path, request):
    def database():
        return request.getfixturevalue("postgres").database() if kind == "postgres" else None

    url = database()
    with running(tmp_path, url) as made, made.tenant("Kept") as client:
        number = client.post(PATH, json=ground.body(ground.columns(2000), model_version="1")).json()["evaluation_id"]
        certificate = client.post("/v1/certificates", json={"evaluation_id": number}).json()["certificate"]["id"]
        key = client.key["key"]
        stop = threading.Event()
        answers = []

        def load():
            with httpx.Client(base_url=made.url, headers={"x-api-key": key}, timeout=60, verify=NO_TLS) as one:
                # Fewer than the tier allows in a minute: PostgreSQL keeps the window, so what follows would be refused too.
                while not stop.is_set() and len(answers) < 300:
                    answers.append(one.post(PATH, json=ONE).status_code)

        thread = threading.Thread(target=load)
        thread.start()
        words = ["--postgres", url] if url else []
        file = tmp_path / "registry.tar"
        done = epimeter("backup", file, "--data", made.folder, *words)
        stop.set()
        thread.join()
        assert done.returncode == 0, done.stderr
        assert set(answers) == {200} and file.stat().st_mode & 0o777 == 0o600
        assert epimeter("backup", file, "--data", made.folder, *words).returncode == 2
        client.post(f"/v1/certificates/{certificate}/revoke", json={"reason": "after the backup"}).raise_for_status()
        assert client.get(f"/v1/certificates/{certificate}/status").json()["status"] == "REVOKED"
        seen = tmp_path / "seen"
        assert monitor(made.folder, seen).returncode == 0
        document = tmp_path / "certificate.json"
        document.write_bytes(client.get(f"/v1/certificates/{certificate}").content)
        (tmp_path / "last.json").write_bytes((made.folder / "registry/status/1.json").read_bytes())
    # A new folder elsewhere that nobody has seen anything of: everything is there, and numbers go on.
    fresh = database()
    words = ["--postgres", fresh] if fresh else []
    other = tmp_path / "elsewhere" / "data"
    done = epimeter("restore", file, "--data", other, *words)
    assert done.returncode == 0, done.stderr
    assert "something" in epimeter("restore", file, "--data", other, *words).stderr
    if kind == "sqlite":
        _refused_by_its_tiles(made.folder, other, tmp_path)
    back = Service(other, {}, fresh).start()
    try:
        with back.client(key) as client:
            assert client.get(f"/v1/evaluations/{number}").json()["evaluation_id"] == number
            assert client.get(f"/v1/certificates/{certificate}/verify").json()["authentic"] is True
            assert client.post(PATH, json=ONE).status_code == 200
            kept = client.get("/v1/audit").json()["items"]
            assert len({line["number"] for line in kept}) == len(kept) > 3
        assert back.client().get("/readyz").json()["status"] == "ok"
    finally:
        back.stop()
    # The same put where the registry was: it was seen to publish more, and does not go on from here.
    shutil.rmtree(made.folder)
    fresh = database()
    words = ["--postgres", fresh] if fresh else []
    assert epimeter("restore", file, "--data", made.folder, *words).returncode == 0
    sentence = refused(made.folder, fresh)
    assert (
        "older state than the world has seen" in sentence and "status list" in sentence and "newer backup" in sentence
    )
    _no_command_signs_in_it(made.folder)
    _goes_on_with_a_successor(made.folder, fresh, words, key, certificate, seen, tmp_path)
    # A damaged backup is refused before anything is written.
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    broken = epimeter("restore", file, "--data", tmp_path / "broken", *words)
    assert broken.returncode == 2 and not (tmp_path / "broken").exists()


def test_two_servers_on_one_database_share_folder_and_pepper(tmp_path, postgres):
    url = postgres.database()
    with running(tmp_path, url):
        assert "another registry" in refused(tmp_path / "second", url)
        assert "another pepper" in refused(tmp_path / "data", url, pepper="0123456789abcdef" * 3)


def test_a_database_of_a_newer_program_is_refused_in_a_sentence(tmp_path):
    import sqlite3

    with running(tmp_path) as made:
        folder = made.folder
    with sqlite3.connect(folder / "epimeter.db") as db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    assert "use a newer program" in refused(folder)
