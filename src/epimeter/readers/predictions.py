# SPDX-License-Identifier: Apache-2.0
"""A column of predictions beside class probabilities: the answer that was given need not be the likeliest class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import ReadError
from epimeter.readers.block import Block
from epimeter.readers.cells import Mask
from epimeter.readers.findings import Findings
from epimeter.readers.labels import cell_word, distinct_cells, is_missing, labels
from epimeter.readers.wording import clean, shown


def contradictions(
    block: Block, name: str, prob: NDArray[Any], class_names: tuple[str, ...] | None, unlabelled: Mask
) -> Findings:
    """In how many rows with an outcome the prediction is a class, and in how many another class is likelier.

    A class that ties with the largest probability contradicts nothing.
    """
    try:
        said, gone = labels(block, name, prob.shape[1], class_names)
    except ReadError:
        known = [value for value in distinct_cells(block, name)[1] if not is_missing(value, block.text)]
        classes = {*(class_names or ()), *map(str, range(prob.shape[1]))}
        odd = [value for value in known if cell_word(value) not in classes] or known
        return Findings(prediction=name, odd_prediction=min(map(shown, odd)))
    counts = np.ones(len(said), bool)
    for left_out in (gone, unlabelled):
        if left_out is not None:
            counts &= ~left_out
    contrary = counts & (prob[np.arange(len(said)), said] < prob.max(axis=1))
    return Findings(prediction=name, compared=int(counts.sum()), contrary=int(contrary.sum()))


def contrary_sentence(found: Mapping[str, Any]) -> str:
    """What a report says of such a column; `found` as `Findings.described` has it."""
    column = clean(found["column"])
    if "unlike" in found:
        return (
            f"{column} is called like the answer that was given, but {found['unlike']} in it names no class: it was not compared "
            "with the probabilities"
        )
    rows = "1 row" if found["rows"] == 1 else f"{found['rows']:,} rows"
    return (
        f"{column} is not the likeliest class in {found['contrary']:,} of {rows}: what is measured is the likeliest class, and not "
        "the answer that was given. Columns in another order, or answers chosen otherwise?"
    )
