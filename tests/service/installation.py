"""A service whose calendar can be set, and the commands of its operator on the same calendar."""

import re
import subprocess
import sys
import time
from pathlib import Path

import ground
import httpx
from servers import Service

DAY = 86_400


class Installation:
    """A service and its operator."""

    def __init__(self, folder, **settings):
        self.clock = folder / "clock"
        self.clock.write_text("0")
        self.program = (sys.executable, str(Path(__file__).with_name("calendar_clock.py")), str(self.clock))
        environment = {f"EPIMETER_{name.upper()}": str(value) for name, value in settings.items()}
        self.service = Service(folder / "data", environment, program=self.program)
        self.registry = folder / "data" / "registry"

    def day(self, number):
        self.clock.write_text(str(number * DAY))

    def command(self, *words):
        done = subprocess.run([*self.program, *map(str, words)], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def evaluate(self, client, model, seed, *, over=0.0, rows=1000, unknown=False, **facts):
        """Send predictions whose last one was made now; `over` makes them too confident, `unknown` calls the unsure ones so."""
        columns = ground.columns(rows, seed, over=over)
        if unknown:
            columns["unknown"] = columns["confidence"] < 0.45
        end = time.time() + float(self.clock.read_text()) - 60
        shift = end - columns["timestamp"][-1].timestamp()
        columns["timestamp"] = [
            moment.fromtimestamp(moment.timestamp() + shift, moment.tzinfo) for moment in columns["timestamp"]
        ]
        sent = client.post("/v1/evaluate", json=ground.body(columns, model_id=model, model_version="1", **facts))
        assert sent.status_code == 200, sent.text
        return sent.json()

    def certificate(self, client, model, seed):
        number = self.evaluate(client, model, seed)["evaluation_id"]
        answer = client.post("/v1/certificates", json={"evaluation_id": number})
        assert answer.status_code == 201, answer.text
        return answer.json()["certificate"]["id"]

    def verdict(self, client, certificate):
        return client.get(f"/v1/certificates/{certificate}/verify").json()["verdict"]

    def metric(self, name):
        text = httpx.get(f"{self.service.admin_url}/metrics").text
        return float(re.search(rf"^epimeter_{name} (\S+)$", text, re.MULTILINE)[1])


def until(look, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not happen in time")
