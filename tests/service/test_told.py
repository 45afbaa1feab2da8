"""Events by mail, through a real SMTP server process; what ends soon; files for Grafana that ask for gauges there are."""

import email
import json
import re
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from email import policy
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
import yaml
from servers import running

from epimeter.monitor.change import CalibrationChange
from epimeter.monitor.series import Measured
from epimeter.monitor.unlabelled import Drift
from epimeter.monitor.watch import SystemStanding
from epimeter.service import watching
from epimeter.service.gauges import MOST_SYSTEMS, Gauges

GRAFANA = Path(__file__).parents[2] / "deploy" / "grafana"
SERVER = """
import sys, time
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Mailbox
made = Controller(Mailbox(sys.argv[1]), hostname="127.0.0.1", port=int(sys.argv[2]))
made.start()
print("ready", flush=True)
time.sleep(600)
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_an_alarm_comes_by_mail(tmp_path):
    box, port = tmp_path / "box", free_port()
    words = [sys.executable, "-W", "ignore", "-c", SERVER, str(box), str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline() == "ready\n"
        try:
            with (
                running(tmp_path, smtp=f"smtp://127.0.0.1:{port}", mail_from="watch@example.org") as service,
                service.tenant("Told") as owner,
            ):
                wanted = {"url": "mailto:ada@example.org", "events": ["alarm.opened", "alarm.changed"]}
                assert owner.post("/v1/webhooks", json=wanted).status_code == 201
                bad = owner.post("/v1/webhooks", json={"url": "mailto:a@b, c@d", "events": ["alarm.opened"]})
                assert bad.status_code == 422
                rows = [{"id": str(k), "confidence": 0.9, "time": "2026-01-05T00:00:00Z"} for k in range(30)]
                assert owner.post("/v1/systems/bot/predictions", json={"predictions": rows}).status_code == 200
                mail = mails(box, "alarm.opened: bot")[0]
                (name, *_) = re.findall(r'"alarm": "(.+)"', mail.get_content())
                taken = owner.post("/v1/systems/bot/alarms/acknowledge", json={"alarm": name, "by": "Ada"})
                assert taken.status_code == 200, taken.text
                (changed,) = mails(box, "alarm.changed: bot")
        finally:
            server.kill()
    assert mail["To"] == "ada@example.org" and mail["From"] == "watch@example.org"
    assert "since 2026-01-0" in mail.get_content()
    assert name in changed.get_content() and '"state": "acknowledged"' in changed.get_content()


def mails(box, subject, seconds=60):
    """The mails with a subject, once there is one."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = [email.message_from_bytes(f.read_bytes(), policy=policy.default) for f in (box / "new").glob("*")]
        if found := [mail for mail in found if mail["Subject"] == subject]:
            return found
        time.sleep(0.1)
    raise AssertionError(f"no mail came: {subject}")


def test_gauges_of_systems_are_bounded_and_their_names_escaped():
    gauges = Gauges()
    for number in range(MOST_SYSTEMS + 3):
        gauges.system("org", f's{number}"\n', {"ece": 0.25})
    text = gauges.text()
    assert text.count("epimeter_system_ece{") == MOST_SYSTEMS
    assert 'system="s0\\"\\n"} 0.25' in text and "epimeter_systems_without_gauges 3" in text


@pytest.fixture
def exposed(monkeypatch):
    """The names that Prometheus is told of a system with everything to tell."""
    week = Measured(100, 0.0, -0.1, 0.1, 0.05, 0.01, 0.1)
    drift = Drift(100, 0.1, 0.1, 0.0, 0.8, None)
    standing = SystemStanding("quiet", 0, 100.0, week, CalibrationChange(100, 0.0, -0.1, 0.1), 0.0, drift)
    monkeypatch.setattr(watching.registry, "newest_of", lambda *_: {"id": "c", "level": "L2"})
    state = SimpleNamespace(status="VALID", next_evaluation="2026-01-01")
    monkeypatch.setattr(watching.renewing, "state_of", lambda *_: state)
    certified = watching.certified(SimpleNamespace(reading=nullcontext), None, {"organization": "o", "name": "s"})
    gauges = Gauges()
    gauges.system("o", "s", watching.numbers(standing) | certified)
    return set(re.findall(r"^(\w+)(?:\{.*\})? ", gauges.text(), re.MULTILINE))


