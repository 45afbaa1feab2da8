# SPDX-License-Identifier: Apache-2.0
"""A judgement in the forms that other tools read: JUnit XML, SARIF, annotations, a shields badge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import quote
from xml.etree import ElementTree as xml

from epimeter.card_index import find
from epimeter.gate.verdict import Outcome, PolicyJudgement, RequirementVerdict

LEVELS: dict[Outcome, str] = {"pass": "none", "warn": "warning", "fail": "error", "cannot judge": "error"}
COLOURS: dict[Outcome, str] = {"pass": "brightgreen", "warn": "yellow", "fail": "red", "cannot judge": "lightgrey"}
WORDS: dict[Outcome, str] = {"pass": "pass", "warn": "undecided", "fail": "fail", "cannot judge": "cannot judge"}


def junit(judgement: PolicyJudgement) -> str:
    """JUnit XML: a suite a gate, a case a requirement and slice; what cannot be judged is an error."""
    root = xml.Element("testsuites", {"name": "epimeter gate"} | _counts(judgement.verdicts))
    for gate in dict.fromkeys(verdict.gate for verdict in judgement.verdicts):
        some = tuple(verdict for verdict in judgement.verdicts if verdict.gate == gate)
        suite = xml.SubElement(root, "testsuite", {"name": gate} | _counts(some))
        for verdict in some:
            case = xml.SubElement(
                suite,
                "testcase",
                name=_printable(verdict.name),
                classname=f"epimeter.gate.{gate}",
                file=verdict.source,
                line=str(verdict.line),
                time="0",
            )
            if verdict.outcome in ("fail", "cannot judge"):
                kind = "failure" if verdict.outcome == "fail" else "error"
                reason = _printable(verdict.reason)
                xml.SubElement(case, kind, message=reason, type=verdict.outcome).text = reason
            else:
                xml.SubElement(case, "system-out").text = _printable(verdict.reason)
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _counts(verdicts: tuple[RequirementVerdict, ...]) -> dict[str, str]:
    return {
        "tests": str(len(verdicts)),
        "failures": str(sum(verdict.outcome == "fail" for verdict in verdicts)),
        "errors": str(sum(verdict.outcome == "cannot judge" for verdict in verdicts)),
        "skipped": "0",
        "time": "0",
    }


def _printable(text: str) -> str:
    """Text that XML can hold: no control characters."""
    return "".join(letter if letter >= " " or letter in "\t\n" else "�" for letter in text)


def sarif(judgement: PolicyJudgement) -> str:
    """SARIF 2.1.0 with all that GitHub's code scanning asks for: a rule a metric, a result a verdict that does not hold, pointing
    at its line of the policy.
    """
    metrics = list(dict.fromkeys(verdict.metric for verdict in judgement.verdicts))
    rules = [
        {
            "id": name,  # and no name, which SARIF 2.1.0 (3.49.7) wants to differ from the id
            "shortDescription": {"text": find(name).card.title},
            "fullDescription": {"text": (find(name).__doc__ or find(name).card.title).strip().splitlines()[0]},
            "help": {
                "text": f"`epimeter metrics {name}` prints its card: definition, range, and what a good value is."
            },
        }
        for name in metrics
    ]
    results = [
        {
            "ruleId": verdict.metric,
            "ruleIndex": metrics.index(verdict.metric),
            "level": LEVELS[verdict.outcome],
            "message": {"text": f"{verdict.gate}: {verdict.name}: {verdict.reason}"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(verdict.source.replace("\\", "/"))},
                        "region": {
                            "startLine": verdict.line,
                            "startColumn": 1,
                            "endLine": verdict.line + 1,
                            "endColumn": 1,
                        },
                    }
                }
            ],
            "partialFingerprints": {"requirement/v1": _fingerprint(verdict)},
        }
        for verdict in judgement.verdicts
        if verdict.outcome != "pass"
    ]
    made = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "epimeter", "version": judgement.version, "rules": rules}},
                "results": results,
            }
        ],
    }
    return json.dumps(made, indent=2) + "\n"


def _fingerprint(verdict: RequirementVerdict) -> str:
    """What stays the same of a verdict while values and lines of the policy change, so that one alert stays one."""
    return sha256(json.dumps([verdict.gate, verdict.requirement, verdict.slice]).encode()).hexdigest()[:32]


def badge(judgement: PolicyJudgement) -> str:
    """The endpoint JSON of shields.io."""
    told = {
        "schemaVersion": 1,
        "label": "calibration",
        "message": WORDS[judgement.outcome],
        "color": COLOURS[judgement.outcome],
    }
    return json.dumps(told) + "\n"


def remarks(judgement: PolicyJudgement) -> Iterator[str]:
    """Workflow commands of GitHub: a remark at the policy's line for whatever does not hold."""
    for verdict in judgement.verdicts:
        if verdict.outcome != "pass":
            kind = "warning" if verdict.outcome == "warn" else "error"
            title = _property(f"{verdict.gate}: {verdict.name}")
            yield f"::{kind} file={_property(verdict.source)},line={verdict.line},title={title}::{_escaped(verdict.reason)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
