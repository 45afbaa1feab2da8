# SPDX-License-Identifier: Apache-2.0
"""Which column plays which role, found by its name or said by the caller.

Names are compared without regard to case, spaces and hyphens. Two columns that could play one role are never
chosen between: the caller says which, or names none with an empty string.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from epimeter.errors import ReadError
from epimeter.kinds import Kind
from epimeter.readers.class_columns import (
    Sample,
    columns_of_classes,
    columns_of_labels,
    families,
    label_of_classes,
    order_note,
    ordered_classes,
    suffixes_of,
)
from epimeter.readers.column_names import (
    absent,
    ambiguous,
    asks_for_logits,
    by_words,
    named,
    one_column,
    refuse_doubles,
    several_columns,
)
from epimeter.readers.forecast import (
    CONFIDENCE,
    EVENT,
    LISTS,
    PREDICTED,
    RIGHT,
    SCORES,
    TRUTH,
    Choice,
    described,
    outcome_column,
    predicted_column,
    score_note,
    vector_kind,
)
from epimeter.readers.logs.answer import LogOptions
from epimeter.readers.wording import clean, listed, shown, word_of

FURTHER = {
    "unknown": ("unknown", "is_unknown"),
    "timestamp": ("timestamp", "time", "date", "datetime"),
    "weight": ("weight", "weights", "sample_weight"),
    "group": ("group", "groups", "segment", "question", "question_id"),
    "id": ("id", "prediction_id", "sample_id"),
    "ground_truth_source": ("ground_truth_source", "truth_source", "label_source"),
    "detected": ("detected", "flagged"),
    "category": ("category", "unknown_category"),
    "class": ("class", "class_name"),
    "features": ("features", "embedding", "embeddings"),
    "recalibrated_by": ("recalibrated_by",),
    "domain": ("domain",),
    "slice": (),
}
"""Roles that are no part of every table, with the names that say them."""

NO_CLASS = frozenset((*PREDICTED, *RIGHT, *TRUTH, *(word for words in FURTHER.values() for word in words)))
"""Names that say another role than a class."""
ROLES = ("confidence", "probability", "probabilities", "label", "correct", "prediction", *FURTHER)


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
    guessed
        The column of labels, where its words and not its name say that it is one.
    logits
        Whether the forecast is written as scores before softmax or the logistic function.
    beside
        A column called like the answer given, where an event is read and nothing is compared with it.
    ordered
        The classes, where the caller named them.
    """

    columns: Mapping[str, tuple[str, ...]]
    class_names: tuple[str, ...] | None = None
    given: frozenset[str] = frozenset()
    kind: Kind = field(kw_only=True)
    compared: bool = False
    positive: str | None = None
    guessed: str | None = None
    logits: bool = False
    beside: str | None = None
    ordered: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether a confidence and an outcome are all, each as it is to be measured."""
        return self.columns.keys() == {"confidence", "label"} and self.positive is None and not self.logits

    @property
    def notes(self) -> tuple[str, ...]:
        """What a report says of how the columns were read."""
        scores = (score_note(self.kind),) if self.logits else ()
        order = order_note(self.ordered, self.columns.get("probabilities", ()))
        return (*described(self.columns, self.compared, self.guessed), *order, *scores)

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
    names: Sequence[str],
    given: Choice | Mapping[str, str] | None,
    source: str,
    lists: Container[str] = frozenset(),
    sample: Sample | None = None,
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
    sample
        The cells of some rows, where they can be looked at: class columns may be called like the labels.
    """
    choice = Choice.of(given)
    refuse_log_options(choice, source)
    said = _named_columns(names, choice.columns, source)
    by_word = by_words(names)
    guessed = _guessed_label(names, by_word, choice, source, sample)
    told = said if guessed is None else said | {"label": (guessed,)}
    role, chosen, class_names = _prediction(names, by_word, told, source, lists, choice, sample)
    columns, kind, compared = _outcome(role, chosen, by_word, told, choice.kind, names, source)
    for role, words in FURTHER.items():
        if role in said:
            if said[role]:
                columns[role] = said[role]
            continue
        taken = {name for chosen in columns.values() for name in chosen}
        found = [name for name in named(words, by_word) if name not in taken]
        if role == "features":
            found = [name for name in found if name in lists]
            family = tuple(name for word, alike in by_word.items() if word.startswith("feature_") for name in alike)
            if family and found:
                raise ambiguous(role, [found[0], family[0]], source)
            if family:
                columns[role] = family
                continue
        if len(found) > 1:
            raise ambiguous(role, found, source)
        if found:
            columns[role] = (found[0],)
    refuse_doubles(names, columns, source)
    if choice.classes is not None:
        class_names = ordered_classes(choice.classes, columns, source)
    return Roles(
        columns,
        class_names,
        frozenset(said),
        compared,
        choice.positive,
        guessed,
        choice.logits,
        next(iter(named(PREDICTED, by_word)), None) if kind == "event" else None,
        ordered=choice.classes or (),
        kind=kind,
    )


