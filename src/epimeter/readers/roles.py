# SPDX-License-Identifier: Apache-2.0
"""Which column plays which role, found by its name or said by the caller.

Names are compared without regard to case, spaces and hyphens. Two columns that could play one role are never
chosen between: the caller says which, or names none with an empty string.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from epimeter.errors import ReadError
from epimeter.kinds import Kind
from epimeter.readers.forecast import (
    CONFIDENCE,
    EVENT,
    LISTS,
    RIGHT,
    TRUTH,
    Choice,
    described,
    outcome_column,
    predicted_column,
    vector_kind,
)
from epimeter.readers.wording import clean, listed, shown, word_of

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
    "recalibrated_by": ("recalibrated_by",),
    "slice": (),
}
"""Roles that are no part of every table, with the names that say them."""

ROLES = ("confidence", "probability", "probabilities", "label", "correct", "prediction", *FURTHER)
NUMBERED = ("p", "prob", "class")
NAMED = ("p", "prob", "proba", "probability")
NO_CLASSES = ("p_value", "p_values")
"""Names that begin like a class's probability and are none."""


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
    kind
        What the forecast is.
    compared
        Whether right and wrong are found by comparing `prediction` and `label`.
    positive
        The label that is outcome 1, where the caller said one.
    """

    columns: Mapping[str, tuple[str, ...]]
    class_names: tuple[str, ...] | None = None
    given: frozenset[str] = frozenset()
    kind: Kind = field(kw_only=True)
    compared: bool = False
    positive: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a report says of how the columns were read."""
        return described(self.columns, self.compared)

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
    names: Sequence[str], given: Choice | Mapping[str, str] | None, source: str, lists: Container[str] = frozenset()
) -> Roles:
    """Find the column of every role, and the kind of forecast they make.

    Parameters
    ----------
    names
        The columns of the source.
    given
        What the caller said: role to column ("" leaves a role out), or a `Choice` that says the kind too.
    source
        The source's name, for messages.
    lists
        Columns that hold a list a row.
    """
    choice = Choice.of(given)
    said = _said(names, choice.columns, source)
    by_word: dict[str, list[str]] = {}
    for name in names:
        by_word.setdefault(word_of(name), []).append(name)
    role, chosen, class_names = _prediction(names, by_word, said, source, lists, choice)
    columns, kind, compared = _outcome(role, chosen, by_word, said, choice.kind, names, source)
    for role, words in FURTHER.items():
        if role in said:
            if said[role]:
                columns[role] = said[role]
            continue
        taken = {name for chosen in columns.values() for name in chosen}
        found = [name for name in _named(words, by_word) if name not in taken]
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
    if choice.classes is not None:
        class_names = _ordered_classes(choice.classes, columns, source)
    return Roles(columns, class_names, frozenset(said), compared, choice.positive, kind=kind)


def forecast_roles(
    names: Sequence[str], given: Choice | Mapping[str, str] | None, source: str, lists: Container[str] = frozenset()
) -> tuple[Roles, bool]:
    """The columns of the forecast alone, for rows that need no outcome; and whether a column says one.

    Where there is an outcome the kind is found and held against the one that was said, as in `detect`.
    """
    choice = Choice.of(given)
    said = _said(names, choice.columns, source)
    by_word: dict[str, list[str]] = {}
    for name in names:
        by_word.setdefault(word_of(name), []).append(name)
    if "label" in said or "correct" in said or _named((*TRUTH, *RIGHT), by_word):
        return detect(names, choice, source, lists), True
    role, chosen, class_names = _prediction(names, by_word, said, source, lists, choice)
    kind: Kind = "classes" if role == "probabilities" else "answer" if choice.kind == "answer" else "event"
    if choice.kind not in (None, kind):
        needs = "one probability column a class" if choice.kind == "classes" else "one number a row"
        raise ReadError(f"kind {choice.kind} needs {needs}; {source} has {listed(chosen)}", field="kind")
    columns = {role: chosen}
    _refuse_doubles(names, columns, source)
    if choice.classes is not None:
        class_names = _ordered_classes(choice.classes, columns, source)
    return Roles(columns, class_names, frozenset(said), kind=kind), False


