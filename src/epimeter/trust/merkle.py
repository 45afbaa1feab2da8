# SPDX-License-Identifier: Apache-2.0
"""The Merkle tree of RFC 6962: hashes, roots, proofs and their verification, as pure functions.

A complete subtree is named by its level and its index in that level: (0, i) is leaf i, (l, i) spans the leaves from
i * 2^l to (i + 1) * 2^l. Proofs are made from a function that gives the hash of a complete subtree, wherever it is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from epimeter.errors import VerificationError
from epimeter.trust.strict_json import malformed

Nodes = Callable[[int, int], bytes]  # level, index -> hash of that complete subtree

EMPTY_ROOT = hashlib.sha256().digest()


def leaf_hash(entry: bytes) -> bytes:
    """The hash of one entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees side by side."""
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class Frontier:
    """What must be remembered of a tree to go on with it: the complete subtrees along its right edge, largest first."""

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    @property
    def root(self) -> bytes:
        """The hash of the whole tree."""
        return _joined(self.hashes) if self.hashes else EMPTY_ROOT


def grow(frontier: Frontier, leaves: Iterable[bytes]) -> tuple[Frontier, list[tuple[int, int, bytes]]]:
    """The tree after more leaf hashes, and every complete subtree that came into being: level, index, hash."""
    size, hashes = frontier.size, list(frontier.hashes)
    born: list[tuple[int, int, bytes]] = []
    for leaf in leaves:
        level, index, subtree = 0, size, leaf
        born.append((0, index, subtree))
        # As many subtrees close as the old size has trailing ones in binary.
        while index & 1:
            subtree = hashlib.sha256(b"\x01" + hashes.pop() + subtree).digest()
            level, index = level + 1, index >> 1
            born.append((level, index, subtree))
        hashes.append(subtree)
        size += 1
    return Frontier(size, tuple(hashes)), born


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root of a tree of these leaf hashes; of a long row of them no more than the right edge is kept."""
    hashes: list[bytes] = []
    size = 0
    for leaf in leaves:
        index, subtree = size, leaf
        while index & 1:
            subtree, index = node_hash(hashes.pop(), subtree), index >> 1
        hashes.append(subtree)
        size += 1
    return Frontier(size, tuple(hashes)).root


def nodes_of(leaves: Iterable[bytes]) -> Nodes:
    """The complete subtrees of a tree kept in memory."""
    kept = {(level, index): subtree for level, index, subtree in grow(Frontier(), leaves)[1]}
    return lambda level, index: kept[level, index]


def frontier_of(size: int, nodes: Nodes) -> Frontier:
    """The right edge of the tree of that size."""
    return Frontier(size, tuple(nodes(level, index) for level, index in _complete(0, size)))


def range_hash(begin: int, end: int, nodes: Nodes) -> bytes:
    """The hash of the leaves from `begin` to before `end`, a range that the tree's own cuts make."""
    return _joined([nodes(level, index) for level, index in _complete(begin, end)])


def inclusion_proof(index: int, size: int, nodes: Nodes) -> list[bytes]:
    """The hashes that lead from leaf `index` to the root of the tree of `size` leaves, lowest first."""
    if not 0 <= index < size:
        raise malformed(f"an inclusion proof needs an entry of the tree; entry {index} is not among {size}")
    path: list[bytes] = []
    begin, end = 0, size
    while end - begin > 1:
        cut = begin + split(end - begin)
        if index < cut:
            path.append(range_hash(cut, end, nodes))
            end = cut
        else:
            path.append(range_hash(begin, cut, nodes))
            begin = cut
    return path[::-1]


