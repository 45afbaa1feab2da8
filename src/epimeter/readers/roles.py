# SPDX-License-Identifier: Apache-2.0
"""Which column plays which role, found by its name or said by the caller.

Names are compared without regard to case, spaces and hyphens. Two columns that could play one role are never
chosen between: the caller says which, or names none with an empty string.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from epimeter.errors import ReadError
from epimeter.readers.wording import clean, listed, shown

CONFIDENCE = ("confidence", "conf", "p", "prob", "probability", "score", "y_prob", "y_pred_proba")
LISTS = (*CONFIDENCE, "probabilities", "probs", "class_probabilities")
WAS_RIGHT = ("correct", "is_correct")
TRUE_CLASS = ("label", "labels", "y", "y_true", "target", "targets", "outcome", "true_label")
FURTHER = {
    "unknown": ("unknown", "is_unknown"),
    "timestamp": ("timestamp", "time", "date"),
    "weight": ("weight", "weights", "sample_weight"),
    "group": ("group", "groups", "segment", "question", "question_id"),
    "id": ("id", "prediction_id", "sample_id"),
    "ground_truth_source": ("ground_truth_source",),
    "detected": ("detected", "flagged"),
    "category": ("category", "unknown_category"),
    "class": ("class", "class_name"),
    "features": ("features", "embedding", "embeddings"),
    "slice": (),
}
"""Roles that are no part of every table, with the names that say them."""

ROLES = ("confidence", "probabilities", "label", *FURTHER)
NUMBERED = ("p", "prob", "class")
NAMED = ("proba", "probability")


@dataclass(frozen=True)
class Roles:
    """The columns that serve each role, in order.

    Attributes
    ----------
    columns
        Role to source columns: one, or one a class, or one a feature.
    class_names
        Names of the classes as the columns' suffixes say them; None for a vector or a column of lists.
    given
        Roles the caller named: their faults are refused where a column found by name is only left out.
    """

    columns: Mapping[str, tuple[str, ...]]
    class_names: tuple[str, ...] | None = None
    given: frozenset[str] = frozenset()

    @property
    def wanted(self) -> list[str]:
        """Every column to be read."""
        return list(dict.fromkeys(name for names in self.columns.values() for name in names))

    @property
    def served(self) -> dict[str, str]:
        """Role to its column in words, for the report."""
        return {
            role: names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}" for role, names in self.columns.items()
        }


def detect(
    names: Sequence[str], given: Mapping[str, str] | None, source: str, lists: Container[str] = frozenset()
) -> Roles:
    """Find the column of every role.

    Parameters
    ----------
    names
        The columns of the source.
    given
        What the caller said: role to column; "" leaves a role out.
    source
        The source's name, for messages.
    lists
        Columns that hold a list a row.
    """
    said = _said(names, given or {}, source)
    columns: dict[str, tuple[str, ...]] = {}
    by_word: dict[str, list[str]] = {}
    for name in names:
        by_word.setdefault(_word(name), []).append(name)
    role, chosen, class_names = _prediction(names, by_word, said, source, lists)
    columns[role] = chosen
    columns["label"] = _label(role, by_word, said, names, source)
    for role, words in FURTHER.items():
        if role in said:
            if said[role]:
                columns[role] = said[role]
            continue
        found = _named(words, by_word)
        if role == "features":
            found = [name for name in found if name in lists]
            family = tuple(name for word, alike in by_word.items() if word.startswith("feature_") for name in alike)
            if family and found:
                raise _ambiguous(role, [found[0], family[0]], source)
            if family:
                columns[role] = family
                continue
        if len(found) > 1:
            raise _ambiguous(role, found, source)
        if found:
            columns[role] = (found[0],)
    _refuse_doubles(names, columns, source)
    return Roles(columns, class_names, frozenset(said))


def _word(name: str) -> str:
    word = name.strip().lower()
    return word.replace(" ", "_").replace("-", "_") if " " in word or "-" in word else word


def _named(words: Iterable[str], by_word: Mapping[str, list[str]]) -> list[str]:
    return [name for word in words for name in by_word.get(word, ())]


def _said(names: Sequence[str], given: Mapping[str, str], source: str) -> dict[str, tuple[str, ...]]:
    """What the caller said, each name looked up in the source."""
    said: dict[str, tuple[str, ...]] = {}
    for key, wanted in given.items():
        role = "label" if key == "correct" else key
        if role not in ROLES:
            raise ReadError(
                f"no role is called {shown(key)}; the roles are {', '.join(('correct', *ROLES))}", field=key
            )
        if role in said:
            raise ReadError("correct and label are one role; name its column once", field=key)
        if not wanted:
            if role in ("confidence", "probabilities", "label"):
                raise ReadError(f"the column of {key} must be named; got an empty name", field=key)
            said[role] = ()
        elif role in ("probabilities", "features", "slice"):
            said[role] = _several(names, wanted, key, source)
        else:
            said[role] = (_one(names, wanted, key, source),)
    if "confidence" in said and "probabilities" in said:
        raise ReadError("confidence and probabilities cannot both be read; name the column of one of them")
    return said


def _one(names: Sequence[str], wanted: str, role: str, source: str) -> str:
    """The column of that name, exactly or but for its case."""
    if wanted in names:
        return wanted
    alike = [name for name in names if _word(name) == _word(wanted)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise _ambiguous(role, alike, source)
    close = difflib.get_close_matches(wanted, names[:1000], 1)
    hint = f"did you mean {shown(close[0])}? " if close else ""
    raise ReadError(
        f"{source} has no column {shown(wanted)} for {role}; {hint}its columns are {listed(names)}",
        field=role,
    )


def _several(names: Sequence[str], wanted: str, role: str, source: str) -> tuple[str, ...]:
    """Columns by one name, by a common beginning (`p_`), or one after the other (`a,b,c`)."""
    if wanted in names:
        return (wanted,)
    if "," in wanted:
        return tuple(_one(names, part.strip(), role, source) for part in wanted.split(","))
    family = tuple(name for name in names if _word(name).startswith(_word(wanted)) and _word(name) != _word(wanted))
    if family and wanted.endswith(("_", "-", ".")):
        numbers = [name.strip()[len(wanted.strip()) :] for name in family]
        if all(number.isdecimal() for number in numbers):
            family = tuple(sorted(family, key=lambda name: int(name.strip()[len(wanted.strip()) :])))
        return family
    return (_one(names, wanted, role, source),)


def _prediction(
    names: Sequence[str],
    by_word: Mapping[str, list[str]],
    said: Mapping[str, tuple[str, ...]],
    source: str,
    lists: Container[str],
) -> tuple[str, tuple[str, ...], tuple[str, ...] | None]:
    """The role (confidence or probabilities), its columns, and the classes' names."""
    if "confidence" in said:
        role = "probabilities" if said["confidence"][0] in lists else "confidence"
        return role, said["confidence"], None
    if "probabilities" in said:
        chosen = said["probabilities"]
        if len(chosen) == 1 and chosen[0] not in lists:
            raise ReadError(
                f"probabilities need one column per class or a column of lists; {shown(chosen[0])} of "
                f"{source} is one column. One probability a row? Use --column confidence={clean(chosen[0])}",
                field="probabilities",
            )
        return "probabilities", chosen, _suffixes(chosen)
    single = [name for name in _named(CONFIDENCE, by_word) if name not in lists]
    nested = [name for name in _named(LISTS, by_word) if name in lists]
    families, broken = _families(by_word)
    candidates = single + nested + [f"{family[0]} … {family[-1]}" for family in families.values()]
    if len(candidates) > 1:
        raise _ambiguous("confidence", candidates, source, prefix=next(iter(families), None))
    if single:
        return "confidence", (single[0],), None
    if nested:
        return "probabilities", (nested[0],), None
    if families:
        family = next(iter(families.values()))
        return "probabilities", family, _suffixes(family)
    if broken:
        raise ReadError(
            f"class columns must be numbered from 0 without a gap; {source} has {listed(broken)}. "
            f"One probability a row? Use --column confidence={clean(broken[-1])}",
            field="probabilities",
        )
    raise _absent("confidence", names, source)


