"""An auditor attests by a key of his own: typed by auditor, issuer and reader."""

import json
from datetime import UTC, datetime
from pathlib import Path

from epimeter.trust.attestation import attest, certificate_digest
from epimeter.trust.canonical import to_base64
from epimeter.trust.envelope import seal
from epimeter.trust.keys import PrivateKey
from epimeter.trust.succession import newest_root

pytest_plugins = ("issuer_calendar",)
NAMES = ("--issuer", "shop", "--organization", "Acme", "--system", "bot", "--system-version", "1")
SCOPE = ("--auditor", "audit", "--name", "Audit AG", "--scope", "numbers and digests", "-o", "a.json")


def test_an_auditor_attests_and_the_level_is_called_so(calendar, typed, written):
    assert typed("keys", "init", "shop", "--issuer", "https://registry.example")[0] == 0
    other = written("other.csv", seed=9)
    code, out, _ = typed("certify", written("data.csv"), *NAMES, "-o", "c.json")
    assert code == 0 and "level L3 (self-assessed)" in out
    assert "ERS L3 (self-assessed)  VALID" in typed("certificates", "--issuer", "shop")[1]
    trust = ("--root", "shop/trust-root.json", "--fingerprint", newest_root(Path("shop")).fingerprint)
    verify = ("verify", "c.json", *trust, "--status", "shop/status/1.json")
    assert "L3 (self-assessed)" in typed(*verify)[1]

    reproduced = ("attest", "c.json", *SCOPE, "--basis", "reproduced")
    code, _, err = typed(*reproduced, "--data", other)
    assert code == 2 and "is not reproduced by other.csv" in err and not Path("a.json").exists()
    code, out, err = typed(*reproduced, "--data", "data.csv")
    assert code == 0, err
    key = out.split()[-1]
    enter = ("attest", "c.json", "--enter", "a.json", "--issuer", "shop")
    code, _, err = typed(*enter)
    assert code != 0 and "--auditor-key" in err, "what nobody checked makes no level attested"
    assert typed(*enter, "--auditor-key", key)[0] == 0
    assert "ERS L3 (attested)  VALID" in typed("certificates", "--issuer", "shop")[1]
    life = json.loads(typed("certificates", "--issuer", "shop", "--json")[1])[0]["life"]
    assert life[-1]["cause"] == "attested" and "Audit AG" in life[-1]["reason"]

    code, out, _ = typed(*verify, "--attestation", "a.json", "--auditor-key", key)
    assert code == 0 and "L3 (attested)" in out and "attested by Audit AG" in out
    keys = {row["role"]: row["key"] for row in json.loads(typed("keys", "list", "shop", "--json")[1])}
    code, out, _ = typed(*verify, "--attestation", "a.json", "--auditor-key", keys["issuer"])
    assert code == 1 and "is NOT proven" in out and "L3 (self-assessed)" in out

    assert typed("certify", written("data2.csv", seed=2), *NAMES, "-o", "d.json")[0] == 0
    second = ("verify", "d.json", *trust, "--status", "shop/status/1.json")
    code, out, _ = typed(*second, "--attestation", "a.json", "--auditor-key", key)
    assert code == 1 and "not of these bytes" in out


def test_an_auditor_is_a_third_party(calendar, typed, written):
    """The organisation itself is none, however it writes its name, nor is the issuer."""
    assert typed("keys", "init", "shop", "--issuer", "https://registry.example")[0] == 0
    assert typed("certify", written("data.csv"), *NAMES, "-o", "c.json")[0] == 0
    done = ("--basis", "audited_on_site", "--scope", "all", "-o", "a.json")
    for name in ("Acme", "ACME", "Ac.me", "\u0410cme"):  # the last with a Cyrillic letter
        code, _, err = typed("attest", "c.json", "--auditor", "audit", "--name", name, *done)
        assert code != 0 and "an audit is by a third party" in err, name
    code, _, err = typed("attest", "c.json", "--auditor", "shop", "--name", "Audit AG", *done)
    assert code != 0 and "is an issuer's" in err
    assert not Path("a.json").exists()


def test_an_attestation_of_ones_own_that_was_made_elsewhere_is_not_entered_and_proves_nothing(calendar, typed, written):
    assert typed("keys", "init", "shop", "--issuer", "https://registry.example")[0] == 0
    assert typed("certify", written("data.csv"), *NAMES, "-o", "c.json")[0] == 0
    certificate = json.loads(Path("c.json").read_bytes())
    other = {**certificate, "subject": {**certificate["subject"], "organization": "Somebody else"}}
    signer = PrivateKey.from_seed(bytes(32))
    made = attest(other, signer, auditor="Acme", basis=("audited_on_site",), scope="all", at=datetime.now(UTC))
    body = json.loads(made.payload) | {"digest": certificate_digest(certificate)}
    Path("a.json").write_bytes(seal(body, "attestation", signer).to_json())
    key = to_base64(signer.public.raw)
    code, _, err = typed("attest", "c.json", "--enter", "a.json", "--issuer", "shop", "--auditor-key", key)
    assert code != 0 and "an audit is by a third party" in err
    trust = ("--root", "shop/trust-root.json", "--fingerprint", newest_root(Path("shop")).fingerprint)
    words = ("--status", "shop/status/1.json", "--attestation", "a.json", "--auditor-key", key)
    code, out, _ = typed("verify", "c.json", *trust, *words)
    assert code == 1 and "is NOT proven" in out and "L3 (self-assessed)" in out