def _named(words: Iterable[str], by_word: Mapping[str, list[str]]) -> list[str]:
    return [name for word in words for name in by_word.get(word, ())]


def _said(names: Sequence[str], given: Mapping[str, str], source: str) -> dict[str, tuple[str, ...]]:
    """What the caller said, each name looked up in the source."""
    said: dict[str, tuple[str, ...]] = {}
    for key, wanted in given.items():
        role = key
        if role not in ROLES:
            raise ReadError(f"no role is called {shown(key)}; the roles are {', '.join(ROLES)}", field=key)
        if not wanted:
            if role in ("confidence", "probability", "probabilities", "label", "correct"):
                raise ReadError(f"the column of {key} must be named; got an empty name", field=key)
            said[role] = ()
        elif role in ("probabilities", "features", "slice"):
            said[role] = _several(names, wanted, key, source)
        else:
            said[role] = (_one(names, wanted, key, source),)
    several = [role for role in ("confidence", "probability", "probabilities") if role in said]
    if len(several) > 1:
        raise ReadError(f"{several[0]} and {several[1]} cannot both be read; name the column of one of them")
    if "label" in said and "correct" in said and "prediction" not in said:
        raise ReadError(
            "correct and label cannot both say the outcome; name the column of one of them", field="correct"
        )
    return said


