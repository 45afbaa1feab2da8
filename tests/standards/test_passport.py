# SPDX-License-Identifier: Apache-2.0
"""The passport: one document, one digest, one PDF."""

import hashlib
import json
import re
import subprocess
import sys
import zlib

import jsonschema
import pytest
import typst
from standard_samples import declared, liable, sample, whole_json

from epimeter.errors import InputError
from epimeter.passport import canonical, changes, check, digest, passport, pdf, verification_address
from epimeter.standards.schemas import schema


@pytest.fixture(scope="module")
def made():
    return passport(
        whole_json(declaration=declared()) | {"liability": liable().to_dict()}, address="https://example.org/v/"
    )


def test_a_passport_follows_its_schema(made):
    checker = jsonschema.Draft202012Validator(schema("passport"))
    checker.validate(made)
    assert not checker.is_valid(made | {"extra": 1})
    for standard in ("ers", "both"):
        checker.validate(passport(whole_json(sample(300), standard=standard, declaration=declared())))


def test_numbers_are_rounded_to_nine_decimals(made):
    text = canonical(made).decode()
    digits = [len(number) for number in re.findall(r"\d\.(\d+)[,}\]]", text)]
    assert max(digits) <= 9


def test_the_digest_leaves_out_the_signature_and_nothing_else(made):
    assert digest(made) == digest(made | {"signature": {"value": "x"}})
    assert digest(made) != digest(made | {"limits": []})
    assert hashlib.sha256(canonical({k: v for k, v in made.items() if k != "signature"})).hexdigest() == digest(made)


def test_the_address_ends_with_the_digest(made):
    assert verification_address(made) == f"https://example.org/v/{digest(made)}"
    assert verification_address(made | {"verification": {"address": "", "by": ""}}).startswith(
        "urn:epimeter:passport:sha-256:"
    )


def test_a_passport_of_ers_alone_has_no_unknowns():
    made = passport(whole_json(sample(300), standard="ers"))
    assert made["unknowns"] is None
    assert made["metrics"]["u_recall"] is None
    assert made["conformance"]["level"] == "none"
    assert made["ers"]["u_recall"] >= 0
    assert pdf(made).startswith(b"%PDF-1.7")


def test_what_is_no_evaluation_is_refused():
    with pytest.raises(InputError, match="epimeter-evaluation-1"):
        passport({"schema": "other"})
    with pytest.raises(InputError, match="schema epimeter-passport-1"):
        check({})
    with pytest.raises(InputError, match="it lacks"):
        check({"schema": "epimeter-passport-1"})


def test_differences_are_named_by_field(made):
    other = passport(whole_json(declaration=declared(), domain="legal"))
    found = {change.field: change for change in changes(made, other)}
    assert found["system.domain"].sentence == "system.domain: healthcare -> legal"
    assert found["ers.ers"].after - found["ers.ers"].before == -5
    assert changes(made, made) == ()


def test_the_pdf_is_the_same_bytes_again(made):
    assert pdf(made) == pdf(made)


def test_the_pdf_is_the_same_bytes_in_another_process(made, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(made))
    code = (
        "import json,sys,hashlib; from epimeter.passport import pdf; "
        f"print(hashlib.sha256(pdf(json.load(open({str(path)!r})))).hexdigest())"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == hashlib.sha256(pdf(made)).hexdigest()


def test_the_pdf_says_what_it_is(made):
    data = pdf(made)
    assert b"pdfaid:part>3</pdfaid:part" in data
    assert b"<pdfaid:conformance>A</pdfaid:conformance>" in data
    assert b"<pdfuaid:part>1</pdfuaid:part>" in data
    assert b"/AFRelationship /Source" in data or b"/AFRelationship/Source" in data
    assert b"/EmbeddedFile" in data


def streams(data):
    """The streams of a PDF, decompressed."""
    for found in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL):
        try:
            yield zlib.decompress(found[1])
        except zlib.error:
            yield found[1]


def test_the_attached_file_is_the_passport(made):
    assert canonical(made) in list(streams(pdf(made)))


@pytest.mark.parametrize(
    "name",
    ["#panic()", '"); #read("/etc/passwd")', "</text><script>", "$x$ *b* _i_ `r` \\", "系统 ✓ 🚀", "Ünïcödé Ω Ж"],
)
def test_names_are_data_never_markup(name):
    told = declared(system={"system_id": name, "organization": name, "scope": name})
    made = passport(whole_json(sample(300), declaration=told))
    assert made["system"]["system_id"] == name
    assert pdf(made).startswith(b"%PDF-1.7")


def test_the_compiler_is_made_once_for_all_passports(made, monkeypatch):
    """Making it reads all fonts; how long a PDF takes is measured by benchmarks/standards.py."""
    first = pdf(made)
    monkeypatch.setattr(typst, "Compiler", None)
    assert pdf(made) == first
