import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_ground import AT, DAY, ORIGIN, key

from epimeter.errors import KeyStoreError, VerificationError
from epimeter.trust.key_ring import KeyRecord, KeyRing, Revocation
from epimeter.trust.keys import PrivateKey, PublicKey

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

# RFC 8032, section 7.1: secret, public, message, signature.
RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        "4a7c15e9716ed28dc027beceea1ec40a",
    ),
]


def code_of(call, *values):
    with pytest.raises(VerificationError) as caught:
        call(*values)
    return caught.value.code


# The curve written out, slowly: -x^2 + y^2 = 1 + d x^2 y^2.
def add(one, other):
    (x1, y1), (x2, y2) = one, other
    product = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P) % P
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P) % P
    return x, y


def points_with(y):
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    root = pow(square, (P + 3) // 8, P)
    if root * root % P != square:
        root = root * pow(2, (P - 1) // 4, P) % P
    return [(root, y), (-root % P, y)] if root * root % P == square else []


def times_8(point):
    for _ in range(3):
        point = add(point, point)
    return point


def encodings_of_small_order():
    """Every 32 bytes that decode, canonically or not, to a point whose eightfold is the neutral one."""
    # Doubling backwards from the neutral point: y = 1, -1, 0, then x^2 = y^2 for order 8.
    candidates = {1, P - 1, 0}
    # 2P = (±i, 0) needs y^2 + x^2 = 0 with x^2 = -y^2: d y^4 + 2 y^2 - 1 = 0 on the curve.
    root = next(x for x, _ in points_with_square((1 + D) % P))
    for square in ((-1 + root) * pow(D, -1, P) % P, (-1 - root) * pow(D, -1, P) % P):
        candidates |= {y for y, _ in points_with_square(square)}
    found = set()
    for y in candidates:
        points = points_with(y)
        assert points
        assert all(times_8(point) == (0, 1) for point in points)
        for written in (y, y + P):
            if written < 2**255:
                found |= {(written | sign << 255).to_bytes(32, "little") for sign in (0, 1)}
    return sorted(found)


def points_with_square(square):
    root = pow(square, (P + 3) // 8, P)
    if root * root % P != square:
        root = root * pow(2, (P - 1) // 4, P) % P
    return [(root, 0), (-root % P, 0)] if root * root % P == square else []


SMALL_ORDER = encodings_of_small_order()


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC_8032)
def test_signatures_are_those_of_rfc_8032(secret, public, message, signature):
    private = PrivateKey.from_seed(bytes.fromhex(secret))
    assert private.public.raw.hex() == public
    assert private.sign(bytes.fromhex(message)).hex() == signature
    PublicKey(bytes.fromhex(public)).verify(bytes.fromhex(message), bytes.fromhex(signature))


def test_the_thumbprint_is_that_of_rfc_8037():
    public = PublicKey.from_jwk({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})
    assert public.raw.hex() == RFC_8032[0][1]
    assert public.id == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_a5_there_are_fourteen_encodings_of_points_of_small_order():
    assert len(SMALL_ORDER) == 14


@pytest.mark.parametrize("raw", SMALL_ORDER, ids=lambda raw: raw.hex()[:16])
def test_a5_keys_of_small_order_are_refused(raw):
    assert code_of(PublicKey, raw) == "weak_key"


def test_a5_the_constant_signature_of_the_identity_key_never_gets_as_far_as_verifying():
    identity = (1).to_bytes(32, "little")
    assert code_of(lambda: PublicKey(identity).verify(b"anything", identity + bytes(32))) == "weak_key"


def test_a5_speccheck_case_0_is_refused():
    assert (
        code_of(PublicKey, bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"))
        == "weak_key"
    )


def test_a5_keys_in_other_encodings_and_off_the_curve_are_refused():
    for y in range(P, 2**255):
        raw = y.to_bytes(32, "little")
        assert code_of(PublicKey, raw) in ("weak_key", "malformed")
    off = next(y for y in range(2, 50) if not points_with(y))
    assert code_of(PublicKey, off.to_bytes(32, "little")) == "malformed"
    for size in (0, 31, 33, 64):
        assert code_of(PublicKey, bytes(size)) == "malformed"


def test_a6_a_malleated_signature_is_refused():
    private = key("issuer")
    signature = private.sign(b"message")
    s = int.from_bytes(signature[32:], "little")
    assert (
        code_of(private.public.verify, b"message", signature[:32] + (s + L).to_bytes(32, "little")) == "bad_signature"
    )


@pytest.mark.parametrize("size", [0, 63, 65, 128])
def test_a6_signatures_of_another_length_are_refused(size):
    private = key("issuer")
    signature = (private.sign(b"message") * 2)[:size]
    assert code_of(private.public.verify, b"message", signature) == "malformed"


def test_a_key_never_shows_its_secret():
    private = key("issuer")
    assert private.seed.hex() not in repr(private)
    assert private.public.id in repr(private)


def test_a_key_comes_back_from_its_json():
    public = key("issuer").public
    assert PublicKey.from_jwk(public.to_jwk()) == public


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"kty": "RSA"}, "algorithm"),
        ({"crv": "X25519"}, "algorithm"),
        ({"alg": "EdDSA"}, "algorithm"),
        ({"alg": "none"}, "algorithm"),
        ({"use": "enc"}, "algorithm"),
        ({"kid": "mine"}, "malformed"),
        ({"x": "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}, "weak_key"),
        ({"x": 5}, "malformed"),
        ({"d": "secret"}, "malformed"),
    ],
)
def test_a2_a_json_web_key_of_another_kind_is_refused(change, code):
    assert code_of(PublicKey.from_jwk, {**key("issuer").public.to_jwk(), **change}) == code


@given(st.binary(max_size=40))
def test_bytes_are_a_key_or_refused(raw):
    with contextlib.suppress(VerificationError):
        PublicKey(raw)


# ---- the ring ----

OLD, NEW = key("old"), key("new")
RING = KeyRing().add(OLD.public, "issuer", AT)


def test_rotation_overlaps_and_signs_with_the_newer_key():
    at = AT + 80 * DAY
    ring = RING.rotate(NEW.public, "issuer", at)
    assert ring.signing("issuer", at).public == NEW.public
    old = ring.find(OLD.public.id, "issuer")
    assert old.valid_until == at + 7 * DAY
    old.check(at + 6 * DAY)
    assert code_of(old.check, at + 8 * DAY) == "key_expired"
    old.check(AT + DAY)


def test_rotation_never_lengthens_a_life():
    assert RING.rotate(NEW.public, "issuer", AT + 88 * DAY).find(OLD.public.id, "issuer").valid_until == AT + 90 * DAY


def test_an_expired_or_retired_key_still_proves_the_documents_of_its_time():
    record = RING.retire(OLD.public.id, AT + 10 * DAY).find(OLD.public.id, "issuer")
    record.check(AT + 9 * DAY)
    assert code_of(record.check, AT + 10 * DAY) == "key_expired"
    assert code_of(record.check, AT - DAY) == "key_not_yet_valid"


def test_a_compromised_key_proves_only_what_outsiders_saw_before():
    record = RING.compromise(OLD.public.id, AT + 10 * DAY).find(OLD.public.id, "issuer")
    assert code_of(record.check, AT + DAY) == "key_compromised"
    record.check(AT + DAY, proven_at=AT + 2 * DAY)
    assert code_of(lambda: record.check(AT + DAY, proven_at=AT + 10 * DAY)) == "key_compromised"
    assert code_of(lambda: record.check(AT + 20 * DAY, proven_at=AT - DAY)) == "key_not_yet_valid"


def test_no_ended_key_signs():
    for ring in (RING.retire(OLD.public.id, AT), RING.compromise(OLD.public.id, AT + 50 * DAY)):
        with pytest.raises(KeyStoreError, match="issuer"):
            ring.signing("issuer", AT + DAY)


def test_an_end_once_published_is_never_put_off():
    retired = RING.retire(OLD.public.id, AT + DAY)
    with pytest.raises(KeyStoreError, match="already retired"):
        retired.retire(OLD.public.id, AT + 2 * DAY)
    worse = retired.compromise(OLD.public.id, AT)
    with pytest.raises(KeyStoreError, match="already compromised"):
        worse.retire(OLD.public.id, AT)
    with pytest.raises(KeyStoreError, match="no key"):
        RING.retire("unknown", AT)


def test_a_key_has_one_role_and_stands_once():
    assert code_of(RING.find, OLD.public.id, "status") == "untrusted_key"
    assert code_of(RING.add, OLD.public, "status", AT) == "malformed"
    assert code_of(RING.add, NEW.public, "king", AT) == "malformed"
    assert code_of(RING.add, NEW.public, "log", AT) == "malformed"
    assert code_of(lambda: RING.add(NEW.public, "root", AT, name=ORIGIN)) == "malformed"
    assert code_of(lambda: RING.add(NEW.public, "issuer", AT, life=0 * DAY)) == "malformed"
    assert code_of(lambda: Revocation(AT, "lost")) == "malformed"


def test_a_ring_comes_back_from_its_json():
    ring = RING.add(NEW.public, "log", AT, name=ORIGIN).compromise(OLD.public.id, AT + DAY)
    assert KeyRing.from_json(ring.to_json()) == ring
    for field in ring.to_json()[0]:
        short = {name: value for name, value in ring.to_json()[0].items() if name != field}
        assert code_of(KeyRecord.from_json, short) == "malformed"


def test_the_key_set_has_keys_in_force_and_the_historical_one_the_others():
    ring = RING.add(NEW.public, "status", AT).add(key("root").public, "root", AT)
    ring = ring.compromise(OLD.public.id, AT + DAY)
    (current,) = ring.to_jwks(AT + DAY)["keys"]
    (past,) = ring.to_jwks(AT + DAY, historical=True)["keys"]
    assert current["kid"] == NEW.public.id
    assert past["kid"] == OLD.public.id
    assert past["revoked"]["reason"] == "compromised"
    assert current["alg"] == "Ed25519"