@pytest.mark.parametrize("name", ["calibration.json", "alerts.yaml"])
def test_files_for_grafana_ask_for_gauges_that_there_are(name, exposed):
    text = (GRAFANA / name).read_text()
    asked = set(re.findall(r"\bepimeter_\w+", text))
    assert asked and asked <= exposed
    if name.endswith("json"):
        board = json.loads(text)
        panels = board["panels"]
        assert board["uid"] and len({panel["id"] for panel in panels}) == len(panels)
        assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)
        asks = [target["expr"] for panel in panels for target in panel["targets"]]
        assert all(panel["targets"] for panel in panels) and all("epimeter_" in ask for ask in asks)
        # Whoever loads it says which Prometheus it asks: no data source of one machine is named.
        (asked_for,) = board["__inputs"]
        sources = [part["datasource"] for part in (*panels, *board["templating"]["list"]) if "datasource" in part]
        assert len(sources) >= len(panels) and {one["uid"] for one in sources} == {f"${{{asked_for['name']}}}"}


def _without(board, *path):
    *way, last = path
    for step in way:
        board = board[step]
    del board[last]


def _with(board, value, *path):
    *way, last = path
    for step in way:
        board = board[step]
    board[last] = value


@pytest.mark.parametrize(
    "breaks",
    [
        lambda board: None,
        lambda board: _with(board, "graph", "panels", 0, "type"),
        lambda board: _with(board, "12", "panels", 1, "gridPos", "w"),
        lambda board: _without(board, "panels", 2, "gridPos", "h"),
        lambda board: _without(board, "panels", 3, "targets", 0, "expr"),
        lambda board: _with(board, "Bias", "panels", 4, "titel"),
        lambda board: _with(board, "often", "templating", "list", 0, "refresh"),
        lambda board: _with(board, "every", "panels", 5, "options", "tooltip", "mode"),
        lambda board: _with(board, {"value": 1}, "panels", 6, "fieldConfig", "defaults", "thresholds"),
        lambda board: _without(board, "schemaVersion"),
        lambda board: _with(board, "now-30d", "time"),
    ],
)
def test_the_dashboard_is_one_by_the_schema_of_grafana_and_a_broken_one_is_not(breaks):
    schema = json.loads((Path(__file__).parent / "grafana" / "dashboard.schema.json").read_text())
    board = json.loads((GRAFANA / "calibration.json").read_text())
    sound = json.loads(json.dumps(board))
    breaks(board)
    faults = [fault.message for fault in jsonschema.Draft7Validator(schema).iter_errors(board)]
    assert bool(faults) == (board != sound), faults


def test_alert_rules_have_what_prometheus_reads(exposed):
    (group,) = yaml.safe_load((GRAFANA / "alerts.yaml").read_text())["groups"]
    assert set(group) == {"name", "rules"} and len({rule["alert"] for rule in group["rules"]}) == len(group["rules"])
    for rule in group["rules"]:
        assert {"alert", "expr", "annotations"} <= set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        asked = re.fullmatch(r"(\w+) (==|<|>) \d+", rule["expr"])
        assert asked and asked[1] in exposed and re.fullmatch(r"[1-9]\d*[smhd]", rule.get("for", "1m"))
        named = re.findall(r"\{\{ (\S+) \}\}", " ".join(rule["annotations"].values()))
        assert set(named) <= {"$labels.system", "$labels.organization", "$value"}
        assert rule["labels"]["severity"] in ("info", "warning")
