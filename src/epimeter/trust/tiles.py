# SPDX-License-Identifier: Apache-2.0
"""A log as static files after C2SP tlog-tiles: 256 hashes a tile, 256 entries a bundle.

A tile of level l holds hashes of complete subtrees of 256^l leaves. The right-most tile of a level may be partial; its
width is part of its path, so that no path ever changes its content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from epimeter.trust.merkle import Nodes, node_hash
from epimeter.trust.strict_json import malformed

WIDTH = 256
ENTRY_LIMIT = 65_535  # bytes of an entry; its length is written in 16 bits

_PATH = re.compile(r"tile/(entries|0|[1-9][0-9]?)/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


@dataclass(frozen=True, slots=True)
class Tile:
    """One tile: level (None for a bundle of entries), index in the level, how many it holds."""

    level: int | None
    index: int
    width: int = WIDTH

    def __post_init__(self) -> None:
        fits = 0 <= self.index < 2**56 and (self.level is None or 0 <= self.level <= 63)
        if not fits or not 1 <= self.width <= WIDTH:
            raise malformed(f"no tile has level {self.level}, index {self.index} and width {self.width}")

    @property
    def path(self) -> str:
        """The path under the log's prefix.

        Examples
        --------
        >>> Tile(0, 1234067, 8).path
        'tile/0/x001/x234/067.p/8'
        """
        groups = [f"{self.index % 1000:03}"]
        rest = self.index // 1000
        while rest:
            groups.append(f"x{rest % 1000:03}")
            rest //= 1000
        level = "entries" if self.level is None else str(self.level)
        partial = "" if self.width == WIDTH else f".p/{self.width}"
        return f"tile/{level}/{'/'.join(reversed(groups))}{partial}"

    @classmethod
    def from_path(cls, path: str) -> Tile:
        """The tile of a path; only the one spelling of a path is accepted."""
        found = _PATH.fullmatch(path) if len(path) < 80 else None
        if found is not None:
            level = None if found[1] == "entries" else int(found[1])
            index = int(found[2].replace("x", "").replace("/", ""))
            if index < 2**56 and (level or 0) <= 63 and int(found[3] or 1) < WIDTH:
                tile = cls(level, index, int(found[3] or WIDTH))
                if tile.path == path:
                    return tile
        raise malformed(f"a tile path must read tile/<level>/<index>[.p/<width>]; got {path[:80]!r}")


def tiles_of(size: int, since: int = 0) -> list[Tile]:
    """The tiles of hashes that a tree of `size` leaves has and a tree of `since` leaves had not, level by level."""
    found = []
    level = 0
    while size >> (8 * level):
        count, before = size >> (8 * level), since >> (8 * level)
        for index in range(before // WIDTH, -(-count // WIDTH)):
            width = min(WIDTH, count - index * WIDTH)
            if index * WIDTH + width > before:
                found.append(Tile(level, index, width))
        level += 1
    return found


def bundles_of(size: int, since: int = 0) -> list[Tile]:
    """The bundles of entries that a tree of `size` leaves has and a tree of `since` leaves had not."""
    return [Tile(None, tile.index, tile.width) for tile in tiles_of(size, since) if tile.level == 0]


def in_tree(tile: Tile, size: int) -> bool:
    """Whether a tree of that size fills the tile."""
    return tile.index * WIDTH + tile.width <= size >> (8 * (tile.level or 0))


def tile_bytes(tile: Tile, nodes: Nodes) -> bytes:
    """The content of a tile of hashes."""
    if tile.level is None:
        raise malformed("a bundle of entries has no hashes; use entry_bundle")
    first = tile.index * WIDTH
    return b"".join(nodes(8 * tile.level, first + number) for number in range(tile.width))


def tile_hashes(tile: Tile, data: bytes) -> list[bytes]:
    """The hashes in the content of a tile."""
    if len(data) != 32 * tile.width:
        raise malformed(f"{tile.path} must have {32 * tile.width} bytes; got {len(data)}")
    return [data[start : start + 32] for start in range(0, len(data), 32)]


def entry_bundle(entries: Sequence[bytes]) -> bytes:
    """The content of a bundle: each entry after its length in two bytes."""
    parts = []
    for entry in entries:
        refuse_long_entry(entry)
        parts += [len(entry).to_bytes(2, "big"), entry]
    return b"".join(parts)


def bundle_entries(tile: Tile, data: bytes) -> list[bytes]:
    """The entries in the content of a bundle."""
    entries = []
    start = 0
    while start < len(data):
        end = start + 2 + int.from_bytes(data[start : start + 2], "big")
        if end > len(data) or start + 2 > len(data):
            raise malformed(f"{tile.path} ends within an entry")
        entries.append(data[start + 2 : end])
        start = end
    if len(entries) != tile.width:
        raise malformed(f"{tile.path} must have {tile.width} entries; got {len(entries)}")
    return entries


def refuse_long_entry(entry: bytes) -> None:
    """Raise unless the entry fits into a bundle."""
    if len(entry) > ENTRY_LIMIT:
        raise malformed(f"an entry must have at most {ENTRY_LIMIT} bytes; got {len(entry)}. Log its digest.")


def nodes_from_tiles(size: int, fetch: Callable[[str], bytes]) -> Nodes:
    """The complete subtrees of a tree that is kept as tiles: what a stranger needs to make any proof himself.

    `fetch` gives the content of a path under the log's prefix. What it gives is not trusted: a proof made from wrong
    tiles does not verify against the checkpoint.
    """
    kept: dict[str, list[bytes]] = {}

    def node(level: int, index: int) -> bytes:
        tile_level, height = divmod(level, 8)
        first = index << height
        count = size >> (8 * tile_level)
        number = first // WIDTH
        tile = Tile(tile_level, number, min(WIDTH, count - number * WIDTH))
        if tile.path not in kept:
            kept[tile.path] = tile_hashes(tile, fetch(tile.path))
        hashes = kept[tile.path][first % WIDTH : first % WIDTH + (1 << height)]
        while len(hashes) > 1:
            hashes = [node_hash(hashes[at], hashes[at + 1]) for at in range(0, len(hashes), 2)]
        return hashes[0]

    return node
