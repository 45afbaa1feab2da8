# SPDX-License-Identifier: Apache-2.0
"""A log seen from outside: checkpoint and tiles from a folder or a web server, proofs made by the one who doubts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from epimeter.errors import LogError
from epimeter.trust.checkpoint import Checkpoint
from epimeter.trust.merkle import consistency_proof
from epimeter.trust.note import Note
from epimeter.trust.tiles import WIDTH, Tile, bundle_entries, nodes_from_tiles

FILE_LIMIT = 1 << 24  # a full bundle of the largest entries
PATIENCE = 30.0


class TileLog:
    """A log behind a function that gives the content of a path; nothing that it gives is trusted."""

    def __init__(self, fetch: Callable[[str], bytes]) -> None:
        self.fetch = fetch

    def checkpoint(self) -> Note:
        """The newest checkpoint."""
        return Note.from_bytes(self.fetch("checkpoint"))

    def consistency_proof(self, old: int, new: int) -> list[bytes]:
        """The proof that one tree is the beginning of another, made from tiles."""
        return consistency_proof(old, new, nodes_from_tiles(new, self.fetch))

    def first_entries(self, size: int) -> list[bytes]:
        """All entries up to a size; whoever uses them compares their root with a checkpoint first."""
        found: list[bytes] = []
        while len(found) < size:  # bundle by bundle: the size is no more than a number that somebody signed
            tile = Tile(None, len(found) // WIDTH, min(WIDTH, size - len(found)))
            found += bundle_entries(tile, self.fetch(tile.path))
        return found

    @property
    def size(self) -> int:
        """The size that the newest checkpoint states, unverified."""
        return Checkpoint.from_text(self.checkpoint().text).size


def from_folder(folder: Path | str) -> TileLog:
    """A log published into a folder."""

    def fetch(path: str) -> bytes:
        try:
            with open(Path(folder) / path, "rb") as file:
                return _limited(file.read(FILE_LIMIT + 1), path)
        except OSError as fault:
            raise LogError(f"{path} of the log cannot be read: {fault.strerror or fault}") from None

    return TileLog(fetch)


def from_url(prefix: str) -> TileLog:
    """A log behind a web address."""
    import http.client
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    if not prefix.startswith(("https://", "http://")):
        raise LogError(f"a log must be at an http or https address; got {prefix[:60]!r}")

    def fetch(path: str) -> bytes:
        request = Request(f"{prefix.rstrip('/')}/{path}", headers={"User-Agent": "epimeter"})
        try:
            with urlopen(request, timeout=PATIENCE) as answer:
                data: bytes = answer.read(FILE_LIMIT + 1)
        except (URLError, OSError, http.client.HTTPException, ValueError) as fault:
            raise LogError(f"{path} of the log at {prefix} cannot be fetched: {fault}") from None
        return _limited(data, path)

    return TileLog(fetch)


def _limited(data: bytes, path: str) -> bytes:
    if len(data) > FILE_LIMIT:
        raise LogError(f"{path} of the log is larger than any tile")
    return data
