# SPDX-License-Identifier: Apache-2.0
"""One row a question: the answer that most of its answers give, and whether that is right."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from epimeter.errors import ReadError

if TYPE_CHECKING:
    from epimeter.readers.logs import Answers


def by_question(answers: Answers) -> Answers:
    """The majority answer of each question; its confidence is the mean of those who gave it, or by agreement their share.

    Between answers that are given equally often the one with the higher confidence is taken, then the first.
    """
    import pyarrow as pa

    if answers.surer is not None:
        raise ReadError(
            "scores without bounds are not joined over the answers to a question; leave out --unit question",
            field="unit",
        )
    groups: dict[tuple[Any, str], list[int]] = defaultdict(list)
    column = {
        name: answers.rows.column(name).to_pylist() for name in ("question", "answer", "confidence", "correct", "why")
    }
    models = (
        answers.rows.column("model").to_pylist() if "model" in answers.rows.column_names else [None] * answers.n_rows
    )
    for i, name in enumerate(column["question"]):
        groups[models[i], name].append(i)
    kept: list[int] = []
    confidence: list[float | None] = []
    for members in groups.values():
        usable = [i for i in members if column["confidence"][i] is not None and column["correct"][i] is not None]
        if not usable:
            kept.append(members[0])
            confidence.append(None)
            continue
        words = {i: " ".join(str(column["answer"][i]).split()).casefold() for i in usable}
        count = Counter(words.values())
        mean = {word: sum(column["confidence"][i] for i in usable if words[i] == word) / count[word] for word in count}
        best = max(count, key=lambda word: (count[word], mean[word]))
        kept.append(next(i for i in usable if words[i] == best))
        confidence.append(mean[best])
    rows = answers.rows.take(pa.array(kept))
    rows = rows.set_column(rows.schema.get_field_index("confidence"), "confidence", pa.array(confidence, pa.float64()))
    note = f"one row a question: {answers.n_rows:,} answers became {len(kept):,}, each question's majority answer"
    notes = tuple(line for line in answers.notes if "are not independent" not in line)
    return replace(answers, rows=rows, notes=(*notes, note))
