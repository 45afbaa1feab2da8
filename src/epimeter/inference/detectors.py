# SPDX-License-Identifier: Apache-2.0
"""An e-detector of changed calibration: Shiryaev-Roberts sums of e-values, from totals per range of confidence.

Null: in every range b of the confidence the outcomes come true at most `tolerance` more, or less, often than in the
reference, q_b - p_b = r_b ± tolerance. For a bet l the e-value of a window with n_b rows, k_b of which came true, is

    log e = l sum_b k_b - sum_b n_b f(m_b),    f(m) = log(1 - m + m exp(l)),    m_b = mean p_b + r_b + tolerance.

Its mean is at most 1 under the null whatever the single probabilities are, since f is concave (Jensen); rows may be added
one by one and looked at in between. r_b is only estimated: what its error could add to log e is subtracted, so that a small
reference buys little evidence instead of false alarms. That error lies, with the stated doubt, in the simultaneous ellipsoid
of all ranges (Scheffé 1953) and, summed over the ranges as the reference had them, within a normal interval.

Every window may be the first after the change. The Shiryaev-Roberts sum R_t = (1 + R_{t-1}) e_t adds up the evidence
of all these beginnings; R_t - t is a supermartingale under the null, so with the alarm at R >= A the mean time between
false alarms is at least A windows, however often one looks within a window and in whatever order truth comes in, as long as
the moment at which a truth becomes known does not depend on it. A mean of such sums (over bets, sides, ranges and slices)
has the same property. [Shiryaev 1963; Roberts 1966; Shin, Ramdas and Rinaldo 2024, "E-detectors"]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BETS = tuple(0.02 * 2**k for k in range(8))
"""Tilts of the log odds that are bet on, each upwards and downwards."""
FEWEST = 30
"""Rows of the reference from which a range of confidence is compared at all."""


@dataclass(frozen=True)
class Reference:
    """What calibration was: rows, outcomes and confidence per range, arrays of shape (..., ranges).

    Attributes
    ----------
    doubt
        Chance that the gaps lie outside their confidence region; half of it for the ellipsoid, half for their sum.
    """

    rows: Floats
    true: Floats
    prob: Floats
    doubt: float = 0.05

    def at(self, place: Any) -> Reference:
        """The reference of some of the first axis."""
        return Reference(self.rows[place], self.true[place], self.prob[place], self.doubt)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Ranges with enough rows to compare with."""
        return np.asarray(self.rows >= FEWEST)

    @cached_property
    def gap(self) -> Floats:
        """Mean outcome minus mean confidence of each range."""
        return np.asarray(np.divide(self.true - self.prob, self.rows, out=np.zeros_like(self.rows), where=self.known))

    @cached_property
    def spread(self) -> Floats:
        """Standard error of each gap; two outcomes of each kind are added, so that no range seems to be certain."""
        share = (self.true + 2) / (self.rows + 4)
        return np.asarray(np.sqrt(share * (1 - share) / np.maximum(self.rows, 1)) * self.known)

    @cached_property
    def radius(self) -> Floats:
        """How many standard errors the ellipsoid reaches, shape (..., 1)."""
        ranges = np.maximum(self.known.sum(axis=-1, keepdims=True), 1)
        return np.asarray(_radii(self.known.shape[-1], self.doubt / 2)[ranges])

    @cached_property
    def direction(self) -> Floats:
        """The ranges as the reference had them, in standard errors, of length 1."""
        errors = self.rows * self.spread
        length = np.sqrt((errors**2).sum(axis=-1, keepdims=True))
        return np.asarray(np.divide(errors, length, out=np.zeros_like(errors), where=length > 0))

    def allowance(self, errors: Floats) -> Floats:
        """The most that a weighted sum of the gaps can be wrong; `errors` of shape (..., ranges, bets), result without ranges.

        The weights are split into a part along the reference's own, known to a normal interval, and the rest.
        """
        along = (errors * self.direction[..., None]).sum(axis=-2)
        rest = np.maximum((errors**2).sum(axis=-2) - along**2, 0.0)
        return np.asarray(_reach(self.doubt / 4) * along + self.radius * np.sqrt(rest))


@lru_cache(64)
def _radii(most: int, doubt: float) -> Floats:
    """Roots of the chi-squared quantiles for 0 to so many degrees of freedom."""
    from scipy.special import gammaincinv  # without the cost of a distribution object

    return np.asarray(np.sqrt(2 * gammaincinv(np.arange(most + 1) / 2, 1 - doubt)))


