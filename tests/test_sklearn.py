"""Metrics where people already look for them: as scikit-learn scorers."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score

from epimeter.card_index import catalogue, find
from epimeter.errors import InputError
from epimeter.metrics import brier_score, classwise_ece, ece, nll
from epimeter.sklearn import scorer as scorer_of

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


WORDS = np.array(["no", "yes"])[Y]


def test_targets_may_be_words():
    by_word = cross_val_score(LogisticRegression(), X, WORDS, scoring=scorer_of("brier_score"), cv=3)
    by_number = cross_val_score(LogisticRegression(), X, Y, scoring=scorer(brier_score), cv=3)
    np.testing.assert_allclose(by_word, by_number, rtol=1e-12)
    x, y = make_classification(300, 8, n_informative=5, n_classes=3, random_state=1)
    words = np.array(["ape", "bee", "cat"])[y]
    model = LogisticRegression(max_iter=500)
    by_word = cross_val_score(model, x, words, scoring=scorer_of("classwise_ece", bins=5), cv=3)
    np.testing.assert_allclose(by_word, cross_val_score(model, x, y, scoring=scorer(classwise_ece, bins=5), cv=3))


def test_every_metric_of_targets_and_probabilities_is_a_scorer():
    """The better model has the larger score: of a result its headline counts, of a signed metric the distance from the ideal."""
    model = LogisticRegression().fit(X, WORDS)
    for name, entered in catalogue().items():
        if entered.reads is None or entered.card.needs or any(p.required for p in entered.parameters.values()):
            continue
        if entered.card.cost == "quadratic" or entered.card.family not in ("point", "bin", "curve", "selective"):
            continue
        if name in ("eice", "mvce"):  # need estimates in place of labels, or one of two further columns
            continue
        score = scorer_of(name)(model, X, WORDS)
        assert isinstance(score, float)
        assert entered.card.direction != "lower" or score <= 0 or entered.card.range[0] != 0.0, name
    search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, scoring=scorer_of("corp"), cv=2, n_jobs=2)
    assert search.fit(X, WORDS).best_score_ < 0


def test_metrics_of_features_read_the_input_and_metrics_of_groups_are_given_them():
    model = LogisticRegression().fit(X, WORDS)
    for name in ("vece", "piece", "klce", "mvce"):
        assert isinstance(scorer_of(name)(model, X, WORDS), float)
    groups = np.arange(len(Y)) % 3
    prob = model.predict_proba(X)[:, 1]
    assert scorer_of("pce")(model, X, WORDS, groups=groups) == -float(find("pce")(Y, prob, groups=groups))
    with pytest.raises(InputError, match="groups"):
        scorer_of("pce")(model, X, WORDS)


@pytest.mark.parametrize("name", ["crps", "picp", "pit_test", "d_ece", "bootstrap_interval"])
def test_a_metric_of_other_forecasts_is_refused_before_any_model_is_fitted(name):
    with pytest.raises(InputError, match="takes other columns"):
        scorer_of(name)


def test_what_is_no_scorer_is_refused():
    with pytest.raises(InputError, match="takes other columns"):
        scorer_of("d_ece")
    with pytest.raises(InputError, match="bins"):
        scorer_of("ece", bins=0)
    with pytest.raises(InputError, match=r"must be a class that the estimator knows; y_true\[0\] is 'perhaps'"):
        scorer_of("ece")(LogisticRegression().fit(X, WORDS), X, np.array(["perhaps"] * len(X)))
