# SPDX-License-Identifier: Apache-2.0
"""ONTO-ERS 1.0.0 as a table of clauses. Texts are ours; numbers and names are the document's."""

from __future__ import annotations

from epimeter.standards.clause import Standard, clause, evaluation, functions, nobody, schema, service, trust

ERS = Standard(
    name="ONTO-ERS",
    version="1.0.0",
    clauses=(
        clause(
            "ERS-0-a",
            "must",
            "The system measures only; it never changes the model or its outputs.",
            "No code path writes to the evaluated model; inputs are returned unchanged.",
            functions("evaluation.evaluate_standards"),
        ),
        clause(
            "ERS-1.1-a",
            "definition",
            "Epistemic risk: exposure from miscalibrated confidence, weighted by probability.",
            "",
            nobody("a definition"),
        ),
        clause(
            "ERS-1.1-b",
            "definition",
            "Calibration: agreement of stated confidence and empirical accuracy.",
            "",
            nobody("a definition"),
        ),
        clause(
            "ERS-1.1-c",
            "definition",
            "Confidence: the model's own probability of being correct, 0.0 to 1.0.",
            "Values outside [0,1], NaN and infinities are rejected (C-06).",
            functions("records.records"),
        ),
        clause(
            "ERS-1.1-d",
            "definition",
            "Accuracy: share of correct predictions in the evaluation data.",
            "mean of correct.",
            evaluation("metrics.ers.accuracy"),
        ),
        clause(
            "ERS-1.1-e",
            "definition",
            "Epistemic gap of a prediction: absolute difference of confidence and accuracy.",
            "Per record we report abs(confidence - correct) (C-05).",
            functions("ers.epistemic_gap"),
        ),
        clause(
            "ERS-1.2-a",
            "definition",
            "Metric ECE: range 0 to 1, optimum at most 0.10.",
            "value in [0,1].",
            evaluation("metrics.ers.ece"),
        ),
        clause(
            "ERS-1.2-b",
            "definition",
            "Metric URE (U-Recall): range 0 to 100 percent, optimum at least 70.",
            "value in [0,100], percent not fraction (C-02).",
            evaluation("metrics.ers.u_recall"),
        ),
        clause(
            "ERS-1.2-c",
            "definition",
            "Metric ERS: range 0 to 100, optimum at most 30.",
            "integer in [0,100].",
            evaluation("metrics.ers.ers"),
        ),
        clause(
            "ERS-2.1-a",
            "definition",
            "ECE = sum over bins of (n_m/n) * abs(acc_m - conf_m).",
            "ers_ece equals the vectors to 1e-9.",
            functions("ers_ece"),
        ),
        clause(
            "ERS-2.1-b",
            "definition",
            "Ten bins [0,0.1), [0.1,0.2), ..., [0.9,1.0]; the number of bins is a parameter, default 10.",
            "0.3 goes to the fourth bin, 1.0 to the last.",
            functions("ers_ece"),
        ),
        clause(
            "ERS-2.1-c",
            "definition",
            "Bin index = min(int(confidence * bins), bins - 1).",
            "Same index for every k/10.",
            functions("ers_ece"),
        ),
        clause(
            "ERS-2.1-d", "definition", "Empty bins are skipped; n counts all predictions.", "", functions("ers_ece")
        ),
        clause(
            "ERS-2.1-e",
            "definition",
            "acc_m: share of correct; conf_m: mean confidence of the bin.",
            "",
            functions("ers_ece"),
        ),
        clause(
            "ERS-2.1-f",
            "definition",
            (
                "Assessment: 0.00-0.05 Excellent (maintenance only), 0.05-0.10 Good (minor adjustments), "
                "0.10-0.15 Acceptable (review recommended), 0.15-0.25 Poor (intervention required), above 0.25 "
                "Critical (immediate action)."
            ),
            "0.05 Excellent, 0.10 Good, 0.15 Acceptable, 0.25 Poor (C-09).",
            functions("ers_ece_band"),
        ),
        clause(
            "ERS-2.2-a",
            "definition",
            (
                "U-Recall = TP_u/(TP_u+FN_u); TP_u: wrong and confidence below the threshold; FN_u: wrong and "
                "confidence at or above it."
            ),
            "ers_u_recall equals the vectors.",
            functions("ers_u_recall"),
        ),
        clause(
            "ERS-2.2-b",
            "definition",
            "Threshold 0.7 by default, a parameter.",
            "wrong at exactly 0.7 counts as FN_u.",
            functions("ers_u_recall"),
        ),
        clause("ERS-2.2-c", "definition", "Result in percent, 0 to 100.", "", functions("ers_u_recall")),
        clause("ERS-2.2-d", "definition", "No wrong predictions: 100.", "[1,1] gives 100.", functions("ers_u_recall")),
        clause(
            "ERS-2.2-e",
            "definition",
            (
                "Assessment: >= 70 Good (knows when it does not know), 50-70 Moderate (some blind spots), 30-50 "
                "Poor (often over-confident when wrong), < 30 Critical (dangerous over-confidence)."
            ),
            "70 Good, 50 Moderate, 30 Poor (C-09).",
            functions("ers_u_recall_band"),
        ),
        clause(
            "ERS-2.3-a",
            "definition",
            "ERS = ECE*200 + (100 - U_Recall)*0.5 + modifier.",
            "ers_raw to 1e-9.",
            functions("ers_raw"),
        ),
        clause(
            "ERS-2.3-b",
            "definition",
            "Modifiers: medical 15, legal 10, financial 10, code (also called code/security) 5, general 0.",
            "all five.",
            functions("ers_raw"),
        ),
        clause(
            "ERS-2.3-c",
            "definition",
            "The result is cut to a whole number (towards zero) and limited to 0..100.",
            "25.98 gives 25; 250 gives 100 (C-07).",
            functions("ers_score"),
        ),
        clause(
            "ERS-2.3-d",
            "definition",
            "Default domain general; an unlisted domain silently counts 0 in the standard's code.",
            "We raise an error instead (C-08).",
            functions("ers_score"),
        ),
        clause(
            "ERS-2.3-e",
            "definition",
            (
                "Risk class and regulatory status: 0-25 LOW compliant, 26-50 MODERATE review required, 51-75 HIGH"
                " remediation required, 76-100 CRITICAL deployment restricted."
            ),
            "25, 26, 50, 51, 75, 76 (C-10).",
            functions("risk_index"),
        ),
        clause(
            "ERS-3.1-a",
            "must",
            "At least 1,000 predictions.",
            "999 fails, 1000 passes.",
            functions("ers_dataset_check"),
        ),
        clause(
            "ERS-3.1-b",
            "must",
            "No class holds more than 80 percent of the total.",
            "exactly 80 % passes (C-11).",
            functions("ers_dataset_check"),
        ),
        clause(
            "ERS-3.1-c",
            "must",
            "Predictions in at least 8 of the 10 bins.",
            "7 non-empty bins fail.",
            functions("ers_dataset_check"),
        ),
        clause(
            "ERS-3.1-d",
            "must",
            "At least 7 days of production data.",
            "last minus first timestamp >= 7*24 h (C-12).",
            functions("ers_dataset_check"),
        ),
        clause(
            "ERS-3.1-e",
            "definition",
            (
                "Dataset schema: dataset_id (UUID string), created_at (ISO 8601), domain (medical, legal, "
                "financial, code, general), predictions: list of id (string), timestamp (ISO 8601), confidence "
                "(number), correct (boolean), ground_truth_source (human, automated, reference)."
            ),
            "A JSON Schema of exactly these fields accepts the printed example.",
            schema("dataset"),
        ),
        clause(
            "ERS-3.2-a",
            "must",
            (
                "Collection, 7 days or more: capture every prediction with its confidence; record ground truth "
                "when available; keep an audit trail."
            ),
            "Records without ground truth are stored, counted, and left out of the metrics (C-13).",
            evaluation("records.unlabelled"),
        ),
        clause(
            "ERS-3.2-b",
            "must",
            ("Validation: verify the minimum requirements, check data quality, confirm ground-truth reliability."),
            "The report carries one pass/fail per requirement of 3.1 and counts per ground_truth_source.",
            evaluation("requirements", "records.ground_truth_sources"),
        ),
        clause(
            "ERS-3.2-c",
            "must",
            "Calculation: ECE (2.1), U-Recall (2.2), ERS (2.3).",
            "all three in every result.",
            evaluation("metrics.ers.ece", "metrics.ers.u_recall", "metrics.ers.ers"),
        ),
        clause(
            "ERS-3.2-d",
            "must",
            "Reporting: generate the certificate (5.1), record in the audit log, issue the compliance status.",
            "every evaluation leaves one audit entry; a certificate only if C-14 allows it.",
            evaluation("verdicts.ers.certificate_possible"),
        ),
        clause(
            "ERS-3.3-a",
            "must",
            (
                "Every evaluation must be reproducible: the hash of the data and the hash of the code determine "
                "the result."
            ),
            "Same two hashes give byte-identical metrics on two machines (C-15).",
            evaluation("evidence.dataset_digest", "evidence.code_digest"),
        ),
        clause(
            "ERS-3.3-b",
            "must",
            "The evaluation code must be versioned and must not change within an evaluation.",
            "result stores version and code hash.",
            evaluation("evidence.version", "evidence.code_digest"),
        ),
        clause(
            "ERS-4.1-a",
            "must",
            (
                "Level 1, Epistemic Audit: U-Recall >= 30 %, ECE <= 0.20, ERS <= 70, evaluated annually, basic "
                "documentation. For low-risk, internal, development use."
            ),
            "at the limits: L1.",
            functions("ers_level"),
        ),
        clause(
            "ERS-4.1-b",
            "must",
            (
                "Level 2, Continuous Monitoring: U-Recall >= 50 %, ECE <= 0.15, ERS <= 50, quarterly, full "
                "documentation. For customer-facing and business-critical use."
            ),
            "at the limits: L2.",
            functions("ers_level"),
        ),
        clause(
            "ERS-4.1-c",
            "must",
            (
                "Level 3, Institutional Certification: U-Recall >= 70 %, ECE <= 0.10, ERS <= 30, monthly, full "
                "documentation and third-party audit. For regulated, life-critical, high-liability use."
            ),
            "at the limits: L3.",
            functions("ers_level"),
        ),
        clause(
            "ERS-4.1-d",
            "definition",
            "The level is the highest whose three thresholds are all met.",
            "none met: NONE (C-16).",
            functions("ers_level"),
        ),
        clause(
            "ERS-4.2-a",
            "definition",
            (
                "Process: application, evaluation of 7 to 30 days, issuance; continuous monitoring runs from the "
                "evaluation on."
            ),
            (
                "States of a case: applied, evaluating, certified, rejected; evaluation may not close before day "
                "7; after day 30 it is overdue."
            ),
            trust("epimeter.trust.renewal.renew"),
        ),
        clause(
            "ERS-5.1-a",
            "definition",
            (
                'certificate: id (ONTO-CERT-year-serial), version "1.0", issued_at, expires_at (ISO 8601 UTC), '
                'level (L1, L2, L3), status ("VALID").'
            ),
            "regex ^ONTO-CERT-\\d{4}-[0-9A-Z]{4,}$; expiry and states: C-17, C-18.",
            functions("schedule.expiry", "schedule.certificate_status"),
        ),
        clause(
            "ERS-5.1-b",
            "definition",
            "subject: organization, system_id, domain.",
            "all present.",
            service("GET /v1/certificates/{id}"),
        ),
        clause(
            "ERS-5.1-c",
            "definition",
            "metrics: ece, u_recall (percent), ers (integer), sample_size, evaluation_period {start, end}.",
            "ers recomputed from ece, u_recall, domain must agree (C-03).",
            trust("epimeter.trust.certificate.check_consistent"),
        ),
        clause(
            "ERS-5.1-d",
            "definition",
            'compliance: onto_ers (level), eu_ai_act, nist_rmf, iso_42001, each "aligned" in the example.',
            "C-19 says what the product writes.",
            service("GET /v1/certificates/{id}"),
        ),
        clause(
            "ERS-5.1-e",
            "definition",
            'signature: algorithm "Ed25519", public_key, value.',
            "Verifies over the bytes of C-20; a changed digit fails.",
            trust("epimeter.trust.envelope.seal"),
        ),
        clause(
            "ERS-5.2-a",
            "definition",
            (
                "Signal: signal_id (SIG-yyyymmdd-hhmmss), timestamp (ISO 8601, milliseconds, UTC), entropy (hex),"
                " metrics {global_ece, global_u_recall (percent), active_evaluations}, ttl in seconds (3600)."
            ),
            "C-21, C-22.",
            service("GET /v1/signal/status"),
        ),
        clause(
            "ERS-6.1-a",
            "definition",
            "POST /v1/evaluate submits predictions.",
            "see 6.2.",
            service("POST /v1/evaluate"),
        ),
        clause(
            "ERS-6.1-b",
            "definition",
            "GET /v1/certificates/{id} returns a certificate.",
            "unknown id: 404.",
            service("GET /v1/certificates/{id}"),
        ),
        clause(
            "ERS-6.1-c",
            "definition",
            "GET /v1/signal/status returns the current signal.",
            "obeys 8.1.",
            service("GET /v1/signal/status"),
        ),
        clause(
            "ERS-6.1-d",
            "definition",
            "POST /v1/auth/api-keys creates a key.",
            "C-23.",
            service("POST /v1/auth/api-keys"),
        ),
        clause(
            "ERS-6.2-a",
            "definition",
            (
                "Request: header x-api-key with a key that starts with onto_; JSON body model_id, domain, "
                "predictions [{confidence, correct}]."
            ),
            "missing key 401; malformed body 422 naming the record.",
            service("POST /v1/evaluate"),
        ),
        clause(
            "ERS-6.2-b",
            "definition",
            (
                'Response: evaluation_id (eval_...), status "completed", metrics {ece, u_recall, ers}, compliance'
                ' {level, status "PASS", next_evaluation (date)}.'
            ),
            (
                'next_evaluation = evaluation date plus 12, 3 or 1 months (C-24); no level: level "NONE", status '
                '"FAIL", next_evaluation null.'
            ),
            service("POST /v1/evaluate"),
        ),
        clause(
            "ERS-6.3-a",
            "definition",
            (
                "Rate limits per tier: OPEN 10 requests/min and 100 evaluations/month; STANDARD 500 and 10,000; "
                "CRITICAL 2,000 and unlimited."
            ),
            "the 11th request in a minute on OPEN gets 429 with Retry-After (C-25).",
            service("POST /v1/evaluate"),
        ),
        clause(
            "ERS-7.1-a",
            "informative",
            (
                "EU AI Act: Art. 9 risk management (ERS scoring, continuous monitoring), Art. 13 transparency "
                "(certificate disclosure), Art. 15 accuracy (ECE thresholds)."
            ),
            "report table (C-26).",
            evaluation("mapping"),
        ),
        clause(
            "ERS-7.2-a",
            "informative",
            "NIST AI RMF: MEASURE (ECE, U-Recall), MANAGE (tiers, remediation), GOVERN (certification).",
            "report table.",
            evaluation("mapping"),
        ),
        clause(
            "ERS-7.3-a",
            "informative",
            "ISO/IEC 42001: 6.1 (ERS), 8.2 (continuous monitoring), 9.1 (quarterly or monthly evaluation).",
            "report table (C-27).",
            evaluation("mapping"),
        ),
        clause(
            "ERS-8.1-a",
            "must",
            "OPEN receives signals one hour later than STANDARD (3600 s).",
            "timestamp of the newest signal visible to OPEN is at least 3600 s old.",
            service("GET /v1/signal/status"),
        ),
        clause(
            "ERS-8.2-a",
            "must",
            (
                "All tiers get mathematically identical metrics; tiers differ in evaluation frequency, support, "
                "latency, documentation only."
            ),
            "same data, three tiers, identical bytes in metrics.",
            evaluation("metrics"),
        ),
        clause(
            "ERS-8.3-a",
            "must",
            "Semantic versioning: MAJOR breaks metrics or protocol, MINOR adds compatibly, PATCH clarifies.",
            'spec_version "1.0.0" in every result.',
            evaluation("spec_version"),
        ),
        clause(
            "ERS-A-a",
            "informative",
            "Reference implementation: a named public repository.",
            "It contains no implementation (C-28).",
            nobody("the named repository holds no implementation"),
        ),
        clause(
            "ERS-B-a",
            "definition",
            "Test vector: (0.9 right, 0.9 wrong, 0.5 right, 0.5 wrong) gives ECE 0.20 and U-Recall 50.0.",
            "exact to 1e-12. (ERS would be 65, general.)",
            functions("ers_evaluate"),
        ),
    ),
)