def forecast_roles(
    names: Sequence[str],
    given: Choice | Mapping[str, str] | None,
    source: str,
    lists: Container[str] = frozenset(),
    sample: Sample | None = None,
) -> tuple[Roles, bool]:
    """The columns of the forecast alone, for rows that need no outcome; and whether a column says one.

    Where there is an outcome the kind is found and held against the one that was said, as in `detect`.
    """
    choice = Choice.of(given)
    refuse_log_options(choice, source)
    said = _named_columns(names, choice.columns, source)
    by_word = by_words(names)
    outcome = "label" in said or "correct" in said or named((*TRUTH, *RIGHT), by_word)
    if outcome or _guessed_label(names, by_word, choice, source, sample) is not None:
        return detect(names, choice, source, lists, sample), True
    role, chosen, class_names = _prediction(names, by_word, said, source, lists, choice, sample)
    kind: Kind = "classes" if role == "probabilities" else "answer" if choice.kind == "answer" else "event"
    if choice.kind not in (None, kind):
        needs = "one probability column a class" if choice.kind == "classes" else "one number a row"
        raise ReadError(f"kind {choice.kind} needs {needs}; {source} has {listed(chosen)}", field="kind")
    columns = {role: chosen}
    refuse_doubles(names, columns, source)
    if choice.classes is not None:
        class_names = ordered_classes(choice.classes, columns, source)
    return Roles(columns, class_names, frozenset(said), logits=choice.logits, kind=kind), False


def refuse_log_options(choice: Choice, source: str) -> None:
    """Refuse what says how an evaluation log is to be read: a table has its columns."""
    usual = LogOptions()
    asked = [f"--{name.replace('_', '-')}" for name in vars(usual) if getattr(choice.log, name) != getattr(usual, name)]
    if asked:
        raise ReadError(
            f"{listed(asked, 'and')} {'is' if len(asked) == 1 else 'are'} for evaluation logs; {source} is a table. Leave "
            f"{'it' if len(asked) == 1 else 'them'} out",
            field=asked[0],
        )


def _named_columns(names: Sequence[str], given: Mapping[str, str], source: str) -> dict[str, tuple[str, ...]]:
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
            said[role] = several_columns(names, wanted, key, source)
        else:
            said[role] = (one_column(names, wanted, key, source),)
    several = [role for role in ("confidence", "probability", "probabilities") if role in said]
    if len(several) > 1:
        raise ReadError(f"{several[0]} and {several[1]} cannot both be read; name the column of one of them")
    if "label" in said and "correct" in said and "prediction" not in said:
        raise ReadError(
            "correct and label cannot both say the outcome; name the column of one of them", field="correct"
        )
    return said


def _guessed_label(
    names: Sequence[str], by_word: Mapping[str, list[str]], choice: Choice, source: str, sample: Sample | None
) -> str | None:
    """The column of labels by its words, where no name says a label nor a single probability a row."""
    spoken = named((*TRUTH, *RIGHT, *LISTS), by_word) or choice.columns.keys() - FURTHER.keys() - {"probabilities"}
    if sample is None or spoken or choice.kind in ("event", "answer"):
        return None
    taken = {
        one_column(names, choice.columns[role], role, source) for role in ("group", "id") if choice.columns.get(role)
    }
    known = {name for name in names if word_of(name) in NO_CLASS} | taken
    known.update(name for family in families(by_word)[0].values() for name in family)
    return label_of_classes(names, sample, known, source)


