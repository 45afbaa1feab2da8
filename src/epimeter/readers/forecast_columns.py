# SPDX-License-Identifier: Apache-2.0
"""Which columns state a forecast of a number or of a set, by their names or as the caller says.

=========================  ====================================================================
columns                    forecast
=========================  ====================================================================
mean, std (or variance)    normal: also mu, sigma, sd, var
mean_0, mean_1 …           state: beside y_0, y_1 … and std_0 …, var_0 … or cov_0_0, cov_0_1, cov_1_1 …
q0.05, q0.5, q0.95 …       quantiles: `q`, `q_` or `quantile_` and the level
member_0, member_1 …       ensemble: also ens_0, sample_0
lower, upper               interval: also lo, hi, lower_bound, upper_bound
set                        set of labels: also prediction_set, conformal_set
rate (and dispersion)      count: also expected_count, mean_count, predicted_count
=========================  ====================================================================

The truth is `y`, `y_true`, `target`, `outcome`, `truth`, `actual` or `label`. Where two kinds are there, the roles that
the caller names decide; several columns named as the mean are those of a state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from epimeter.errors import ReadError
from epimeter.readers.column_names import absent, ambiguous, by_words, named, one_column, several_columns
from epimeter.readers.forecast import CONFIDENCE, EVENT, TRUTH
from epimeter.readers.roles import FURTHER
from epimeter.readers.wording import clean, listed, shown, word_of

NAMES: Mapping[str, tuple[str, ...]] = {
    "truth": (*TRUTH, "observed", "observation", "obs"),
    "mean": ("mean", "mu", "y_mean", "pred_mean", "predicted_mean", "forecast_mean"),
    "std": ("std", "sigma", "sd", "stddev", "std_dev", "standard_deviation", "y_std", "pred_std", "predicted_std"),
    "variance": ("variance", "var", "sigma2", "y_var", "pred_var", "predicted_variance"),
    "lower": ("lower", "lo", "lower_bound", "y_lower", "pred_lower", "low"),
    "upper": ("upper", "hi", "upper_bound", "y_upper", "pred_upper", "high"),
    "set": ("set", "sets", "prediction_set", "pred_set", "conformal_set"),
    "rate": ("rate", "poisson_rate", "expected_count", "mean_count", "predicted_count", "pred_count"),
    "dispersion": ("dispersion", "overdispersion"),
    "weight": FURTHER["weight"],
    "group": FURTHER["group"],
    "id": FURTHER["id"],
    "slice": (),
}
BESIDE = ("weight", "group", "id", "slice")
"""Roles that state nothing of the forecast itself."""
QUANTILE = re.compile(r"^(?:q|quantile)_?(0?\.\d+|1e-\d+)$")
MEMBER = re.compile(r"^(?:member|ens|ensemble|sample)_?(\d+)$")
COMPONENTS: Mapping[str, re.Pattern[str]] = {
    "truth": re.compile(r"^(?:y|y_true|true|truth|target|state)_(\d+)$"),
    "mean": re.compile(r"^(?:mean|mu)_(\d+)$"),
    "std": re.compile(r"^(?:std|sigma|sd)_(\d+)$"),
    "variance": re.compile(r"^(?:variance|var)_(\d+)$"),
    "covariance": re.compile(r"^(?:covariance|cov)_(\d+)_(\d+)$"),
}
"""How the columns of a state of several numbers are called."""
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "normal": ("mean", "std", "variance"),
    "quantiles": ("quantiles",),
    "ensemble": ("members",),
    "interval": ("lower", "upper"),
    "set": ("set",),
    "count": ("rate", "dispersion"),
}
ROLES = ("truth", *(role for roles in FAMILIES.values() for role in roles), "covariance", *BESIDE)
SEVERAL = ("quantiles", "members", "slice")
"""Roles of several columns."""


@dataclass(frozen=True)
class ForecastRoles:
    """The columns of each role, in order, and the kind of forecast they make."""

    kind: str
    columns: Mapping[str, tuple[str, ...]]
    levels: tuple[float, ...] = ()


def states_forecast(names: Sequence[str]) -> bool:
    """Whether names say a forecast of a number or a set, and none says a probability or a confidence."""
    by_word = by_words(names)
    if named((*EVENT, *CONFIDENCE), by_word):
        return False
    if len(_components(names).get("mean", ())) > 1 and len(_components(names).get("truth", ())) > 1:
        return True
    found = _columns_by_role(names, {}, "")
    whole = ("mean" in found and ("std" in found or "variance" in found)) or ("lower" in found and "upper" in found)
    return bool(named(NAMES["truth"], by_word)) and (
        whole
        or len(found.get("quantiles", ())) > 1
        or len(found.get("members", ())) > 1
        or "set" in found
        or "rate" in found
    )


def forecast_roles_of(names: Sequence[str], said: Mapping[str, str], source: str) -> ForecastRoles:
    """The roles of a source's columns; what is missing, or said twice, is refused in a sentence."""
    for role in said:
        if role not in ROLES:
            raise ReadError(f"no role of a forecast is called {shown(role)}; they are {', '.join(ROLES)}", field=role)
    told = {role: several_columns(names, said[role], role, source) for role in COMPONENTS if said.get(role)}
    if len(told.get("mean", ())) > 1:
        return _told_state(names, told, said, source)
    if "covariance" in told:
        raise ReadError("covariance is that of a state; name its means one after the other, as mean=A,B", field="mean")
    state = _components(names) if set(said) <= set(BESIDE) else {}
    if len(state.get("mean", ())) > 1 and "truth" in state:
        return _state_roles(names, state, said, source)
    found = _columns_by_role(names, said, source)
    if "truth" not in found:
        raise absent("truth", names, source)
    named_kinds = [kind for kind, roles in FAMILIES.items() if any(said.get(role) for role in roles)]
    kinds = named_kinds or [kind for kind, roles in FAMILIES.items() if any(role in found for role in roles)]
    if len(kinds) > 1:
        each = [found[next(role for role in FAMILIES[kind] if role in found)][0] for kind in kinds]
        raise ReadError(
            f"a forecast must be stated in one way; {source} has {listed(each, 'and')}. Name the columns of one of them, as "
            f"--column {FAMILIES[kinds[0]][0]}=NAME",
            field=each[0],
        )
    if not kinds:
        raise ReadError(
            f"{source} states no forecast of a number or a set; its columns are {listed(names)}. It takes mean and std, "
            "q0.05 … q0.95, member_0 …, lower and upper, set, or rate; name others with --column mean=NAME",
            field="mean",
        )
    kind = kinds[0]
    chosen = {role: found[role] for role in ("truth", *FAMILIES[kind], *BESIDE) if role in found}
    _refuse_halves(kind, chosen, names, source)
    levels = tuple(_level(name, source) for name in chosen["quantiles"]) if kind == "quantiles" else ()
    return ForecastRoles(kind, chosen, levels)


