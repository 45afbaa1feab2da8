# SPDX-License-Identifier: Apache-2.0
"""Samples of the lm-evaluation-harness: `samples_<task>_<date>.jsonl`, one document a line and filter.

Every score has its own probabilities: `acc` the softmax of the choices' log-likelihoods, `acc_norm` of those divided by the
choices' characters, `acc_mutual_info` of the likelihoods less those without the question. A task with one likelihood has the
probability of its target; a generation has its text.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from epimeter.errors import LackingError, ReadError
from epimeter.readers.files import Stream
from epimeter.readers.logs.answer import Answer, LogOptions, Run
from epimeter.readers.logs.document import lines
from epimeter.readers.logs.outcomes import number, outcome, softmax
from epimeter.readers.wording import listed, shown

OWN = {
    "doc_id",
    "doc",
    "target",
    "arguments",
    "resps",
    "filtered_resps",
    "filter",
    "metrics",
    "doc_hash",
    "prompt_hash",
    "target_hash",
}
PREFERRED = ("acc", "exact_match", "acc_norm")
MOST_OPTIONS = 1000
"""Options up to which a row carries all their probabilities along."""
ONE_BY_ONE = {
    "regex",
    "regex_pos",
    "multi_choice_regex",
    "remove_whitespace",
    "lowercase",
    "uppercase",
    "map",
    "format_span",
}
"""Filters that change each text by itself."""
NAME = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)$")


@dataclass(frozen=True)
class Task:
    """What the results beside the samples say of their task."""

    parted: str = " "
    """What parts a choice from its question."""
    first: frozenset[str] = frozenset()
    """Filters that take the first of several texts."""


def answers(stream: Stream, run: Run, options: LogOptions) -> Iterator[Answer]:
    """The documents of a samples file, one answer each."""
    named = NAME.search(PurePath(run.source).stem)
    if named:
        run.task = named["task"]
    task = Task()
    if stream.path is not None:
        run.model, task = _about(Path(stream.path), named["date"] if named else None, run.task)
    chosen, filters = options.scorer, dict[str, None]()
    known = options.filter
    for line, record in lines(stream, run.part.before if run.part else 0):
        name = str(record.get("filter", "none"))
        filters[name] = None
        if known is None:
            known = name
        elif name != known:
            if options.filter is None:
                raise ReadError(
                    f"{run.source} has several filters, {listed(list(filters))} among them; choose one with --filter",
                    field="filter",
                )
            continue
        where = f"line {line} of {run.source}"
        if chosen is None:
            chosen = _score(record, where)
        if chosen not in record:
            it_has = f"has {listed(_scores(record)) or 'none'}"
            if line == 1:
                raise LackingError(f"{run.source} has no score {shown(chosen)}; it {it_has}", field="scorer")
            raise ReadError(f"every sample must have {shown(chosen)}; {where} {it_has}", field="scorer")
        yield _answer(record, chosen, where, run, task)
    if options.filter is not None and options.filter not in filters:
        raise LackingError(
            f"{run.source} has no filter {shown(options.filter)}; it has {listed(list(filters))}", field="filter"
        )
    run.scorer, run.filter = chosen, known


def _scores(record: dict[str, Any]) -> list[str]:
    """The scores of a document that are one number."""
    named = record.get("metrics")
    names = named if isinstance(named, list) else [key for key in record if key not in OWN]
    return [name for name in names if isinstance(name, str) and number(record.get(name)) is not None]


def _score(record: dict[str, Any], where: str) -> str:
    names = _scores(record)
    for name in PREFERRED:
        if name in names:
            return name
    if len(names) == 1:
        return names[0]
    raise ReadError(
        f"{where} has {'several scores' if names else 'no score'}; choose one with --scorer: {listed(names)}",
        field="scorer",
    )


def _answer(record: dict[str, Any], score: str, where: str, run: Run, task: Task) -> Answer:
    question = str(record.get("doc_id", where))
    doc = record.get("doc")
    made = Answer(
        question=question,
        metadata={key: value for key, value in doc.items() if isinstance(value, str | int | float)}
        if isinstance(doc, dict)
        else {},
        expected=str(record["target"]) if record.get("target") is not None else None,
    )
    made.correct, made.declined, made.why = outcome(record[score], where)
    if made.expected == "-100":  # how the harness writes that no choice is known to be right
        made.correct, made.why = None, "no choice is known to be right"
    pairs = _pairs(record)
    if len(pairs) > 1:
        _choices(record, pairs, score, made, where, run, task)
    elif pairs:
        value, _ = pairs[0]
        if value > 1e-6 or math.isnan(value):
            raise ReadError(f"log-likelihoods must be at most 0; {where} has {value:g}", field="filtered_resps")
        made.sources["sequence_logprob"] = math.exp(min(value, 0.0))
    else:
        _generation(record, made, run, task)
    made.numbers = {f"score:{name}": record[name] for name in _scores(record) if name != score}
    return made


def _pairs(record: dict[str, Any]) -> list[tuple[float, bool]]:
    """The log-likelihoods, in pairs with «was it the greedy one»; written as text."""
    listed_ = record.get("filtered_resps")
    found = []
    for pair in listed_ if isinstance(listed_, list) else ():
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or str(pair[1]) not in ("True", "False", "true", "false", "0", "1")
        ):
            return []
        value = number(pair[0])
        if value is None:
            return []
        found.append((value, str(pair[1]).lower() in ("true", "1")))
    return found


def _choices(
    record: dict[str, Any],
    pairs: list[tuple[float, bool]],
    score: str,
    made: Answer,
    where: str,
    run: Run,
    task: Task,
) -> None:
    """A document with a likelihood a choice."""
    values = [value for value, _ in pairs]
    # With mutual information the choices follow a second time, without their question.
    twice = "acc_mutual_info" in record
    half = len(values) // 2 if twice else len(values)
    likelihood = values[:half]
    if any(value > 1e-6 for value in likelihood):
        raise ReadError(f"log-likelihoods must be at most 0; {where} has {max(likelihood):g}", field="filtered_resps")
    if score == "acc_mutual_info":
        likelihood = [value - alone for value, alone in zip(likelihood, values[half:], strict=True)]
    elif score in ("acc_norm", "acc_bytes"):
        texts = _texts(record, half, score, where, task.parted)
        lengths = [len(text if score == "acc_norm" else text.encode()) for text in texts]
        likelihood = [value / length for value, length in zip(likelihood, lengths, strict=True)]
    elif score not in ("acc", "f1", "mcc", "exact_match", "brier_score", "likelihood_diff"):
        run.note(f"the confidence beside {score} is the softmax of the plain log-likelihoods")
    shares = softmax(likelihood)
    if shares is None:
        raise ReadError(
            f"log-likelihoods must be numbers below infinity; {where} has {listed([f'{v:g}' for v in values])}"
        )
    best = max(range(half), key=likelihood.__getitem__)
    made.answer = str(best)
    made.sources["choice_logprob"] = shares[best]
    if half <= MOST_OPTIONS:
        made.probabilities = shares
    made.label = _label(record, made, best, half)
    if made.label is not None and made.correct in (0.0, 1.0) and shares.count(shares[best]) == 1:
        run.counts[f"the likeliest choice and {score} disagree"] += (best == made.label) != bool(made.correct)


def _label(record: dict[str, Any], made: Answer, best: int, count: int) -> int | None:
    """The place of the right choice: the target is a place, or the choice itself. A choice «2» may be at another place than 2;
    the grade then tells which of the two was meant, or neither is taken.
    """
    if made.expected is None:
        return None
    names = [text.strip() for _, text in _arguments(record, count)]
    if len(names) > 1 and len(set(names)) == 1:
        return None  # the choices stand in the questions, and the target is what follows all of them
    places = {int(made.expected)} if made.expected.isdecimal() and int(made.expected) < count else set[int]()
    places |= {names.index(made.expected)} if names.count(made.expected) == 1 else set()
    if len(places) > 1 and made.correct in (0.0, 1.0):
        places = {place for place in places if (place == best) == bool(made.correct)}
    return places.pop() if len(places) == 1 else None


def _arguments(record: dict[str, Any], count: int) -> list[tuple[Any, str]]:
    """The context and the continuation of each choice, as they were asked."""
    arguments = record.get("arguments")
    if isinstance(arguments, dict):  # {"gen_args_0": {"arg_0": question, "arg_1": choice}, …}
        arguments = [
            [entry.get("arg_0"), entry.get("arg_1")] if isinstance(entry, dict) else entry
            for entry in arguments.values()
        ]
    return [
        (entry[0], entry[1])
        for entry in (arguments if isinstance(arguments, list) else [])[:count]
        if isinstance(entry, list) and len(entry) >= 2 and isinstance(entry[1], str)
    ]


def _texts(record: dict[str, Any], count: int, score: str, where: str, parted: str) -> list[str]:
    """The text of each choice, without what parts it from the question."""
    asked = _arguments(record, count)
    found = [text for _, text in asked]
    if all(text.startswith(parted) for text in found):
        found = [text.removeprefix(parted) for text in found]
    if len(found) == count > 1 and len(set(found)) == 1 and any(context != asked[0][0] for context, _ in asked):
        raise ReadError(
            f"{score} needs every choice's text; in {where} the choices stand in the questions. Choose acc with --scorer",
            field="scorer",
        )
    if len(found) != count or not all(found):
        raise ReadError(f"{score} needs every choice's text in arguments; {where} lacks it", field="arguments")
    return found


def _generation(record: dict[str, Any], made: Answer, run: Run, task: Task) -> None:
    """A generated text; where it was generated several times, how far the answers agree."""
    texts = record.get("resps")
    while isinstance(texts, list) and len(texts) == 1 and isinstance(texts[0], list):
        texts = texts[0]
    texts = [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
    filtered = record.get("filtered_resps")
    if isinstance(filtered, list) and len(filtered) == 1 and isinstance(filtered[0], list):
        filtered = filtered[0]
    given = [str(value) for value in filtered] if isinstance(filtered, list) else []
    made.answer = given[0] if given else None
    if len(texts) == 1 or (len(texts) > 1 and len(given) == 1 and str(record.get("filter")) in task.first):
        made.text = texts[0]
    elif len(texts) > 1 and len(given) == 1 and given[0] in texts:
        made.text = given[0]  # the filter took one of them as it was
    elif len(texts) > 1:
        run.counts["a document was answered several times; its stated confidences are not joined"] += 1
        if len(given) == len(texts):
            made.sources["agreement"] = Counter(given)[given[0]] / len(given)


def _about(path: Path, date: str | None, task: str | None) -> tuple[str | None, Task]:
    """The model's name and its task, from the results that the harness writes beside."""
    beside = [path.with_name(f"results_{date}.json")] if date else []
    beside += sorted(path.parent.glob("results_*.json"))[:3] if not beside or not beside[0].is_file() else []
    for file in beside:
        try:
            results = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(results, dict):
            config = results.get("config") if isinstance(results.get("config"), dict) else {}
            name = results.get("model_name") or config.get("model")  # type: ignore[union-attr]
            tasks = results.get("configs")
            about = tasks.get(task) if isinstance(tasks, dict) else None
            return (str(name) if name else None), _task(about) if isinstance(about, dict) else Task()
    return None, Task()


def _task(about: dict[str, Any]) -> Task:
    parted, filters = about.get("target_delimiter"), about.get("filter_list")
    first = set()
    for entry in filters if isinstance(filters, list) else ():
        steps = entry.get("filter") if isinstance(entry, dict) else None
        names = [step.get("function") for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
        if names and names[-1] == "take_first" and set(names[:-1]) <= ONE_BY_ONE:
            first.add(str(entry.get("name")))
    return Task(parted if isinstance(parted, str) else " ", frozenset(first))
