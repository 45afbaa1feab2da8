# SPDX-License-Identifier: Apache-2.0
"""The logarithm of what was said about what came true."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import Between
from epimeter.summaries import Mean, MeanOf
from epimeter.summaries.logarithm import log
from epimeter.summaries.means import in_core
from epimeter.uncertainty import MeanScore
from epimeter.views import View

Floats = NDArray[np.float64]
Clip = Annotated[float, Between(0, 0.5)]


def clipped(prob: Floats, eps: float) -> Floats:
    """Probabilities kept away from 0 and 1."""
    return np.clip(prob, eps, 1 - eps) if eps > 0 else prob


@in_core("log_loss")
def log_losses(view: View, *, eps: Clip = 0.0) -> Floats:
    """-log of the probability of what came true.

    Parameters
    ----------
    eps
        Clip that probability to [eps, 1 - eps] first; 0 clips nothing, so that a certain but wrong forecast
        scores inf.
    """
    # log(1 - p) in place of log1p(-p) errs by 1e-16 at most, far below the step of the sum.
    return -log(clipped(view.picked, eps)) + 0.0  # + 0.0: no negative zero


@metric(
    title="Negative log likelihood",
    family="point",
    reads=MeanOf(log_losses),
    range=(0.0, None),
    direction="lower",
    proper="strictly",
    equation=r"NLL=-\frac1N\sum_i\log c_{i,y_i}",
    where={"c_i,y_i": "probability given to the true class; natural logarithm"},
    source="Good 1952, JRSS B 14; Broecker 2009, QJRMS 135; Lane 2025 s3.4 eq 6, 7",
    matrix="full class probabilities",
    pitfalls="One certain but wrong forecast makes it infinite; scikit-learn never shows that, it clips to "
    "the machine epsilon. The review prints 1/(NK) for K classes, which is per_class=True.",
    aliases=(
        "log_loss",
        "cross_entropy",
        "ignorance",
        "logarithmic_score",
        "logistic_loss",
        "predictive_deviance",
        "neg_log_likelihood",
        "nll_loss",
        "bce",
        "binary_cross_entropy",
    ),
    interval=MeanScore(capped=False),
)
def nll(mean: Mean, *, per_class: bool = False) -> float:
    """Mean surprise at what came true, in nats.

    Parameters
    ----------
    per_class
        Divide by the number of classes too, as the review prints it.
    """
    return mean.value / (mean.n_classes if per_class else 1)
