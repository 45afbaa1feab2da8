"""What ERS 5.1 asks of a certificate, on one that was typed and one that was changed."""

import json
import re
from datetime import datetime
from pathlib import Path

from epimeter.trust.succession import newest_root

pytest_plugins = ("issuer_calendar",)
NAMES = ("--issuer", "shop", "--organization", "Acme", "--system", "bot", "--system-version", "1")


def test_ERS_5_1_a_a_certificate_that_was_typed_is_named_and_dated_as_the_standard_says(calendar, typed, written):
    assert typed("keys", "init", "shop", "--issuer", "https://registry.example")[0] == 0
    assert typed("certify", written("data.csv"), *NAMES, "-o", "c.json")[0] == 0
    head = json.loads(Path("c.json").read_bytes())["certificate"]
    assert re.fullmatch(r"ONTO-CERT-\d{4}-[0-9A-Z]{4,}", head["id"]) and head["version"] == "1.0"
    issued, expires = (datetime.fromisoformat(head[name]) for name in ("issued_at", "expires_at"))
    assert (expires.year - issued.year, expires.month, expires.day) == (1, issued.month, issued.day)
    assert head["level"] in ("L1", "L2", "L3") and head["status"] == "VALID"


def test_ERS_5_1_e_a_changed_digit_of_a_certificate_is_found_by_the_command(calendar, typed, written):
    assert typed("keys", "init", "shop", "--issuer", "https://registry.example")[0] == 0
    assert typed("certify", written("data.csv"), *NAMES, "-o", "c.json")[0] == 0
    trust = ("--root", "shop/trust-root.json", "--fingerprint", newest_root(Path("shop")).fingerprint)
    assert typed("verify", "c.json", *trust, "--status", "shop/status/1.json")[0] == 0
    document = json.loads(Path("c.json").read_bytes())
    assert document["signature"]["algorithm"] == "Ed25519"
    rows = document["metrics"]["sample_size"]
    changed = (
        Path("c.json").read_bytes().replace(f'"sample_size":{rows}'.encode(), f'"sample_size":{rows + 1}'.encode())
    )
    Path("d.json").write_bytes(changed)
    code, out, _ = typed("verify", "d.json", *trust, "--status", "shop/status/1.json")
    assert code == 1 and "bad_signature" in out