def _one(names: Sequence[str], wanted: str, role: str, source: str) -> str:
    """The column of that name, exactly or but for its case."""
    if wanted in names:
        return wanted
    alike = [name for name in names if word_of(name) == word_of(wanted)]
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
    begins = word_of(wanted)
    family = tuple(name for name in names if word_of(name).startswith(begins) and word_of(name) != begins)
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
    choice: Choice,
) -> tuple[str, tuple[str, ...], tuple[str, ...] | None]:
    """The role (confidence or probabilities), its columns, and the classes' names."""
    for role in ("confidence", "probability"):
        if role in said:
            return "probabilities" if said[role][0] in lists else "confidence", said[role], None
    if "probabilities" in said:
        chosen = said["probabilities"]
        if len(chosen) == 1 and chosen[0] not in lists:
            raise ReadError(
                f"probabilities need one column per class or a column of lists; {shown(chosen[0])} of "
                f"{source} is one column. One probability a row? Use --column confidence={clean(chosen[0])}",
                field="probabilities",
            )
        return "probabilities", chosen, _suffixes(chosen)
    families, broken = _families(by_word)
    if choice.classes is not None:
        families = _class_columns(names, choice.classes) or families
    members = {name for family in families.values() for name in family}
    confident = [name for name in _named(CONFIDENCE, by_word) if name not in lists]
    likely = [name for name in _named(EVENT, by_word) if name not in lists and name not in members]
    # A file may hold a probability and a confidence: the kind that was said decides between them.
    single = {"answer": confident or likely, "event": likely or confident, "classes": []}.get(
        str(choice.kind), confident + likely
    )
    nested = [name for name in _named(LISTS, by_word) if name in lists]
    if choice.kind in ("event", "answer") and single:
        nested, families = [], {}
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
    if choice.classes is not None:
        raise ReadError(
            f"every class must have a column; {source} has none for {listed(choice.classes)}, its columns are {listed(names)}",
            field="classes",
        )
    if choice.kind == "classes":
        raise ReadError(
            f"kind classes needs one probability column a class; {source} has {listed(names)}. Name them with "
            "--column probabilities=A,B,C",
            field="kind",
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
        elif prefix in NAMED and word not in NO_CLASSES:
            named.setdefault(prefix, []).extend(alike)
    families: dict[str, tuple[str, ...]] = {}
    broken: list[str] = []
    for prefix, members in numbered.items():
        if len(members) > 1 and max(members) == len(members) - 1:
            families[f"{prefix}_"] = tuple(members[number] for number in range(len(members)))
        else:
            broken = list(members.values())
    for prefix, family in named.items():
        if len(family) > 1 and f"{prefix}_" not in families:
            families[f"{prefix}_"] = _in_order(family)
        elif prefix not in NUMBERED:
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
    heads = {word_of(name).partition("_")[0] for name in family}
    if len(heads) == 1 and all("_" in word_of(name) for name in family):
        return tuple(name.strip()[len(next(iter(heads))) + 1 :] for name in family)
    return tuple(name.strip() for name in family)


def _outcome(
    role: str,
    chosen: tuple[str, ...],
    by_word: Mapping[str, list[str]],
    said: Mapping[str, tuple[str, ...]],
    kind: str | None,
    names: Sequence[str],
    source: str,
) -> tuple[dict[str, tuple[str, ...]], Kind, bool]:
    """The columns of forecast, outcome and prediction, the kind they make, and whether right is found by comparison."""
    truths, rights = _named(TRUTH, by_word), _named(RIGHT, by_word)
    if role == "probabilities":
        if kind in ("event", "answer"):
            raise ReadError(
                f"kind {kind} needs one number a row; {source} has one probability a class, {clean(chosen[0])} … "
                f"{clean(chosen[-1])}. Leave --kind out, or name the column with --column confidence=NAME",
                field="kind",
            )
        found = list(said.get("label") or truths)
        if len(found) > 1:
            raise _ambiguous("label", found, source)
        if found:
            return {role: chosen, "label": (found[0],)}, "classes", False
        right = list(said.get("correct") or rights)
        if right:
            raise ReadError(
                f"class probabilities need the true class of each row; {source} has only {shown(right[0])}. "
                "Add a column `label`, or use --column confidence=NAME with one probability a row",
                field="label",
            )
        raise _absent("label", names, source)
    called = next((name for name in ("confidence", "probability") if name in said), None)
    event = called == "probability" or word_of(chosen[0]) in EVENT
    if "correct" in said:
        found, right_said = [said["correct"][0]], True
    elif "label" in said:
        found, right_said = [said["label"][0]], False
    else:
        found, right_said = outcome_column(kind, event, truths, rights)
    if len(found) > 1:
        raise _ambiguous("correct" if right_said else "label", found, source)
    if not found:
        raise _absent("label" if event else "correct", names, source)
    taken = {chosen[0], found[0]}
    if "prediction" in said:
        predicted = said["prediction"][0] if said["prediction"] else None
    else:
        predicted = None if right_said or (event and kind != "answer") else predicted_column(by_word, source, taken)
    settled, compared = vector_kind(
        chosen[0], found[0], event=event, right=right_said, predicted=predicted, said=kind, source=source
    )
    if "prediction" in said and predicted is not None and not compared:
        raise ReadError(
            f"a prediction is compared with a label beside a confidence; {source} is read as {settled} with the outcome "
            f"{shown(found[0])}. Leave --column prediction out, or say --kind answer",
            field="prediction",
        )
    columns = {role: chosen, "label": (found[0],)}
    return (columns | {"prediction": (str(predicted),)} if compared else columns), settled, compared


def _class_columns(names: Sequence[str], classes: tuple[str, ...] | None) -> dict[str, tuple[str, ...]]:
    """Columns called as the classes are, bare (`cat`, `dog`) or with a beginning of their own (`p_cat`, `p_dog`)."""
    if classes is None:
        return {}
    for beginning in ("", *dict.fromkeys(f"{word_of(name).partition('_')[0]}_" for name in names if "_" in name)):
        family = tuple(
            next((name for name in names if word_of(name) == word_of(f"{beginning}{one}")), "") for one in classes
        )
        if all(family):
            return {beginning: family}
    return {}


def _ordered_classes(classes: tuple[str, ...], columns: Mapping[str, tuple[str, ...]], source: str) -> tuple[str, ...]:
    """The classes as the caller named them, one a column."""
    chosen = columns.get("probabilities", ())
    if not chosen:
        raise ReadError(f"classes need one probability column each; {source} has none", field="classes")
    if len(chosen) > 1 and len(chosen) != len(classes):
        raise ReadError(
            f"classes must be one a column; {source} has {len(chosen)} columns of probabilities and {len(classes)} classes "
            f"were named, {listed(classes)}",
            field="classes",
        )
    return classes


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
