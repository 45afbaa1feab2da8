# SPDX-License-Identifier: Apache-2.0
"""Says again and again that something is alive, while it works."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger("epimeter.service")


class Heart:
    """Calls `beat` every so many seconds, in a thread of its own, until the work beside it is done."""

    def __init__(self, beat: Callable[[], object], seconds: float, what: str) -> None:
        self._beat, self._seconds, self._what = beat, seconds, what
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heart", daemon=True)

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            try:
                self._beat()
            except Exception:
                log.warning("%s: its lease could not be renewed", self._what)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
