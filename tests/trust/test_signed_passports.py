"""Passports that an issuer signed: typed by the issuer and by whoever was given the PDF."""

import json
from pathlib import Path

from epimeter.trust.passports import attached
from epimeter.trust.succession import newest_root

pytest_plugins = ("issuer_calendar",)


def test_a_signed_passport_is_verified_as_pdf_and_as_json(calendar, typed, written):
    assert typed("keys", "init", "shop", "--issuer", "https://registry.example")[0] == 0
    made = ("passport", written("data.csv"), "--standard", "ers", "--system", "bot")
    for name in ("signed.pdf", "signed.json"):
        code, _, err = typed(*made, "--issuer", "shop", "-o", name)
        assert code == 0, err
    assert typed(*made, "-o", "bare.pdf")[0] == 0
    trust = ("--root", "shop/trust-root.json", "--fingerprint", newest_root(Path("shop")).fingerprint)
    for name, pages in (("signed.pdf", "are those of the signed document"), ("signed.json", "were not compared")):
        code, out, err = typed("verify", name, *trust)
        assert code == 0 and out.startswith("VALID: signed by https://registry.example"), out + err
        assert pages in out and "bot" in out

    code, out, _ = typed("verify", "bare.pdf", *trust)
    assert code == 1 and out.startswith("INVALID(no_signature)")
    assert typed("keys", "init", "other", "--issuer", "https://other.example")[0] == 0
    theirs = ("--root", "other/trust-root.json", "--fingerprint", newest_root(Path("other")).fingerprint)
    code, out, _ = typed("verify", "signed.pdf", *theirs)
    assert code == 3 and out.startswith("UNTRUSTED_KEY")

    document = json.loads(Path("signed.json").read_bytes())
    assert json.loads(attached(Path("signed.pdf").read_bytes()))["system"] == document["system"]
    better = Path("signed.json").read_bytes().replace(b'"system_id":"bot"', b'"system_id":"god"')
    Path("forged.json").write_bytes(better)
    code, out, _ = typed("verify", "forged.json", *trust)
    assert code == 1 and out.startswith("INVALID(bad_signature)")
    whole = Path("signed.pdf").read_bytes()
    Path("forged.pdf").write_bytes(whole + b"% another page\n")
    code, out, _ = typed("verify", "forged.pdf", *trust)
    assert code == 1 and out.startswith("INVALID(pages)")
    Path("cut.pdf").write_bytes(whole[: len(whole) // 3])
    code, out, err = typed("verify", "cut.pdf", *trust)
    assert code in (1, 2) and "Traceback" not in err
