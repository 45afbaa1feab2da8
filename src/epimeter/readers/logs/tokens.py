# SPDX-License-Identifier: Apache-2.0
"""The confidence in the tokens: at the answer's place, after any chain of thought.

`answer_token` is the probability of the chosen option's token there, its spellings ("B", " B", "(B") added up;
`choice_logprob` is that divided by the probability of all options' tokens; what is left over is the mass outside the options.
`sequence_logprob` is the product over all tokens: right for a text that is nothing but the answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from epimeter.readers.logs.answer import Token

AROUND = " \t\n\r▁Ġ()[]{}.,:;*\"'`$<>#-_"
"""Characters that a token may carry beside the label it stands for."""
CUE = re.compile(
    r"(?:answer|option|choice|antwort|réponse|respuesta|答案)(?:\s+(?:is|would\s+be|choice|option|letter))*\W{0,8}$",
    re.IGNORECASE,
)
ROUNDING = 1e-6
"""A log-probability above 0 by less than this is the rounding of a probability of 1."""


@dataclass(frozen=True, slots=True)
class AtAnswer:
    """Probabilities at the answer's place: the chosen option's, and every option's."""

    chosen: float
    options: dict[str, float]
    ranked: int
    """How many tokens the log lists there."""

    @property
    def mass(self) -> float:
        """On all options together."""
        return math.fsum(self.options.values())


def sequence_probability(tokens: Sequence[Token]) -> float:
    """The product of the tokens' probabilities."""
    return math.exp(min(0.0, math.fsum(token.logprob for token in tokens)))


def above_one(tokens: Sequence[Token]) -> float | None:
    """The first log-probability above 0, or none that is a number: such a log cannot be trusted."""
    for token in tokens:
        if not token.logprob <= ROUNDING:
            return token.logprob
        for _, logprob in token.top:
            if not logprob <= ROUNDING:
                return logprob
    return None


def at_answer(tokens: Sequence[Token], answer: str, labels: Sequence[str]) -> AtAnswer | None:
    """The probabilities where the answer stands; None where it cannot be found, or is more than one token.

    Parameters
    ----------
    tokens
        All that was generated.
    answer
        The answer as the log gives it: the label of an option, or a short text.
    labels
        The labels of all options; empty where there are none.
    """
    label = spelled(answer)
    if not label or (labels and label not in labels):
        return None
    position = place_of(tokens, label)
    if position is None:
        return None
    token = tokens[position]
    here = dict(token.top)
    here.setdefault(token.text, token.logprob)
    mass: dict[str, float] = dict.fromkeys(labels or (label,), 0.0)
    for text, logprob in here.items():
        name = spelled(text)
        if name in mass:
            mass[name] += math.exp(min(logprob, 0.0))
    chosen = mass[label]
    return None if chosen <= 0 else AtAnswer(min(chosen, 1.0), mass, len(token.top))


def spelled(token: str) -> str:
    """A token without the spaces and marks around it."""
    return token.strip(AROUND)


def place_of(tokens: Sequence[Token], label: str) -> int | None:
    """Which token is the answer: the last after a word like «answer», else the only one, else the last that is the label."""
    candidates = [number for number, token in enumerate(tokens) if spelled(token.text) == label]
    if not candidates:
        return None
    if len(candidates) == 1:
        return candidates[0]
    starts, text = [], ""
    for token in tokens:
        starts.append(len(text))
        text += token.text
    cued = [
        n
        for n in candidates
        if CUE.search(text[: starts[n] + len(tokens[n].text) - len(tokens[n].text.lstrip(AROUND))][-80:])
    ]
    if cued:
        return cued[-1]
    # A text that begins with its answer («B. Because …») has it first.
    return candidates[0] if not text[: starts[candidates[0]]].strip(AROUND) else candidates[-1]