def _components(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The columns of a state, by role, in the order of their numbers."""
    made = {}
    for role, shape in COMPONENTS.items():
        alike = [(tuple(map(int, match.groups())), name) for name in names if (match := shape.match(word_of(name)))]
        if alike:
            made[role] = tuple(name for _, name in sorted(alike))
    return made


def _state_roles(
    names: Sequence[str], state: Mapping[str, tuple[str, ...]], said: Mapping[str, str], source: str
) -> ForecastRoles:
    """The roles of a state; its components must be numbered 0 to d - 1 in every role, covariances on and above the diagonal."""
    spread, d = _spread(state, source), len(state["mean"])
    wanted: dict[str, list[tuple[int, ...]]] = {role: [(i,) for i in range(d)] for role in ("truth", "mean", spread)}
    if spread == "covariance":
        wanted["covariance"] = [(i, j) for i in range(d) for j in range(i, d)]
    for role, places in wanted.items():
        have = [tuple(map(int, re.findall(r"\d+", word_of(name).split("_", 1)[1]))) for name in state[role]]
        if [have_one for have_one in have if role != "covariance" or have_one[0] <= have_one[1]] != places:
            raise ReadError(
                f"the {d} components of a state must be numbered from 0 without a gap in every role; {source} has "
                f"{listed(state[role])} for {role}",
                field=role,
            )
    chosen = {role: state[role] for role in ("truth", "mean", spread)}
    if spread == "covariance":
        upper = [name for name in state["covariance"] if _on_or_above(name)]
        chosen["covariance"] = tuple(upper)
    chosen |= _columns_by_role(names, said, source, BESIDE)
    return ForecastRoles("state", chosen)


def _told_state(
    names: Sequence[str], told: Mapping[str, tuple[str, ...]], said: Mapping[str, str], source: str
) -> ForecastRoles:
    """The roles of a state whose columns the caller names, component by component; covariances row by row from the diagonal."""
    spread, d = _spread(told, source), len(told["mean"])
    for role in ("truth", "mean", spread):
        count = d * (d + 1) // 2 if role == "covariance" else d
        if len(told.get(role, ())) != count:
            raise ReadError(
                f"a state of {d} means must have {count} columns for {role}; {source} has "
                f"{listed(told[role], 'and') if role in told else 'none'}",
                field=role,
            )
    beside = {role: name for role, name in said.items() if role in BESIDE}
    chosen = {role: told[role] for role in ("truth", "mean", spread)}
    return ForecastRoles("state", chosen | _columns_by_role(names, beside, source, BESIDE))


def _spread(state: Mapping[str, tuple[str, ...]], source: str) -> str:
    """The one role that says how far a state may be from its means."""
    spreads = [role for role in ("std", "variance", "covariance") if role in state]
    if len(spreads) != 1:
        has = listed([state[role][0] for role in spreads], "and") if spreads else "none"
        raise ReadError(
            f"a state must have one of std_0 …, var_0 … or cov_0_0 … beside its means; {source} has {has}", field="std"
        )
    return spreads[0]


def _on_or_above(name: str) -> bool:
    """Whether a column of covariances is of the diagonal or above; those below say the same again."""
    match = COMPONENTS["covariance"].match(word_of(name))
    return match is not None and int(match.group(1)) <= int(match.group(2))


def _columns_by_role(
    names: Sequence[str], said: Mapping[str, str], source: str, roles: Sequence[str] = ROLES
) -> dict[str, tuple[str, ...]]:
    """The columns of every role, said or found by name."""
    by_word, found = by_words(names), {}
    for role in roles:
        if role == "covariance":
            continue  # that of a state, which has columns of its own
        if role in said:
            if said[role]:
                several = role in SEVERAL
                found[role] = (
                    several_columns(names, said[role], role, source)
                    if several
                    else (one_column(names, said[role], role, source),)
                )
            continue
        if role in ("quantiles", "members"):
            shape = QUANTILE if role == "quantiles" else MEMBER
            alike = [(match, name) for name in names if (match := shape.match(word_of(name)))]
            ordered = sorted(alike, key=lambda pair: float(pair[0].group(1)))
            if ordered:
                found[role] = tuple(name for _, name in ordered)
            continue
        columns = named(NAMES[role], by_word)
        if len(columns) > 1 and source:
            raise ambiguous(role, columns, source)
        if columns:
            found[role] = (columns[0],)
    return found


def _refuse_halves(kind: str, chosen: Mapping[str, tuple[str, ...]], names: Sequence[str], source: str) -> None:
    if kind == "normal":
        if "mean" not in chosen:
            raise absent("mean", names, source)
        if "std" in chosen and "variance" in chosen:
            raise ambiguous("std", [chosen["std"][0], chosen["variance"][0]], source)
        if "std" not in chosen and "variance" not in chosen:
            mean = clean(chosen["mean"][0])
            raise ReadError(
                f"{source} has no column for std beside {mean}; its columns are {listed(names)}. Name it with --column std=NAME; "
                f"if {mean} is the expected count, say --column rate={mean}",
                field="std",
            )
    if kind == "count" and "rate" not in chosen:
        raise absent("rate", names, source)
    if kind == "interval":
        for role in ("lower", "upper"):
            if role not in chosen:
                raise absent(role, names, source)


def _level(name: str, source: str) -> float:
    """The level that a column of quantiles has in its name."""
    match = re.search(r"(0?\.\d+|1e-\d+)\s*$", name.strip())
    if match is None:
        raise ReadError(
            f"a column of quantiles must end in its level, as q0.05; {shown(name)} of {source} does not", field=name
        )
    return float(match.group(1))
