"""An auditor attests by a key of his own: typed by auditor, issuer and reader."""

import json
from pathlib import Path

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
    assert typed("attest", "c.json", "--enter", "a.json", "--issuer", "shop")[0] == 0
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
