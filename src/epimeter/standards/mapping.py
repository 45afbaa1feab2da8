# SPDX-License-Identifier: Apache-2.0
"""Which clause of a law or framework a measurement is evidence for, and what it does not prove.

We never write that a system complies with a law: a measurement cannot establish that (C-19). Numbers of clauses follow
the two standards' own tables where these are right, and the texts themselves where they are not (C-26, C-27).
"""

from __future__ import annotations

from dataclasses import dataclass

from epimeter.results import Result

AS_OF = "2026-11-01"
"""The day this table was last held against the texts."""

FRAMEWORKS = {
    "eu_ai_act": "Regulation (EU) 2024/1689, the EU AI Act",
    "nist_ai_rmf": "NIST AI 100-1, AI Risk Management Framework 1.0",
    "iso_42001": "ISO/IEC 42001:2023, AI management system",
}


@dataclass(frozen=True, kw_only=True)
class ClauseEvidence(Result):
    """One clause, what in a report is evidence for it, and which rows of the standards say so."""

    framework: str
    clause: str
    title: str
    evidence: str
    source: str


MAPPING = (
    ClauseEvidence(
        framework="eu_ai_act",
        clause="Article 9",
        title="Risk management system",
        evidence="ERS and ORS scores with their risk class, repeated measurement",
        source="ERS-7.1-a, 42001-C.1-a",
    ),
    ClauseEvidence(
        framework="eu_ai_act",
        clause="Article 11",
        title="Technical documentation",
        evidence="epistemic passport",
        source="42001-C.1-a",
    ),
    ClauseEvidence(
        framework="eu_ai_act",
        clause="Article 13",
        title="Transparency and information to deployers",
        evidence="disclosed certificate or passport with limits and methodology",
        source="ERS-7.1-a",
    ),
    ClauseEvidence(
        framework="eu_ai_act",
        clause="Article 15",
        title="Accuracy, robustness and cybersecurity",
        evidence="ECE (accuracy of stated confidence), U-Recall (behaviour on unknown inputs)",
        source="ERS-7.1-a, 42001-C.1-a",
    ),
    ClauseEvidence(
        framework="nist_ai_rmf",
        clause="MEASURE",
        title="Analyse, assess and track AI risks",
        evidence="ECE, U-Recall, ORS with intervals",
        source="ERS-7.2-a, 42001-C.2-a",
    ),
    ClauseEvidence(
        framework="nist_ai_rmf",
        clause="MANAGE",
        title="Act on measured risks",
        evidence="risk class with its action, level, next evaluation date",
        source="ERS-7.2-a, 42001-C.2-a",
    ),
    ClauseEvidence(
        framework="nist_ai_rmf",
        clause="GOVERN",
        title="Policies, accountability and oversight",
        evidence="governance tier, conformance statement, audit trail",
        source="ERS-7.2-a, 42001-C.2-a",
    ),
    ClauseEvidence(
        framework="iso_42001",
        clause="6.1",
        title="Actions to address risks and opportunities",
        evidence="ERS and ORS scores as input to risk assessment",
        source="ERS-7.3-a, 42001-C.3-a",
    ),
    ClauseEvidence(
        framework="iso_42001",
        clause="8.2",
        title="AI risk assessment",
        evidence="measurements repeated at the intervals of the level and the domain",
        source="ERS-7.3-a",
    ),
    ClauseEvidence(
        framework="iso_42001",
        clause="9.1",
        title="Monitoring, measurement, analysis and evaluation",
        evidence="dated evaluations with method, data digest and code digest",
        source="ERS-7.3-a, 42001-C.3-a",
    ),
)

LIMITS = (
    "It does not prove that the system is safe, fair, lawful or fit for a purpose; it measures how well stated "
    "confidence agrees with what came true, on the records given.",
    "It does not show that the records are representative or complete: they were chosen by whoever submitted them.",
    "It says nothing about records without ground truth, which were left out and counted.",
    "A score can be good and the system useless: accuracy and the false-alarm rate stand beside it for that reason.",
    "Being evidence for a clause of a law is not conformity with it, and nothing here is legal advice.",
    "ONTO-ERS and ONTO 42001 are private documents; the latter is not ISO/IEC 42001.",
)
"""What a report or passport does not prove; printed on its first page."""
