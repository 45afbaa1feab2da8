# SPDX-License-Identifier: Apache-2.0
"""The card of a metric, the decorator that writes it, and the catalogue of all cards.

A metric is one pure function under one card. The decorator turns it into a `Metric` with two doors: called with
columns it validates, summarises and computes; its `compute` is the bare function of a finished summary. Parameters
that choose the summary are the fields of the recipe it reads; parameters that read it are the function's own keywords.
Reference page, command, endpoint and schema are made from the card.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args

from epimeter.errors import InputError, OrderWarning, UndefinedMetricError, UnknownMetricError, UnsoundRowsError
from epimeter.forecasts.row import ForecastKind
from epimeter.names import folded, nearest
from epimeter.parameters import Parameter, check, documented, in_our_words, parameters_of
from epimeter.results import Number, Result, bin_table
from epimeter.summaries.recipe import Order, Recipe
from epimeter.uncertainty import CellBound, KnownInterval
from epimeter.views import Binary, View, unread, view

R = TypeVar("R")

Family = Literal[
    "point",
    "bin",
    "kernel",
    "curve",
    "cumulative",
    "selective",
    "detection",
    "distribution",
    "test",
    "recalibration",
    "standard",
]
Direction = Literal["lower", "higher", "signed", "none"]


@dataclass(frozen=True)
class Card:
    """All that is known about a metric besides how it is computed."""

    name: str
    title: str
    family: Family
    equation: str
    """The definition, in LaTeX."""
    source: str
    """Where it is published, equation numbers included."""
    range: tuple[float | None, float | None] = (None, None)
    """Least and greatest value with default parameters; None is unbounded."""
    ideal: float | None = None
    """The value of a perfectly calibrated model; None when calibration alone does not fix it."""
    aims_at: str = ""
    """The parameter whose value is the ideal, where it depends on one."""
    direction: Direction = "lower"
    where: Mapping[str, str] = field(default_factory=dict)
    """The symbols of the equation."""
    pitfalls: str = ""
    """Where it misleads, and where we differ from print or from peers."""
    simulated: str = ""
    """Where simulations found its test off its level, or its interval off its coverage, with the figures."""
    aliases: tuple[str, ...] = ()
    """Other names in print and in other packages; `find` knows them."""
    needs: tuple[str, ...] = ()
    """Columns it cannot do without, besides y_true and y_prob: `features`, `groups`."""
    takes: tuple[str, ...] = ()
    """Further columns it can use."""
    forecasts: tuple[ForecastKind, ...] = ()
    """The kinds of forecast it reads, where those are of a number or a set; none: probabilities."""
    order: Order = "free"
    weighted: bool = True
    """Whether it takes sample weights."""
    copies: bool = True
    """Whether an integer weight counts as that many equal rows; not so where a variance goes with its square."""
    labels: Literal["needed", "ignored"] = "needed"
    matrix: str = "reduced to its top label"
    """What an (N, K) matrix means to it."""
    proper: Literal["strictly", "yes", "no", "unknown"] = "no"
    test: Literal["asymptotic", "exact", "resampling"] | None = None
    """How calibration is tested with it: by its own law, or by drawing (`consistency_test`); None: no test is published."""
    interval: KnownInterval | None = None
    """The interval it has without drawing rows again, beside the one that a mean of scores always has."""
    redrawn: bool = True
    """Whether drawing rows again makes an interval; not so for debiased squares: it would only add back the bias."""
    headline_is: str = ""
    """What its headline is, where that is no property of the population and no interval can be for it: "a p-value"."""
    bound: CellBound | None = None
    """How it is read off the cells of a fine histogram, with a bound on the error, where it needs the rows."""
    cost: Literal["linear", "quadratic"] = "linear"
    """How the time grows with the rows, logarithms aside."""
    nanoseconds: float = 2_000.0
    """What a row takes, or a pair of rows where the cost is quadratic, on one ordinary core: measured, and rounded up."""
    two_classes: float | None = None
    """What a row of two classes takes, where only more classes need all pairs."""

    def seconds(self, n_rows: int, *, n_classes: int = 2) -> float:
        """About how long so many rows take."""
        each, power = self._growth(n_classes)
        return 1e-9 * each * float(n_rows) ** power

    def rows_within(self, seconds: float, *, n_classes: int = 2) -> int:
        """About how many rows can be had in a time."""
        each, power = self._growth(n_classes)
        return int((1e9 * seconds / each) ** (1 / power))

    def _growth(self, n_classes: int) -> tuple[float, int]:
        if self.two_classes is not None and n_classes <= 2:
            return self.two_classes, 1
        return self.nanoseconds, 2 if self.cost == "quadratic" else 1


class Metric(Generic[R]):
    """A function under a card; see the module for its two doors."""

    def __init__(self, card: Card, function: Callable[..., R], reads: Recipe | None, prepare: Callable[..., View]):
        self.card = card
        self.compute = function
        self.reads = reads
        self._prepare = prepare
        self.__name__ = self.__qualname__ = card.name
        self.__module__ = function.__module__

    def _help(self) -> str:
        """What `help` shows: the call, what it measures, every parameter with its default, those of the bins too."""
        lines = [summary_line(self.compute), "", f"{self.name}{self.__signature__}"]
        if self.parameters:
            lines += ["", "Parameters", "----------"]
        for p in self.parameters.values():
            words = f", one of {' | '.join(p.words)}" if p.words else ""
            lines.append(f"{p.name} : {'required' if p.required else f'default {p.default!r}'}{words}")
            lines += textwrap.wrap(p.meaning, 110, initial_indent="    ", subsequent_indent="    ")
        lines += ["", f"{self.card.title}; {self.card.source}", self.card.pitfalls]
        return "\n".join(lines).rstrip()

    if not TYPE_CHECKING:  # to a type checker `__doc__` is a text of the class, and no property
        __doc__ = property(_help)

    def __repr__(self) -> str:
        return f"<metric {self.name}>"

    def __reduce__(self) -> Any:
        return find, (self.name,)

    @property
    def name(self) -> str:
        return self.card.name

    @property
    def of_probabilities(self) -> bool:
        """Whether it is measured on outcomes and probabilities, row by row; else it takes other columns."""
        return self.reads is not None and not self.card.forecasts

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """Every parameter a caller may give, with default, bounds and meaning."""
        chosen = {} if self.reads is None else parameters_of(self.reads)
        own = parameters_of(self.compute)
        return chosen | own

    @cached_property
    def _required(self) -> bool:
        """Whether a parameter has no default."""
        return any(p.required for p in self.parameters.values())

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        """The parameters of a call that chooses none."""
        chosen = {} if self.reads is None else self.reads.choices()
        return {name: p.default for name, p in self.parameters.items()} | chosen

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter
        columns = [kind("y_true", kind.POSITIONAL_OR_KEYWORD), kind("y_prob", kind.POSITIONAL_OR_KEYWORD)]
        if self.reads is None:
            return inspect.signature(self.compute)
        if self.card.forecasts:
            columns.pop()
        keywords = [kind("sample_weight", kind.KEYWORD_ONLY, default=None)] if self.card.weighted else []
        keywords += [kind(name, kind.KEYWORD_ONLY) for name in self.card.needs]
        keywords += [kind(name, kind.KEYWORD_ONLY, default=None) for name in self.card.takes]
        keywords += [kind(p.name, kind.KEYWORD_ONLY, default=p.default) for p in self.parameters.values()]
        keywords += [kind("interval", kind.KEYWORD_ONLY, default=None)]
        return inspect.Signature(columns + keywords)

    def reading(self, recipe: Recipe) -> Metric[R]:
        """The same metric over another summary: ``ece.reading(Bins(30))``."""
        return Metric(self.card, self.compute, recipe, self._prepare)

    def __call__(self, *columns: Any, **choices: Any) -> R:
        """Validate, summarise, compute. Columns first (`y_true`, `y_prob`), everything else by keyword.

        ``interval=True``, the word of a method, or a dict of options puts an interval beside the value; see
        `epimeter.inference.interval`.
        """
        wanted = choices.pop("interval", None)
        if wanted is not None and wanted is not False:
            # The room of intervals lies to the right of this one: it is asked by name.
            made: R = importlib.import_module("epimeter.inference.intervals").within(self, wanted, columns, choices)
            return made
        if self.reads is None:
            choices = in_our_words(self.name, self.parameters, choices)
            known = parameters_of(self.compute)
            named = self._own_columns(columns, choices)
            # A function that ends in **rest hands the rest on to another metric, which doubts it.
            hands_on = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(self.compute).parameters.values())
            choices |= check(self.name, known, {k: v for k, v in choices.items() if k in known or not hands_on})
            return self.compute(*columns, **choices) if named is None else self.compute(**named, **choices)
        view, recipe, rest = self._prepared(columns, choices.copy(), look=False)
        if self.card.order == "ties" and view.tied:
            warnings.warn(
                f"{self.name} depends on the order of rows with equal predictions, and there are some", OrderWarning, 2
            )
        try:
            summary = recipe.summarise(view)
        except UnsoundRowsError:
            self.prepare(*columns, **choices)  # says which row, and what is wrong with it
            raise
        return self.answer(recipe, recipe.finish(summary), view.n_rows, rest)

    def of_view(self, given: View, **choices: Any) -> R:
        """Its value on rows that are doubted already."""
        recipe, rest = self.settle(choices)
        seen = given.read_as(recipe.reading)
        return self.answer(recipe, recipe.finish(recipe.summarise(seen)), seen.n_rows, rest)

    def prepare(self, *columns: Any, **choices: Any) -> tuple[View, Recipe, dict[str, Any]]:
        """The view to summarise, the recipe that was chosen, and the parameters that read the summary."""
        return self._prepared(columns, choices, look=True)

    def _prepared(
        self, columns: tuple[Any, ...], choices: dict[str, Any], *, look: bool
    ) -> tuple[View, Recipe, dict[str, Any]]:
        """As `prepare`; without `look` the rows are left to the recipe's loop, where that looks at them itself."""
        if not look and not choices and len(columns) == 2 and self._takes_two:
            assert self.reads is not None
            return unread(*columns).read_as(self.reads.reading), self.reads, {}
        # The standards call the two columns `correct` and `confidence`: whoever names them so speaks of answers.
        answers = self.of_probabilities and ("correct" in choices or "confidence" in choices)
        y_true, y_prob = self._columns(columns, choices) if self.of_probabilities else self._truth(columns, choices)
        extra = {name: choices.pop(name, None) for name in (*self.card.needs, *self.card.takes)}
        weight = self._weight(choices)
        for name in self.card.needs:
            if extra[name] is None:
                raise InputError(f"{self.name} needs the column {name}; none was given. Pass {name}=…", field=name)
        recipe, rest = self.settle(choices)
        if self.card.labels == "ignored" and y_true is None and y_prob is not None:
            y_true = [0] * len(y_prob)
        if not look and weight is None and self._leaves_rows(recipe):
            given: View = unread(y_true, y_prob, **extra)
        else:
            given = self._prepare(y_true, y_prob, weight, extra, choices)
        if answers and isinstance(given, Binary):
            given = replace(given, states="answer")
        if self.card.forecasts:
            self.refuse_kind(given.kind)
        return given.read_as(recipe.reading), recipe, rest

    def _leaves_rows(self, recipe: Recipe) -> bool:
        """Whether nobody need look at the rows before the loop of the recipe does."""
        return self._leaves_default if recipe is self.reads else self._prepare is _view and recipe.checks_rows

    @cached_property
    def _takes_two(self) -> bool:
        """Whether outcomes and probabilities are all that a call without keywords is about."""
        more = self.card.needs or self.card.takes or self._required or self.card.labels == "ignored"
        return self.of_probabilities and not more and self._leaves_default

    @cached_property
    def _leaves_default(self) -> bool:
        return self.reads is not None and self._prepare is _view and self.reads.checks_rows

    def settle(self, choices: Mapping[str, Any]) -> tuple[Recipe, dict[str, Any]]:
        """Checked parameters, parted into the recipe they choose and those that read its summary."""
        assert self.reads is not None
        if not choices and not self._required:
            return self.reads, {}
        columns = ("sample_weight", *self.card.needs, *self.card.takes)
        choices = in_our_words(self.name, self.parameters, choices)
        choices = check(self.name, self.parameters, choices, extra=columns)
        chosen = self.reads.choices()
        recipe = self.reads.choosing(**{name: value for name, value in choices.items() if name in chosen})
        return recipe, {name: value for name, value in choices.items() if name not in chosen}

    def answer(self, recipe: Recipe, finished: Any, n_rows: int, choices: Mapping[str, Any]) -> R:
        """The value, with what influenced it: parameters, rows, bins."""
        value = self.compute(finished, **choices)
        parameters = self.chosen(recipe, choices)
        if isinstance(value, float):
            return Number(value, self.name, parameters, n_rows, finished)  # type: ignore[return-value]
        if isinstance(value, Result):
            value.attach(self.name, parameters, n_rows, bin_table(finished))
        return value

    def chosen(self, recipe: Recipe, choices: Mapping[str, Any]) -> dict[str, Any]:
        """Every parameter with its value, defaults included, where these were chosen."""
        parameters = self._defaults.copy()
        if recipe is not self.reads:
            parameters |= recipe.choices()
        if choices:
            parameters |= choices
        return parameters

    def _columns(self, columns: tuple[Any, ...], choices: dict[str, Any]) -> tuple[Any, Any]:
        if len(columns) == 2 and not choices:
            return columns
        named = dict(zip(("y_true", "y_prob"), columns, strict=False))
        for name, other in (("y_true", "correct"), ("y_prob", "confidence")):
            for word in (name, other):
                if word in choices:
                    named[name] = choices.pop(word)
        if len(columns) > 2 or len(named) < 2:
            raise InputError(f"{self.name} takes two columns, y_true and y_prob, then keywords; got {len(columns)}")
        return named["y_true"], named["y_prob"]

    def _truth(self, columns: tuple[Any, ...], choices: dict[str, Any]) -> tuple[Any, None]:
        """What came true, of a metric whose forecast is named by keywords."""
        if "y_true" in choices and not columns:
            return choices.pop("y_true"), None
        if len(columns) != 1:
            raise InputError(
                f"{self.name} takes one column by place, y_true, and the forecast by name (mean=…, std=…; quantiles=…; "
                f"members=…; lower=…, upper=…; sets=…); got {len(columns)}"
            )
        return columns[0], None

    def refuse_kind(self, kind: str) -> None:
        """Refuse a kind of forecast that the metric does not read."""
        if kind not in self.card.forecasts:
            raise UndefinedMetricError(
                f"{self.name} is read off forecasts of kind {' or '.join(self.card.forecasts)}; these are of kind {kind}"
            )

    def _own_columns(self, columns: tuple[Any, ...], choices: dict[str, Any]) -> dict[str, Any] | None:
        """The columns of a metric that reads no summary, given by place or by name; None if it takes any number."""
        taken = inspect.signature(self.compute).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in taken):
            return None
        own = [p for p in taken if p.kind is p.POSITIONAL_OR_KEYWORD]
        named = dict(zip((p.name for p in own), columns, strict=False))
        twice = [name for name in named if name in choices]
        named |= {p.name: choices.pop(p.name) for p in own if p.name in choices}
        missing = [p.name for p in own if p.default is p.empty and p.name not in named]
        if len(columns) > len(own) or missing or twice:
            wanted = ", ".join(p.name for p in own)
            fault = (
                f"{missing[0]} is missing" if missing else f"{twice[0]} came twice" if twice else f"got {len(columns)}"
            )
            raise InputError(f"{self.name} takes the columns {wanted}, then keywords; {fault}")
        return named

    def _weight(self, choices: dict[str, Any]) -> Any:
        weight = choices.pop("sample_weight", None)
        if "weights" in choices and "weights" not in self.parameters:
            if weight is not None:
                raise InputError("weights and sample_weight are the same column; pass one of them", field="weights")
            weight = choices.pop("weights")
        if weight is not None and not self.card.weighted:
            raise InputError(f"{self.name} takes no sample weights: none are defined for it", field="sample_weight")
        return weight

    @property
    def returns(self) -> tuple[str, ...]:
        """The fields of its result; empty when it is a plain number."""
        hint = inspect.signature(self.compute, eval_str=True).return_annotation
        return tuple(f.name for f in fields(hint)) if is_dataclass(hint) else ()


