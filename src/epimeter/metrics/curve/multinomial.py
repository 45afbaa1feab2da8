# SPDX-License-Identifier: Apache-2.0
"""The estimated calibration index: all class probabilities against a multinomial logit with splines."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import Between
from epimeter.metrics.curve.levels import as_copies, clipped, quantiles, weighted_mean
from epimeter.metrics.curve.logistic import step_length
from epimeter.summaries import Rows
from epimeter.views import Multiclass

Floats = NDArray[np.float64]

KNOTS = {3: (0.10, 0.50, 0.90), 4: (0.05, 0.35, 0.65, 0.95), 5: (0.05, 0.275, 0.5, 0.725, 0.95)}
"""Harrell's quantiles for the knots of a restricted cubic spline."""
STEPS, PLAIN = 200, 30
"""Newton's steps at most, and how many of them are plain ones."""
BLOCK = 1 << 14
"""Rows of a least-squares problem reduced at a time."""
TOGETHER, ROUNDS = 1000, 100
"""Margins added to a linear programme at a time, and how often."""


@metric(
    title="Estimated calibration index",
    family="curve",
    reads=Rows("classes"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"ECI=\frac1{NK}\sum_{k=1}^K\sum_{i=1}^N(c_{ik}-\hat y_{ik})^2,\qquad \hat y_i=\operatorname{softmax}"
    r"\big(0,\ f_1(z_i),\dots,f_{K-1}(z_i)\big),\quad f_k(z)=a_k+\sum_{l=1}^{K-1}s_{kl}(z_l),\quad "
    r"z_{il}=\log\frac{c_{il}}{c_{i0}}",
    where={
        "s_kl": "natural cubic spline without constant, knots at quantiles of z_l (3: .10 .50 .90; 4: .05 .35 .65 .95; "
        "5: .05 .275 .5 .725 .95), equal ones merged; a line where fewer than 3 are left",
        "fit": "maximum likelihood of the multinomial logit, no penalty",
        "c": "clipped to [1e-12, 1 - 1e-12] before the logarithm; class 0 is the reference",
    },
    source="Van Hoorde et al. 2015, Journal of Biomedical Informatics 54:283-293; Lane 2025 s5.9 eq 87",
    matrix="used whole; a vector p is read as 1 - p, p",
    pitfalls="The published index is multiplied by 100 K/2 (scale=percent), a factor that print drops. The original uses "
    "other splines, so values differ a little. With more than two classes the value depends slightly on which is "
    "class 0. Needs many more rows than coefficients, (K-1)(1+(K-1)(knots-1)).",
    aliases=("expected_calibration_index",),
)
def eci(
    rows: Multiclass, *, knots: Annotated[int, Between(3, 5)] = 4, scale: Literal["mean", "percent"] = "mean"
) -> float:
    """Mean squared distance between the probabilities and a smooth recalibration of them.

    Parameters
    ----------
    knots
        Knots of each natural cubic spline: 3, 4 or 5.
    scale
        ``mean`` of the squares; ``percent``: times 100 K/2, the original's 0 to 100.
    """
    prob, true, weight = in_order(rows)
    n_classes = prob.shape[1]
    missing = np.flatnonzero(np.bincount(true, weights=weight, minlength=n_classes) == 0)
    if len(missing):
        raise UndefinedMetricError(f"eci needs every class to occur; class {missing[0]} never does")
    inner = clipped(prob)
    ratio = np.log(inner[:, 1:]) - np.log(inner[:, :1])
    copies = as_copies(weight, len(weight))
    columns = [np.ones((len(prob), 1))]
    for column in ratio.T:
        columns.append(spline_columns(column, np.unique(quantiles(column, copies, np.array(KNOTS[int(knots)])))))
    fitted = multinomial_fit(orthonormal(np.concatenate(columns, axis=1), weight), true, weight, n_classes)
    value: float = weighted_mean(np.sum((prob - fitted) ** 2, axis=1), weight) / n_classes
    return value * (50 * n_classes if scale == "percent" else 1)


def in_order(rows: Multiclass) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Probabilities, outcomes and weights of the rows that have weight, in an order that is always the same."""
    prob = rows.prob.astype(np.float64)
    weight = np.ones(len(prob)) if rows.weight is None else rows.weight
    order = np.lexsort((weight, rows.true, *prob.T))
    order = order[weight[order] > 0]
    return prob[order], rows.true[order], weight[order]


def spline_columns(x: Floats, knots: Floats) -> Floats:
    """A basis, without constant, of the cubic splines that are straight beyond the outer knots."""
    if len(knots) < 3:
        return x[:, None]
    width = knots[-1] - knots[0]
    u, t = (x - knots[0]) / width, (knots - knots[0]) / width
    cubes = np.maximum(u[:, None] - t, 0.0) ** 3
    columns = [u]
    for j in range(len(t) - 2):
        share = (t[-1] - t[j]) / (t[-1] - t[-2])
        columns.append(cubes[:, j] - share * cubes[:, -2] + (share - 1) * cubes[:, -1])
    return np.stack(columns, axis=1)


def orthonormal(columns: Floats, weight: Floats) -> Floats:
    """An orthonormal basis, under the weights, of the space the columns span; constant columns beside 1 drop out."""
    from scipy.linalg import qr

    root = np.sqrt(weight)[:, None]
    columns = columns.copy()
    columns[:, 1:] -= weight @ columns[:, 1:] / weight.sum()
    columns *= root
    size = np.sqrt(np.sum(columns**2, axis=0))
    basis, triangle, _ = qr(columns / np.where(size > 0, size, 1.0), mode="economic", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diag(triangle)) > 1e-10))
    return np.asarray(basis[:, :rank] / root)


def multinomial_fit(basis: Floats, true: NDArray[np.intp], weight: Floats, n_classes: int) -> Floats:
    """Class probabilities of largest likelihood, by Newton's method.

    A fit that exists settles in ten steps or so. Where the classes are separated, or all but, the log odds grow and the
    curvature fades away until its small digits are lost. Then it is decided whether there is a maximum; if there is, the
    further steps are those of `graded_step`, until no probability moves: its log odds may be large and little known.
    """
    place = np.zeros((n_classes - 1, basis.shape[1]))
    came = np.arange(1, n_classes) == true[:, None]
    careful = False

    def gain(free: Floats) -> float:
        return reached(free, true, weight)

    eta = basis @ place.T
    chance = softmax(eta)
    for number in range(STEPS):
        if not careful:
            square = curvature(basis, chance, weight)
            size = np.linalg.eigvalsh(square)
            if size[0] <= 1e-13 * size[-1] or number == PLAIN:
                careful = True
                if float(own_margins(eta, true).min()) > 0 or separated(basis, true, n_classes):
                    break
        if careful:
            step = graded_step(basis, chance, true, weight)
        else:
            slope = ((came - chance[:, 1:]) * weight[:, None]).T @ basis
            step = np.linalg.solve(square, slope.ravel()).reshape(place.shape)
        move = basis @ step.T
        largest = float(np.abs(move).max())
        place = place + step * step_length(gain, eta, move, largest)
        eta, before = basis @ place.T, chance
        chance = softmax(eta)
        known = max(1e-10, 16 * np.finfo(np.float64).eps * float(np.abs(eta).max()))
        if largest < 1e-8 or (careful and float(np.abs(chance - before).max()) < known):
            return chance
    raise UndefinedMetricError("eci has no finite fit: the probabilities separate some classes perfectly")


def separated(basis: Floats, true: NDArray[np.intp], n_classes: int) -> bool:
    """Whether some log odds put no row further from its own class and at least one nearer: then no maximum is finite.

    A linear programme (Albert and Anderson 1984): let the margins of the own class over the others sum to their number
    while none is negative. It is solved for a few rows; those it forgets are added until none is left.
    """
    from scipy.optimize import linprog

    n_columns, n_free = basis.shape[1], n_classes - 1
    total = np.zeros((n_classes, n_columns))
    for k in range(n_classes):
        total[k] = n_classes * basis[true == k].sum(axis=0) - basis.sum(axis=0)
    total = total[1:].ravel() / (len(basis) * n_free)

    def margins(row: NDArray[np.intp], other: NDArray[np.intp]) -> Floats:
        made = np.zeros((len(row), n_classes, n_columns))
        made[np.arange(len(row)), true[row]] += basis[row]
        made[np.arange(len(row)), other] -= basis[row]
        return made[:, 1:].reshape(len(row), n_free * n_columns)

    held = np.zeros((0, n_free * n_columns))
    slack = np.zeros((len(basis), n_classes))
    for _ in range(ROUNDS):
        place = np.unravel_index(np.argsort(slack, axis=None, kind="stable")[:TOGETHER], slack.shape)
        wrong = true[place[0]] != place[1]
        held = np.concatenate([held, margins(place[0][wrong], place[1][wrong])])
        # The tolerance is as small as it can be made; what it lets through is looked at below.
        found = linprog(
            -total,
            A_ub=np.concatenate([-held, total[None]]),
            b_ub=np.append(np.zeros(len(held)), 1.0),
            bounds=(None, None),
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.x is None or total @ found.x < 0.5:
            return False
        slack = own_margins(basis @ found.x.reshape(n_free, n_columns).T, true)
        slack[np.arange(len(true)), true] = 0.0
        worst = float(slack.min())
        largest = float(slack.max())
        if worst >= -1e-12 * largest:
            return True
        if worst > -1e-9 * largest:
            return False  # held by the tolerance alone
    return False


def own_margins(free: Floats, true: NDArray[np.intp]) -> Floats:
    """How far the log odds of a row's own class are above those of each class; infinite for its own."""
    whole = np.concatenate([np.zeros((len(free), 1)), free], axis=1)
    margin = whole[np.arange(len(true)), true][:, None] - whole
    margin[np.arange(len(true)), true] = np.inf
    return np.asarray(margin)


def curvature(basis: Floats, chance: Floats, weight: Floats) -> Floats:
    """Minus the second derivatives of the log-likelihood."""
    n_columns, n_free = basis.shape[1], chance.shape[1] - 1
    made = np.empty((n_free, n_columns, n_free, n_columns))
    for k in range(n_free):
        for l in range(k, n_free):
            shared = weight * chance[:, k + 1] * ((k == l) - chance[:, l + 1])
            made[k, :, l] = made[l, :, k] = basis.T @ (basis * shared[:, None])
    return made.reshape(n_free * n_columns, -1)


def graded_step(basis: Floats, chance: Floats, true: NDArray[np.intp], weight: Floats) -> Floats:
    """Newton's step where rows count for 1 and for 1e-30 alike.

    The curvature of a row is the sum over k of c_k (e_k - c)(e_k - c)^T, so the step is that of a least-squares problem
    with rows sqrt(w c_k) (e_k - c) x. Its triangle keeps digits that the curvature, its square, has lost.
    """
    n_columns, n_free = basis.shape[1], chance.shape[1] - 1
    width = n_free * n_columns
    triangle = np.zeros((0, width + 1))
    for start in range(0, len(basis), BLOCK):
        some = slice(start, start + BLOCK)
        said, mass, x, own = chance[some], np.sqrt(weight[some]), basis[some], true[some]
        others = np.stack([np.delete(said, k, axis=1).sum(axis=1) for k in range(n_free + 1)], axis=1)  # 1 - c_k
        blocks = [triangle]
        for k in range(n_free + 1):
            away = -said[:, 1:]
            if k:
                away[:, k - 1] = others[:, k]
            root = np.sqrt(said[:, k])
            rows = (away[:, :, None] * x[:, None, :]).reshape(len(x), width) * (mass * root)[:, None]
            aim = np.divide(mass, root, out=np.zeros_like(mass), where=(own == k) & (root > 0))
            blocks.append(np.column_stack([rows, aim]))
        triangle = np.asarray(np.linalg.qr(np.concatenate(blocks), mode="r"))
    step = np.linalg.lstsq(triangle[:width, :width], triangle[:width, width], rcond=1e-14)[0]
    return np.asarray(step).reshape(n_free, n_columns)


def reached(free: Floats, true: NDArray[np.intp], weight: Floats) -> float:
    """Log-likelihood of the log odds against class 0."""
    whole = np.concatenate([np.zeros((len(free), 1)), free], axis=1)
    top = whole.max(axis=1)
    log_sum = top + np.log(np.sum(np.exp(whole - top[:, None]), axis=1))
    return float(np.sum(weight * (whole[np.arange(len(true)), true] - log_sum)))


def softmax(free: Floats) -> Floats:
    """Class probabilities from the log odds against class 0."""
    whole = np.concatenate([np.zeros((len(free), 1)), free], axis=1)
    whole = np.exp(whole - whole.max(axis=1, keepdims=True))
    return np.asarray(whole / whole.sum(axis=1, keepdims=True))
