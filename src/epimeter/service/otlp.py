# SPDX-License-Identifier: Apache-2.0
"""The gauges of watched systems, sent to a collector: OTLP over HTTP with JSON (OpenTelemetry protocol 1.x, metrics v1)."""

from __future__ import annotations

import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Mapping

EVERY = 60.0
PATIENCE = 10.0
"""Seconds between two reports, and for one."""
Systems = Mapping[tuple[str, str], Mapping[str, float]]
log = logging.getLogger("epimeter.service")


class Exporter:
    """Sends the gauges once a minute; a collector that is away misses some, and is told of once."""

    def __init__(self, url: str) -> None:
        self._url, self._sent, self._away = url, 0.0, False

    def send(self, systems: Systems) -> None:
        """Send, when it is time."""
        if (self._sent and time.monotonic() - self._sent < EVERY) or not systems:
            return
        self._sent = time.monotonic()
        body = json.dumps(request(systems, time.time_ns())).encode()
        asked = urllib.request.Request(self._url, body, {"Content-Type": "application/json"}, method="POST")
        try:
            with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                answer.read(65_536)
        except (OSError, urllib.error.HTTPError) as fault:
            if not self._away:
                log.warning("the collector of metrics does not take them: %s", fault)
            self._away = True
        else:
            self._away = False


def request(systems: Systems, at: int) -> dict[str, object]:
    """An ExportMetricsServiceRequest: one gauge a number, one data point a system."""
    points: dict[str, list[dict[str, object]]] = {}
    for (organization, system), values in sorted(systems.items()):
        about = [_text("organization", organization), _text("system", system)]
        for name, value in values.items():
            point = {"attributes": about, "timeUnixNano": str(at), "asDouble": value}
            points.setdefault(name, []).append(point)
    metrics = [
        {"name": f"epimeter.system.{name}", "gauge": {"dataPoints": made}} for name, made in sorted(points.items())
    ]
    return {
        "resourceMetrics": [
            {
                "resource": {"attributes": [_text("service.name", "epimeter")]},
                "scopeMetrics": [{"scope": {"name": "epimeter.monitor"}, "metrics": metrics}],
            }
        ]
    }


def _text(key: str, value: str) -> dict[str, object]:
    return {"key": key, "value": {"stringValue": value}}
