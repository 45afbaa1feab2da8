"""No option without effect: the commands that need an issuer, a server or a study at hand."""

from __future__ import annotations

import json
from types import SimpleNamespace

import click
import numpy as np
import pytest
from click.testing import CliRunner

from epimeter.cli import epimeter as command_line
from epimeter.cli import experiment
from epimeter.service import backup, client, server, succeeding
from option_walk import STAND_INS, WITH_ISSUER, idle_options, prepared

SUBJECT = ["--organization", "o", "--system", "s", "--system-version", "1"]
PLAIN = {
    "certify": ["later.csv", "--issuer", "issuer", *SUBJECT, "-o", "out.json"],
    "preregister": ["--issuer", "issuer", *SUBJECT, "--aim", "L2", "--data-source", "production"],
    "renew": ["later.csv", "--issuer", "issuer", *SUBJECT],
    "certificates": ["--issuer", "issuer"],
    "attest": ["cert.json", "--auditor", "auditor", "--name", "A", "--basis", "audited_on_site", "--scope", "all",
               "-o", "out.json"],
    "verify": ["cert.json", "--root", "issuer/trust-root.json", "--fingerprint", "FINGERPRINT", "--status", "issuer/status/1.json"],
    "reproduce": ["cert.json", "timed.csv"],
    "disclose": ["cert.json", "timed.csv", "--record", "r5"],
    "revoke": ["ID", "--issuer", "issuer", "--reason", "asked"],
    "export": ["cert.json"],
    "log monitor": ["site", "--memory", "seen.json", "--root", "issuer/trust-root.json", "--fingerprint", "FINGERPRINT"],
    "log publish": ["two", "--issuer", "issuer"],
    "log verify": ["issuer/log.db", "--root", "issuer/trust-root.json", "--fingerprint", "FINGERPRINT"],
    "keys init": ["another", "--issuer", "https://a.example"],
    "keys list": ["issuer"],
    "keys rotate": ["issuer", "log"],
    "keys end": ["issuer", "KEY"],
}  # fmt: skip
assert tuple(PLAIN) == WITH_ISSUER
STOOD_IN = {
    "serve": [],
    "backup": ["out.tar"],
    "restore": ["a.csv"],
    "succeed": [],
    "submit": ["a.csv", "--server", "http://127.0.0.1:1", "--key", "k", "--model-id", "m"],
    "experiment bias": ["out", "--no-figures"],
    "experiment ecd": ["out", "--no-figures"],
}
assert tuple(STOOD_IN) == STAND_INS
VALUES = {
    "abstain": "wrong", "answer_key": "a.csv", "as_of": "2024-01-01", "at": "2024-01-01T00:00:00Z", "attestation": "record.json",
    "calendar": "due.ics", "classes": "no,yes", "columns": "confidence=q", "confidence": "verbalised",
    "confidence_pattern": r"(\d+)", "correct_from": "0.5", "digests": "sha-256:" + "0" * 64, "domain": "medical",
    "filter": "none", "fingerprint": "0" * 64,
    "forecast": "event", "format": "json", "issuer": "https://b.example", "key": "x", "keys": "x", "log_keys": "x", "name": "B",
    "origin": "b.example/log", "output": "two.json", "passphrase_file": "wrong.txt", "positive": "0", "record": "record.json",
    "registration": "none", "report": "timed.csv", "root_keys": "nowhere", "roots": "issuer/trust-root.json", "scale": "100",
    "scope": "part", "scorer": "choice", "status": "issuer/status/1.json", "status_keys": "x", "summary": "timed.csv",
    "system_id": "t", "system_version": "2", "organization": "us", "unit": "question", "words": "sure=0.9",
    "task": "distribution", "required": "ece<=0.5", "weights": "0.3,0.5,0.2", "weights_reason": "ours", "unknown_threshold": "0.4",
    "memory": "another.json", "folder": "nowhere", "data": "later.csv", "basis": "reproduced", "enter": "record.json",
    "auditor_key": "x", "aim": "L1",
    "data_source": "a laboratory", "least_records": "5000", "reason": "another", "kind": "pretty", "records": "record.json",
    "attestations": "record.json", "auditor_keys": "x", "conducted_by": "issuer", "host": "0.0.0.0", "port": "7", "admin_port": "8",
    "postgres": "postgresql://localhost/x", "redis": "redis://localhost", "workers": "3", "config": "settings.toml",
    "server": "http://127.0.0.1:2", "model_id": "n", "model_version": "2", "preregistration": "R", "certificate": "out.json",
    "onto_domain": "finance", "strategy": "adaptive", "declare": "settings.toml", "new_baseline": "moved",
    "level": "L3", "seed": "3", "seeds": "2", "draws": "99", "size": "tiny", "processes": "1",
}  # fmt: skip
OWN = {
    ("experiment ecd", "--data"): "adult",
    ("succeed", "--status"): "a.csv",
    ("disclose", "--record"): "r6",
    ("verify", "--status"): "cert.json",
}
SAME = {
    ("certify", "--kind"): "the names say so already",
    ("certify", "--assume-utc"): "the times have zones",
    ("renew", "--assume-utc"): "the times have zones",
    ("reproduce", "--assume-utc"): "the times have zones",
    ("revoke", "--revoke"): "what is done by default",
    ("keys end", "--retired"): "what is done by default",
    ("submit", "--kind"): "the names say so already",
    ("experiment bias", "--figures"): "drawn once the study is done, which it is not here",
    ("experiment ecd", "--figures"): "drawn once the study is done, which it is not here",
}


