# SPDX-License-Identifier: Apache-2.0
"""Logs of language-model evaluations into tables.

Each reader gives one row an answer, with the question as its group (repeats of one question are a cluster),
and says in `confidence_source` how the confidence came about: numbers of different sources are not to be
compared.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, Literal

from epimeter.errors import ReadError
from epimeter.readers.inspect_logs import read_inspect
from epimeter.readers.logbook import Missing, Rows, Source, document, lines, number, softmax, stated
from epimeter.readers.table import Table
from epimeter.readers.wording import listed, shown

__all__ = ["read_helm", "read_hle", "read_inspect", "read_lm_eval", "read_openai_evals"]


def read_lm_eval(path: Source, *, score: Literal["acc", "acc_norm"] = "acc", filter: str | None = None) -> Table:
    """Read samples of the lm-evaluation-harness, multiple choice: `samples_<task>_<date>.jsonl`.

    The confidence is the largest softmax share of the choices' log-likelihoods, which belongs to `acc`; for
    `acc_norm` each is first divided by the number of characters of its choice, as the harness does.

    Parameters
    ----------
    path
        The file.
    score
        Which correctness to read, and with it which confidence.
    filter
        Which filter's rows to read, when the file holds several a question.
    """
    records, source = lines(path)
    filters = list(dict.fromkeys(str(record.get("filter", "none")) for _, record in records))
    if filter is None and len(filters) > 1:
        raise ReadError(f"{source} has several filters; choose filter= of {listed(filters)}", field="filter")
    if filter is not None and filter not in filters:
        raise ReadError(f"{source} has no filter {shown(filter)}; it has {listed(filters)}", field="filter")
    rows = Rows(source)
    for line, record in records:
        if filter is not None and str(record.get("filter", "none")) != filter:
            continue
        where = f"line {line} of {source}"
        if score not in record:
            keys = listed(list(record))
            raise ReadError(f"every sample must have {shown(score)}; {where} has {keys}", field=score)
        likelihood = _choices(record, where)
        if score == "acc_norm":
            lengths = _lengths(record, len(likelihood), where)
            likelihood = [value / length for value, length in zip(likelihood, lengths, strict=True)]
        shares = softmax(likelihood)
        if shares is None:
            values = listed(_texts(likelihood))
            raise ReadError(f"log-likelihoods must be numbers below infinity; {where} has {values}")
        # The harness gives -100 where the right choice is not known.
        unknown = str(record.get("target")).strip() == "-100"
        question = record.get("doc_id", line)
        rows.add(max(shares), None if unknown else record[score], question, question, line)
    task = re.fullmatch(r"samples_(.+?)_\d{4}-.*", PurePath(source).stem)
    return rows.table(
        confidence_source="choice_logprob",
        roles={"confidence": "filtered_resps", "label": score, "group": "doc_id", "id": "doc_id"},
        numbering="line",
        metadata={"task": task[1]} if task else {},
    )


def _texts(values: Iterable[float]) -> list[str]:
    return [f"{value:g}" for value in values]


def _choices(record: dict[str, Any], where: str) -> list[float]:
    """The log-likelihood of each choice; written as text, in pairs with «was it the greedy one»."""
    answers = record.get("filtered_resps")
    pairs = answers if isinstance(answers, list) else []
    found = [number(pair[0]) if isinstance(pair, list) and len(pair) == 2 else None for pair in pairs]
    if len(found) < 2 or any(value is None for value in found):
        raise ReadError(
            f"filtered_resps must hold a log-likelihood per choice; {where} has {shown(answers)}. "
            "A generation task states no confidence in its log",
            field="filtered_resps",
        )
    # With mutual information the choices follow a second time, without their question.
    half = len(found) // 2 if "acc_mutual_info" in record else len(found)
    return [value for value in found[:half] if value is not None]


def _lengths(record: dict[str, Any], count: int, where: str) -> list[int]:
    """Characters of each choice, without the space that parts it from the question."""
    arguments = record.get("arguments")
    if isinstance(arguments, dict):  # {"gen_args_0": {"arg_0": question, "arg_1": choice}, …}
        arguments = [
            [entry.get("arg_0"), entry.get("arg_1")] if isinstance(entry, dict) else entry
            for entry in arguments.values()
        ]
    found = [
        len(entry[1].removeprefix(" "))
        for entry in (arguments if isinstance(arguments, list) else [])[:count]
        if isinstance(entry, list) and len(entry) >= 2 and isinstance(entry[1], str)
    ]
    if len(found) != count or not all(found):
        raise ReadError(f"acc_norm needs every choice's text in arguments; {where} lacks it", field="arguments")
    return found


def read_openai_evals(path: Source, *, missing: Missing = "refuse") -> Table:
    """Read a log of OpenAI evals: JSON lines of a spec, events, and a final report.

    Correctness is that of the `match` event. The confidence is exp(logp) of the sample's one `cond_logp`
    event, the softmax share of the picked completion when there are several, and else what the sampled text
    states.

    Parameters
    ----------
    path
        The file.
    missing
        What to do about an answer without a confidence: refuse the file, or leave the answer out and note it.
    """
    records, source = lines(path)
    events: dict[str, list[tuple[int, str, dict[str, Any]]]] = defaultdict(list)
    spec: dict[str, Any] = {}
    for line, record in records:
        if isinstance(record.get("spec"), dict):
            spec = record["spec"]
        data = record.get("data")
        if record.get("sample_id") is not None and isinstance(data, dict):
            events[str(record["sample_id"])].append((line, str(record.get("type")), data))
    if not any(kind == "match" for found in events.values() for _, kind, _ in found):
        raise ReadError(f"an evals log must have events of type 'match'; {source} has none", field="match")
    by_likelihood = any(kind == "cond_logp" for found in events.values() for _, kind, _ in found)
    several = False
    rows = Rows(source)
    for sample, found in events.items():
        matches = [(line, data) for line, kind, data in found if kind == "match"]
        if len(matches) > 1:
            raise ReadError(
                f"a sample must have one match; {shown(sample)} of {source} has {len(matches)}", field="match"
            )
        line, match = matches[0] if matches else (found[0][0], {})
        likelihoods = [data for _, kind, data in found if kind == "cond_logp"]
        scored = [(str(data.get("completion")), number(data.get("logp"))) for data in likelihoods]
        several |= len(scored) > 1
        said = [_text(data.get("sampled")) for _, kind, data in found if kind == "sampling"]
        confidence = _likelihood(scored, match) if by_likelihood else _last(map(stated, said))
        rows.add(confidence, match.get("correct"), sample, sample, line)
    by = "choice_logprob" if several else "sequence_logprob"
    return rows.table(
        confidence_source=by if by_likelihood else "verbalised",
        roles={
            "confidence": "cond_logp" if by_likelihood else "sampling",
            "label": "match",
            "group": "sample_id",
            "id": "sample_id",
        },
        missing=missing,
        numbering="line",
        metadata={key: spec[key] for key in ("eval_name", "run_id", "completion_fns") if key in spec},
    )


def _text(sampled: Any) -> str:
    """What was sampled: text, a list of texts, or a message."""
    if isinstance(sampled, list):
        return "\n".join(map(_text, sampled))
    if isinstance(sampled, dict):
        return _text(sampled.get("content"))
    return sampled if isinstance(sampled, str) else ""


def _last(values: Iterable[float | None]) -> float | None:
    return next((value for value in reversed(list(values)) if value is not None), None)


def _likelihood(scored: list[tuple[str, float | None]], match: dict[str, Any]) -> float | None:
    """The probability the model gave to what it answered."""
    known = [(completion.strip(), value) for completion, value in scored if value is not None]
    if not known or len(known) != len(scored):
        return None
    if len(known) == 1:
        return math.exp(known[0][1]) if known[0][1] < 700 else math.inf
    shares = softmax([value for _, value in known])
    picked = str(match.get("picked", match.get("sampled", ""))).strip()
    names = [completion for completion, _ in known]
    return shares[names.index(picked)] if shares is not None and names.count(picked) == 1 else None


def read_helm(path: Source, *, score: str = "exact_match", missing: Missing = "refuse") -> Table:
    """Read HELM's `per_instance_stats.json`: correctness is one statistic, confidence is `max_prob`.

    Perturbed copies of an instance are no new rows: they are left out and noted.

    Parameters
    ----------
    path
        The file.
    score
        The statistic that says whether the answer was right.
    missing
        What to do about an answer without a confidence: refuse the file, or leave the answer out and note it.
    """
    found, source = document(path)
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise ReadError(f"per_instance_stats must be a list of instances; {source} holds {shown(found)}")
    rows, copies = Rows(source), 0
    for place, entry in enumerate(found):
        if entry.get("perturbation") is not None:
            copies += 1
            continue
        stats = _statistics(entry)
        if score not in stats:
            raise ReadError(
                f"every instance must have the statistic {shown(score)}; entry {place} of {source} has "
                f"{listed(sorted(stats))}",
                field=score,
            )
        instance = entry.get("instance_id", place)
        trial = f"{instance}_trial_{entry.get('train_trial_index', 0)}"
        rows.add(stats.get("max_prob"), stats[score], instance, trial, place)
    said = [value for value in rows.confidence if value is not None]
    if len(said) > 1 and set(said) == {1.0}:
        raise ReadError(
            f"max_prob must come from log-probabilities; all {len(said)} of {source} are 1, as HELM writes "
            f"when the "
            "model gave none",
            field="max_prob",
        )
    return rows.table(
        confidence_source="sequence_logprob",
        roles={"confidence": "max_prob", "label": score, "group": "instance_id", "id": "instance_id, trial"},
        missing=missing,
        notes=(f"{copies} perturbed copies were left out",) if copies else (),
    )


def _statistics(entry: dict[str, Any]) -> dict[str, float | None]:
    """The statistics of one instance by name: their mean over however many there are."""
    made: dict[str, float | None] = {}
    stats = entry.get("stats")
    for stat in stats if isinstance(stats, list) else ():
        name = stat.get("name") if isinstance(stat, dict) else None
        if isinstance(name, dict) and isinstance(name.get("name"), str) and name.get("perturbation") is None:
            total, count = number(stat.get("sum")), number(stat.get("count"))
            made[name["name"]] = number(stat.get("mean"))
            if total is not None and count:
                made[name["name"]] = total / count
    return made


def read_hle(path: Source, *, missing: Missing = "refuse") -> Table:
    """Read judged answers in the style of Humanity's Last Exam: by question, with a `judge_response` each.

    The judge says `correct` (yes or no) and extracts the `confidence` (0 to 100) that the answer states. It
    is told to write 100 where none is stated: such a 100 is taken as missing when the answer's text shows no
    confidence.

    Parameters
    ----------
    path
        The file: an object by question, or a list of records with `id`.
    missing
        What to do about an answer without a confidence: refuse the file, or leave the answer out and note it.
    """
    found, source = document(path)
    if isinstance(found, list):
        found = {
            str(entry.get("id", entry.get("question_id", place)) if isinstance(entry, dict) else place): entry
            for place, entry in enumerate(found)
        }
    if not isinstance(found, dict) or not found:
        raise ReadError(f"judged answers must be an object by question; {source} holds {shown(found)}")
    rows = Rows(source)
    raw: list[float] = []
    for place, (question, entry) in enumerate(found.items()):
        judge = entry.get("judge_response", entry.get("judge")) if isinstance(entry, dict) else None
        if judge is not None and not isinstance(judge, dict):
            raise ReadError(f"judge_response must be an object; {shown(question)} of {source} has {shown(judge)}")
        judge = judge or {}
        value = judge.get("confidence")
        percent = number(value.strip().removesuffix("%") if isinstance(value, str) else value)
        answer = entry.get("response") if isinstance(entry, dict) else None
        if percent == 100 and isinstance(answer, str) and not re.search(r"confiden", answer, re.IGNORECASE):
            percent = None
        raw += [percent] if percent is not None else []
        said = None if percent is None else percent / 100
        rows.add(said, _verdict(judge, question, source), question, question, place)
    if raw and max(raw) <= 1 and any(value % 1 for value in raw):
        raise ReadError(
            f"the judge's confidence must run from 0 to 100; the largest of {source} is {max(raw):g}",
            field="confidence",
        )
    return rows.table(
        confidence_source="verbalised",
        roles={"confidence": "judge_response.confidence", "label": "judge_response.correct"}
        | {"group": "id", "id": "id"},
        missing=missing,
    )


def _verdict(judge: dict[str, Any], question: str, source: str) -> bool | None:
    verdict = judge.get("correct")
    if verdict is None or isinstance(verdict, bool):
        return verdict
    word = str(verdict).strip().lower()
    if word not in ("yes", "no"):
        raise ReadError(
            f"the judge must say yes or no; of {shown(question)} in {source} it says {shown(verdict)}",
            field="correct",
        )
    return word == "yes"