def consistency_proof(old: int, new: int, nodes: Nodes) -> list[bytes]:
    """The hashes that show the tree of `old` leaves to be the beginning of the tree of `new` leaves."""
    if not 0 <= old <= new:
        raise malformed(f"a consistency proof needs a size from 0 to {new}; got {old}")
    if old in (0, new):
        return []
    # SUBPROOF of RFC 6962 section 2.1.2, downwards; `whole` says that the verifier knows the hash of the range.
    path: list[bytes] = []
    begin, end, whole = 0, new, True
    while end != old:
        cut = begin + split(end - begin)
        if old <= cut:
            path.append(range_hash(cut, end, nodes))
            end = cut
        else:
            path.append(range_hash(begin, cut, nodes))
            begin, whole = cut, False
    if not whole:
        path.append(range_hash(begin, end, nodes))
    return path[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Raise unless the proof shows that leaf hash at that index of the tree."""
    if not 0 <= index < size:
        raise _refused(f"entry {index} cannot be in a tree of {size} entries")
    # Up to the level where the paths of this leaf and of the last one meet there is a sibling on every level;
    # above it only where a subtree lies to the left (RFC 9162 section 2.1.3.2, counted beforehand).
    inner = (index ^ (size - 1)).bit_length()
    needed = inner + (index >> inner).bit_count()
    if len(proof) != needed:
        raise _refused(
            f"inclusion proof of entry {index} has {len(proof)} hashes; a tree of {size} entries needs {needed}"
        )
    _refuse_malformed_hashes(proof, leaf, root)
    found = leaf
    for level, sibling in enumerate(proof):
        left = level >= inner or index >> level & 1
        found = node_hash(sibling, found) if left else node_hash(found, sibling)
    if found != root:
        raise _refused(f"inclusion proof of entry {index} leads to another root than the tree of {size} has")


def verify_consistency(old: int, new: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes) -> None:
    """Raise unless the proof shows the old tree to be the beginning of the new one."""
    if not 0 <= old <= new:
        raise _refused(f"a tree of {old} entries cannot be the beginning of a tree of {new}")
    _refuse_malformed_hashes(proof, old_root, new_root)
    if old == new or old == 0:
        if proof:
            raise _refused(f"consistency proof from {old} to {new} must be empty; it has {len(proof)} hashes")
        if (old_root if old else EMPTY_ROOT) != old_root or (old == new and old_root != new_root):
            raise _refused(f"two trees of {old} entries have different roots")
        return
    # The old tree ends with a complete subtree of 2^whole leaves; the proof starts from its hash, or, where that is
    # the whole old tree, from the root we know.
    whole = (old & -old).bit_length() - 1
    edge = (old - 1) >> whole
    inner = (edge ^ ((new - 1) >> whole)).bit_length()
    needed = (edge > 0) + inner + (edge >> inner).bit_count()
    if len(proof) != needed:
        raise _refused(f"consistency proof from {old} to {new} has {len(proof)} hashes; it needs {needed}")
    start, rest = (proof[0], proof[1:]) if edge else (old_root, proof)
    found_old = found_new = start
    for level, sibling in enumerate(rest):
        if level >= inner or edge >> level & 1:
            found_old, found_new = node_hash(sibling, found_old), node_hash(sibling, found_new)
        else:
            found_new = node_hash(found_new, sibling)
    if found_old != old_root:
        raise _refused(f"consistency proof from {old} to {new} leads to another old root")
    if found_new != new_root:
        raise _refused(f"consistency proof from {old} to {new} leads to another new root")


def split(size: int) -> int:
    """The largest power of two below `size`: where a range of that many leaves is cut."""
    return 1 << ((size - 1).bit_length() - 1)


def _complete(begin: int, end: int) -> list[tuple[int, int]]:
    # The complete subtrees that make up the range, left to right.
    found = []
    while begin < end:
        level = (end - begin).bit_length() - 1
        if begin:
            level = min(level, (begin & -begin).bit_length() - 1)
        found.append((level, begin >> level))
        begin += 1 << level
    return found


def _joined(hashes: Sequence[bytes]) -> bytes:
    found = hashes[-1]
    for left in reversed(hashes[:-1]):
        found = node_hash(left, found)
    return found


def _refuse_malformed_hashes(proof: Sequence[bytes], *others: bytes) -> None:
    if any(len(one) != 32 for one in (*proof, *others)):
        raise malformed("every hash of a proof must have 32 bytes")


def _refused(sentence: str) -> VerificationError:
    return VerificationError(sentence, code="bad_proof")