def _families(by_word: Mapping[str, list[str]]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Complete sets of class columns by their prefix, and the columns of one that is not complete."""
    numbered: dict[str, dict[int, str]] = {}
    named: dict[str, list[str]] = {}
    for word, alike in by_word.items():
        prefix, _, suffix = word.partition("_")
        if not suffix:
            continue
        if prefix in NUMBERED and suffix.isdecimal():
            numbered.setdefault(prefix, {})[int(suffix)] = alike[0]
        elif prefix in NAMED:
            named.setdefault(prefix, []).extend(alike)
    families: dict[str, tuple[str, ...]] = {}
    broken: list[str] = []
    for prefix, members in numbered.items():
        if len(members) > 1 and max(members) == len(members) - 1:
            families[f"{prefix}_"] = tuple(members[number] for number in range(len(members)))
        else:
            broken = list(members.values())
    for prefix, family in named.items():
        if len(family) > 1:
            families[f"{prefix}_"] = _in_order(family)
        else:
            broken = family
    return families, broken


def _in_order(family: list[str]) -> tuple[str, ...]:
    """Class columns as the file has them; in order of number when their suffixes are 0..K-1."""
    suffixes = [name.strip().partition("_")[2] for name in family]
    if sorted(suffixes) == sorted(map(str, range(len(family)))):
        return tuple(name for _, name in sorted(zip(map(int, suffixes), family, strict=True)))
    return tuple(family)


def _suffixes(family: tuple[str, ...]) -> tuple[str, ...] | None:
    """Class names: what the columns do not have in common at their beginning, up to an underscore."""
    if len(family) == 1:
        return None
    heads = {_word(name).partition("_")[0] for name in family}
    if len(heads) == 1 and all("_" in _word(name) for name in family):
        return tuple(name.strip()[len(next(iter(heads))) + 1 :] for name in family)
    return tuple(name.strip() for name in family)


def _label(
    role: str,
    by_word: Mapping[str, list[str]],
    said: Mapping[str, tuple[str, ...]],
    names: Sequence[str],
    source: str,
) -> tuple[str, ...]:
    """The column of the outcome: was it right or which class, beside a vector; the class, beside a matrix."""
    if "label" in said:
        return said["label"]
    classes = _named(TRUE_CLASS, by_word)
    right = _named(WAS_RIGHT, by_word)
    found = classes if role == "probabilities" else right + classes
    if len(found) > 1:
        raise _ambiguous("correct" if role == "confidence" else "label", found, source)
    if found:
        return (found[0],)
    if right:
        raise ReadError(
            f"class probabilities need the true class of each row; {source} has only {shown(right[0])}. "
            "Add a column `label`, or use --column confidence=NAME with one probability a row",
            field="label",
        )
    raise _absent("correct" if role == "confidence" else "label", names, source)


def _ambiguous(role: str, found: Sequence[str], source: str, prefix: str | None = None) -> ReadError:
    if len(set(found)) == 1:
        return ReadError(f"columns must have different names; {source} has {shown(found[0])} twice", field=found[0])
    other = f" or --column probabilities={prefix}" if prefix else ""
    several = listed([shown(name) for name in found], "and")
    return ReadError(
        f"only one column can serve as {role}; {source} has {several}. Choose with --column {role}=NAME{other}",
        field=role,
    )


def _absent(role: str, names: Sequence[str], source: str) -> ReadError:
    return ReadError(
        f"{source} has no column for {role}; its columns are {listed(names)}. Name it with --column {role}=NAME",
        field=role,
    )


def _refuse_doubles(names: Sequence[str], columns: Mapping[str, tuple[str, ...]], source: str) -> None:
    """Two columns of one name: which is meant cannot be said."""
    if len(set(names)) == len(names):
        return
    count = Counter(names)
    for name in (name for chosen in columns.values() for name in chosen):
        if count[name] > 1:
            raise ReadError(f"columns must have different names; {source} has {shown(name)} twice", field=name)
