import pytest
from hypothesis import given
from hypothesis import strategies as st

from epimeter.errors import VerificationError
from epimeter.trust.merkle import (
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    nodes_of,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from epimeter.trust.tiles import (
    Tile,
    bundle_entries,
    bundles_of,
    entry_bundle,
    in_tree,
    nodes_from_tiles,
    tile_bytes,
    tile_hashes,
    tiles_of,
)


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 1234067), "tile/0/x001/x234/067"),
        (Tile(0, 0), "tile/0/000"),
        (Tile(1, 999, 1), "tile/1/999.p/1"),
        (Tile(63, 1000, 255), "tile/63/x001/000.p/255"),
        (Tile(None, 273, 112), "tile/entries/273.p/112"),
    ],
)
def test_paths_are_those_of_the_specification(tile, path):
    assert tile.path == path
    assert Tile.from_path(path) == tile


@pytest.mark.parametrize(
    "path",
    [
        "",
        "tile/0/0",
        "tile/00/000",
        "tile/64/000",
        "tile/0/x000/001",
        "tile/0/001/002",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/000.p/999",
        "tile/-1/000",
        "tile/entries/000/",
        "/tile/0/000",
        "tile/0/000\n",
        "tile/0/../../etc",
        "tile/0/" + "x999/" * 30 + "999",
        "tile/0/x100/x000/x000/x000/x000/000",
        "tile/٠/000",
    ],
)
def test_other_spellings_of_a_path_are_refused(path):
    with pytest.raises(VerificationError):
        Tile.from_path(path)


def test_the_tiles_of_70000_entries_are_those_of_the_specification():
    tiles = tiles_of(70_000)
    full = [tile for tile in tiles if tile.width == 256]
    assert [sum(tile.level == level for tile in full) for level in (0, 1, 2)] == [273, 1, 0]
    assert [tile for tile in tiles if tile.width < 256] == [Tile(0, 273, 112), Tile(1, 1, 17), Tile(2, 0, 1)]
    assert tiles_of(256) == [Tile(0, 0), Tile(1, 0, 1)]
    assert tiles_of(0) == []
    assert bundles_of(300) == [Tile(None, 0), Tile(None, 1, 44)]


@given(st.integers(0, 200_000), st.integers(0, 2000))
def test_new_tiles_are_those_that_the_old_tree_had_not(since, more):
    size = since + more
    assert set(tiles_of(size, since)) == set(tiles_of(size)) - set(tiles_of(since))
    assert all(in_tree(tile, size) for tile in tiles_of(size))
    assert not any(in_tree(tile, since) for tile in tiles_of(size, since))


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 700])
def test_a_stranger_makes_every_proof_from_tiles(size):
    leaves = [leaf_hash(str(number).encode()) for number in range(size)]
    nodes = nodes_of(leaves)
    served = {tile.path: tile_bytes(tile, nodes) for tile in tiles_of(size)}
    mine = nodes_from_tiles(size, served.__getitem__)
    root = root_of(leaves)
    for index in {0, 1, size // 2, 255, 256, size - 1} & set(range(size)):
        verify_inclusion(leaves[index], index, size, inclusion_proof(index, size, mine), root)
    for old in {1, 2, 128, 255, 256, 257, size} & set(range(1, size + 1)):
        proof = consistency_proof(old, size, mine)
        assert proof == consistency_proof(old, size, nodes)
        verify_consistency(old, size, proof, root_of(leaves[:old]), root)


def test_a19_wrong_tiles_give_proofs_that_do_not_verify():
    leaves = [leaf_hash(str(number).encode()) for number in range(300)]
    nodes = nodes_of(leaves)
    served = {tile.path: tile_bytes(tile, nodes) for tile in tiles_of(300)}
    served["tile/0/000"] = bytes(32) + served["tile/0/000"][32:]
    proof = inclusion_proof(1, 300, nodes_from_tiles(300, served.__getitem__))
    with pytest.raises(VerificationError):
        verify_inclusion(leaves[1], 1, 300, proof, root_of(leaves))


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=20))
def test_entries_come_back_from_a_bundle(entries):
    assert bundle_entries(Tile(None, 0, len(entries)), entry_bundle(entries)) == entries


@given(st.binary(max_size=40), st.integers(1, 4))
def test_bytes_are_a_bundle_or_refused(data, width):
    try:
        assert entry_bundle(bundle_entries(Tile(None, 0, width), data)) == data
    except VerificationError as fault:
        assert fault.code == "malformed"


def test_entries_and_tiles_of_the_wrong_size_are_refused():
    entry_bundle([bytes(65_535)])
    for call in (
        lambda: entry_bundle([bytes(65_536)]),
        lambda: tile_hashes(Tile(0, 0, 2), bytes(63)),
        lambda: tile_bytes(Tile(None, 0, 1), lambda *_: b""),
        lambda: Tile(0, -1),
        lambda: Tile(64, 0),
        lambda: Tile(0, 0, 0),
        lambda: Tile(0, 0, 257),
    ):
        with pytest.raises(VerificationError):
            call()
