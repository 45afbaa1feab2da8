# SPDX-License-Identifier: Apache-2.0
"""Numbers for Prometheus, in its text form; no key ever becomes a label, and of names only those of systems that are watched."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable

MOST_SYSTEMS = 500
"""Systems with numbers of their own; further ones are counted in `epimeter_systems_without_gauges`."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Gauges:
    """Counters and times of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._seconds: dict[str, float] = defaultdict(float)
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._counters: dict[str, int] = defaultdict(int)
        self._largest: dict[str, float] = {}
        self._read: dict[str, Callable[[], float]] = {}
        self._systems: dict[tuple[str, str], dict[str, float]] = {}
        self._beyond: set[tuple[str, str]] = set()
        self._begun = time.time()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request by the pattern of its route, not by its path."""
        place = next((i for i, bound in enumerate(BUCKETS) if seconds <= bound), len(BUCKETS))
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds[route] += seconds
            self._buckets[route][place] += 1

    def count(self, name: str, by: int = 1) -> None:
        """Count an event."""
        with self._lock:
            self._counters[name] += by

    def most(self, name: str, value: float) -> None:
        """Keep the largest value since Prometheus last asked."""
        with self._lock:
            self._largest[name] = max(value, self._largest.get(name, 0.0))

    def system(self, organization: str, name: str, values: dict[str, float]) -> None:
        """The numbers of a system that is watched; the first systems only, so that labels stay few."""
        with self._lock:
            if (organization, name) in self._systems or len(self._systems) < MOST_SYSTEMS:
                self._systems[organization, name] = values
            else:
                self._beyond.add((organization, name))

    def shows(self, organization: str, name: str) -> bool:
        """Whether a system has numbers of its own, or would get them."""
        with self._lock:
            return (organization, name) in self._systems or len(self._systems) < MOST_SYSTEMS

    def systems(self) -> dict[tuple[str, str], dict[str, float]]:
        """The numbers by organisation and system."""
        with self._lock:
            return dict(self._systems)

    def _system_lines(self) -> list[str]:
        by_name: dict[str, list[str]] = {}
        for (organization, name), values in sorted(self._systems.items()):
            labels = f'organization="{_escaped(organization)}",system="{_escaped(name)}"'
            for gauge, value in values.items():
                by_name.setdefault(gauge, []).append(f"epimeter_system_{gauge}{{{labels}}} {value:.9g}")
        lines = []
        for gauge, found in sorted(by_name.items()):
            lines += [f"# TYPE epimeter_system_{gauge} gauge", *found]
        lines += [
            "# TYPE epimeter_systems_without_gauges gauge",
            f"epimeter_systems_without_gauges {len(self._beyond)}",
        ]
        return lines

    def watch(self, name: str, read: Callable[[], float]) -> None:
        """A number that is read when Prometheus asks."""
        self._read[name] = read

    def text(self) -> str:
        """All numbers, as Prometheus reads them."""
        lines = ["# TYPE epimeter_requests_total counter"]
        with self._lock:
            for (method, route, status), number in sorted(self._requests.items()):
                labels = f'method="{method}",route="{route}",status="{status}"'
                lines.append(f"epimeter_requests_total{{{labels}}} {number}")
            lines.append("# TYPE epimeter_request_seconds histogram")
            for route, counts in sorted(self._buckets.items()):
                total = 0
                for bound, number in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                    total += number
                    lines.append(f'epimeter_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
                lines.append(f'epimeter_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
                lines.append(f'epimeter_request_seconds_count{{route="{route}"}} {total}')
            for name, number in sorted(self._counters.items()):
                lines += [f"# TYPE epimeter_{name}_total counter", f"epimeter_{name}_total {number}"]
            for name, value in sorted(self._largest.items()):
                lines += [f"# TYPE epimeter_{name} gauge", f"epimeter_{name} {value:.6f}"]
            self._largest = dict.fromkeys(self._largest, 0.0)
            lines += self._system_lines()
        for name, read in sorted(self._read.items()):
            try:
                value = read()
            except Exception:  # a database that is away must not take the metrics with it
                continue
            lines += [f"# TYPE epimeter_{name} gauge", f"epimeter_{name} {value:g}"]
        lines += ["# TYPE epimeter_start_time_seconds gauge", f"epimeter_start_time_seconds {self._begun:.3f}"]
        return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """A label's value as Prometheus reads it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
