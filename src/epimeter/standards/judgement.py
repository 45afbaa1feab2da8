# SPDX-License-Identifier: Apache-2.0
"""What an evaluation earns after ONTO-ERS, and what stands in the way of a certificate: one judgement for command and service.

Numbers are rounded to nine decimals, half to even, as in a certificate; score and level are those of the rounded numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from epimeter.standards.bands import RISK, risk_index
from epimeter.standards.ers import LEVEL_NAMES, ErsEvaluation, ers_level, ers_score
from epimeter.standards.requirement import DataRequirement, lacking_sentences


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The numbers of ONTO-ERS, rounded, and what they earn."""

    ece: float
    u_recall: float
    accuracy: float
    sample_size: int
    domain: str
    lacking: tuple[str, ...] = ()
    """Which requirements of ERS 3.1 the data miss, one sentence each; then no level is claimed (C-49)."""
    obstacles: tuple[str, ...] = ()
    """Why no certificate can be issued, one sentence each (C-14); empty when one can."""

    @property
    def ers(self) -> int:
        """The score."""
        return ers_score(self.ece, self.u_recall, self.domain)

    @property
    def level(self) -> str:
        """The level whose limits are met; `NONE` when no limits are."""
        return LEVEL_NAMES[ers_level(self.ece, self.u_recall, self.ers)]

    @property
    def claimed(self) -> str:
        """The level that may be claimed: `NONE` also where the data do not suffice (C-49)."""
        return LEVEL_NAMES[0] if self.lacking else self.level

    @property
    def status(self) -> str:
        """PASS, FAIL, or INSUFFICIENT_DATA where the data do not meet ERS 3.1."""
        return "INSUFFICIENT_DATA" if self.lacking else "FAIL" if self.level == LEVEL_NAMES[0] else "PASS"

    @property
    def risk(self) -> str | None:
        """The risk class of the score; None where the data do not suffice for a word on it (C-49)."""
        return None if self.lacking else RISK[risk_index(self.ers)].name


def rounded(value: float) -> float:
    """Nine decimals, half to even; -0 becomes 0.

    Examples
    --------
    >>> rounded(0.1 + 0.2), rounded(-1e-12)
    (0.3, 0.0)
    """
    return round(float(value), 9) + 0.0


def judged(
    ers: ErsEvaluation,
    requirements: Iterable[DataRequirement],
    *,
    unclaimed: str | None = None,
    recalibrated_by: str | None = None,
    repeated: str | None = None,
) -> Judgement:
    """The judgement on an evaluation after ONTO-ERS.

    Parameters
    ----------
    unclaimed
        Why no level is claimed whatever the numbers say.
    recalibrated_by
        The map that changed the predictions before they were evaluated.
    repeated
        An id that stands in two records: then no single record can be named.
    """
    made = Judgement(
        ece=rounded(ers.ece),
        u_recall=rounded(ers.u_recall),
        accuracy=rounded(ers.accuracy),
        sample_size=ers.sample_size,
        domain=ers.domain,
        lacking=lacking_sentences(requirements),
    )
    sentences = list(made.lacking)
    if unclaimed is not None and not sentences:
        sentences.append(unclaimed)
    if repeated is not None:
        sentences.append(f"id must be unique, so that a record can be named; {repeated[:60]!r} stands twice")
    if recalibrated_by is not None and " " in recalibrated_by:
        sentences.append(
            f"recalibration must be by one map, and not fitted on the rows evaluated (42001-B.2.2-a); these are by "
            f"{recalibrated_by}"
        )
    if made.level == LEVEL_NAMES[0]:
        sentences.append(
            f"the limits of no level are met (ECE {made.ece:g}, U-Recall {made.u_recall:g}, ERS {made.ers})"
        )
    return replace(made, obstacles=tuple(sentences))


def certified_before(digest: str, certificate: str) -> str:
    """The obstacle that the data stand behind a certificate of the system already: nothing new was measured (C-51)."""
    return (
        f"a certificate needs data of its own; {certificate} of this system rests on the same data set "
        f"(…{digest[-12:]}). Evaluate newer data"
    )


def measured_before(certificate: str) -> str:
    """The obstacle that a certificate of the system states the very numbers of these data: the same records, cut or ordered in
    another way.
    """
    return (
        f"a certificate needs data of its own; {certificate} of this system states the same numbers of as many records over "
        "the same time. Evaluate newer data"
    )


def certified_elsewhere(digest: str, certificate: str) -> str:
    """The caution that another system's certificate rests on the same data."""
    return f"the same data set (…{digest[-12:]}) stands behind {certificate}, a certificate of another system"
