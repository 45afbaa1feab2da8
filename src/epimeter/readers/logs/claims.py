# SPDX-License-Identifier: Apache-2.0
"""What a log says of itself, held against its answers: samples that are missing, an accuracy that its samples do not have."""

from __future__ import annotations

from typing import Any

import numpy as np

from epimeter.readers.logs.answer import LogOptions, Run


def contradictions(run: Run, correct: Any, declined: Any, options: LogOptions) -> list[str]:
    """Sentences on what the answers of a run do not bear out.

    Parameters
    ----------
    run
        With what it claims.
    correct, declined
        Of every answer: its credit, NaN without one, and whether it declines to answer, which the tool counts as wrong.
    options
        How the log was read.
    """
    claims = run.claims
    if claims is None:
        return []
    found, count = [], len(correct)
    low, high = claims.finished, claims.total
    if isinstance(low, int) and count < low:
        found.append(
            f"the log says that {low:,} samples were finished and holds {count:,}: {low - count:,} are missing"
        )
    elif isinstance(high, int) and count > high:
        found.append(f"the log says that it has {high:,} samples and holds {count:,}")
    claimed = claims.accuracy.get(run.scorer or "")
    graded = ~np.isnan(correct) | declined
    if claimed is None or found or options.correct_from is not None or not graded.any():
        return found
    share = float(np.nan_to_num(correct[graded]).mean())
    # Epochs are averaged question by question, which is the same only where all have equally many.
    if abs(share - claimed) > 1e-6 and (len(correct) == high or high is None) and graded.all():
        found.append(f"the log says that accuracy by {run.scorer} is {claimed:.4g}; its samples give {share:.4g}")
    return found