def _prediction(
    names: Sequence[str],
    by_word: Mapping[str, list[str]],
    said: Mapping[str, tuple[str, ...]],
    source: str,
    lists: Container[str],
    choice: Choice,
    sample: Sample | None,
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
        return "probabilities", chosen, suffixes_of(chosen)
    sets, broken = families(by_word, SCORES if choice.logits else ())
    if choice.classes is not None:
        sets = columns_of_classes(names, choice.classes) or sets
    members = {name for family in sets.values() for name in family}
    members |= {*broken} if len(broken) > 1 else set()  # p_1 beside p_2 is a class, not outcome 1
    confident = [name for name in named(CONFIDENCE, by_word) if name not in lists]
    events = (*SCORES, *(word for word in EVENT if word not in SCORES)) if choice.logits else EVENT
    likely = [name for name in named(events, by_word) if name not in lists and name not in members]
    # A file may hold a probability and a confidence: the kind that was said decides between them.
    single = {"answer": confident or likely, "event": likely or confident, "classes": []}.get(
        str(choice.kind), confident + likely
    )
    nested = [name for name in named((*LISTS, *SCORES) if choice.logits else LISTS, by_word) if name in lists]
    if choice.kind in ("event", "answer") and single:
        nested, sets = [], {}
    candidates = single + nested + [f"{family[0]} … {family[-1]}" for family in sets.values()]
    if len(candidates) > 1:
        raise ambiguous("confidence", candidates, source, prefix=next(iter(sets), None))
    if single:
        return "confidence", (single[0],), None
    if nested:
        return "probabilities", (nested[0],), None
    if sets:
        family = next(iter(sets.values()))
        return "probabilities", family, suffixes_of(family)
    labelled = list(said.get("label") or named(TRUTH, by_word))
    if sample is not None and choice.classes is None and len(labelled) == 1:
        known = {name for name in names if word_of(name) in NO_CLASS}
        called = columns_of_labels(names, labelled[0], sample, known, source)
        if called is not None:
            return "probabilities", *called
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
    remedy = "" if choice.logits else asks_for_logits(by_word)
    raise absent("confidence", names, source, remedy)


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
    truths, rights = named(TRUTH, by_word), named(RIGHT, by_word)
    if role == "probabilities":
        if kind in ("event", "answer"):
            raise ReadError(
                f"kind {kind} needs one number a row; {source} has one probability a class, {clean(chosen[0])} … "
                f"{clean(chosen[-1])}. Leave --kind out, or name the column with --column confidence=NAME",
                field="kind",
            )
        found = list(said.get("label") or truths)
        if len(found) > 1:
            raise ambiguous("label", found, source)
        if found:
            columns = {role: chosen, "label": (found[0],)}
            given = said.get("prediction")
            answers = [name for name in named(PREDICTED, by_word) if name not in {*chosen, found[0]}]
            # The answer given is held against the likeliest class; of several, nothing says which it is.
            beside = tuple(answers) if given is None and len(answers) == 1 else given
            return (columns | {"prediction": beside} if beside else columns), "classes", False
        right = list(said.get("correct") or rights)
        if right:
            raise ReadError(
                f"class probabilities need the true class of each row; {source} has only {shown(right[0])}. "
                "Add a column `label`, or use --column confidence=NAME with one probability a row",
                field="label",
            )
        raise absent("label", names, source)
    called = next((name for name in ("confidence", "probability") if name in said), None)
    event = called == "probability" or word_of(chosen[0]) in (*EVENT, *SCORES)
    if "correct" in said:
        found, right_said = [said["correct"][0]], True
    elif "label" in said:
        found, right_said = [said["label"][0]], False
    else:
        found, right_said = outcome_column(kind, event, truths, rights)
    if len(found) > 1:
        raise ambiguous("correct" if right_said else "label", found, source)
    if not found:
        # Beside a prediction the label is what is missing: right and wrong follow from both.
        judged = not event and bool(named(PREDICTED, by_word))
        raise absent("label" if event or judged else "correct", names, source)
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
