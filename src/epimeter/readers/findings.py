# SPDX-License-Identifier: Apache-2.0
"""What the cells of a source say of how they are to be read, found block by block.

Names settle the roles before a row is read; which words are labels, that confidences are written in percent, or that a column
of predictions contradicts the probabilities beside it, only the cells say. Findings of parts merge into those of the whole, in
any order, so that a report of a billion rows repeats what a report from memory does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from epimeter.errors import ReadError
from epimeter.readers.wording import clean, listed, shown

Form = Literal["point", "whole", "comma", "percent", "percent comma"]
"""How the numbers of a column of text are written: 0.85, 1, 0,85, 85% or 85,5%."""
MOST_WORDS = 1000
"""Words of labels that are remembered; a report shows a few."""
WRITTEN: dict[Form, str] = {
    "comma": "with a decimal comma: 0,85 was read as 0.85",
    "percent": "in percent: 85% was read as 0.85",
    "percent comma": "in percent with a decimal comma: 85,5% was read as 0.855",
}


@dataclass(frozen=True)
class Findings:
    """Facts that the cells of some rows showed.

    Attributes
    ----------
    label, positive
        The column of labels that are words, and the one that the caller says is outcome 1.
    ones, zeros
        The words that were read as 1 and as 0.
    forms
        How the numbers of each column of text are written.
    prediction, compared, contrary
        A column of predictions beside class probabilities, the rows in which it names a class, and those among them in which
        another class has a larger probability.
    odd_prediction
        The first prediction that names no class, where one does: then none is compared.
    """

    label: str = ""
    positive: str | None = None
    ones: frozenset[str] = frozenset()
    zeros: frozenset[str] = frozenset()
    forms: Mapping[str, Form] = field(default_factory=dict)
    prediction: str = ""
    compared: int = 0
    contrary: int = 0
    odd_prediction: str | None = None

    def merge(self, other: Findings) -> Findings:
        """The findings of both parts; refused where the parts contradict each other."""
        if other == NOTHING or self == other == NOTHING:
            return self
        if self == NOTHING:
            return other
        odd = [word for word in (self.odd_prediction, other.odd_prediction) if word is not None]
        return Findings(
            self.label or other.label,
            self.positive if self.positive is not None else other.positive,
            _few(self.ones | other.ones),
            _few(self.zeros | other.zeros),
            {
                name: _one_form(name, self.forms.get(name), other.forms.get(name))
                for name in {**self.forms, **other.forms}
            },
            self.prediction or other.prediction,
            self.compared + other.compared,
            self.contrary + other.contrary,
            min(odd, default=None),
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a report says of them."""
        written = (
            f"the numbers of {clean(name)} are written {WRITTEN[form]}"
            for name, form in sorted(self.forms.items())
            if form in WRITTEN
        )
        return (*self._words(), *written)

    def _words(self) -> Iterable[str]:
        ones, zeros = sorted(self.ones), sorted(self.zeros)
        if self.positive is not None:
            if zeros:
                words = listed([shown(word) for word in zeros], "and")
                yield f"outcome 1 is {shown(self.positive)} in {clean(self.label)}; {words} {_is(zeros)} 0"
            return
        parts = [
            f"{listed([shown(word) for word in words], 'and')} in {clean(self.label)} {_is(words)} {digit}"
            for words, digit in ((ones, 1), (zeros, 0))
            if words
        ]
        if parts:
            yield " and ".join(parts)

    def described(self) -> dict[str, Any]:
        """What a report keeps of a column of predictions that is at odds with the probabilities."""
        if self.odd_prediction is not None:
            return {"predictions": {"column": self.prediction, "unlike": self.odd_prediction}}
        if not self.contrary:
            return {}
        facts = {"column": self.prediction, "rows": self.compared, "contrary": self.contrary}
        return {"predictions": facts}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return {
            "label": self.label,
            "positive": self.positive,
            "ones": sorted(self.ones),
            "zeros": sorted(self.zeros),
            "forms": dict(sorted(self.forms.items())),
            "prediction": self.prediction,
            "compared": self.compared,
            "contrary": self.contrary,
            "odd_prediction": self.odd_prediction,
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Findings:
        """The findings back from plain values."""
        return cls(**{**facts, "ones": frozenset(facts["ones"]), "zeros": frozenset(facts["zeros"])})


NOTHING = Findings()


def merged_findings(parts: Iterable[Findings]) -> Findings:
    """The findings of all parts."""
    whole = NOTHING
    for part in parts:
        whole = whole.merge(part)
    return whole


def _is(words: list[str]) -> str:
    return "is" if len(words) == 1 else "are"


def _few(words: frozenset[str]) -> frozenset[str]:
    return words if len(words) <= MOST_WORDS else frozenset(sorted(words)[:MOST_WORDS])


def _one_form(name: str, here: Form | None, there: Form | None) -> Form:
    """How both parts of a column are written; a whole number is written alike with a point and with a comma."""
    forms = {form for form in (here, there) if form is not None}
    if len(forms) > 1 and forms <= {"point", "whole", "comma"}:
        forms -= {"whole"}
    if len(forms) > 1 and forms <= {"percent", "percent comma"}:
        forms -= {"percent"}
    if len(forms) > 1:
        raise mixed_forms(name)
    return forms.pop()


def mixed_forms(name: str) -> ReadError:
    """The refusal of a column that is written in two ways."""
    return ReadError(
        f"{clean(name)} must be written in one way; some of its cells are in percent, or have a decimal comma, and others not. "
        "Write every cell as 0.85",
        field=name,
    )
