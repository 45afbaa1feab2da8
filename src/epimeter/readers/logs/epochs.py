# SPDX-License-Identifier: Apache-2.0
"""Questions that were asked several times: how far their answers agree, and whether every epoch holds the same ones.

Questions, words and runs are numbered first: a log has a million rows, and numbers take a tenth of what names take.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
PART = 1 << 13
"""Values that are Python objects at a time."""


def distinct(column: Any) -> bool:
    """Whether no value of an Arrow column of text comes twice.

    Hashes of 64 bits are sorted, eight bytes a value where a table of the values takes a hundred. Where two are equal the
    values themselves are looked at.
    """
    hashes = np.empty(len(column), np.int64)
    place = 0
    for chunk in column.chunks:
        for start in range(0, len(chunk), PART):
            part = chunk.slice(start, PART).to_pylist()
            hashes[place : place + len(part)] = np.fromiter(map(hash, part), np.int64, len(part))
            place += len(part)
    hashes.sort()
    if not (hashes[1:] == hashes[:-1]).any():
        return True
    import pyarrow.compute as pc

    return bool(pc.count_distinct(column, mode="all").as_py() == len(column))


def codes(column: Any) -> Codes:
    """The values of an Arrow column as numbers from 0 on, in the order in which they come; -1 where there is none."""
    if column.null_count == 0 and distinct(column.slice(0, PART)) and distinct(column):
        return np.arange(len(column))
    encoded = column.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def agreement(
    asked: Codes, answer: Any, finished: NDArray[np.bool_], declined: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The share of a question's finished answers that say the same; NaN for a declined one, and where there is one answer only.

    An answer that broke off (an error, a limit) says nothing about agreement and is not counted; a declined one is. What
    differs in case and spaces alone is the same.

    Parameters
    ----------
    asked
        The number of the question, another for every model.
    answer
        What was answered, an Arrow column.
    finished, declined
        Whether an answer did not break off, and whether it declines to answer.
    """
    encoded = answer.combine_chunks().dictionary_encode()
    names: dict[str, int] = {}
    same = [names.setdefault(" ".join(text.split()).casefold(), len(names)) for text in encoded.dictionary.to_pylist()]
    place = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
    word = np.array([*same, -1], np.int64)[place]
    counts = finished & ((word >= 0) | declined)
    says = counts & ~declined
    total = np.bincount(asked[counts], minlength=int(asked.max()) + 1)
    _, pair, alike = np.unique(asked[says] * (len(names) + 1) + word[says], return_inverse=True, return_counts=True)
    made = np.full(len(asked), np.nan)
    many = total[asked[says]] > 1
    made[np.flatnonzero(says)[many]] = (alike[pair.ravel()] / total[asked[says]])[many]
    return made


def uneven(run: Codes, question: Codes, epoch: Codes) -> list[str]:
    """A sentence where the epochs of a run do not hold the same questions."""
    epochs = _distinct(run, epoch)
    a_run = np.bincount(epochs[:, 0])
    if len(run) == 0 or a_run.max() == 1:
        return []
    questions = _distinct(run, question)
    pair = np.unique(run * (int(question.max()) + 1) + question, return_inverse=True)[1].ravel()
    times = np.bincount(_distinct(pair, epoch)[:, 0])
    whole = a_run[questions[:, 0]]
    if (times == whole).all():
        return []
    return [
        f"the epochs hold different questions: {int((times == whole).sum()):,} of {len(questions):,} questions are in all of them"
    ]


def _distinct(first: Codes, second: Codes) -> Codes:
    """The pairs that there are, once each, in order."""
    low = int(second.min())
    width = int(second.max()) - low + 1
    former, latter = np.divmod(np.unique(first * width + (second - low)), width)
    return np.stack([former, latter + low], axis=1)
