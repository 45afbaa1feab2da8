# SPDX-License-Identifier: Apache-2.0
"""A progress bar on standard error, for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import threading
import time

PATIENCE = 2.0


class Progress:
    """Rows done, rate and time left; nothing is drawn in the first two seconds, nor when nobody watches."""

    def __init__(self, total: int | None, unit: str = "rows") -> None:
        """`total` is None where nobody knows it: then only rows and rate are shown."""
        self.total, self.unit = total, unit
        self.done = 0
        self.begun = time.monotonic()
        self.drawn = 0.0
        self.lock = threading.Lock()
        self.watched = sys.stderr.isatty()

    def __call__(self, step: int) -> None:
        """Tell that `step` more are done."""
        with self.lock:
            self.done += step
            now = time.monotonic()
            if self.watched and now - self.begun > PATIENCE and now - self.drawn > 0.1:
                self.drawn = now
                self._draw(now - self.begun)

    def _draw(self, seconds: float) -> None:
        rate = self.done / seconds
        if self.total is None:
            sys.stderr.write(f"\r{self.done:,} {self.unit}  {rate:,.0f}/s".ljust(79))
            sys.stderr.flush()
            return
        share = min(1.0, self.done / max(self.total, 1))
        bar = "█" * round(share * 30)
        left = (self.total - self.done) / rate if rate else 0.0
        line = f"\r{bar:<30} {share:4.0%}  {self.done:,} {self.unit}  {rate:,.0f}/s  {left:.0f} s left"
        sys.stderr.write(line.ljust(79))
        sys.stderr.flush()

    def close(self) -> None:
        """Wipe the bar, if it was drawn."""
        if self.drawn:
            sys.stderr.write("\r" + " " * 79 + "\r")
            sys.stderr.flush()
