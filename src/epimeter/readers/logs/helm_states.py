# SPDX-License-Identifier: Apache-2.0
"""HELM's `scenario_state.json`: every request with its instance, its completion and the tokens' log-probabilities.

HELM's own grades stand in `per_instance_stats.json`. Here an answer is right where the completion, mapped from its letter to the
reference it stands for, is a reference that HELM tags as correct: its `exact_match`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

from epimeter.errors import LackingError, ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, LogOptions, Run, Token
from epimeter.readers.logs.document import JsonText, elements
from epimeter.readers.logs.outcomes import number
from epimeter.readers.wording import shown

SEPARATE = "give per_instance_stats.json, which has their max_prob and exact_match"


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The requests, one answer each; perturbed copies are no new answers."""
    if options.scorer not in (None, "exact_match"):
        raise LackingError(
            f"scenario_state.json is graded by exact_match; {run.source} has no {shown(options.scorer)}. "
            "Give per_instance_stats.json",
            field="scorer",
        )
    head: dict[str, Any] = {}
    for place, state in enumerate(elements(JsonText(stream), ("request_states",), head)):
        about = head.get("adapter_spec")
        if run.model is None and isinstance(about, dict) and about.get("model"):
            run.model = str(about["model"])
        where = f"request {place} of {run.source}"
        if not isinstance(state, dict) or not isinstance(state.get("instance"), dict):
            raise ReadError(f"every request must hold its instance; {where} does not", field="request_states")
        if state.get("reference_index") is not None:
            raise ReadError(
                f"requests that ask for each reference alone are scored by HELM; {SEPARATE}", field="source"
            )
        if state["instance"].get("perturbation") is not None:
            run.counts["perturbed copies of an instance were left out"] += 1
            continue
        yield _answer(state, place, where)
    run.scorer = "exact_match"
    run.note("answers are graded by exact match with the references that HELM tags as correct")


def _answer(state: dict[str, Any], place: int, where: str) -> Answer:
    instance = state["instance"]
    trial = state.get("train_trial_index", 0)
    question = str(instance.get("id", place))
    mapping = state.get("output_mapping")
    letters = {str(key): str(text) for key, text in mapping.items()} if isinstance(mapping, dict) else {}
    references = [entry for entry in instance.get("references") or () if isinstance(entry, dict)]
    right = [_text(entry.get("output")) for entry in references if "correct" in (entry.get("tags") or ())]
    made = Answer(
        question=question, epoch=int(trial) + 1 if isinstance(trial, int) else 1, id=f"{question}_trial_{trial}",
        metadata={key: instance[key] for key in ("split", "sub_split") if instance.get(key)},
    )  # fmt: skip
    result = state.get("result")
    result = result if isinstance(result, dict) else {}
    moment = number(result.get("request_datetime"))
    if moment:
        made.time = datetime.datetime.fromtimestamp(moment, datetime.UTC).isoformat()
    completions = result.get("completions")
    first = completions[0] if isinstance(completions, list) and completions else None
    wanted = [key for key, text in letters.items() if text.strip() in right] if letters else right
    made.expected = ", ".join(wanted) or None
    if letters:
        made.options = list(letters)
        made.label = made.options.index(wanted[0]) if len(wanted) == 1 else None
    if result.get("success") is False or not isinstance(first, dict):
        made.why = "error"
        return made
    made.text = str(first.get("text") or "")
    made.answer = made.text.strip()
    made.tokens = _tokens(first.get("tokens"))
    if not right:
        made.why = "no reference is known to be right"
        return made
    said = letters.get(made.answer, "").strip() if letters else made.answer
    made.correct = float(said in right)
    return made


def _text(output: Any) -> str:
    return str(output.get("text", "") if isinstance(output, dict) else output).strip()


def _tokens(listed: Any) -> list[Token] | None:
    made = []
    for entry in listed if isinstance(listed, list) else ():
        value = number(entry.get("logprob")) if isinstance(entry, dict) else None
        if value is None:
            return None
        top = entry.get("top_logprobs")
        others = [(str(text), number(logprob)) for text, logprob in top.items()] if isinstance(top, dict) else []
        made.append(Token(str(entry.get("text", "")), value, [(text, v) for text, v in others if v is not None]))
    # HELM writes 0 for every token where the model gave no log-probabilities.
    return made if any(token.logprob != 0 for token in made) else None
