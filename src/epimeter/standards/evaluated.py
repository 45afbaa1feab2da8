# SPDX-License-Identifier: Apache-2.0
"""What an evaluation after one or both standards found; every rendering is made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from epimeter import __version__
from epimeter.results import plain
from epimeter.standards import ers
from epimeter.standards.bands import ERS_ECE, ERS_U_RECALL, RISK
from epimeter.standards.conformity import SELF_ASSESSED, Claim, onto_class
from epimeter.standards.declaration import Declaration
from epimeter.standards.ers import DatasetCheck, ErsEvaluation, ers_ece_band, ers_u_recall_band
from epimeter.standards.judgement import Judgement
from epimeter.standards.mapping import AS_OF, FRAMEWORKS, LIMITS, MAPPING
from epimeter.standards.onto42001 import InformationRatio, OntoEvaluation
from epimeter.standards.reading import Reading
from epimeter.standards.requirement import DataRequirement
from epimeter.standards.unknowns import CategoryRecall

SCHEMA = "epimeter-evaluation-1"
JUDGED = ("risk_index", "level_index", "risk", "level", "tier")
"""What the numbers of an evaluation would earn by themselves: said once, among the verdicts, where it may be claimed."""
NAMES = {"ers": "ONTO-ERS 1.0.0", "onto": "ONTO 42001:2025"}


@dataclass(frozen=True, kw_only=True)
class StandardsEvaluation:
    """An evaluation after one or both standards; every rendering is made from this."""

    standards: tuple[str, ...]
    date: str
    declaration: Declaration
    source: Mapping[str, Any]
    records: Mapping[str, Any]
    methodology: Mapping[str, Any]
    check: DatasetCheck
    """The figures of the data against ERS 3.1."""
    requirements: tuple[DataRequirement, ...]
    readings: tuple[Reading, ...]
    ers: ErsEvaluation | None
    onto: OntoEvaluation | None
    onto_undefined: str | None
    ratio: InformationRatio | None
    beside: Mapping[str, float | None]
    categories: tuple[CategoryRecall, ...]
    claim: Claim | None
    statement: str | None
    judgement: Judgement | None
    """What the numbers of ONTO-ERS earn, rounded, and what stands in the way of a certificate."""
    unclaimed: Mapping[str, str]
    """Why a standard's level is not claimed although its numbers are there, by standard (C-49, C-53)."""
    next_evaluation: str | None
    due: tuple[str, ...]
    cautions: tuple[str, ...]
    converted: str | None
    baseline: str | None
    dataset_digest: str
    """With its scheme. `epi-col-v2`: every column that a verdict uses; of sums that of their parts."""
    columns_digest: str
    """With its scheme. `epi-col-v1`: the columns that decide the metrics, as a certificate names them; of sums as above."""
    code_digest: str
    liability: Any = field(default=None, compare=False)
    """A liability report, where its inputs were given."""

    @property
    def certificate_possible(self) -> bool:
        """Whether a certificate may follow (C-14)."""
        return self.judgement is not None and not self.judgement.obstacles

    def __getitem__(self, name: str) -> Reading:
        for reading in self.readings:
            if reading.name == name:
                return reading
        raise KeyError(name)

    @property
    def metrics(self) -> dict[str, Any]:
        """The numbers alone, each standard's in an object of its own; the same bytes for the same data."""
        made: dict[str, Any] = {"beside": {name: plain(value) for name, value in self.beside.items()}}
        if self.ers is not None:
            made["ers"] = _numbers(self.ers.to_dict())
        if "onto" in self.standards:
            names = ("onto.ece", "onto.mce")
            partly = {name.partition(".")[2]: plain(self[name].value) for name in names}
            made["onto"] = partly | (
                {"u_recall": None, "ors": None} if self.onto is None else _numbers(self.onto.to_dict())
            )
            made["onto"]["igr"] = None if self.ratio is None else self.ratio.to_dict()
        return made

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values, ready for JSON."""
        return {
            "schema": SCHEMA,
            "epimeter": __version__,
            "standards": [NAMES[name] for name in self.standards],
            "spec_version": ers.SPEC_VERSION if "ers" in self.standards else None,
            "date": self.date,
            "declaration": self.declaration.to_dict(),
            "source": {name: plain(value) for name, value in self.source.items()},
            "records": dict(self.records),
            "methodology": {name: plain(value) for name, value in self.methodology.items()},
            "dataset_check": self.check.to_dict(),
            "requirements": [requirement.to_dict() for requirement in self.requirements],
            "metrics": self.metrics,
            "readings": [reading.to_dict() for reading in self.readings],
            "verdicts": self.verdicts,
            "categories": [category.to_dict() for category in self.categories],
            "next_evaluation": self.next_evaluation,
            "due": list(self.due),
            "mapping": {
                "as_of": AS_OF,
                "frameworks": FRAMEWORKS,
                "rows": [row.to_dict() for row in MAPPING],
                "wording": "evidence for a clause, not conformity with it",
            },
            "limits": list(LIMITS),
            "cautions": list(self.cautions),
            "converted": self.converted,
            "baseline": self.baseline,
            "evidence": {
                "dataset_digest": self.dataset_digest,
                "columns_digest": self.columns_digest,
                "code_digest": f"sha-256:{self.code_digest}",
                "version": __version__,
            },
            "liability": None if self.liability is None else self.liability.to_dict(),
        }

    @property
    def verdicts(self) -> dict[str, Any]:
        """Level, risk and status in words, by standard (C-46)."""
        made: dict[str, Any] = {}
        if self.ers is not None:
            level = self.ers.level_index
            made["ers"] = {
                "level": self.ers.level,
                "assessed": SELF_ASSESSED if level == 3 else None,
                "title": ers.LEVELS[level - 1].title if level else "no level",
                "suitable_for": ers.LEVELS[level - 1].suitable_for if level else None,
                "documentation": ers.LEVELS[level - 1].documentation if level else None,
                "status": self._ers_status,
                "unclaimed": self.unclaimed.get("ers"),
                **self._ers_words(),
                "assurance": self._assured("ers"),
                "certificate_possible": self.certificate_possible,
                "obstacles": [] if self.judgement is None else list(self.judgement.obstacles),
            }
        if "onto" in self.standards:
            made_claim = self.claim
            found = None if "onto" in self.unclaimed else self.onto  # then no word on its numbers is said
            made["onto"] = {
                "level": "none" if made_claim is None else made_claim.level,
                "measured_level": "none" if made_claim is None else made_claim.measured_level,
                "tier": "none" if made_claim is None else made_claim.tier,
                "assessed": None if made_claim is None else made_claim.assessed,
                "declared": [] if made_claim is None else list(made_claim.declared),
                "unclaimed": self.unclaimed.get("onto"),
                "ece_class": None if found is None else onto_class(found.ece, "ece"),
                "u_recall_class": None if found is None else onto_class(found.u_recall, "u_recall"),
                "flags": {} if made_claim is None else dict(made_claim.flags),
                "missing": [] if made_claim is None else list(made_claim.missing),
                "risk": None if found is None else found.risk,
                "risk_action": None if found is None else RISK[found.risk_index].action,
                "assurance": self._assured("onto"),
                "statement": self.statement,
                "undefined": self.onto_undefined,
            }
        return made

    def _ers_words(self) -> dict[str, str]:
        """The words of ERS 2.1, 2.2 and 2.3 on the numbers; with other bins or on too few data they would be a claim."""
        assert self.ers is not None
        risk, ece = RISK[self.ers.risk_index], ERS_ECE[ers_ece_band(self.ers.ece)]
        recall = ERS_U_RECALL[ers_u_recall_band(self.ers.u_recall)]
        words = {
            "risk": risk.name,
            "risk_action": risk.action,
            "regulatory_status": risk.status,
            "ece_band": ece.name,
            "ece_action": ece.action,
            "u_recall_band": recall.name,
            "u_recall_implication": recall.action,
        }
        return dict.fromkeys(words, "not stated") if "ers" in self.unclaimed else words

    @property
    def _ers_status(self) -> str:
        """PASS with a level, FAIL without; INSUFFICIENT_DATA or NOT_CLAIMED where none may be claimed."""
        assert self.ers is not None
        if "ers" in self.unclaimed:
            lacking = any(one.blocks and not one.passed for one in self.requirements)
            return "INSUFFICIENT_DATA" if lacking else "NOT_CLAIMED"
        return "PASS" if self.ers.level_index else "FAIL"

    def _assured(self, prefix: str) -> str | None:
        """Firm when every number that decides the level is; ORS has a class of risk and no part in levels (C-34).

        None without intervals, and where no level may be claimed.
        """
        if prefix in self.unclaimed:
            return None
        words = [
            reading.assurance.assurance
            for reading in self.readings
            if reading.name.startswith(f"{prefix}.")
            and reading.limits
            and reading.assurance is not None
            and reading.name != "onto.ors"
        ]
        return None if not words else "firm" if set(words) == {"firm"} else "marginal"


def _numbers(found: Mapping[str, Any]) -> dict[str, Any]:
    """An evaluation without what it earns: a reader of the numbers must not find a level there that nobody may claim."""
    return {name: value for name, value in found.items() if name not in JUDGED}
