# SPDX-License-Identifier: Apache-2.0
"""The integrations of evaluation tools, as far as they go without the tools: these weigh hundreds of megabytes."""

import math

import pytest

from epimeter import metrics
from epimeter.integrations import lm_eval
from epimeter.integrations.scored import measured, usable

PAIRS = [(0.9, 1.0), (0.8, 0.0), (0.7, 1.0), (0.6, 0.0), (0.55, 1.0)]


def test_an_aggregation_is_the_metric_of_the_catalogue():
    confidence, correct = zip(*PAIRS, strict=True)
    for name in ("ece", "brier_score", "auroc", "aurc"):
        expected = getattr(metrics, name)(correct=list(map(int, correct)), confidence=list(confidence))
        assert lm_eval.aggregation(name)(PAIRS) == pytest.approx(float(expected))


def test_what_is_not_defined_is_not_a_number():
    assert math.isnan(measured("auroc", [(0.9, 1.0), (0.8, 1.0)]))
    assert math.isnan(measured("ece", []))
    assert usable([(0.9, 1.0), (None, 1.0), (0.8, 0.5), (1.2, 1.0), (0.7, None)]) == [(0.9, 1.0)]


def test_a_document_gives_accuracy_and_a_pair_for_each_metric():
    process = lm_eval.processing("ece", "auroc")
    made = process({"answer": 1}, [(-2.0, False), (-1.0, True)])
    assert made["acc"] == 1.0 and made["epimeter_ece"] == (pytest.approx(1 / (1 + math.exp(-1))), 1.0)
    assert set(made) == {"acc", "epimeter_ece", "epimeter_auroc"}
    assert lm_eval.stated_pair("Answer: 4. Confidence: 80%", 1) == (0.8, 1.0)