@lru_cache(64)
def _reach(doubt: float) -> float:
    from scipy.special import ndtri

    return float(-ndtri(doubt))


def log_e_values(rows: Floats, true: Floats, prob: Floats, reference: Reference, tolerance: float) -> Floats:
    """Log e-values of windows, shape (..., 1 + ranges, 2, bets): all ranges together, then each alone; upwards, downwards.

    `rows`, `true` and `prob` are of shape (..., ranges); ranges without a reference are left out.
    """
    bets = np.array(BETS)
    rows, true, prob = (np.where(reference.known, part, 0.0)[..., None] for part in (rows, true, prob))
    gap, spread = reference.gap[..., None], reference.spread[..., None]
    mean = np.divide(prob, rows, out=np.zeros_like(prob), where=rows > 0)
    made = []
    for sign in (1.0, -1.0):
        tilt = np.expm1(sign * bets)
        limit = np.clip(mean + gap + sign * tolerance, 0.0, 1.0)
        price = 1 + limit * tilt
        gain = sign * bets * true - rows * np.log(price)
        # Beyond 1, or below 0, no probability can lie: there the reference's error costs nothing.
        open_side = limit < 1 if sign > 0 else limit > 0
        margin = np.where(open_side, rows * spread * np.abs(tilt) / price, 0.0)
        alone = gain - reference.radius[..., None] * margin
        together = gain.sum(axis=-2) - reference.allowance(margin)
        made.append(np.concatenate([together[..., None, :], alone], axis=-2))
    return np.stack(made, axis=-2)


def log_weights(reference: Reference) -> Floats:
    """Log weight of every bet of one slice, summing to 1: half for all ranges together, half for those with a reference."""
    known = reference.known
    count = known.sum(axis=-1, keepdims=True)
    alone = np.where(known, 0.5 / np.maximum(count, 1), 0.0)
    together = np.where(count > 0, 1 - alone.sum(axis=-1, keepdims=True), 0.0)
    share = np.concatenate([together, alone], axis=-1)[..., None, None] / (2 * len(BETS))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.broadcast_to(share, (*share.shape[:-2], 2, len(BETS)))))


def onward(log_sum: Floats, log_e: Floats) -> Floats:
    """The Shiryaev-Roberts sums after one more window, in logarithms: log((1 + R) e)."""
    # As numpy.logaddexp(0, log_sum), in operations that run on several numbers at once.
    return np.asarray(np.maximum(log_sum, 0.0) + np.log(1.0 + np.exp(-np.abs(log_sum))) + log_e)


def log_mean(log_sum: Floats, weights: Floats) -> Floats:
    """Log of the weighted mean over ranges, sides and bets: the evidence of one slice."""
    parts = (log_sum + weights).reshape(*log_sum.shape[:-3], -1)
    top = parts.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(parts - top).sum(axis=-1)) + top[..., 0])


@dataclass(frozen=True)
class Onset:
    """When a change began: the likeliest window, and the first and last of those that hold 95 % of the evidence."""

    at: int
    first: int
    last: int


def onset(log_e: Floats) -> Onset:
    """The beginning of a change from the log e-values of one bet, the last of them being that of the alarm.

    The evidence of beginning k is the product of the e-values from k on; normalised over k it is the posterior of the
    beginning under equal odds.
    """
    evidence = np.cumsum(log_e[::-1])[::-1]
    share = np.exp(evidence - evidence.max())
    share /= share.sum()
    order = np.argsort(-share, kind="stable")
    held = order[: int(np.searchsorted(np.cumsum(share[order]), 0.95)) + 1]
    return Onset(int(order[0]), int(held.min()), int(held.max()))


def bias_sequence(rows: Floats, residual: Floats, alpha: float, rho: float = 25.0) -> tuple[Floats, Floats]:
    """Ends of the mean of outcome minus confidence that hold at all times at once, from totals alone.

    The same normal mixture as `confidence_sequence` (Robbins 1970; Howard et al. 2021); [-1, 1] without rows.
    """
    spread = rows / 4
    count = np.maximum(rows, 1)
    reach = np.sqrt((spread + rho) * np.log((spread + rho) / (rho * alpha**2))) / count
    reach = np.where(rows > 0, reach, 1.0)
    mean = residual / count
    return np.maximum(-1.0, mean - reach), np.minimum(1.0, mean + reach)