def summary_line(function: Callable[..., Any]) -> str:
    """What it measures, in one line."""
    return inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].replace("\n", " ")


_CATALOGUE: dict[str, Metric[Any]] = {}


def metric(
    *,
    title: str,
    family: Family,
    equation: str,
    source: str,
    reads: Recipe | None = None,
    prepare: Callable[..., View] | None = None,
    **facts: Any,
) -> Callable[[Callable[..., R]], Metric[R]]:
    """Write the card of the function below and enter it in the catalogue.

    Parameters
    ----------
    reads
        The recipe whose finished summary is the function's first argument. None: the function takes its own
        columns and calls on `views` itself (detections, p-values).
    prepare
        Replaces how columns become a view, for a metric whose second column is not always a probability.
    facts
        The other fields of `Card`.
    """

    def register(function: Callable[..., R]) -> Metric[R]:
        name = function.__name__
        if not function.__module__.startswith("epimeter."):  # a name of a family that is not loaded yet is taken, too
            catalogue()
        if name in _CATALOGUE:
            raise InputError(f"a metric called {name!r} exists already; give this one another name")
        card = Card(name, title, family, equation, source, **facts)
        _CATALOGUE[name] = made = Metric(card, function, reads, prepare or (_forecast if card.forecasts else _view))
        return made

    return register


