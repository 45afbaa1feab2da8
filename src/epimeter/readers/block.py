# SPDX-License-Identifier: Apache-2.0
"""A block: some rows of a source as its format gave them, before anything is made of the cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import ReadError
from epimeter.readers.roles import Roles
from epimeter.readers.table import Numbering
from epimeter.readers.wording import clean, counted

Chooser = Callable[..., Roles]
"""`detect` with source and caller's words filled in: names, which of them hold lists, and some rows, to roles."""
SAMPLED = 1000
"""Rows that are looked at where names alone do not say the class columns."""
Blocks = Iterator["Block"]


def spread_rows(n_rows: int) -> range:
    """Some rows from all over a source: a file may be sorted by its labels."""
    return range(0, n_rows, max(1, n_rows // SAMPLED))


@dataclass(frozen=True, kw_only=True)
class Block:
    """Raw columns by their source name: each a numpy array, an Arrow array, or a list.

    Attributes
    ----------
    roles
        Which column plays which role.
    rows, numbering
        The line or row of each entry in the source.
    text
        Whether the cells are text that stands for numbers, as in CSV; else text is text.
    notes
        Sentences of the format on how the source was read, for the report.
    """

    source: str
    roles: Roles
    columns: Mapping[str, Any]
    n_rows: int
    rows: Sequence[int] | NDArray[np.int64]
    numbering: Numbering = "row"
    text: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    class_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def fault(
        self,
        name: str,
        rule: str,
        bad: NDArray[np.bool_] | int,
        what: str,
        remedy: str = "",
        count: int | None = None,
    ) -> ReadError:
        """One sentence on a column: the rule, the first offending row and what it has, how many offend."""
        first = int(bad) if isinstance(bad, int | np.integer) else int(np.flatnonzero(bad)[0])
        many = count if count is not None else 1 if isinstance(bad, int | np.integer) else int(np.count_nonzero(bad))
        where = f"{self.numbering} {int(self.rows[first])} of {self.source}"
        tail = f" ({counted(many, self.n_rows)} in all)" if many > 1 else ""
        return ReadError(
            f"{clean(name)} {rule}; {where} {what}{tail}" + (f". {remedy}" if remedy else ""),
            field=name,
            row=first,
            count=many,
        )
