# SPDX-License-Identifier: Apache-2.0
"""Records to evaluate, seeded, and what evaluations are declared with."""

import datetime
import json

import numpy as np

from epimeter.report import evaluate
from epimeter.standards.declaration import declaration
from epimeter.standards.evaluation import evaluate_standards
from epimeter.standards.exposure_inputs import liability_inputs
from epimeter.standards.exposure_report import liability_report
from epimeter.standards.records import records

START = np.datetime64("2026-03-01T00:00:00", "us")
NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
SYSTEM = {"organization": "Example Clinic", "system_id": "triage-7", "model_version": "2.1", "scope": "adults"}
UNKNOWNS = {
    "taxonomy": ["operational"],
    "method": "confidence threshold",
    "threshold": "below 0.5",
    "validation": "AUROC 0.9 on other records",
}
SOURCES = dict.fromkeys(
    ("query_volume", "failure_rate", "incident_cost", "domain_class", "regulatory_context"), "a document"
)
LIABILITY = {
    "query_volume": 100_000,
    "domains": ["life-critical"],
    "regulatory": "high",
    "reference_cost": "medical_diagnosis",
    "sources": SOURCES,
    "draws": 99,
}


def columns(n=1200, seed=0):
    """Correct, confidence, unknown and times of a fairly calibrated system over eight days."""
    rng = np.random.default_rng(seed)
    prob = rng.beta(3, 1.4, n)
    unknown = rng.random(n) < 0.1
    correct = (rng.random(n) < np.where(unknown, 0.4 * prob, prob)).astype(int)
    prob = np.where(unknown & (rng.random(n) < 0.7), 0.5 * prob, prob)
    times = START + (np.arange(n) * (8 * 86_400_000_000 // n)).astype("timedelta64[us]")
    return correct, prob, unknown.astype(int), times


def sample(n=1200, seed=0, **more):
    correct, prob, unknown, times = columns(n, seed)
    return records(correct, prob, **{"unknown": unknown, "timestamp": times, "now": NOW} | more)


def evaluated(given=None, **choices):
    """An evaluation with few draws, so that tests stay quick."""
    facts = {"date": "2026-05-31", "draws": 49, "domain": "medical"} | choices
    return evaluate_standards(sample() if given is None else given, **facts)


def declared(**tables):
    return declaration({"system": SYSTEM, "unknowns": UNKNOWNS, **tables})


def liable(given=None, **inputs):
    return liability_report(given or sample(400), liability_inputs(LIABILITY | inputs), date="2026-05-31")


def whole_json(given=None, **choices):
    """The JSON that the command line writes: evaluation and metrics, through real JSON."""
    used = sample() if given is None else given
    made = evaluated(used, **choices)
    report = evaluate(used.given.true, used.given.prob, metrics=["ece", "brier_score"])
    return json.loads(json.dumps(made.to_dict() | {"report": report.to_dict()}, allow_nan=False))
