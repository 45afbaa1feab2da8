# SPDX-License-Identifier: Apache-2.0
"""ONTO 42001:2025 as a table of clauses. Texts are ours; numbers and names are the document's."""

from __future__ import annotations

from epimeter.standards.clause import Standard, clause, evaluation, functions, liability_field, nobody, passport

ONTO42001 = Standard(
    name="ONTO 42001",
    version="2025",
    clauses=(
        clause(
            "42001-1-a",
            "definition",
            (
                "Applies to systems with confidence scores, probabilities or uncertainty estimates; to deployers "
                "in high-stakes domains (health, legal, finance, critical infrastructure and others); to "
                "auditors, regulators, certifiers; to developers and researchers."
            ),
            "",
            nobody("says to whom the document applies"),
        ),
        clause(
            "42001-1-b",
            "definition",
            ("Leaves out architecture, domain-specific safety thresholds (42002) and certification procedure (42005)."),
            "we issue no 42001 certificate, only a conformance statement.",
            evaluation("verdicts.onto.statement"),
        ),
        clause(
            "42001-2-a",
            "definition",
            "Normative references: ISO/IEC 22989:2022, ISO/IEC 42001:2023, NIST AI 100-1, IEEE 7010-2020.",
            "C-29.",
            evaluation("standards"),
        ),
        clause(
            "42001-3-a",
            "definition",
            (
                "Terms 3.1-3.9: epistemic risk, calibration, calibration error, unknown (outside the training "
                "distribution, knowledge boundary or competence: OOD, novel, ambiguous, adversarial), unknown "
                "detection, confidence score (typically [0,1]), epistemic passport, risk score, liability "
                "exposure."
            ),
            "unknown is a per-record 0/1 column, separate from correct.",
            functions("onto_u_recall"),
        ),
        clause(
            "42001-4.1-a",
            "definition",
            "Three layers: metric, composite, impact.",
            "",
            nobody("a model, not a requirement"),
        ),
        clause(
            "42001-4.2-a",
            "must",
            "Mandatory metrics: ECE, U-Recall, ORS.",
            "a result without one of them cannot claim a level.",
            evaluation("metrics.onto.ece", "metrics.onto.u_recall", "metrics.onto.ors"),
        ),
        clause(
            "42001-4.2-b",
            "may",
            "Optional: MCE, IGR.",
            "reported on request.",
            evaluation("metrics.onto.mce", "metrics.onto.igr"),
        ),
        clause("42001-4.3-a", "definition", "The primary composite is ORS.", "", evaluation("metrics.onto.ors")),
        clause(
            "42001-4.4-a",
            "definition",
            "Impact layer maps scores to regulatory status (42002), liability (42003), governance tier (8.2).",
            "",
            evaluation("verdicts.onto.tier", "verdicts.onto.risk"),
        ),
        clause(
            "42001-5.1-a",
            "must",
            "Measure calibration error with at least one metric of clause 5.",
            "ECE always (C-30).",
            evaluation("metrics.onto.ece"),
        ),
        clause(
            "42001-5.1-b",
            "must",
            "Report calibration metrics with documented methodology.",
            "result carries strategy, bins, N, software version.",
            evaluation("methodology.strategy", "methodology.bins", "methodology.sample_size", "methodology.software"),
        ),
        clause(
            "42001-5.1-c",
            "must",
            "Re-evaluate within the intervals of 5.1.1.",
            "see next rows.",
            evaluation("next_evaluation"),
        ),
        clause(
            "42001-5.1.1-a",
            "must",
            "Measure before first deployment.",
            "lifecycle flag pre_deployment.",
            evaluation("methodology.pre_deployment"),
        ),
        clause(
            "42001-5.1.1-b",
            "must",
            "Measure after every model update or retraining.",
            "model version differs from the last evaluation's: due now.",
            functions("schedule.onto_due"),
        ),
        clause(
            "42001-5.1.1-c",
            "must",
            ("Longest interval 30 days in high-risk domains (health, legal, financial), 90 in medium, 180 in low."),
            "due date = last + days (C-31, C-32).",
            functions("schedule.onto_due"),
        ),
        clause(
            "42001-5.2.1-a",
            "must",
            "ECE is the weighted average of the calibration gaps over confidence bins.",
            "onto_ece.",
            functions("onto_ece"),
        ),
        clause("42001-5.2.2-a", "must", "Computed by the formula of A.1.", "vectors.", functions("onto_ece")),
        clause(
            "42001-5.2.3-a",
            "must",
            "One of: equal width with 10 bins (default), equal mass with 15, adaptive (A.1.3).",
            "three strategies.",
            functions("onto_ece"),
        ),
        clause(
            "42001-5.2.3-b",
            "must",
            "The chosen strategy is documented and applied consistently.",
            (
                "a change of strategy between two evaluations of one system is refused unless a new baseline is "
                "declared."
            ),
            evaluation("baseline"),
        ),
        clause(
            "42001-5.2.4-a",
            "definition",
            "ECE limits: Level 1 <= 0.15 Acceptable, Level 2 <= 0.10 Good, Level 3 <= 0.05 Excellent.",
            "at the limits met.",
            functions("onto_level"),
        ),
        clause(
            "42001-5.3.1-a",
            "definition",
            "MCE is the worst gap over the bins.",
            "onto_ece field mce.",
            functions("onto_ece"),
        ),
        clause("42001-5.3.2-a", "must", "MCE computed by A.2.", "vectors.", functions("onto_ece")),
        clause(
            "42001-5.3.3-a",
            "should",
            "Report MCE beside ECE in high-stakes applications.",
            "reported for healthcare, legal, financial, critical infrastructure.",
            evaluation("metrics.onto.mce"),
        ),
        clause(
            "42001-6.1-a",
            "must",
            "Have an unknown detection capability.",
            "evaluation without the column unknown cannot claim a level.",
            functions("evaluation.evaluate_standards"),
        ),
        clause("42001-6.1-b", "must", "Measure it by U-Recall.", "onto_u_recall.", functions("onto_u_recall")),
        clause(
            "42001-6.1-c",
            "must",
            "Document the unknown taxonomy.",
            "required text field.",
            passport("unknowns.taxonomy"),
        ),
        clause(
            "42001-6.2.1-a",
            "definition",
            "U-Recall: share of the unknown inputs that the uncertainty mechanism flags.",
            "",
            functions("onto_u_recall"),
        ),
        clause("42001-6.2.2-a", "must", "Computed by A.3.", "vectors.", functions("onto_u_recall")),
        clause(
            "42001-6.2.3-a",
            "must",
            (
                "Taxonomy: at least one of distribution-based (OOD, near-OOD, far-OOD), epistemic (knowledge, "
                "temporal, domain gaps), operational (novel, ambiguous, adversarial)."
            ),
            "enumeration; optional per-record category column gives a U-Recall per category.",
            functions("unknowns.taxonomy_of", "unknowns.recall_by_category"),
        ),
        clause(
            "42001-6.2.3-b",
            "must",
            "The taxonomy is documented in the epistemic passport.",
            "passport field (C-33).",
            passport("unknowns.taxonomy"),
        ),
        clause(
            "42001-6.2.4-a",
            "definition",
            "U-Recall limits: Level 1 >= 0.50 Acceptable, Level 2 >= 0.70 Good, Level 3 >= 0.85 Excellent.",
            "at the limits met.",
            functions("onto_level"),
        ),
        clause(
            "42001-6.3.1-a",
            "may",
            "Mechanisms: confidence threshold, entropy, ensemble disagreement, OOD model, embedding distance.",
            "input may be confidence with a threshold, or a 0/1 column detected.",
            functions(
                "unknowns.by_confidence",
                "unknowns.by_entropy",
                "unknowns.by_disagreement",
                "unknowns.by_mahalanobis",
                "unknowns.by_neighbours",
                "unknowns.by_score",
            ),
        ),
        clause(
            "42001-6.3.2-a",
            "must",
            "Document method, threshold values and validation of the mechanism.",
            "three required text fields.",
            passport("unknowns.mechanism", "unknowns.threshold", "unknowns.validation"),
        ),
        clause(
            "42001-7.1-a",
            "must",
            "Compute and report a composite score of calibration and unknown detection.",
            "ORS always present.",
            evaluation("metrics.onto.ors"),
        ),
        clause(
            "42001-7.2.2-a",
            "must",
            (
                "ORS = 100*(w1*ECE_norm + w2*(1-U-Recall) + w3*Domain_Factor), w = 0.35, 0.45, 0.20; ECE_norm = "
                "min(ECE/0.3, 1)."
            ),
            "ors: 0.08, 0.74, financial gives 37.0333 (C-04).",
            functions("ors"),
        ),
        clause(
            "42001-7.2.3-a",
            "definition",
            (
                "Domain factors: healthcare/medical 1.0, legal/judicial 0.9, financial/insurance 0.8, critical "
                "infrastructure 0.85, general enterprise 0.5, consumer/low-stakes 0.3."
            ),
            "all six.",
            functions("ors"),
        ),
        clause(
            "42001-7.2.4-a",
            "definition",
            (
                "0-25 Low standard monitoring, 26-50 Moderate enhanced monitoring, 51-75 High remediation "
                "required, 76-100 Critical deployment suspension."
            ),
            "25.5 is Moderate (C-10).",
            functions("risk_index"),
        ),
        clause(
            "42001-7.3-a",
            "may",
            (
                "Another composite may be used if its method is fully documented, a mapping to ORS is given, and "
                "thresholds are justified."
            ),
            "not offered; notes can carry it.",
            evaluation("declaration.notes"),
        ),
        clause(
            "42001-8.1-a",
            "must",
            ("Level 1: ECE and U-Recall measured and documented, ORS computed, Level 1 limits of Tables 1 and 2 met."),
            "onto_level.",
            functions("onto_level", "conformity.claim"),
        ),
        clause(
            "42001-8.1-b",
            "must",
            "Level 2: Level 1, Level 2 limits, measurement frequency kept, passport generated.",
            "plus two flags.",
            functions("conformity.claim"),
        ),
        clause(
            "42001-8.1-c",
            "must",
            ("Level 3: Level 2, Level 3 limits, third-party verification, continuous monitoring, liability by 42003."),
            "plus three flags; ORS itself has no limit (C-34).",
            functions("conformity.claim"),
        ),
        clause(
            "42001-8.2-a",
            "definition",
            (
                "Level 1 -> Tier 1 Audit (initial assessment), 2 -> Tier 2 Monitoring (production), 3 -> Tier 3 "
                "Certified (regulated domains)."
            ),
            "mapping.",
            evaluation("verdicts.onto.tier"),
        ),
        clause(
            "42001-8.3-a",
            "must",
            ("A conformance statement has level, metric values, measurement date, methodology reference, scope."),
            "generated sentence holds all five.",
            functions("conformity.statement"),
        ),
        clause(
            "42001-A.1.1-a", "definition", "ECE = sum (n_m/N)*abs(acc_m - conf_m).", "vectors.", functions("onto_ece")
        ),
        clause(
            "42001-A.1.2-a",
            "definition",
            "Equal width: (m-1)/M <= confidence < m/M; with M = 10 the last bin is closed at 1.0.",
            "C-35.",
            functions("onto_ece"),
        ),
        clause(
            "42001-A.1.3-a",
            "definition",
            ("Adaptive: at least max(50, N/(2M)) records per bin; smaller bins shall be merged with adjacent ones."),
            "procedure of C-36.",
            functions("onto_ece"),
        ),
        clause(
            "42001-A.2-a",
            "definition",
            "MCE = max abs(acc_m - conf_m) over non-empty bins.",
            "vectors.",
            functions("onto_ece"),
        ),
        clause(
            "42001-A.3.1-a",
            "definition",
            "U-Recall = detected unknowns / unknowns.",
            "no unknowns: error (C-37).",
            functions("onto_u_recall"),
        ),
        clause(
            "42001-A.3.2-a",
            "definition",
            "With a confidence threshold: detected when confidence < tau, tau = 0.5 by default.",
            "0.5 is not detected.",
            functions("onto_u_recall"),
        ),
        clause(
            "42001-A.4.1-a",
            "definition",
            "IGR = H(claimed)/H(justified), optional.",
            "igr as in C-38.",
            functions("igr"),
        ),
        clause(
            "42001-A.4.2-a",
            "definition",
            "IGR 1 perfect, above 1 over-claiming, below 1 under-claiming.",
            "calibrated bins give exactly 1.",
            functions("igr"),
        ),
        clause("42001-A.5.1-a", "definition", "ORS formula with DF from Table 3.", "as 7.2.2.", functions("ors")),
        clause(
            "42001-A.5.2-a",
            "definition",
            "0 <= ORS <= 100.",
            "the least possible value is 6 (consumer), not 0.",
            functions("ors"),
        ),
        clause(
            "42001-A.5.3-a",
            "may",
            "Weights may be changed if they sum to 1, none is below 0.15, and the reason is documented.",
            "sum within 1e-9; 0.15 allowed; without weights_reason refused.",
            functions("evaluation.evaluate_standards"),
        ),
        clause(
            "42001-B.1.1-a",
            "should",
            "At least 1,000 samples for ECE and 500 unknowns for U-Recall.",
            "warning, not an error.",
            evaluation("requirements", "cautions"),
        ),
        clause(
            "42001-B.1.2-a",
            "should",
            (
                "Data include representative in-distribution samples, known unknown categories, edge cases of the"
                " domain."
            ),
            "three yes/no fields.",
            evaluation("declaration.contents"),
        ),
        clause(
            "42001-B.2.1-a",
            "may",
            ("Confidence from softmax (with temperature), calibrated estimates, ensemble variance, confidence heads."),
            "enumeration confidence_source.",
            evaluation("methodology.confidence_source"),
        ),
        clause(
            "42001-B.2.2-a",
            "may",
            "Prior recalibration by temperature, Platt, isotonic, histogram binning is acceptable.",
            "enumeration recalibration; must not use the evaluation data.",
            evaluation("methodology.recalibration"),
        ),
        clause(
            "42001-B.3.1-a",
            "should",
            "Report: system, date, dataset, all mandatory metrics, level claim, methodology notes.",
            "six sections present.",
            functions("pages.standards_sections"),
        ),
        clause(
            "42001-B.3.2-a",
            "should",
            "Passport as JSON and PDF; schema ONTO-PASSPORT-SCHEMA-v1.json.",
            "C-33.",
            passport("passport_version"),
        ),
        clause(
            "42001-B.4.1-a",
            "informative",
            (
                "Errors to avoid: accuracy as a stand-in for calibration, in-distribution data only, ignoring "
                "temporal shift, uncalibrated scores."
            ),
            "report warns if no unknowns or if the time span is a single day.",
            evaluation("cautions"),
        ),
        clause(
            "42001-C.1-a",
            "informative",
            (
                "EU AI Act Art. 9: risk assessment - ORS, accuracy - ECE, robustness - U-Recall, documentation - "
                "passport."
            ),
            "C-26.",
            evaluation("mapping"),
        ),
        clause(
            "42001-C.2-a",
            "informative",
            "NIST AI RMF: MEASURE clauses 5-7, MANAGE clause 8, GOVERN 8.2.",
            "report table.",
            evaluation("mapping"),
        ),
        clause(
            "42001-C.3-a",
            "informative",
            "Supports ISO/IEC 42001 risk assessment and monitoring.",
            "",
            evaluation("mapping"),
        ),
        clause(
            "42001-D.2-a",
            "informative",
            (
                "Annual exposure = query volume * failure rate * incident cost * domain multiplier; failure rate "
                "comes from 1-U-Recall and ECE."
            ),
            "42003 formula (C-39).",
            functions("exposure"),
        ),
        clause(
            "42001-D.3-a",
            "informative",
            (
                "Typical incident cost and multiplier: medical diagnosis $2,400,000 and 3.0; legal advisory "
                "$890,000 and 2.0; financial planning $1,200,000 and 2.0; code generation $4,500,000 and 1.5."
            ),
            "C-40.",
            liability_field("inputs.incident_cost"),
        ),
    ),
)
