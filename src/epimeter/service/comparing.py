# SPDX-License-Identifier: Apache-2.0
"""The rows of two evaluations against each other: paired where they are the same rows. Runs in a child."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from epimeter.documents.html import sections
from epimeter.inference import compare, compare_samples
from epimeter.readers.pairing import same_rows
from epimeter.service.columns import Columns, to_table
from epimeter.service.slice_gaps import section, slice_gaps

METRICS = ("brier_score", "ece", "esce")
DRAWS = 499


def compared(first: Columns, second: Columns, names: tuple[str, str]) -> dict[str, Any]:
    """Differences with intervals and verdicts: as facts, and as the sections of a page."""
    tables = [to_table(rows, name) for rows, name in zip((first, second), names, strict=True)]
    matched = same_rows(tables)
    options: dict[str, Any] = {"metrics": METRICS, "draws": DRAWS, "seed": 0, "kind": "answer"}
    if matched is None:
        how = "different rows"
        pairs = [(table.y_true, table.y_prob) for table in tables]
        groups = (tables[0].clusters, tables[1].clusters)
        found = compare_samples(pairs[0], pairs[1], names=names, groups=groups, **options)
    else:
        clusters = matched[0].clusters
        how = "same rows" if clusters is None else f"same rows, {len(np.unique(clusters)):,} independent units"
        outcomes = {name: table.y_true for name, table in zip(names, matched, strict=True)}
        models = {name: table.y_prob for name, table in zip(names, matched, strict=True)}
        found = compare(outcomes, models, groups=clusters, **options)
        left = [table.n_rows - matched[0].n_rows for table in tables]
        if any(left):
            how += f"; left out, since not both answered them: {left[0]:,} and {left[1]:,}"
    told = found.told(pairing=how, draws=DRAWS, seed=0)
    slices = slice_gaps(tables if matched is None else matched, paired=matched is not None)
    pages = told.document()
    pages = replace(pages, sections=(*pages.sections, section(slices)))
    return {"pairing": how, "facts": told.to_dict(), "slices": slices, "html": sections(pages, "d")}
