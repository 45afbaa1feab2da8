# SPDX-License-Identifier: Apache-2.0
"""What msgspec must know of a record to read it, found out once, before the first request.

It is found out when a type is first read, and msgspec 0.22 ends the process (a segmentation fault) where two threads begin that at
once: a burst of requests after a start was enough. So one thread does it for all records while nobody else is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


def settle() -> int:
    """Find out all there is to know of every record that the service reads; how many there are."""
    from epimeter.monitor import arriving, glance  # noqa: F401
    from epimeter.service import acceptance, errands, passports, published, schemas  # noqa: F401

    kinds = list(records(msgspec.Struct))
    for kind in (*kinds, arriving.Predictions, arriving.Outcomes):
        msgspec.json.Decoder(kind)
    return len(kinds)


def records(kind: type[Any]) -> Iterator[type[Any]]:
    """The records of this package that are loaded."""
    below: list[type[Any]] = kind.__subclasses__()
    for one in below:
        if one.__module__.startswith("epimeter."):
            yield one
        yield from records(one)