def _view(y_true: Any, y_prob: Any, weight: Any, extra: Mapping[str, Any], choices: Mapping[str, Any]) -> View:
    return view(y_true, y_prob, sample_weight=weight, **extra)


def _forecast(y_true: Any, y_prob: Any, weight: Any, extra: Mapping[str, Any], choices: Mapping[str, Any]) -> Any:
    from epimeter.forecasts import forecast

    return forecast(y_true, sample_weight=weight, **extra)


def catalogue(family: str | None = None) -> dict[str, Metric[Any]]:
    """Every metric by name, in the order of the catalogue."""
    for room in ROOMS:
        _load(room)
    order = get_args(Family)
    entries = sorted(_CATALOGUE.items(), key=lambda entry: order.index(entry[1].card.family))
    return {name: m for name, m in entries if family in (None, m.card.family)}


def find(name: str) -> Metric[Any]:
    """The metric of that id, title or alias; case, hyphens, spaces and underscores do not matter.

    An id comes before all other names; another name that two metrics share is refused with both.
    """
    for room in ROOMS:  # an id is found without what lies to the right of its room
        _load(room)
        if name in _CATALOGUE:
            return _CATALOGUE[name]
    word = folded(name)
    alike = [metric for metric in _CATALOGUE.values() if word == folded(metric.name)]
    if alike:  # d_ece and dece differ by where a word ends alone: D-ECE is the first, DECE the second
        written = re.sub(r"[\W_]+", "_", name.casefold()).strip("_")
        return next((metric for metric in alike if metric.name == written), alike[0])
    known = _other_names()
    owners = known.get(word, [])
    if len(owners) == 1:
        return _CATALOGUE[owners[0]]
    if owners:
        titles = " or ".join(f"{owner} ({_CATALOGUE[owner].card.title})" for owner in owners)
        raise UnknownMetricError(f"{name!r} is the name of several metrics: {titles}; say which by its id", field=name)
    called = {metric.name: (metric.card.title, *metric.card.aliases) for metric in _CATALOGUE.values()}
    near = [repr(each) for each in nearest(name, called)]
    several = f"{', '.join(near[:-1])} or {near[-1]}" if len(near) > 1 else "".join(near)
    hint = f"; did you mean {several}?" if near else ";"
    raise UnknownMetricError(f"no metric is called {name!r:.60}{hint} `epimeter metrics` lists all", field=name)


def _other_names() -> dict[str, list[str]]:
    """Ids by folded title and alias; an alias with a remark, as in "TCE (Matsubara)", is one without it too."""
    owners: dict[str, list[str]] = {}
    for metric in _CATALOGUE.values():
        aliases = metric.card.aliases
        bare = [alias.partition("(")[0] for alias in aliases if "(" in alias.rstrip(")")]
        for word in {folded(name) for name in (metric.card.title, *aliases, *bare)} - {""}:
            owners.setdefault(word, []).append(metric.name)
    return owners


ROOMS = (
    "metrics.point",
    "metrics.bin",
    "metrics.curve",
    "metrics.cumulative",
    "metrics.kernel",
    "metrics.selective",
    "metrics.detection",
    "metrics.distribution",
    "inference",
    "recalibration",
)
"""Rooms that write cards; those whose metrics a report has by default come first, and the others may stay unread."""


@cache
def _load(room: str) -> None:
    """Import a room that writes cards, once."""
    importlib.import_module(f"epimeter.{room}")


__all__ = ["Card", "Metric", "catalogue", "documented", "find", "metric"]
