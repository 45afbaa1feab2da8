"""Metrics where people already look for them: as scikit-learn scorers."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score

from epimeter.metrics import brier_score, classwise_ece, ece, nll

X, Y = make_classification(400, 8, n_informative=4, random_state=0)


def scorer(metric, **parameters):
    return make_scorer(metric, response_method="predict_proba", greater_is_better=False, **parameters)


def test_a_metric_is_a_scorer():
    scores = cross_val_score(LogisticRegression(), X, Y, scoring=scorer(ece, bins=15), cv=3)
    assert ((scores <= 0) & (scores > -1)).all()


def test_a_metric_travels_to_worker_processes():
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring=scorer(brier_score), cv=2, n_jobs=2)
    assert search.fit(X, Y).best_score_ < 0


def test_class_probabilities_reach_the_metric():
    x, y = make_classification(300, 8, n_informative=5, n_classes=3, random_state=1)
    scores = cross_val_score(LogisticRegression(max_iter=500), x, y, scoring=scorer(classwise_ece), cv=3)
    assert (scores <= 0).all()


def test_scores_agree_with_scikit_learn():
    prob = LogisticRegression().fit(X, Y).predict_proba(X)[:, 1]
    weight = np.linspace(0.5, 2, len(Y))
    np.testing.assert_allclose(brier_score(Y, prob), brier_score_loss(Y, prob), rtol=1e-12)
    np.testing.assert_allclose(nll(Y, prob), log_loss(Y, prob), rtol=1e-12)
    np.testing.assert_allclose(
        brier_score(Y, prob, sample_weight=weight), brier_score_loss(Y, prob, sample_weight=weight), rtol=1e-12
    )
