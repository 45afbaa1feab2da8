# SPDX-License-Identifier: Apache-2.0
"""A certificate from sums: the numbers of the records, digests of the parts, and nothing else."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from certificates import FROM_SUMS, GOOD, TRUST, changed, data_of, judged, logged, signed
from trust_ground import AT, DAY

from epimeter.cli import main
from epimeter.errors import InputError, MergeError, ReadError, VerificationError
from epimeter.readers import read
from epimeter.report.scan import summarised
from epimeter.standards.ers_sums import MOST_CLASSES, ErsTotals
from epimeter.standards.resampling import Sorted, _influence, width_index
from epimeter.summaries.travel import to_bytes
from epimeter.summary_files import from_file, merged_files, packed, to_file, unpacked
from epimeter.trust.assessing import assess, assess_evidence
from epimeter.trust.certificate import from_sums
from epimeter.trust.disclosure import check_disclosure, disclose, parts_digest, record_columns
from epimeter.trust.evidence import Evidence, EvidencePart, evidence_of, merged
from epimeter.views import Binary

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
SAME = (
    "ece",
    "u_recall",
    "u_recall_ci95",
    "accuracy",
    "sample_size",
    "period",
    "covered_bins",
    "unlabelled",
    "ers",
    "level",
)


def columns(n=4_000, seed=0, day=0, days=12, **more):
    rng = np.random.default_rng(seed)
    said = rng.beta(2, 1.2, n)
    start = np.datetime64("2026-10-01T00:00:00", "us") + np.timedelta64(day, "D")
    times = start + rng.integers(0, days * 86_400_000_000, n).astype("m8[us]")
    made = {
        "confidence": said,
        "correct": rng.random(n) < said,
        "timestamp": pa.array(times, pa.timestamp("us", "UTC")),
    }
    return made | {"id": [f"{seed}-{row}" for row in range(n)]} | {name: list(column) for name, column in more.items()}


def table(**given):
    return read(pa.table(columns(**given)))


def evidence(**given):
    return evidence_of(table(**given), at=NOW)


@pytest.mark.parametrize("n", [1_500, 250_000])
def test_sums_give_the_numbers_of_the_records(n):
    rows = table(n=n)
    by_rows, by_sums = (
        assess(rows, domain="legal", at=NOW),
        assess_evidence(evidence_of(rows, at=NOW), domain="legal", at=NOW),
    )
    for name in SAME:
        assert getattr(by_sums, name) == getattr(by_rows, name), name
    assert by_sums.interval_method == "delta method"
    assert by_rows.interval_method.startswith("basic bootstrap")
    for (low, high), (its_low, its_high) in (
        (by_sums.ece_ci95, by_rows.ece_ci95),
        (by_sums.ers_raw_ci95, by_rows.ers_raw_ci95),
    ):
        assert max(low, its_low) < min(high, its_high), "other methods, and both hold the value"


def test_the_deviations_of_sums_are_those_of_the_records():
    rng = np.random.default_rng(8)
    for exact in (False, True):
        said = rng.random(3_000).round(1 if exact else 12)
        came = (rng.random(3_000) < said**1.2).astype(np.uint8)
        sums = evidence(n=10).totals.sums.of(Binary(came, said))
        rows = Sorted.of(Binary(came, said), None, None, 0.7)
        error = _influence(rows.right - rows.prob, width_index(rows.prob, 10), 10)
        recall = (rows.low - sums.u_recall / 100) * ~rows.right / (~rows.right).mean()
        assert sums.deviations["ers.ece"] == pytest.approx(error.std(), rel=1e-12)
        assert sums.deviations["ers.ers_raw"] == pytest.approx((200 * error - 50 * recall).std(), rel=1e-12)


def test_parts_add_up_in_any_order():
    parts = [evidence(seed=seed, day=seed, days=1) for seed in range(8)]
    one = merged(parts)
    other = merged([merged(parts[5:]), parts[2], merged([parts[4], parts[0]]), parts[3], parts[1]])
    assert one.parts == other.parts and one.dataset_digest == other.dataset_digest
    assert one.records_root == other.records_root
    assert assess_evidence(one, domain="general", at=NOW) == assess_evidence(other, domain="general", at=NOW)
    whole = pa.concat_tables([pa.table(columns(seed=seed, day=seed, days=1)) for seed in range(8)])
    rows = assess(read(whole), domain="general", at=NOW)
    sums = assess_evidence(one, domain="general", at=NOW)
    for name in SAME:
        assert getattr(sums, name) == getattr(rows, name), name


def test_one_record_more_or_less_or_other_is_another_digest():
    first = evidence(n=100)
    rows = columns(n=100)
    for name, value in (("confidence", 0.123), ("id", "x"), ("correct", None)):
        other = {key: list(column) if key != "timestamp" else column for key, column in rows.items()}
        other[name][7] = (not other[name][7]) if value is None else value
        found = evidence_of(read(pa.table(other)), at=NOW)
        assert found.records_root != first.records_root
        assert (found.dataset_digest == first.dataset_digest) == (name == "id")


def test_the_same_records_count_once():
    with pytest.raises(MergeError, match="records count once; the 4,000 with digest"):
        merged([evidence(), evidence(seed=1), evidence()])


def test_parts_with_and_without_times_or_classes_do_not_merge():
    bare = columns(n=50)
    bare.pop("timestamp")
    with pytest.raises(InputError, match="all parts must have timestamps, or none"):
        merged([evidence(), evidence_of(read(pa.table(bare)), at=NOW)])
    with pytest.raises(InputError, match="all parts must have classes, or none"):
        merged([evidence(), evidence(seed=1, n=4, **{"class": "abca"})])


def test_classes_and_sources_are_counted_by_name():
    left = evidence(n=4, seed=1, **{"class": "aaab", "ground_truth_source": ["human", "human", None, "automated"]})
    right = evidence(n=2, seed=2, **{"class": "bc", "ground_truth_source": ["human", "reference"]})
    both = merged([left, right]).totals
    assert both.classes == {"a": 3, "b": 2, "c": 1}
    assert both.sources == {"human": 3, "automated": 1, "reference": 1, "not stated": 1}
    assert both.check.largest_share == 0.5
    with pytest.raises(InputError, match="at most 10,000 classes"):
        many = {"class": [f"c{row}" for row in range(MOST_CLASSES + 1)]}
        evidence(n=MOST_CLASSES + 1, **many)


def test_what_bars_a_certificate_is_said_in_the_same_words():
    rows = table(n=900, days=2)
    by_rows = assess(rows, domain="general", at=NOW).obstacles
    assert assess_evidence(evidence_of(rows, at=NOW), domain="general", at=NOW).obstacles == by_rows
    assert len(by_rows) == 2


def test_records_from_after_the_evaluation_are_refused():
    found = evidence()
    with pytest.raises(InputError, match="must not lie in the future"):
        evidence_of(table(), at=NOW.replace(month=10, day=3))
    with pytest.raises(InputError, match=r"must not lie in the future .* the last record is of 2026-10-12T2"):
        assess_evidence(found, domain="general", at=NOW.replace(month=10, day=12, hour=2))


def test_no_wrong_answer_and_no_time():
    rows = {"confidence": np.linspace(0.01, 0.99, 200), "correct": np.ones(200, bool)}
    found = assess_evidence(evidence_of(read(pa.table(rows)), at=NOW), domain="general", at=NOW)
    assert found.u_recall == 100 and found.u_recall_ci95 is None and found.ers_raw_ci95[0] == found.ers_raw_ci95[1]
    assert any("Span of production data" in one for one in found.obstacles)


def octets(found):
    return to_bytes(found.to_dict())


def ledger(path, **given):
    pq.write_table(pa.table(columns(**given)), path)
    return summarised(path, ["ece"], row_limit=0).with_evidence(evidence(**given))


def test_evidence_travels_in_summaries(tmp_path):
    parts = [ledger(tmp_path / f"{seed}.parquet", seed=seed, day=seed, days=1) for seed in range(3)]
    for number, part in enumerate(parts):
        to_file(part, tmp_path / f"{number}.epi")
        assert octets(from_file(tmp_path / f"{number}.epi").evidence) == octets(part.evidence)
    both = merged_files([tmp_path / f"{number}.epi" for number in (2, 0, 1)])
    expected = merged([part.evidence for part in parts])
    assert both.evidence.parts == expected.parts
    assert assess_evidence(both.evidence, domain="code", at=NOW) == assess_evidence(expected, domain="code", at=NOW)
    to_file(both, tmp_path / "both.epi")
    again = from_file(tmp_path / "both.epi").evidence
    assert packed(replace(both, evidence=again)) == packed(both)
    bare = replace(parts[0], evidence=None)
    to_file(bare, tmp_path / "bare.epi")
    assert "evidence" not in (tmp_path / "bare.epi").read_bytes().decode("latin-1")
    assert merged_files([tmp_path / "bare.epi", tmp_path / "1.epi"]).evidence is None
    with pytest.raises(InputError, match="the files changed while they were read"):
        bare.with_evidence(evidence(n=77))


def test_evidence_that_does_not_hold_together_is_refused(tmp_path):
    whole = ledger(tmp_path / "x.parquet", n=500)
    found = whole.evidence.to_dict()
    for wrong in (
        found | {"parts": [(*found["parts"][0][:2], 499)]},
        found | {"parts": found["parts"] * 2},
        found | {"parts": [(b"", "", "")]},
        {"totals": found["totals"]},
        found | {"totals": found["totals"] | {"sums": {}}},
    ):

        class Forged:
            def to_dict(self, wrong=wrong):
                return wrong

        with pytest.raises((ReadError, MergeError), match="x.epi|count once"):
            unpacked(packed(replace(whole, evidence=Forged())), "x.epi")


def test_evidence_of_other_rows_than_the_summary_is_refused(tmp_path):
    other = replace(ledger(tmp_path / "x.parquet", n=500), evidence=evidence(n=400))
    with pytest.raises(ReadError, match="there are 500 rows and evidence of 400"):
        unpacked(packed(other), "x.epi")


def test_sums_of_no_records_are_refused():
    good = evidence(n=300, **{"class": "ab" * 150}).totals.to_dict()
    whole, sure = good["sums"]["whole"], good["sums"]["sure"]
    more, less = np.where(np.arange(10) == 4, 1, 0), np.where(np.arange(10) == 4, -1, 0)
    lies = [
        {"sums": good["sums"] | {"whole": replace(whole, count=whole.count + more)}},
        {"sums": good["sums"] | {"whole": replace(whole, count=whole.count * 0)}},
        {"sums": good["sums"] | {"sure": replace(sure, count=sure.count + less)}},
        {"sums": good["sums"] | {"sure": replace(sure, prob=whole.prob)}},
        {"sums": good["sums"] | {"sure": replace(sure, true=whole.true)}},
        {"sums": good["sums"] | {"whole": replace(whole, count=whole.count[:5])}},
        {"sums": good["sums"] | {"squares": good["sums"]["whole"].count}},
        {"sums": good["sums"] | {"squares": replace(good["sums"]["squares"], units=np.asarray(301))}},
        {"classes": {"a": 299}},
        {"classes": {"a": 301, "b": -1}},
        {"sources": {"human": 3}},
        {"unlabelled": -1},
        {"unlabelled": "many"},
        {"period": good["period"][::-1]},
        {"period": (1,)},
        {"classes": 7},
    ]
    assert ErsTotals.from_dict(good)
    for lie in lies:
        with pytest.raises((InputError, TypeError, ValueError, AttributeError, IndexError)):
            ErsTotals.from_dict(good | lie)


def test_digests_are_those_that_the_page_describes():
    import hashlib

    found = Evidence(
        totals=merged([evidence(n=30, seed=1), evidence(n=40, seed=2)]).totals,
        parts=(
            EvidencePart(digest="01" * 32, root="02" * 32, n_rows=30),
            EvidencePart(digest="03" * 32, root="04" * 32, n_rows=40),
        ),
    )
    sizes = [(30).to_bytes(8, "little"), (40).to_bytes(8, "little")]
    data = b"epi-parts-v1\0" + bytes([1] * 32) + sizes[0] + bytes([3] * 32) + sizes[1]
    assert found.dataset_digest == f"epi-parts-v1:sha-256:{hashlib.sha256(data).hexdigest()}"
    data = b"epi-rec-parts-v1\0" + bytes([2] * 32) + sizes[0] + bytes([4] * 32) + sizes[1]
    assert found.records_root == f"epi-rec-parts-v1:sha-256:{hashlib.sha256(data).hexdigest()}"


def test_one_record_of_one_part_is_shown_and_proven():
    tables = [table(n=60, seed=seed) for seed in range(5)]
    whole = merged([evidence_of(one, at=NOW) for one in tables])
    certificate = {
        "certificate": {"id": "c"},
        "evidence": {"records_root": whole.records_root},
        "metrics": {"sample_size": 300},
    }
    made = disclose(record_columns(tables[3]), "3-17", "c", whole.roots)
    assert check_disclosure(made, certificate)["id"] == "3-17"
    value = json.loads(made)
    for wrong, word in (
        (value | {"part": (value["part"] + 1) % 5}, "proof"),
        (value | {"part": 5}, "part must be below 5"),
        (value | {"parts": value["parts"][::-1]}, "not those of the certificate"),
        (value | {"parts": value["parts"][:4]}, "not those of the certificate"),
        (value | {"index": value["index"] + 1}, "proof"),
        ({name: content for name, content in value.items() if name != "parts"}, "parts"),
    ):
        with pytest.raises(VerificationError, match=word):
            check_disclosure(json.dumps(wrong, sort_keys=True, separators=(",", ":")).encode(), certificate)
    with pytest.raises(InputError, match="one of the parts"):
        disclose(record_columns(table(n=60, seed=9)), "9-1", "c", whole.roots)
    plain = {**certificate, "evidence": {"records_root": "epi-rec-v1:sha-256:" + "ab" * 32}}
    with pytest.raises(VerificationError):
        check_disclosure(made, plain)
    assert parts_digest("epi-rec-parts-v1", whole.roots) in whole.records_root


def test_the_verifier_holds_digests_and_method_together():
    good = judged(data_of(logged(signed(FROM_SUMS))), TRUST, at=AT + DAY, status=GOOD)
    assert good.shown == "VALID"
    assert "the issuer saw sums and digests alone" in good.not_proven[-1] and good.to_json()["not_proven"] == list(
        good.not_proven
    )
    for path, value in (
        ("evidence.records_root", "epi-rec-v1:sha-256:" + "cd" * 32),
        ("evidence.dataset_digest", "epi-col-v1:sha-256:" + "cd" * 32),
        ("evidence.interval_method", "basic bootstrap"),
    ):
        found = judged(data_of(logged(signed(changed(path, value, FROM_SUMS)))), TRUST, at=AT + DAY, status=GOOD)
        assert found.shown == "INVALID(inconsistent)"
    assert from_sums(FROM_SUMS["evidence"])


@pytest.fixture
def typed(monkeypatch, capsys):
    """Types a command; its exit code and all it said."""
    monkeypatch.setenv("EPIMETER_PASSPHRASE", "a long passphrase 123")

    def command(*words):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        said = capsys.readouterr()
        return ended.value.code, said.out + said.err

    return command


def test_from_files_to_a_certificate_without_the_records(tmp_path, typed):
    days = []
    for seed in range(9):
        days.append(tmp_path / f"day{seed}.parquet")
        pq.write_table(pa.table(columns(n=400, seed=seed, day=seed, days=1)), days[-1])
    issuer, cert, month = tmp_path / "issuer", tmp_path / "cert.json", tmp_path / "month.epi"
    assert typed("keys", "init", issuer, "--issuer", "https://registry.example")[0] == 0
    for path in days:
        assert typed("summarise", path, "--evidence", "-o", path.with_suffix(".epi"))[0] == 0
    assert typed("merge", tmp_path / "day*.epi", "-o", month)[0] == 0
    subject = ("--issuer", issuer, "--organization", "Acme", "--system", "triage", "--system-version", "4.2")
    assert typed("certify", month, *subject, "-o", cert)[0] == 0
    assert json.loads(cert.read_bytes())["evidence"]["dataset_digest"].startswith("epi-parts-v1:")
    for data in ([month], [path.with_suffix(".epi") for path in days], days, [tmp_path / "day*.parquet"]):
        code, said = typed("reproduce", cert, *data)
        assert code == 0 and "reproduced: every number" in said
    assert typed("reproduce", cert, *days[1:])[0] == 1
    other, bare = tmp_path / "other.parquet", tmp_path / "bare.epi"
    pq.write_table(pa.table(columns(n=40, seed=99)), other)
    assert typed("summarise", days[0], "-o", bare)[0] == 0
    for sentence, words in {
        "not both": ("reproduce", cert, month, days[0]),
        "name it with --summary": ("disclose", cert, days[2], "--record", "2-7"),
        "one of the parts": ("disclose", cert, other, "--record", "99-7", "--summary", month),
        "for epimeter summarise": ("certify", month, *subject, "--assume-utc"),
        "must carry the evidence for a certificate": ("certify", bare, *subject),
        "goes without --skip-damaged": ("summarise", days[0], "--evidence", "--skip-damaged", "-o", tmp_path / "x.epi"),
        "which are read twice": ("summarise", "-", "--evidence", "-o", tmp_path / "x.epi"),
    }.items():
        code, said = typed(*words)
        assert code == 2 and sentence in said, said
    assert not (tmp_path / "x.epi").exists()
    shown = tmp_path / "record.json"
    assert typed("disclose", cert, days[2], "--record", "2-7", "--summary", month, "-o", shown)[0] == 0
    assert check_disclosure(shown.read_bytes(), json.loads(cert.read_bytes()))["id"] == "2-7"
    code, said = typed("merge", bare, days[1].with_suffix(".epi"), "-o", tmp_path / "mixed.epi")
    assert code == 0 and "only 1 of the 2 summaries have some" in said


def test_totals_come_back_from_plain_values():
    totals = evidence(n=64, **{"class": "ab" * 32}).totals
    back = ErsTotals.from_dict(totals.to_dict())
    assert to_bytes(back.to_dict()) == to_bytes(totals.to_dict()) and back.check == totals.check
