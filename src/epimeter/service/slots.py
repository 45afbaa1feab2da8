# SPDX-License-Identifier: Apache-2.0
"""Slots for work that takes long, shared out fairly: no organisation holds all of them, and whoever has least is next."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """So many pieces of work at a time, all on one event loop.

    Parameters
    ----------
    count
        Slots in all; one organisation gets one less, so that there is always one for another.
    """

    def __init__(self, count: int) -> None:
        self._count, self._share = count, max(1, count - 1)
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def of(self, who: str) -> AsyncIterator[None]:
        """A slot, waited for."""
        await self._take(who)
        try:
            yield
        finally:
            self._free(who)

    async def _take(self, who: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append(turn)
        self._pass_on()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._free(who)  # it was granted as the caller went away
            else:
                queue = self._waiting.get(who)
                if queue is not None and turn in queue:
                    queue.remove(turn)
                    if not queue:
                        del self._waiting[who]
            raise

    def _free(self, who: str) -> None:
        self._held[who] -= 1
        if not self._held[who]:
            del self._held[who]
        self._pass_on()

    def _pass_on(self) -> None:
        while self._held.total() < self._count:
            able = [who for who in self._waiting if self._held[who] < self._share]
            if not able:
                return
            # Who holds least; among equals who was served longest ago: the served go to the end of the line.
            who = min(able, key=self._held.__getitem__)
            queue = self._waiting.pop(who)
            turn = queue.popleft()
            if queue:
                self._waiting[who] = queue
            if not turn.done():
                self._held[who] += 1
                turn.set_result(None)
