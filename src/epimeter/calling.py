# SPDX-License-Identifier: Apache-2.0
"""Calling a metric: columns in, value out.

A metric has two doors: called with columns it validates, summarises and computes; its `compute` is the bare function of a
finished summary. Parameters that choose the summary are the fields of the recipe it reads; parameters that read it are the
function's own keywords.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from epimeter.card import Card
from epimeter.errors import InputError, OrderWarning, UndefinedMetricError, UnsoundRowsError
from epimeter.parameters import Parameter, check, in_our_words, parameters_of
from epimeter.results import Number, Result, bin_table
from epimeter.summaries.recipe import Recipe
from epimeter.views import Binary, View, unread, view

R = TypeVar("R")

MOST_SETTLED = 256
"""Choices of a metric that are remembered as doubted already."""


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
        return self._leaves_default if recipe is self.reads else self._prepare is rows_view and recipe.checks_rows

    @cached_property
    def _takes_two(self) -> bool:
        """Whether outcomes and probabilities are all that a call without keywords is about."""
        more = self.card.needs or self.card.takes or self._required or self.card.labels == "ignored"
        return self.of_probabilities and not more and self._leaves_default

    @cached_property
    def _leaves_default(self) -> bool:
        return self.reads is not None and self._prepare is rows_view and self.reads.checks_rows

    def settle(self, choices: Mapping[str, Any]) -> tuple[Recipe, dict[str, Any]]:
        """Checked parameters, parted into the recipe they choose and those that read its summary."""
        assert self.reads is not None
        if not choices and not self._required:
            return self.reads, {}
        key = tuple((name, type(value), value) for name, value in choices.items())
        if any(kind is not int and kind is not str for _, kind, _ in key):
            return self._parted(choices)
        if key not in self._settled:
            if len(self._settled) >= MOST_SETTLED:
                self._settled.clear()
            self._settled[key] = self._parted(choices)
        recipe, rest = self._settled[key]
        return recipe, rest.copy()

    @cached_property
    def _settled(self) -> dict[tuple[Any, ...], tuple[Recipe, dict[str, Any]]]:
        """What words and whole numbers were found to choose: doubting ``bins=10`` takes longer than a hundred rows."""
        return {}

    def _parted(self, choices: Mapping[str, Any]) -> tuple[Recipe, dict[str, Any]]:
        assert self.reads is not None
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


def rows_view(y_true: Any, y_prob: Any, weight: Any, extra: Mapping[str, Any], choices: Mapping[str, Any]) -> View:
    """How columns become a view, unless a metric says otherwise."""
    return view(y_true, y_prob, sample_weight=weight, **extra)


def forecast_view(y_true: Any, y_prob: Any, weight: Any, extra: Mapping[str, Any], choices: Mapping[str, Any]) -> Any:
    """The same, of forecasts of a number or a set."""
    from epimeter.forecasts import forecast

    return forecast(y_true, sample_weight=weight, **extra)