@pytest.fixture(scope="module")
def issuer_folder(tmp_path_factory):
    """An issuer with one certificate, its record and log; an auditor; later data."""
    folder = tmp_path_factory.mktemp("options")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("EPIMETER_PASSPHRASE", "words enough for a test")
        rows = [(k, (k * 37 % 120) / 120 + 1 / 240) for k in range(1200)]

        def written(month, step):
            """Rows of a month; other outcomes are other data, whatever their times."""
            return [
                f"r{k},2024-0{month}-0{1 + k % 9}T10:00:00Z,{p:.3f},{int(k * step % 997 / 997 < p)}" for k, p in rows
            ]

        lines, later = written(1, 53), written(2, 71)
        (folder / "timed.csv").write_text("\n".join(["id,timestamp,confidence,correct", *lines]))
        (folder / "later.csv").write_text("\n".join(["id,timestamp,confidence,correct", *later]))
        (folder / "wrong.txt").write_text("another passphrase")
        prepared(
            "keys init issuer --issuer https://e.example",
            "certify timed.csv --issuer issuer --organization o --system s --system-version 1 -o cert.json",
            "disclose cert.json timed.csv --record r5 -o record.json",
            "log publish site --issuer issuer",
            "attest cert.json --auditor auditor --name A --basis audited_on_site --scope all -o attestation.json",
        )
        yield folder


@pytest.mark.parametrize(
    "command", [pytest.param(one, marks=pytest.mark.slow) if one in ("certify", "renew") else one for one in PLAIN]
)
def test_every_option_of_a_command_with_an_issuer_changes_what_is_said_or_is_refused(command, issuer_folder):
    told = CliRunner().invoke(command_line, ["keys", "list", "issuer", "--json"]).output
    key = next(one["id"] for one in json.loads(told) if one["role"] == "issuer")
    words = {
        "FINGERPRINT": _fingerprint(issuer_folder),
        "KEY": key,
        "ID": json.loads((issuer_folder / "cert.json").read_text())["certificate"]["id"],
    }
    idle = idle_options(
        issuer_folder,
        command,
        [words.get(word, word) for word in PLAIN[command]],
        lambda option, name: OWN.get((command, name)) or VALUES[option.name],
        [name for one, name in SAME if one == command],
    )
    assert not idle, f"without effect: {idle}"


def _fingerprint(folder):
    from epimeter.trust.succession import newest_root

    return newest_root(folder / "issuer").fingerprint


class _Sent:
    """A client that says what it is asked to send."""

    def __init__(self, *whom):
        self.whom = whom

    def __enter__(self):
        return self

    def __exit__(self, *fault):
        return None

    def evaluate(self, *columns, **facts):
        click.echo(f"{self.whom} {[np.asarray(one).tolist() for one in columns]} {facts}")
        return SimpleNamespace(evaluation_id="E", compliance=None)

    def certify(self, identity):
        return identity.encode()


@pytest.mark.parametrize("command", STOOD_IN)
def test_every_option_of_a_server_or_a_study_reaches_it_or_is_refused(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("p,q,y\n0.2,0.3,0\n0.7,0.4,1\n")
    (tmp_path / "settings.toml").write_text("port = 5\nworkers = 7\n")
    monkeypatch.setattr(server, "run", lambda settings, **more: click.echo(f"{settings} {more['new_admin_key']}"))
    for name in ("backup", "restore"):
        monkeypatch.setattr(backup, name, lambda *told: click.echo(str(told)) or {"files": [], "made_at": ""})
    done = SimpleNamespace(log=None, journal_number=1)
    monkeypatch.setattr(succeeding, "begin_successor", lambda *told: click.echo(str(told)) or done)
    monkeypatch.setattr(client, "Client", _Sent)
    monkeypatch.setattr("msgspec.to_builtins", lambda found: vars(found))

    def told(folder, name, settings, cells, work, processes, *more):
        click.echo(f"{name} {settings} {len(cells)} {processes}")
        raise click.exceptions.Exit(0)

    monkeypatch.setattr(experiment, "_run", told)
    idle = idle_options(
        tmp_path,
        command,
        STOOD_IN[command],
        lambda option, name: OWN.get((command, name)) or VALUES[option.name],
        [name for one, name in SAME if one == command],
    )
    assert not idle, f"without effect: {idle}"
