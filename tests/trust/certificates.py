"""What the tests of certificates start from: an issuer whose keys are the same in every run, kept in memory."""

from dataclasses import replace

from trust_ground import AT, DAY, LOG_KEY, ORIGIN, key

from epimeter.trust.anchors import Trust
from epimeter.trust.canonical import canonical_json
from epimeter.trust.certificate import KIND, Assessment, Subject, Terms, draft
from epimeter.trust.checkpoint import Checkpoint, sign_checkpoint
from epimeter.trust.entries import issued_entry
from epimeter.trust.envelope import embed, seal
from epimeter.trust.key_ring import KeyRing
from epimeter.trust.merkle import inclusion_proof, leaf_hash, nodes_of, root_of
from epimeter.trust.registration import RegisteredPlan, reference, registered_entry, registration, sign_registration
from epimeter.trust.root import TrustRoot, sign_root
from epimeter.trust.status_list import StatusList, sign_status_list
from epimeter.trust.tlog_proof import TlogProof
from epimeter.trust.verify import verify

ISSUER, STATUS, ROOT, OTHER = key("issuer"), key("status"), key("root"), key("other")
NAME = "https://registry.example"
LIST = f"{NAME}/status/1"
INDEX = 48211
IDENTITY = "ONTO-CERT-2026-7Q4MK8ZD2N0R5TVX"
PROMISE = "ONTO-REG-2026-5TVX7Q4MK8ZD2N0R"
LATER = AT + DAY

FOUND = Assessment(
    kind="answer",
    ece=0.0742,
    ece_ci95=(0.0691, 0.0795),
    u_recall=67.5,
    u_recall_ci95=(66.1, 68.9),
    ers_raw_ci95=(29.5, 32.6),
    accuracy=0.8125,
    sample_size=20000,
    period=(AT - 30 * DAY, AT - DAY),
    domain="general",
    dataset_digest="epi-col-v1:sha-256:" + "ab" * 32,
    records_root="epi-rec-v1:sha-256:" + "cd" * 32,
    code_digest="sha-256:" + "ef" * 32,
    engine_version="0.1.0",
    interval_method="basic bootstrap, 1,000 draws of the sorted records, seed 0",
    covered_bins=10,
)
OTHER_DATA = replace(FOUND, dataset_digest="epi-col-v1:sha-256:" + "77" * 32, sample_size=FOUND.sample_size + 1)
"""The same numbers from other data: the same data earn a system one certificate."""
SUBJECT = Subject(
    organization="Acme Zürich", system_id="triage", system_version="4.2", domain="general", digests=("12" * 32,)
)
RING = (
    KeyRing()
    .add(ROOT.public, "root", AT - 10 * DAY)
    .add(ISSUER.public, "issuer", AT - 10 * DAY)
    .add(STATUS.public, "status", AT - 10 * DAY, life=3650 * DAY)
    .add(LOG_KEY.public, "log", AT - 10 * DAY, name=ORIGIN)
)


def terms(**changes):
    given = {
        "certificate_id": IDENTITY,
        "issued_at": AT,
        "issuer": NAME,
        "key": ISSUER.public,
        "status_list": LIST,
        "status_index": INDEX,
        "attempt": 2,
    }
    return Terms(**{**given, **changes})


def promise():
    """A pre-registration and the entry that the log has of it."""
    document = registration(
        PROMISE, SUBJECT, RegisteredPlan(aim="L1", data_source="production, October"), NAME, AT - 2 * DAY
    )
    return registered_entry(sign_registration(document, ISSUER), document)


def body(**changes):
    return draft(FOUND, SUBJECT, terms(**changes))


BODY = body(preregistration=reference(promise(), 2))


def logged(document, *, signer=LOG_KEY, origin=ORIGIN, entries=None, at=5):
    """The document with its proof, entry 5 of 9 in a log in memory; entry 2 is the pre-registration."""
    sealed = seal({name: part for name, part in document.items() if name != "signature"}, KIND)
    own = issued_entry(document, sealed.signed_bytes, document["signature"]["key_id"])
    entries = [b"entry %d" % number for number in range(9)] if entries is None else entries
    entries[2], entries[at] = promise(), own
    hashes = [leaf_hash(entry) for entry in entries]
    note = sign_checkpoint(Checkpoint(origin, len(entries), root_of(hashes)), signer)

    def proof(index):
        way = tuple(inclusion_proof(index, len(entries), nodes_of(hashes)))
        return TlogProof(index=index, hashes=way, checkpoint=note).to_text()

    named = document["evidence"]["preregistration"]
    return {
        **document,
        "transparency": {
            "origin": origin,
            "tlog_proof": proof(at),
            "preregistration": None if named is None else {"entry": entries[2].decode(), "tlog_proof": proof(2)},
        },
    }


def signed(content=BODY, signer=ISSUER, kind=KIND):
    """A document with an embedded signature, whatever it says."""
    return embed(seal(content, kind, signer), signer.public)


def data_of(document):
    return canonical_json(document)


DOCUMENT = logged(signed())
CERTIFICATE = data_of(DOCUMENT)


def status_list(changes=None, *, signer=STATUS, list_id=LIST, at=AT, life=7 * DAY):
    made = StatusList.empty(list_id, at, at + life)
    if changes:
        made = made.with_status(changes, at, at + life)
    return sign_status_list(made, signer).to_json()


GOOD = status_list()


def root(ring=RING, *, version=1, witnesses=(), quorum=0):
    return TrustRoot(
        version=version,
        issued_at=AT - 10 * DAY,
        expires_at=AT + 3650 * DAY,
        threshold=1,
        ring=ring,
        witnesses=witnesses,
        quorum=quorum,
    )


TRUST = Trust.of(root())
SIGNED_ROOT = sign_root(root(), ROOT).to_json()


def judged(data=CERTIFICATE, trust=TRUST, *, at=LATER, status=GOOD, **more):
    return verify(data if isinstance(data, bytes) else data_of(data), trust, at=at, status=status, **more)


def verdict(data=CERTIFICATE, trust=TRUST, **more):
    return judged(data, trust, **more).shown


def changed(path, value, document=DOCUMENT):
    """A deep copy with one field set, or taken out when the value is Ellipsis."""
    import copy

    made = copy.deepcopy(document)
    place = made
    *way, last = path.split(".")
    for name in way:
        place = place[name]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return made


def resigned(path, value):
    """A certificate whose issuer signed and logged something else."""
    return logged(signed(changed(path, value, BODY)))


FROM_SUMS = changed(
    "evidence",
    {
        **BODY["evidence"],
        "dataset_digest": "epi-parts-v1:sha-256:" + "ab" * 32,
        "records_root": "epi-rec-parts-v1:sha-256:" + "cd" * 32,
        "interval_method": "delta method",
    },
    BODY,
)
"""A body that was made from the sums of parts."""
