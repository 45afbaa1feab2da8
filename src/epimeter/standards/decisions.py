# SPDX-License-Identifier: Apache-2.0
"""Decisions on what the documents leave open or say twice: the contradiction, and what this package does."""

from __future__ import annotations

from typing import NamedTuple


class Decision(NamedTuple):
    """A contradiction or gap in the documents, and how it is settled here."""

    id: str
    question: str
    decision: str


DECISIONS = (
    Decision(
        "C-01",
        (
            "U-Recall means two things. ERS: of the wrong answers, the share given with low confidence (tau "
            "0.7, percent). 42001: of the unknown inputs, the share detected (tau 0.5, fraction). Same name, "
            "different populations. A third text in the same public repository that also calls itself ONTO-"
            "ERS 1.0 (January 2026) uses the second meaning with ERS's limits 30/50/70 %."
        ),
        (
            "Two functions, two field names (u_recall inside an ers or an onto object, never at top level), "
            "never compared with each other."
        ),
    ),
    Decision(
        "C-02",
        "Percent in ERS, fraction in 42001.",
        (
            "Each in its own unit; a value above 1 passed to the 42001 functions is an error. A fraction "
            "passed to ers_score is legal (0.7 means 0.7 %) and cannot be caught."
        ),
    ),
    Decision(
        "C-03",
        (
            "ERS's printed certificate (ece 0.08, U-Recall 67.5, general) shows ERS 34; the formula gives "
            '32.25 -> 32. The printed API response (medical, 0.18, 42.5) shows 61 and "L1, PASS"; the formula'
            " gives 79.75 -> 79, above 70: no level, FAIL, class CRITICAL. No domain gives 61 (general 64, "
            "code 69, legal and financial 74)."
        ),
        "The formula and the code of 2.3 rule; the examples are wrong.",
    ),
    Decision(
        "C-04",
        (
            "42001's example statement (ECE 0.08, U-Recall 0.74, financial) prints ORS 38; the formula gives "
            "37.03. 38.03 is the value for critical infrastructure."
        ),
        "Formula rules. ORS is reported with one decimal, computed and classified unrounded.",
    ),
    Decision(
        "C-05",
        ('ERS\'s epistemic gap "for a given prediction" needs an accuracy, which a single prediction does not have.'),
        "Per record abs(confidence - correct); per bin abs(conf - acc).",
    ),
    Decision(
        "C-06",
        (
            "ERS's code accepts anything: empty data give ECE 0, U-Recall 100, ERS 0, i.e. Level 3; "
            "confidence -0.05 lands in the first bin, -0.15 in the last; 1.3 in the last."
        ),
        ("Empty input, NaN, infinite or out-of-range confidence, labels other than 0/1, unequal lengths are errors."),
    ),
    Decision(
        "C-07",
        (
            "int() cuts: 30.99 becomes 30 and passes Level 3. In doubles 0.29*200 is 57.99999999999999, so "
            "the code gives 57 where the formula says 58 (likewise one too low at ECE 0.145 and 0.285). And "
            "Python's sum() changed in 3.12, so the standard's own code is not bit-stable across versions."
        ),
        (
            "Keep the cut (levels use the cut value) but compute floor(raw + 1e-9), sums correctly rounded "
            "(math.fsum or equivalent). ers_raw is reported beside it. All threshold comparisons allow 1e-9 "
            "in favour of meeting. Results then do not depend on record order, threads or Python version."
        ),
    ),
    Decision("C-08", "Unknown domains count 0 in ERS's code, which understates risk.", "Error."),
    Decision(
        "C-09",
        "Assessment ranges share their ends (0.05 is in two rows).",
        (
            'The end belongs to the better class for ECE (consistent with "> 0.25" and with 42001 Table 1) '
            'and to the better class for U-Recall (consistent with ">= 70").'
        ),
    ),
    Decision(
        "C-10",
        "Risk tables jump from 25 to 26, 50 to 51, 75 to 76. ERS is whole, ORS is not.",
        (
            "Class by value: <= 25, <= 50, <= 75, above. 25.5 is Moderate. (A cut ERS of 25.98 stays LOW: "
            "consequence of C-07.)"
        ),
    ),
    Decision(
        "C-11",
        (
            '"No class > 80 %": the schema has no classes, only correct/incorrect. Read literally every '
            "system with more than 80 % accuracy is barred."
        ),
        (
            "If records carry an optional class, the rule applies to it and blocks a certificate. Otherwise "
            "it is applied to correct/incorrect, reported as balance_ok, and only warns."
        ),
    ),
    Decision(
        "C-12",
        (
            "The evaluate request has no timestamps, so the 7 days cannot be checked; nor ids, ground-truth "
            "source, dataset id. model_id in the request, system_id in the certificate."
        ),
        (
            "Those fields are optional in the request. Without timestamps span_ok is 0 and no certificate is "
            "issued. model_id becomes system_id."
        ),
    ),
    Decision(
        "C-13",
        '"Ground truth when available": what about records without?',
        (
            "Stored, counted (unlabelled), excluded from metrics; more than 20 % unlabelled is a warning "
            "(selection bias)."
        ),
    ),
    Decision(
        "C-14",
        "Does an evaluation need the minimum requirements? The printed test vector has 4 records.",
        (
            "Metrics are computed for any N >= 1; a certificate needs sample_size_ok, coverage_ok, span_ok "
            "(and class balance by C-11) and a level."
        ),
    ),
    Decision(
        "C-15",
        '"SHA256(dataset)" has no defined bytes, "SHA256(code)" neither.',
        (
            "Dataset: epi-col-v1, SHA-256 over the parsed columns (little-endian float64 with -0 as 0, uint8 "
            "labels, in row order), so that one data set has one digest in every file format. Code: SHA-256 "
            'of the sorted list "path, SHA-256" of the installed package files, plus the version.'
        ),
    ),
    Decision(
        "C-16",
        (
            "No level is defined when Level 1 is missed. Risk class and level can disagree: L1 allows ERS up "
            'to 70, which is HIGH "remediation required"; L3 with ERS 26-30 is MODERATE "review required". At'
            " the ECE and U-Recall limits ERS always exceeds its own limit (general: 75, 55, 35), so the ERS "
            "limit binds."
        ),
        (
            'Level "NONE", status "FAIL", no certificate. Level and risk class are both shown; status PASS '
            "depends on the level alone."
        ),
    ),
    Decision(
        "C-17",
        "Validity: the example runs 12 months at L2 although L2 demands quarterly evaluation.",
        (
            "All certificates expire after 12 months (the January text says so for all levels) and become "
            "SUSPENDED when an evaluation is more than 7 days overdue."
        ),
    ),
    Decision(
        "C-18",
        "Only the status VALID is named.",
        (
            "VALID, SUSPENDED, REVOKED, EXPIRED; the word in the signed body is the status at issue; the live"
            " status comes from the signed status list."
        ),
    ),
    Decision(
        "C-19",
        (
            'The certificate claims "aligned" with the EU AI Act, NIST, ISO 42001; nothing says when. A '
            "measurement cannot establish that."
        ),
        ('The product writes "informative" with a link to the mapping table, never "compliant"; the field names stay.'),
    ),
    Decision(
        "C-20",
        (
            "Ed25519 over what? Key and value encodings are not given; a key inside the certificate proves "
            "integrity, not origin."
        ),
        (
            "Signed bytes: DSSE PAE of the payload type and the RFC 8785 canonical JSON of the document "
            "without signature and transparency. Key and value base64 (standard alphabet, padded). A verifier"
            " accepts only keys from its own trust list."
        ),
    ),
    Decision(
        "C-21",
        "entropy in the signal is undefined.",
        (
            "SHA-256 of the log's newest checkpoint root and the signal id, in hex: checkable, and different "
            "for every signal."
        ),
    ),
    Decision(
        "C-22",
        ("OPEN gets the signal 3600 s late and ttl is 3600 s: expired on arrival. global_* has no population."),
        (
            "ttl counts from delivery to the tier. global_ece and global_u_recall are ERS metrics over all "
            "labelled records of the evaluations completed in the last 24 h, null when there are none. "
            "signal_id has second resolution: at most one signal per second."
        ),
    ),
    Decision(
        "C-23",
        "Creating an API key needs authentication that is not described.",
        (
            "Bootstrap key by command line; the endpoint requires an administrator key. Keys: onto_live_…, "
            "stored as id and HMAC, shown once."
        ),
    ),
    Decision(
        "C-24",
        "next_evaluation: months or days? The example shows +1 year.",
        (
            "Calendar months: 12, 3, 1 by level; the day is clipped to the end of the month (31 January + 1 "
            "month = 28 or 29 February)."
        ),
    ),
    Decision(
        "C-25",
        (
            "Rate-limit window, counting of failed calls, month boundaries are open; the tier name CRITICAL "
            "collides with the risk class."
        ),
        (
            "Sliding 60 s window over all authenticated requests; evaluations count when accepted, per UTC "
            "calendar month. Field names tier and risk keep them apart."
        ),
    ),
    Decision(
        "C-26",
        (
            "EU AI Act: ERS maps Articles 9, 13, 15; 42001 puts accuracy, robustness and documentation all "
            "under Article 9, though the Act has them in Articles 15 and 11."
        ),
        "The report uses 9, 11, 13, 15 and cites both source tables.",
    ),
    Decision(
        "C-27",
        (
            'ERS maps ISO/IEC 42001 clause 8.2 to "AI system lifecycle"; in the 2023 edition 8.2 is AI risk '
            "assessment, and 9.1 is monitoring and measurement (clause 9 as a whole is performance "
            "evaluation)."
        ),
        "Corrected titles, clause numbers kept.",
    ),
    Decision(
        "C-28",
        (
            "The reference implementation is not in the named repository. A package on PyPI by the same "
            "authors implements the January text: recall over items labelled UNKNOWN, risk = "
            "int(50*(1-recall) + min(100*ECE, 50)), classes at 40/60/80, empty input ECE 1."
        ),
        "Not used. The printed code of ERS 2.1-2.3 is the reference.",
    ),
    Decision(
        "C-29",
        (
            "Titles: IEEE 7010-2020 is a recommended practice on human well-being; the document calls itself "
            "an International Standard; its number equals that of ISO/IEC 42001. Licence: ERS says Apache 2.0"
            ' and "all rights reserved"; 42001 allows free non-commercial distribution.'
        ),
        'We always write "ONTO 42001"; we quote no text of either.',
    ),
    Decision(
        "C-30",
        '5.1 asks for "at least one metric" of clause 5 while 4.2 and 8.1 require ECE.',
        "ECE is always required.",
    ),
    Decision(
        "C-31",
        (
            '"Minimum intervals of 30 days" reads as "not more often than". ERS sets annual, quarterly, '
            "monthly by level instead. 8.1 asks for the frequency from Level 2 on, 5.1.1 from everyone."
        ),
        ("Longest allowed intervals, for every level. When both standards are claimed the earlier date counts."),
    ),
    Decision(
        "C-32",
        (
            "Risk class of a domain: only health, legal, financial are named high; critical infrastructure "
            "(factor 0.85, above financial) is not classed, medium and low have no members."
        ),
        ("30 days: healthcare, legal, financial, critical_infrastructure; 90: general_enterprise; 180: consumer."),
    ),
    Decision(
        "C-33",
        (
            "The taxonomy shall be in the passport, but Level 1 needs no passport; the passport schema file "
            "is not published."
        ),
        (
            "A passport is always generated. Fields: passport_version, system {organization, system_id, "
            "model_version, domain}, evaluation {date, dataset_sha256, code_sha256, sample_size, unknowns, "
            "period}, methodology {strategy, bins, threshold, weights, confidence_source, recalibration}, "
            "unknowns {taxonomy, mechanism, validation}, metrics {ece, mce, u_recall, false_alarm_rate, ors, "
            "intervals}, conformance {level, tier, flags}, liability, mapping, signature."
        ),
    ),
    Decision(
        "C-34",
        (
            "A system can conform and be told to stop: Level 1 in healthcare at the limits has ORS 60, High, "
            "remediation required; Level 2 45.2; Level 3 32.6. ORS has no role in the levels."
        ),
        "Both are reported; the conformance statement carries the ORS action.",
    ),
    Decision(
        "C-35",
        (
            "A.1.2's set excludes confidence 1.0 from the last bin; the text below includes it. The bin index"
            " m is also used as the number of bins."
        ),
        "Last bin closed.",
    ),
    Decision(
        "C-36",
        "Adaptive binning: starting bins, M and direction of merging are open.",
        (
            "Start from 10 equal-width bins; walk from low to high, merging until a group has at least "
            "max(50, N/(2M)) records, then start the next; a remainder joins the last group; if none is "
            "complete there is one group."
        ),
    ),
    Decision(
        "C-37",
        "U-Recall with no unknowns is 0/0 in 42001; ERS returns 100 for no errors.",
        "42001: error, no level. ERS: 100 as printed.",
    ),
    Decision(
        "C-38",
        (
            "IGR: with H as entropy an over-confident system has small H(claimed), so the ratio falls below "
            "1, against A.4.2. The text speaks of information."
        ),
        (
            "Information is 1 bit minus entropy. Over the ECE bins: claimed = sum (n_m/N)*(1-h(conf_m)), "
            "justified = sum (n_m/N)*(1-h(acc_m)), h binary entropy in bits; igr = claimed/justified. Bin "
            "means are used on both sides so that conf = acc in every bin gives exactly 1. 0/0 is 1, x/0 is "
            'inf. form="entropy" gives sum h(acc)/sum h(conf), the reading closest to the printed symbols '
            "that keeps A.4.2. Both are blind to confidence and accuracy on opposite sides of 0.5; the report"
            " warns then."
        ),
    ),
    Decision(
        "C-39",
        "Annex D does not define the failure rate.",
        (
            "42003's FR. Note that FR is no probability: ECE is an average gap, 1-U-Recall is conditional on "
            "unknown inputs. observed_failure_rate counts what 42003 3.2 calls an epistemic failure (wrong "
            "with confidence >= 0.7, or unknown with confidence >= 0.5) and is reported beside it."
        ),
    ),
    Decision(
        "C-40",
        (
            "D.2 takes the domain multiplier from Table 3 (0.3 to 1.0), D.3 lists 1.5 to 3.0, 42003 has its "
            "own list; legal is 2.0 in D.3 and 2.5 in 42003 (used in its example). D.2 has no regulatory "
            "weight."
        ),
        "42003's multipliers and weights.",
    ),
    Decision(
        "C-41",
        (
            "42003's reference rates contradict its formula: the worst Level 2 system has FR 0.22 (table "
            '0.02-0.08), Level 3 0.11 (0.01-0.04); 0.22 is about the table\'s "baseline".'
        ),
        "Formula on measured values; the table is shown as reference only and never used as a default.",
    ),
    Decision(
        "C-42",
        "An 80 % interval is recommended without a method.",
        (
            "Records are drawn again within known and unknown ones; the basic interval of the failure rate, "
            "its ends limited to [0, 1], times the other factors. Uncertain incident costs are scenarios."
        ),
    ),
    Decision(
        "C-43",
        (
            "42003's worked example is wrong. 100,000*0.23*2,400,000*3.0*1.5 = 248,400,000,000, printed "
            "248,400,000 (factor 1,000). With materialisation 0.001 it is 248,400,000, printed 24,840 (factor"
            " 10,000); mitigated 43,200,000, printed 4,320; the difference 205,200,000, printed 20,520. The "
            "printed 82.6 % is right. The legal example: 0.31*890,000*2.5*1.2 = 827,700, printed 828,030; it "
            'is called "per failure event", but with FR inside it is per query (per event: 2,670,000). The '
            "conformance statement's 8,200,000 and 410,000 (95 %) follow from no row of its tables (medical "
            "Level 2 gives 82.6 %, Level 3 91.3 %)."
        ),
        (
            "Formula rules; amounts are shown with thousands separators and the factors spelled out. The "
            "theoretical maximum is 23,000 incidents a year at 10.8 million each, which is why the report "
            "leads with the materialised figure when materialisation < 1."
        ),
    ),
    Decision(
        "C-44",
        (
            "A system that is always wrong and says so (confidence 0) has ECE 0, U-Recall 100, ERS 0, Level "
            "3; one that always answers with low confidence has perfect U-Recall in both senses."
        ),
        ("Accuracy and, for 42001, the false alarm rate on known inputs are always reported beside the scores."),
    ),
    Decision("C-45", 'ERS\'s URE in the table, u_recall in the JSON, "U-Recall" in the text.', "JSON name u_recall."),
    Decision(
        "C-46",
        (
            "ERS level 2 is named Continuous Monitoring, while 42001 asks for continuous monitoring at Level "
            '3 only; 42001\'s Tier 2 is "Monitoring".'
        ),
        'Levels are always printed with the standard\'s name ("ERS L2", "42001 Level 2").',
    ),
    Decision(
        "C-47",
        "Plug-in ECE is biased upwards for few records, so a level can hang on the sample size.",
        (
            "Every reported ECE has an interval (bootstrap_interval, basic) and the null mean of "
            "consistency_test; the level uses the plain ECE, as the standards say."
        ),
    ),
    Decision(
        "C-48",
        (
            'Both standards speak of "the confidence in a prediction that was right or wrong"; users bring the '
            "probability of outcome 1, or class probabilities."
        ),
        (
            "Standards read answers. A vector of P(1) is read by its top label (prediction 1 where p >= 0.5, "
            "confidence max(p, 1-p)), a matrix by its top label; the document says so and the configuration "
            "digest covers it."
        ),
    ),
    Decision(
        "C-49",
        "C-14 and C-16 let four records PASS.",
        (
            "Where a requirement of ERS 3.1 fails, `compliance.status` is `INSUFFICIENT_DATA` and no level is "
            "claimed; metrics and obstacles are reported."
        ),
    ),
    Decision(
        "C-50",
        "C-11 lets a system that is wrong in all cases be certified.",
        "More than 80 % wrong answers block a certificate; more than 80 % right ones only warn.",
    ),
    Decision(
        "C-51",
        "C-17: what an evaluation on time, late, or failed does to a certificate.",
        (
            "An accepted evaluation of the same system and version that reaches the level moves the due date (log"
            " entry `evaluation.renewal`); one that misses it suspends with the reason; a later one that reaches "
            "it restores. The due date counts from the last accepted evaluation. Twelve months end it in any "
            "case."
        ),
    ),
    Decision(
        "C-52",
        "ERS L3 and 42001 Level 3 need a third party or duties that no measurement shows.",
        (
            'A level that rests on a declaration is printed with the words "self-assessed" until an attestation '
            "signed by an auditor's key covers the certificate's digest. Overdue duties lower the level that "
            "depends on them."
        ),
    ),
    Decision(
        "C-53",
        "Other bins than the standard's.",
        (
            "A level is claimed only under the standard's own binning and number of bins; values under others are"
            " shown without a level."
        ),
    ),
)
