# SPDX-License-Identifier: Apache-2.0
"""The epistemic passport as a JSON document (42001-B.3.2-a, C-33).

It is made from an evaluation alone, holds everything that its PDF shows, and has one way to be written (RFC 8785).
Numbers are rounded to nine decimals, half to even. Its digest, which is its name, leaves out the signature.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import rfc8785

from epimeter.errors import InputError

VERSION = "1.0"
SCHEMA = "epimeter-passport-1"
EVALUATION_SCHEMA = "epimeter-evaluation-1"
"""What a passport is made from; written here so that making a PDF does not load all metrics."""
DECIMALS = 9
ERS_WORDS = (
    "level",
    "assessed",
    "title",
    "suitable_for",
    "documentation",
    "status",
    "risk",
    "risk_action",
    "regulatory_status",
    "ece_band",
    "ece_action",
    "u_recall_band",
    "u_recall_implication",
    "assurance",
)
FIELDS = (
    "passport_version",
    "schema",
    "standard",
    "system",
    "evaluation",
    "methodology",
    "unknowns",
    "metrics",
    "ers",
    "conformance",
    "requirements",
    "bins",
    "liability",
    "mapping",
    "limits",
    "cautions",
    "verification",
    "signature",
)


def passport(evaluation: Mapping[str, Any], *, address: str = "") -> dict[str, Any]:
    """The passport of an evaluation, given as the JSON that `epimeter evaluate --json` writes.

    Parameters
    ----------
    evaluation
        Plain values, as `StandardsEvaluation.to_dict` gives them, with the metrics under `report`.
    address
        Where the passport can be verified; its digest is put behind it. Without one the digest itself is the address.
    """
    if evaluation.get("schema") != EVALUATION_SCHEMA:
        raise InputError(
            f"a passport is made from an evaluation after the standards ({EVALUATION_SCHEMA}); got "
            f"{evaluation.get('schema')!r:.40}. Make one with epimeter evaluate FILE --standard both --json",
            field="schema",
        )
    told, method = evaluation["declaration"], evaluation["methodology"]
    onto = evaluation["metrics"].get("onto")
    ers = evaluation["metrics"].get("ers")
    verdict = _with_passport(evaluation["verdicts"].get("onto", {}))
    if onto is not None and not told["taxonomy"]:
        raise InputError(
            "taxonomy must be documented in a passport (42001-6.1-c, 42001-6.2.3-b); got none. Give --taxonomy "
            "distribution, epistemic or operational, or [unknowns] in the file of --declare",
            field="taxonomy",
        )
    records = evaluation["records"]
    made = {
        "passport_version": VERSION,
        "schema": SCHEMA,
        "standard": evaluation["standards"],
        "system": {
            "organization": told["organization"],
            "system_id": told["system_id"],
            "model_version": told["model_version"],
            "domain": (onto or {}).get("domain") or (ers or {}).get("domain"),
            "scope": told["scope"],
        },
        "evaluation": {
            "date": evaluation["date"],
            "next": evaluation["next_evaluation"],
            "dataset_sha256": evaluation["evidence"]["dataset_digest"].rpartition(":")[2],
            "code_sha256": evaluation["evidence"]["code_digest"].rpartition(":")[2],
            "software": method["software"],
            "sample_size": records["labelled"],
            "unlabelled": records["unlabelled"],
            "unknowns": None if onto is None else onto.get("unknowns", 0),
            "period": records["period"],
            "ground_truth_sources": records["ground_truth_sources"],
            "pre_deployment": told["pre_deployment"],
        },
        "methodology": {
            name: method[name]
            for name in (
                "strategy",
                "bins",
                "threshold",
                "ers_bins",
                "ers_threshold",
                "weights",
                "weights_reason",
                "forecast",
                "confidence_source",
                "recalibration",
                "interval",
                "draws",
                "seed",
                "level",
            )
        },
        "unknowns": None
        if onto is None
        else {
            "taxonomy": told["taxonomy"],
            "taxonomy_text": told["taxonomy_text"],
            "mechanism": told["method"] or method["mechanism"],
            "threshold": told["threshold"] or method["mechanism"],
            "validation": told["validation"],
            "categories": evaluation["categories"],
        },
        "metrics": {
            "standard": "ONTO 42001:2025",
            **{name: (onto or {}).get(name) for name in ("ece", "mce", "u_recall", "false_alarm_rate", "ors")},
            "igr": ((onto or {}).get("igr") or {}).get("igr"),
            "beside": evaluation["metrics"]["beside"],
            "intervals": _intervals(evaluation),
        },
        "ers": None if ers is None else _ers(evaluation, ers),
        "conformance": {
            "level": verdict.get("level", "none"),
            "measured_level": verdict.get("measured_level", "none"),
            "tier": verdict.get("tier", "none"),
            "assessed": verdict.get("assessed"),
            "declared": verdict.get("declared", []),
            "flags": verdict.get("flags", {}),
            "missing": verdict.get("missing", []),
            "assurance": verdict.get("assurance"),
            "risk": verdict.get("risk"),
            "risk_action": verdict.get("risk_action"),
            "statement": verdict.get("statement"),
            "undefined": verdict.get("undefined"),
        },
        "requirements": evaluation["requirements"],
        "bins": (evaluation.get("report") or {}).get("bins"),
        "liability": evaluation["liability"],
        "mapping": evaluation["mapping"],
        "limits": evaluation["limits"],
        "cautions": evaluation["cautions"],
        "verification": {"address": address, "by": told["verification"]},
        "signature": None,
    }
    assert tuple(made) == FIELDS
    return rounded(made)  # type: ignore[no-any-return]


def _with_passport(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """The claim once more, now that a passport is made of the evaluation: Level 2 asks for one (42001-8.1-b)."""
    from epimeter.standards.conformity import claim
    from epimeter.standards.onto42001 import LEVEL_NAMES

    flags = verdict.get("flags") or {}
    if not flags or flags["passport_generated"]:
        return dict(verdict)
    made = claim(LEVEL_NAMES.index(verdict["measured_level"]), {**flags, "passport_generated": True})
    meets = f"meets ONTO 42001:2025 {made.shown} with" if made.level_index else "meets no level of ONTO 42001:2025 with"
    return {
        **verdict,
        "level": made.level,
        "tier": made.tier,
        "flags": made.flags,
        "missing": list(made.missing),
        "assessed": made.assessed,
        "declared": list(made.declared),
        "statement": re.sub("meets [^,]*? with(?= ECE)", meets, verdict["statement"], count=1),
    }


def _intervals(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    return {
        reading["name"]: {**reading["interval"], "assurance": (reading["assurance"] or {}).get("assurance")}
        for reading in evaluation["readings"]
        if reading["interval"] is not None
    }


def _ers(evaluation: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    verdict = evaluation["verdicts"]["ers"]
    return {
        "spec_version": evaluation["spec_version"],
        **{name: found[name] for name in ("ece", "u_recall", "ers_raw", "ers", "accuracy", "sample_size", "domain")},
        **{name: verdict[name] for name in ERS_WORDS},
        "certificate_possible": verdict["certificate_possible"],
    }


def rounded(value: Any) -> Any:
    """Plain values with every float rounded to nine decimals, half to even; -0 is 0."""
    if isinstance(value, float):
        return round(value, DECIMALS) + 0.0
    if isinstance(value, Mapping):
        return {str(name): rounded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value


def canonical(document: Mapping[str, Any]) -> bytes:
    """The one way to write a passport (RFC 8785)."""
    try:
        return rfc8785.dumps(dict(document))
    except (rfc8785.CanonicalizationError, TypeError, ValueError) as fault:
        raise InputError(f"a passport must be plain JSON with finite numbers; {fault}") from None


def digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of the passport without its signature, in hex."""
    return hashlib.sha256(canonical({name: item for name, item in document.items() if name != "signature"})).hexdigest()


def verification_address(document: Mapping[str, Any]) -> str:
    """Where to verify it: the address given with the digest behind it, or the digest as a name."""
    address = document["verification"]["address"]
    return (
        f"{address.rstrip('/')}/{digest(document)}" if address else f"urn:epimeter:passport:sha-256:{digest(document)}"
    )


def check(document: Any) -> dict[str, Any]:
    """A document that is a passport of this version, with all its fields and no others."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise InputError(f"a passport must be a JSON object of the schema {SCHEMA}", field="schema")
    missing = [name for name in FIELDS if name not in document]
    further = [name for name in document if name not in FIELDS]
    if missing or further:
        what = f"it lacks {missing[0]}" if missing else f"it has {further[0]!r:.40}"
        raise InputError(f"a passport must have exactly the fields of its schema; {what}")
    return dict(document)
