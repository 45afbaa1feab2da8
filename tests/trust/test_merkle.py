import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epimeter.errors import VerificationError
from epimeter.trust.merkle import (
    EMPTY_ROOT,
    Frontier,
    consistency_proof,
    frontier_of,
    grow,
    inclusion_proof,
    leaf_hash,
    nodes_of,
    root_of,
    verify_consistency,
    verify_inclusion,
)

# The reference tree of Certificate Transparency: entries, roots by size, proofs.
ENTRIES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
REFERENCE = [leaf_hash(bytes.fromhex(entry)) for entry in ENTRIES]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
INCLUSION = [
    (0, 1, []),
    (
        0,
        8,
        [
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        5,
        8,
        [
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (2, 3, ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]),
    (
        1,
        5,
        [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    ),
]
CONSISTENCY = [
    (1, 1, []),
    (
        1,
        8,
        [
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        6,
        8,
        [
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (
        2,
        5,
        [
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    ),
]

MOST = 70
LEAVES = [leaf_hash(str(number).encode()) for number in range(MOST)]
NODES = nodes_of(LEAVES)
TREE_ROOTS = [root_of(LEAVES[:size]) for size in range(MOST + 1)]


# RFC 6962, section 2.1, word by word and slowly.
def naive_split(count):
    cut = 1
    while cut * 2 < count:
        cut *= 2
    return cut


def naive_root(leaves):
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    cut = naive_split(len(leaves))
    return hashlib.sha256(b"\x01" + naive_root(leaves[:cut]) + naive_root(leaves[cut:])).digest()


def naive_path(index, leaves):
    if len(leaves) == 1:
        return []
    cut = naive_split(len(leaves))
    if index < cut:
        return [*naive_path(index, leaves[:cut]), naive_root(leaves[cut:])]
    return [*naive_path(index - cut, leaves[cut:]), naive_root(leaves[:cut])]


def naive_subproof(old, leaves, known):
    if old == len(leaves):
        return [] if known else [naive_root(leaves)]
    cut = naive_split(len(leaves))
    if old <= cut:
        return [*naive_subproof(old, leaves[:cut], known), naive_root(leaves[cut:])]
    return [*naive_subproof(old - cut, leaves[cut:], False), naive_root(leaves[:cut])]


def refused(call, *values):
    with pytest.raises(VerificationError) as caught:
        call(*values)
    return caught.value.code


def test_roots_are_those_of_the_reference_tree():
    assert [root_of(REFERENCE[:size]).hex() for size in range(9)] == ROOTS
    assert EMPTY_ROOT.hex() == ROOTS[0]


@pytest.mark.parametrize(("index", "size", "proof"), INCLUSION)
def test_inclusion_proofs_are_those_of_the_reference_tree(index, size, proof):
    assert [one.hex() for one in inclusion_proof(index, size, nodes_of(REFERENCE[:size]))] == proof
    verify_inclusion(REFERENCE[index], index, size, [bytes.fromhex(one) for one in proof], bytes.fromhex(ROOTS[size]))


@pytest.mark.parametrize(("old", "new", "proof"), CONSISTENCY)
def test_consistency_proofs_are_those_of_the_reference_tree(old, new, proof):
    assert [one.hex() for one in consistency_proof(old, new, nodes_of(REFERENCE[:new]))] == proof
    hashes = [bytes.fromhex(one) for one in proof]
    verify_consistency(old, new, hashes, bytes.fromhex(ROOTS[old]), bytes.fromhex(ROOTS[new]))


def test_roots_of_all_sizes_are_those_of_the_definition():
    assert [naive_root(LEAVES[:size]) for size in range(MOST + 1)] == TREE_ROOTS


def test_all_inclusion_proofs_are_those_of_the_definition_and_verify():
    for size in range(1, MOST + 1):
        for index in range(size):
            proof = inclusion_proof(index, size, NODES)
            assert proof == naive_path(index, LEAVES[:size])
            verify_inclusion(LEAVES[index], index, size, proof, TREE_ROOTS[size])


def test_all_consistency_proofs_are_those_of_the_definition_and_verify():
    for new in range(1, MOST + 1):
        for old in range(new + 1):
            proof = consistency_proof(old, new, NODES)
            assert proof == (naive_subproof(old, LEAVES[:new], True) if old else [])
            verify_consistency(old, new, proof, TREE_ROOTS[old], TREE_ROOTS[new])


@given(st.lists(st.binary(max_size=3), max_size=40), st.data())
def test_a_tree_grown_in_pieces_is_the_tree_grown_at_once(entries, data):
    leaves = [leaf_hash(entry) for entry in entries]
    cut = data.draw(st.integers(0, len(leaves)))
    first, born = grow(Frontier(), leaves[:cut])
    second, more = grow(first, leaves[cut:])
    assert (second, born + more) == grow(Frontier(), leaves)
    assert second.root == naive_root(leaves)
    assert frontier_of(len(leaves), nodes_of(leaves)) == second


def test_a19_an_inclusion_proof_fits_one_leaf_at_one_index_of_one_tree():
    for size in (1, 2, 7, 8, 33):
        for index in range(size):
            proof = inclusion_proof(index, size, NODES)
            root = TREE_ROOTS[size]
            for other in range(size + 2):
                if other != index:
                    assert refused(verify_inclusion, LEAVES[index], other, size, proof, root) == "bad_proof"
                    assert refused(verify_inclusion, LEAVES[other], index, size, proof, root) == "bad_proof"
            for other in range(index):
                assert refused(verify_inclusion, LEAVES[index], index, other, proof, root) == "bad_proof"


def test_a19_truncated_extended_and_empty_proofs_are_refused():
    proof = inclusion_proof(41, 70, NODES)
    root = TREE_ROOTS[70]
    for bad in (proof[:-1], proof[1:], [*proof, proof[-1]], [LEAVES[0], *proof], []):
        assert refused(verify_inclusion, LEAVES[41], 41, 70, bad, root) == "bad_proof"
    for bad in ([*proof[:-1], proof[-1][:31]], [*proof[:-1], proof[-1] + b"\0"]):
        assert refused(verify_inclusion, LEAVES[41], 41, 70, bad, root) == "malformed"
    for index, size in ((0, 0), (-1, 70), (70, 70), (0, -1)):
        assert refused(verify_inclusion, LEAVES[0], index, size, [], root) == "bad_proof"
    with pytest.raises(VerificationError, match="proof of entry 41 has 6 hashes; a tree of 100 entries needs 7"):
        verify_inclusion(LEAVES[41], 41, 100, proof[:6], root)


def test_a19_every_bit_of_a_proof_matters():
    proof = inclusion_proof(20, 33, NODES)
    for number, one in enumerate(proof):
        for position in range(32):
            bad = bytearray(one)
            bad[position] ^= 1
            changed = [*proof[:number], bytes(bad), *proof[number + 1 :]]
            assert refused(verify_inclusion, LEAVES[20], 20, 33, changed, TREE_ROOTS[33]) == "bad_proof"


def test_a19_a_node_is_no_leaf():
    # Without the two prefixes, the hash of an inner node would pass as a leaf of a smaller tree.
    inner = NODES(1, 0)
    assert leaf_hash(LEAVES[0] + LEAVES[1]) != inner


def test_a21_consistency_proofs_fit_one_pair_of_trees():
    forged = [leaf_hash(b"forged"), *LEAVES[1:]]
    for old, new in ((1, 2), (3, 7), (4, 8), (6, 8), (33, 70), (64, 70)):
        proof = consistency_proof(old, new, NODES)
        check = (old, new, proof, TREE_ROOTS[old], TREE_ROOTS[new])
        verify_consistency(*check)
        assert refused(verify_consistency, old, new, proof, root_of(forged[:old]), TREE_ROOTS[new]) == "bad_proof"
        assert refused(verify_consistency, old, new, proof, TREE_ROOTS[old], root_of(forged[:new])) == "bad_proof"
        assert refused(verify_consistency, new, old, proof, TREE_ROOTS[new], TREE_ROOTS[old]) == "bad_proof"
        for bad in (proof[:-1], proof[1:], [*proof, proof[0]]):
            assert refused(verify_consistency, old, new, bad, TREE_ROOTS[old], TREE_ROOTS[new]) == "bad_proof"
        for number, one in enumerate(proof):
            changed = [*proof[:number], hashlib.sha256(one).digest(), *proof[number + 1 :]]
            assert refused(verify_consistency, old, new, changed, TREE_ROOTS[old], TREE_ROOTS[new]) == "bad_proof"


def test_a21_empty_and_equal_trees_have_nothing_to_prove():
    verify_consistency(0, 5, [], EMPTY_ROOT, TREE_ROOTS[5])
    assert refused(verify_consistency, 0, 5, [], TREE_ROOTS[1], TREE_ROOTS[5]) == "bad_proof"
    assert refused(verify_consistency, 5, 5, [], TREE_ROOTS[4], TREE_ROOTS[5]) == "bad_proof"
    assert refused(verify_consistency, 5, 5, [LEAVES[0]], TREE_ROOTS[5], TREE_ROOTS[5]) == "bad_proof"


@given(
    st.integers(-2, 80),
    st.integers(-2, 80),
    st.lists(st.sampled_from(LEAVES) | st.binary(max_size=33), max_size=9),
)
def test_random_proofs_are_refused(index, size, proof):
    with pytest.raises(VerificationError):
        verify_inclusion(b"\x07" * 32, index, size, proof, TREE_ROOTS[7])
    with pytest.raises(VerificationError):
        verify_consistency(index, size, proof, b"\x07" * 32, TREE_ROOTS[7])


def test_proofs_of_what_is_not_there_are_refused():
    for index, size in ((5, 5), (-1, 5), (0, 0)):
        assert refused(inclusion_proof, index, size, NODES) == "malformed"
    for old, new in ((6, 5), (-1, 5)):
        assert refused(consistency_proof, old, new, NODES) == "malformed"
