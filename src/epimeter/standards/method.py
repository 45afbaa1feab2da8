# SPDX-License-Identifier: Apache-2.0
"""The method of an evaluation: settled before anything is computed, compared with the last one, written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from epimeter import __version__
from epimeter.errors import InputError
from epimeter.readers.table import Table
from epimeter.standards import ers, onto42001
from epimeter.standards.declaration import Declaration
from epimeter.standards.records import RecordFacts
from epimeter.standards.replicates import AssessmentPlan


def domain_of(option: str | None, table: Table) -> str:
    """The domain: what the file says of itself counts, an option that contradicts it is refused; `general` when neither says."""
    return agreed_domain(option, domain_said(table, option), table.source)


def agreed_domain(option: str | None, said: str | None, source: str) -> str:
    """The domain that option and source agree on."""
    if said is None:
        return option or "general"
    if option not in (None, said):
        raise InputError(
            f"domain must be that of the data: {source} says {said}, the option says {option}. Leave it out",
            field="domain",
        )
    return said


def domain_said(table: Table, option: str | None = None) -> str | None:
    """The domain that a file says of itself or of its records; None where it says none.

    The other facts of an ERS 3.1 document are held to its schema on the way.
    """
    facts = table.metadata
    identity = facts.get("dataset_id")
    if identity is not None:
        try:
            UUID(str(identity))
        except ValueError:
            raise InputError(
                f"dataset_id must be a UUID (ERS-3.1-e); {table.source} has {identity!r:.60}", field="dataset_id"
            ) from None
    said = _said_by_rows(table, option) if facts.get("domain") is None else facts["domain"]
    if said is not None and said not in (*ers.DOMAINS, *onto42001.DOMAINS):
        raise InputError(
            f"domain must be one of {', '.join(ers.DOMAINS)} (ERS-3.1-e); {table.source} has {said!r:.40}",
            field="domain",
        )
    return said


def _said_by_rows(table: Table, option: str | None) -> str | None:
    """The domain in a column of the records, which must say one and the same; None where it says nothing.

    A column that is called so and holds other words may mean something else: then an option has to say the domain.
    """
    words = [word or "nothing" for word in table.domains]
    if not any(table.domains):
        return None
    known = [word for word in words if word in (*ers.DOMAINS, *onto42001.DOMAINS)]
    if len(words) == 1 and known:
        return words[0]
    if not known and option is not None:
        return None
    where = f"the column {table.roles['domain']} of {table.source} says {', '.join(words[:3])[:80]}"
    if not known:
        raise InputError(
            f"domain must be one of {', '.join(ers.DOMAINS)} (ERS-3.1-e); {where}. Say which it is with --domain, or leave the "
            "column out with --column domain=",
            field="domain",
        )
    raise InputError(
        f"domain must be one and the same in all records (ERS-3.1-e); {where}. Evaluate each domain by itself, or leave the "
        "column out with --column domain=",
        field="domain",
    )


def settled_domains(
    chosen: Sequence[str], domain: str, onto_domain: str | None
) -> tuple[str | None, str | None, str | None]:
    """The domain of each standard, and a sentence when one was converted (C-08: an unknown one is an error)."""
    first = None
    if "ers" in chosen:
        if domain not in ers.DOMAINS:
            raise InputError(
                f"domain must be one of {', '.join(ers.DOMAINS)} for ONTO-ERS (ERS-2.3-d); got {domain!r:.40}. "
                "Domains of ONTO 42001 go with --onto-domain",
                field="domain",
            )
        first = domain
    if "onto" not in chosen:
        return first, None, None
    wanted = onto_domain or domain
    if wanted in onto42001.DOMAINS:
        return first, wanted, None
    if wanted in onto42001.FROM_ERS and onto_domain is None:
        made = onto42001.FROM_ERS[wanted]
        return first, made, f"the domain {wanted} of ONTO-ERS was read as {made} of ONTO 42001"
    raise InputError(
        f"domain must be one of {', '.join(onto42001.DOMAINS)} for ONTO 42001 (42001-7.2.3-a); got {wanted!r:.40}",
        field="domain",
    )


def settled_weights(weights: Sequence[float] | None, reason: str) -> tuple[float, float, float]:
    """The three conditions of 42001-A.5.3-a: they sum to 1, none is below 0.15, the reason is documented."""
    if weights is None:
        return onto42001.WEIGHTS
    made = onto42001.checked_weights(weights)
    if made != onto42001.WEIGHTS and not reason.strip():
        raise InputError(
            "weights_reason must say why the weights were changed (42001-A.5.3-a); got none. Give --weights-reason",
            field="weights_reason",
        )
    return made


def compared(
    strategy: str, bins: int, told: Declaration, baseline: Mapping[str, Any] | None, reason: str
) -> str | None:
    """Another binning strategy than last time is refused unless a new baseline is declared (42001-5.2.3-b)."""
    if reason:
        return f"a new baseline was declared: {reason}"
    if baseline is None:
        return None
    before = baseline.get("methodology")
    if not isinstance(before, Mapping) or "strategy" not in before:
        raise InputError(
            "baseline must be the JSON of an evaluation or passport with its methodology", field="baseline"
        )
    system = (baseline.get("declaration") or baseline.get("system") or {}).get("system_id", "")
    if system and told.system_id and system != told.system_id:
        raise InputError(
            f"baseline must be of the same system; it is of {system!r:.60}, this is {told.system_id!r:.60}",
            field="baseline",
        )
    last, now = (before["strategy"], before.get("bins")), (strategy, bins)
    if last != now:
        raise InputError(
            f"strategy must stay {last[0]} with {last[1]} bins as in the last evaluation (42001-5.2.3-b); got {now[0]} "
            f"with {now[1]}. Say why a new baseline begins: --new-baseline",
            field="strategy",
        )
    return f"same method as the evaluation of {baseline.get('date') or baseline.get('evaluation', {}).get('date')}"


def methodology(
    plan: AssessmentPlan, records: RecordFacts, threshold: float, reason: str, told: Declaration
) -> dict[str, Any]:
    """Everything that another evaluation must do alike to be comparable."""
    own = records.detected is not None
    return {
        "strategy": plan.strategy,
        "bins": plan.bins,
        "ers_bins": plan.ers_bins,
        "ers_threshold": plan.ers_threshold,
        "threshold": None if own else threshold,
        "mechanism": "column detected" if own else f"confidence below {threshold:g}",
        "weights": list(plan.weights),
        "weights_reason": reason,
        "forecast": records.kind,
        "confidence_source": told.confidence_source or records.confidence_source or "not stated",
        "recalibration": records.recalibrated_by or told.recalibration or "not stated",
        "interval": plan.how,
        "draws": plan.draws,
        "level": plan.level,
        "seed": plan.seed,
        "sample_size": records.n_rows,
        "software": f"epimeter {__version__}",
        "pre_deployment": told.pre_deployment,
        "reference": method_reference(plan, threshold, records),
    }


def method_reference(plan: AssessmentPlan, threshold: float, records: RecordFacts) -> str:
    """The method in one line, for the statement of conformity."""
    flag = "the column detected" if records.detected is not None else f"confidence < {threshold:g}"
    return (
        f"ONTO 42001 A.1 ({plan.strategy}, {plan.bins} bins), A.3 ({flag}), A.5 with epimeter {__version__}, "
        f"{records.n_rows:,} records"
    )
