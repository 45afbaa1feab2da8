# SPDX-License-Identifier: Apache-2.0
"""What ONTO-ERS asks of records, as counts and sums: parts add up to the whole, whoever holds the records.

The numbers follow from sums alone, and so does the delta method: what a record adds to the ECE is its own gap y - c with the
sign of its bin's (the ECE is the sum of |gap| over bins), to U-Recall (low - R) wrong / share of wrong ones. Means of their
squares and products are the sums kept here.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from epimeter.errors import InputError
from epimeter.kinds import WORDING, Kind, kind_of
from epimeter.metrics import ers_ece
from epimeter.standards.ers import DatasetCheck, ErsEvaluation, checked, composed
from epimeter.standards.records import RecordPeriod, Records
from epimeter.summaries import Bins, BinTotals, fixed
from epimeter.summaries.fixed import Fixed
from epimeter.views import Binary

BINS, THRESHOLD = 10, 0.7
CHUNK = 1 << 18
"""Rows that are squared at a time."""
SLACK = 1e-9
"""What rounding may take or add, for each record."""
MOST_CLASSES = 10_000
"""Classes that may be counted by name."""


@dataclass(frozen=True, kw_only=True)
class ErsSums:
    """Sums over records of one event.

    Attributes
    ----------
    whole, unsure, sure
        Totals by equal-width bin of all records, of wrong ones below the threshold, of the other wrong ones.
    squares
        Sum of (y - c)^2.
    """

    whole: BinTotals
    unsure: BinTotals
    sure: BinTotals
    squares: Fixed

    @classmethod
    def of(cls, event: Binary, *, bins: int = BINS, threshold: float = THRESHOLD) -> ErsSums:
        recipe = Bins(bins)
        prob = event.prob.astype(np.float64, copy=False)
        wrong, low = event.true == 0, prob < threshold
        squares = Fixed.zeros(())
        for at in range(0, len(prob), CHUNK):
            squares = squares + fixed.total((event.true[at : at + CHUNK] - prob[at : at + CHUNK]) ** 2)
        parts = [Binary(event.true[rows], prob[rows]) for rows in (wrong & low, wrong & ~low)]
        unsure, sure = (recipe.summarise(part) for part in parts)
        return cls(whole=recipe.summarise(Binary(event.true, prob)), unsure=unsure, sure=sure, squares=squares)

    def merge(self, other: ErsSums) -> ErsSums:
        return ErsSums(
            whole=self.whole.merge(other.whole),
            unsure=self.unsure.merge(other.unsure),
            sure=self.sure.merge(other.sure),
            squares=self.squares + other.squares,
        )

    @property
    def n_rows(self) -> int:
        return int(self.whole.count.sum())

    @property
    def wrong(self) -> tuple[int, int]:
        """Wrong answers, and those of them below the threshold."""
        unsure = int(self.unsure.count.sum())
        return unsure + int(self.sure.count.sum()), unsure

    @property
    def right(self) -> int:
        return self.n_rows - self.wrong[0]

    def evaluated(self, domain: str) -> ErsEvaluation:
        """The evaluation after ONTO-ERS of the records behind the sums."""
        return composed(self.ece, self.u_recall, domain, self.n_rows, self.right / self.n_rows)

    @cached_property
    def ece(self) -> float:
        return float(ers_ece.compute(self.whole))

    @property
    def u_recall(self) -> float:
        """In percent; 100 when nothing is wrong."""
        wrong, unsure = self.wrong
        return 100.0 * unsure / wrong if wrong else 100.0

    @property
    def possible(self) -> bool:
        """Whether some records have these sums: every inequality that records imply.

        Within a bin all confidences lie between its edges, and wrong ones below or from the threshold on; a sum of squares is
        at least the square of the sum over the number (Cauchy-Schwarz) and at most what the edges allow, (c - a)(c - b) <= 0.
        """
        low = np.arange(BINS) / BINS
        high = (np.arange(BINS) + 1) / BINS
        unsure, sure = (part.prob.floats() for part in (self.unsure, self.sure))
        right = self.whole.prob.floats() - unsure - sure
        groups = (  # number, sum, least and greatest value of each record in the bin
            (self.unsure.count, unsure, low, np.minimum(high, THRESHOLD)),
            (self.sure.count, sure, np.maximum(low, THRESHOLD), high),
            (self.whole.count - self.unsure.count - self.sure.count, right, low, high),
        )
        least = most = 0.0
        for place, (count, total, begin, end) in enumerate(groups):
            slack = SLACK * (count + 1)
            if ((total < begin * count - slack) | (total > end * count + slack)).any() or (count < 0).any():
                return False
            if place == 2:  # right ones add (1 - c)^2
                total, begin, end = count - total, 1 - end, 1 - begin
            least += float(np.sum(total**2 / np.maximum(count, 1)))
            most += float(np.sum((begin + end) * total - count * begin * end))
        room = SLACK * (self.n_rows + 1)
        return least - room <= float(self.squares.floats()) <= most + room

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviation of what a record adds to the ECE and to ERS before it is cut; names as in `resampling`."""
        n, (wrong, unsure) = self.n_rows, self.wrong
        spread = max(0.0, float(self.squares.floats()) / n - self.ece**2)
        made = {"ers.ece": math.sqrt(spread)}
        if wrong:
            recall, share = unsure / wrong, wrong / n
            sign = np.sign(self.whole.gap)
            low, high = self.unsure.prob.floats(), self.sure.prob.floats()
            # Sum of sign (0 - c) (low - R) over wrong records, as shares of n.
            both = -float(np.sum(sign * ((1 - recall) * low - recall * high))) / (share * n)
            of_recall = recall * (1 - recall) / share
            made["ers.ers_raw"] = math.sqrt(max(0.0, 200**2 * spread + 50**2 * of_recall - 2 * 200 * 50 * both))
        return made


