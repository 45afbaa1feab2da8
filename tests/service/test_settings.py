"""Settings: where they come from, and which are refused."""

import os
import subprocess
import sys

import pytest
from servers import running

from epimeter.service.settings import Settings, SettingsError, load, prepare, refuse_weak


def test_later_settings_win(tmp_path):
    file = tmp_path / "e.toml"
    file.write_text('port = 1\nhost = "a"\nworkers = 3\n')
    found = load(str(file), {"EPIMETER_PORT": "2", "EPIMETER_HOST": "b", "OTHER": "x"}, {"port": 3, "data": None})
    assert (found.port, found.host, found.workers) == (3, "b", 3)
    assert load(None, {"EPIMETER_CONFIG": str(file)}).workers == 3
    assert load(None, {"EPIMETER_WEBHOOK_NETWORKS": "10.0.0.0/8,::1/128"}).webhook_networks == ("10.0.0.0/8", "::1/128")


@pytest.mark.parametrize(
    "text", ["port = 99999", "prot = 1", "workers = -1", 'port = "x"', "port =", "rows_at_once = 0"]
)
def test_unknown_and_senseless_settings_are_refused(tmp_path, text):
    file = tmp_path / "e.toml"
    file.write_text(text)
    with pytest.raises(SettingsError):
        load(str(file), {})


def test_a_missing_file_is_named():
    with pytest.raises(SettingsError, match=r"nowhere\.toml"):
        load("nowhere.toml", {})


@pytest.mark.parametrize(
    "secret", ["", "short", "change-me-change-me-change-me-change-me", "default" * 9, "a" * 64, "pepper" * 9]
)
def test_weak_secrets_are_refused(secret):
    with pytest.raises(SettingsError, match="at least 32"):
        refuse_weak("pepper", secret)


def test_secrets_are_made_once_for_their_owner_only(tmp_path):
    settings = Settings(data=str(tmp_path / "d"))
    first = prepare(settings)
    assert prepare(settings) == first
    assert (tmp_path / "d" / "pepper").stat().st_mode & 0o777 == 0o600
    assert "pepper" not in repr(first) and first.passphrase not in repr(first)


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
def test_files_that_others_may_read_are_refused(tmp_path):
    settings = Settings(data=str(tmp_path / "d"))
    prepare(settings)
    (tmp_path / "d" / "pepper").chmod(0o644)
    with pytest.raises(Exception, match="chmod 600"):
        prepare(settings)
    (tmp_path / "d" / "pepper").chmod(0o600)
    (tmp_path / "d").chmod(0o755)
    with pytest.raises(SettingsError, match="chmod 700"):
        prepare(settings)


def serve(folder, *words, **environment):
    settings = {"EPIMETER_DATA": str(folder), "EPIMETER_PORT": "0", "EPIMETER_ADMIN_PORT": "0", **environment}
    return subprocess.run(
        [sys.executable, "-m", "epimeter", "serve", *words],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_serve_refuses_a_well_known_pepper(tmp_path):
    done = serve(tmp_path / "d", EPIMETER_PEPPER="default" * 6)
    assert done.returncode == 2
    assert "pepper must be at least 32 random characters" in done.stderr and "Traceback" not in done.stderr


def test_a_server_from_its_first_start_to_its_second(tmp_path):
    """One process a folder; the administrator's key is printed once, stored nowhere, and goes on working."""
    with running(tmp_path) as made:
        key = made.admin_key
        done = serve(made.folder)
        assert done.returncode == 2 and "another process serves" in done.stderr
        made.stop()
        file = next((made.folder / "registry" / "keys").glob("*.pem"))
        file.chmod(0o644)
        done = serve(made.folder)
        assert done.returncode == 2 and "chmod 600" in done.stderr and "Traceback" not in done.stderr
        file.chmod(0o600)
        made.admin_key = ""
        made.start()
        assert made.admin_key == "" and key not in made.log
        with made.client(key) as admin:
            assert admin.get("/v1/usage").status_code == 200
        data = b"".join(path.read_bytes() for path in made.folder.rglob("*") if path.is_file())
        assert key.encode() not in data


def test_a_lost_key_an_interrupted_start_and_another_issuer(tmp_path):
    half = tmp_path / "data" / "registry.making"  # what a process left that was killed on its first start
    half.mkdir(parents=True, mode=0o700)
    (tmp_path / "data").chmod(0o700)
    (half / "log.db").write_bytes(b"half")
    with running(tmp_path) as made:
        assert not half.exists()
        made.stop()
        done = serve(made.folder, "--issuer", "https://other.example")
        assert done.returncode == 2 and "issuer stands in certificates" in done.stderr
        first = made.admin_key
        made.words = ("--new-admin-key",)
        made.start()
        assert made.admin_key != first
        for key in (first, made.admin_key):
            with made.client(key) as admin:
                assert admin.get("/v1/organizations").json()["items"][0]["name"] == "Operator"


@pytest.mark.parametrize("words", [("--postgres", "mysql://x/y"), ("--redis", "nonsense"), ("--port", "99999")])
def test_serve_refuses_other_addresses_in_one_sentence(tmp_path, words):
    done = serve(tmp_path / "d", *words)
    assert done.returncode == 2 and "Traceback" not in done.stderr and done.stderr.count("\n") <= 2, done.stderr


def test_a_variable_that_is_no_setting_is_refused():
    with pytest.raises(
        SettingsError, match="EPIMETER_WEBHOK_HTTP, which is no setting; did you mean EPIMETER_WEBHOOK_HTTP"
    ):
        load(environment={"EPIMETER_WEBHOK_HTTP": "true"})
    with pytest.raises(SettingsError, match="unset it"):
        load(environment={"EPIMETER_XYZZY": "1"})
    assert load(environment={"EPIMETER_KEY": "onto_live_x", "EPIMETER_TRACE": "1", "HOME": "/"}).port == 8600
