# SPDX-License-Identifier: Apache-2.0
"""The digest of an evaluation covers every fact of the records that a verdict uses: one digest, one verdict."""

from dataclasses import fields, replace

import numpy as np
import pytest

from epimeter.standards.records import Records, records
from epimeter.views import view

RNG = np.random.default_rng


def given():
    rng = RNG(0)
    return records(
        rng.random(60) < 0.7,
        rng.random(60),
        unknown=rng.random(60) < 0.2,
        detected=rng.random(60) < 0.2,
        timestamp=np.datetime64("2026-10-01") + np.arange(60).astype("timedelta64[h]"),
        ground_truth_source=np.array(["human"] * 60, object),
        classes=np.array(["a", "b"] * 30, object),
        category=np.array(["novel"] * 60, object),
        confidence_source="softmax",
    )


OTHER = {
    "given": view(RNG(1).integers(0, 2, 60), RNG(1).random(60), kind="answer"),
    "unknown": np.zeros(60, bool),
    "detected": np.zeros(60, bool),
    "category": np.array(["ambiguous"] * 60, object),
    "classes": np.array(["a"] * 60, object),
    "timestamp": np.datetime64("2025-10-01") + np.arange(60).astype("timedelta64[h]"),
    "ground_truth_source": np.array(["automated"] * 60, object),
    "recalibrated_by": "a map",
    "repeated": "r1",
    "contrary": "predictions that are not the likeliest class",
    "silent": (np.ones(5, bool), np.zeros(5, bool)),
    "groups": np.arange(60) // 2,
}
DERIVED = {"period", "sources", "notes"}
"""Made from columns that are digested, or said of them."""
DECLARED = {"confidence_source", "unlabelled"}
"""Shown and cautioned about; neither grants nor refuses anything."""


def test_every_fact_of_the_records_is_accounted_for():
    assert {one.name for one in fields(Records)} == OTHER.keys() | DERIVED | DECLARED


@pytest.mark.parametrize("name", OTHER)
def test_another_fact_is_another_digest(name):
    assert replace(given(), **{name: OTHER[name]}).whole_digest != given().whole_digest


def test_the_same_facts_are_the_same_digest():
    assert given().whole_digest == given().whole_digest