@dataclass(frozen=True, kw_only=True)
class ErsTotals:
    """All that a certificate after ONTO-ERS needs of its records, as counts and sums.

    Attributes
    ----------
    period
        None where no record has a time.
    classes
        Records by the class they belong to; None where they have none (C-11).
    sources
        Records by the source of their ground truth.
    """

    sums: ErsSums
    kind: Kind
    period: RecordPeriod | None
    classes: Mapping[str, int] | None
    sources: Mapping[str, int] = field(default_factory=dict)
    unlabelled: int = 0

    # What sums do not remember; predictions that were recalibrated are refused before they are summed.
    detected: ClassVar[None] = None
    confidence_source: ClassVar[None] = None
    recalibrated_by: ClassVar[None] = None

    @property
    def n_rows(self) -> int:
        """Records with ground truth."""
        return self.sums.n_rows

    @property
    def notes(self) -> tuple[str, ...]:
        """How forecasts of another kind were read as answers."""
        said = WORDING[self.kind].as_answers
        return (said,) if said else ()

    @classmethod
    def of(cls, records: Records) -> ErsTotals:
        classes = None
        if records.classes is not None:
            classes = {str(name): count for name, count in Counter(records.classes.tolist()).items()}
            _refuse_many(classes)
        return cls(
            sums=ErsSums.of(records.answer),
            kind=records.kind,
            period=records.period,
            classes=classes,
            sources=dict(records.sources),
            unlabelled=records.unlabelled,
        )

    def merge(self, other: ErsTotals) -> ErsTotals:
        """The totals of both; records with and without times or classes do not go together."""
        if self.kind != other.kind:
            raise InputError(
                f"all parts must be forecasts of one kind; one is of kind {self.kind}, another of kind {other.kind}",
                field="kind",
            )
        for name in ("period", "classes"):
            if (getattr(self, name) is None) != (getattr(other, name) is None):
                word = {"period": "timestamps", "classes": "classes"}[name]
                raise InputError(f"all parts must have {word}, or none; one has them and another has not", field=name)
        joined = None
        if self.classes is not None and other.classes is not None:
            joined = dict(Counter(self.classes) + Counter(other.classes))
            _refuse_many(joined)
        period = self.period
        if period is not None and other.period is not None:
            period = RecordPeriod(first=min(period.first, other.period.first), last=max(period.last, other.period.last))
        return ErsTotals(
            sums=self.sums.merge(other.sums),
            kind=self.kind,
            period=period,
            classes=joined,
            sources=dict(Counter(self.sources) + Counter(other.sources)),
            unlabelled=self.unlabelled + other.unlabelled,
        )

    @property
    def check(self) -> DatasetCheck:
        """The requirements on the data."""
        sums = self.sums
        counts = [sums.right, sums.wrong[0]] if self.classes is None else list(self.classes.values())
        return checked(
            sample_size=sums.n_rows,
            covered_bins=int((sums.whole.count > 0).sum()),
            largest_share=max(counts) / sums.n_rows,
            days=None if self.period is None else self.period.days,
        )

    def refuse_later_than(self, at: datetime.datetime) -> None:
        """Refuse records from after a moment (ERS-3.1-d)."""
        if self.period is not None and self.period.last > round(at.timestamp() * 1_000_000):
            raise InputError(
                f"timestamp must not lie in the future (ERS-3.1-d); the last record is of {self.period.end} and the "
                f"evaluation is at {at.astimezone(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}",
                field="timestamp",
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values and summaries, for `summaries.travel`."""
        sums = {name: getattr(self.sums, name) for name in ErsSums.__dataclass_fields__}
        period = None if self.period is None else (self.period.first, self.period.last)
        return {
            "sums": {
                name: replace(total, edges=None) if isinstance(total, BinTotals) else total
                for name, total in sums.items()
            },
            "kind": self.kind,
            "period": period,
            "classes": None if self.classes is None else dict(sorted(self.classes.items())),
            "sources": dict(sorted(self.sources.items())),
            "unlabelled": self.unlabelled,
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> ErsTotals:
        """Back from `to_dict`; refused when the values contradict each other, as those of no records can."""
        period = found["period"]
        made = cls(
            sums=ErsSums(**found["sums"]),
            kind=kind_of(found.get("kind", "answer")),  # sums from before kinds were recorded were read as answers
            period=None if period is None else RecordPeriod(first=period[0], last=period[1]),
            classes=found["classes"],
            sources=found["sources"],
            unlabelled=found["unlabelled"],
        )
        made._refuse_contradictions()
        return made

    def _refuse_contradictions(self) -> None:
        sums = self.sums
        parts = (sums.whole, sums.unsure, sums.sure)
        if any(part.count.shape != (BINS,) or not isinstance(part.prob, Fixed) for part in parts):
            raise InputError(f"sums must be over {BINS} bins")
        said = [part.prob.floats() for part in parts]
        right = sums.whole.true.floats()
        n = sums.n_rows
        counted = [self.unlabelled, *(self.classes or {}).values(), *self.sources.values()]
        held = (
            n > 0,
            all((part.count >= 0).all() for part in parts),
            all(np.array_equal(part.weight.floats(), part.count) for part in parts),
            bool((sums.unsure.count + sums.sure.count + right == sums.whole.count).all()),
            not (sums.unsure.true.floats().any() or sums.sure.true.floats().any()),
            all(((each >= 0) & (each <= part.count)).all() for part, each in zip(parts, said, strict=True)),
            bool((said[1] + said[2] <= said[0] * (1 + 1e-12)).all()),
            0 <= float(sums.squares.floats()) <= n,
            all(isinstance(count, int) and count >= 0 for count in counted),
            self.classes is None or sum(self.classes.values()) == n,
            sum(self.sources.values()) == n,
            self.period is None or self.period.first <= self.period.last,
            sums.possible,
        )
        if not all(held):
            raise InputError("sums must be those of some records; these contradict each other")


def _refuse_many(classes: Mapping[str, int]) -> None:
    if len(classes) > MOST_CLASSES:
        raise InputError(f"records may belong to at most {MOST_CLASSES:,} classes; there are more", field="class")
