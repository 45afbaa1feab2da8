# SPDX-License-Identifier: Apache-2.0
"""ONTO 42003:2025 as a table of clauses. Texts are ours; numbers and names are the document's."""

from __future__ import annotations

from epimeter.standards.clause import Standard, clause, functions, liability_field, passport, schema

ONTO42003 = Standard(
    name="ONTO 42003",
    version="2025",
    clauses=(
        clause(
            "42003-4.2.2-a",
            "must",
            "FR = 0.4*ECE + 0.6*(1 - U-Recall), both in the sense of 42001.",
            "failure_rate(0.10, 0.70) = 0.22.",
            functions("failure_rate"),
        ),
        clause(
            "42003-4.2.3-a",
            "must",
            ("Two rates: baseline (uncalibrated or unmonitored state) and mitigated (state conforming to 42001)."),
            'both fields, or the baseline marked "not measured".',
            liability_field("results.baseline", "results.mitigated"),
        ),
        clause(
            "42003-4.2.3-b",
            "informative",
            (
                "Reference FR, baseline / Level 2 / Level 3: medical diagnosis 0.23/0.04/0.02; legal advisory "
                "0.31/0.05/0.025; financial planning 0.28/0.03/0.015; code generation 0.38/0.02/0.01; customer "
                "service 0.25/0.06/0.03; content generation 0.35/0.08/0.04. Measured values should be used "
                "instead."
            ),
            "C-41.",
            functions("exposure_report.liability_report"),
        ),
        clause(
            "42003-4.3.1-a",
            "must",
            "Incident cost has four parts: direct, legal, regulatory, consequential.",
            "the parts sum to the total.",
            liability_field("inputs.incident_cost"),
        ),
        clause(
            "42003-4.3.2-a",
            "informative",
            (
                "Reference cost (USD): medical 800k+1,200k+300k+100k = 2,400k; legal 200k+500k+150k+40k = 890k; "
                "financial 400k+600k+150k+50k = 1,200k; code 2,000k+2,000k+300k+200k = 4,500k; customer service "
                "10k+30k+5k+5k = 50k; content 50k+150k+20k+30k = 250k. Should be adjusted to context."
            ),
            "all six sums are right.",
            functions("onto42003.IncidentCost"),
        ),
        clause(
            "42003-4.3.3-a",
            "may",
            "Cost may be adjusted by organisation size, geography, own incident history.",
            "one factor each, default 1.",
            liability_field("inputs.adjustments"),
        ),
        clause(
            "42003-4.4.2-a",
            "definition",
            (
                "Domain multipliers: life-critical 3.0, rights-affecting 2.5, financial-material 2.0, "
                "infrastructure-critical 2.0, business-operational 1.5, consumer-facing 1.0, internal-only 0.5."
            ),
            "enumeration.",
            liability_field("inputs.domain_multiplier"),
        ),
        clause(
            "42003-4.4.3-a",
            "must",
            "Several domains: the highest multiplier, unless query volumes are tracked per domain.",
            "two domains without volumes: max; with volumes: sum of the parts.",
            liability_field("inputs.volumes_tracked"),
        ),
        clause(
            "42003-4.5.2-a",
            "definition",
            "Regulatory weights: high 1.5, standard 1.2, emerging 1.1, minimal 1.0.",
            "enumeration.",
            liability_field("inputs.regulatory_weight"),
        ),
        clause("42003-5.1-a", "must", "ALE = QV * FR * IC * DM * RW.", "exposure.", functions("exposure")),
        clause(
            "42003-5.2-a",
            "must",
            "The same with the baseline failure rate.",
            "both amounts follow from the formula",
            liability_field("results.baseline"),
        ),
        clause(
            "42003-5.3-a",
            "must",
            "The same with the mitigated failure rate.",
            "both amounts follow from the formula",
            liability_field("results.mitigated"),
        ),
        clause(
            "42003-5.4-a", "must", "AER = baseline ALE - mitigated ALE.", "may be negative.", functions("comparison")
        ),
        clause("42003-5.5-a", "must", "RRP = 100*AER/baseline ALE.", "baseline 0: error.", functions("comparison")),
        clause("42003-5.6-a", "may", "ROI = 100*(AER - cost)/cost.", "cost 0: error.", functions("comparison")),
        clause(
            "42003-6.1-a",
            "must",
            "Document sources of query volume, failure rate, incident cost, domain class, regulatory context.",
            "five required text fields.",
            liability_field("inputs.sources"),
        ),
        clause(
            "42003-6.2-a",
            "must",
            "Report a point estimate, a confidence interval (80 % recommended) and the key assumptions.",
            "C-42.",
            liability_field("executive_summary", "assumptions"),
        ),
        clause(
            "42003-6.3-a",
            "must",
            (
                "Update yearly; when query volume changes by more than 25 %; when domain, 42001 metrics or "
                "regulation change."
            ),
            "due-date function of the five triggers; exactly 25 % is not a trigger.",
            functions("schedule.liability_due"),
        ),
        clause(
            "42003-7.1-a",
            "must",
            (
                "Report: executive summary, inputs, results (baseline, mitigated, reduction), assumptions and "
                "limits, recommendations."
            ),
            "five sections.",
            liability_field("executive_summary", "inputs", "results", "assumptions", "recommendations"),
        ),
        clause(
            "42003-7.2-a",
            "should",
            "As PDF and JSON, by ONTO-LIABILITY-SCHEMA-v1.json.",
            "schema not published; ours.",
            schema("liability"),
        ),
        clause(
            "42003-7.3-a",
            "should",
            "Liability goes into the passport.",
            "passport field liability.",
            passport("liability"),
        ),
        clause(
            "42003-8.1-a",
            "must",
            "Conformance: formula of clause 5, inputs of 6, report of 7, updates of 6.3.",
            "checklist.",
            functions("exposure_report.liability_report"),
        ),
        clause(
            "42003-A.3-a",
            "informative",
            (
                "For planning multiply by a materialisation probability (0.0001 to 0.01), offset insurance, "
                "discount over years."
            ),
            "parameter materialisation, default 1 (theoretical maximum); the report always says which (C-43).",
            liability_field("inputs.materialisation"),
        ),
    ),
)
