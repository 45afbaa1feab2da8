# SPDX-License-Identifier: Apache-2.0
"""Commands that change one state take turns: each reads what the one before it wrote."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from epimeter.readers.wording import clean


@contextmanager
def turn(state: str | os.PathLike[str], say: Callable[[str], None]) -> Iterator[None]:
    """Hold a state from before it is read until after it is saved; waits for whoever holds it, and says so.

    The lock is on a file beside the state, for saving puts another file in the place of the state; it ends with the process.
    """
    path = Path(state)
    with open(path.parent / f".{path.name}.lock", "ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another command is changing {clean(path.name)}; waiting until it is done")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
