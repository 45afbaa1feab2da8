# SPDX-License-Identifier: Apache-2.0
"""A report as a `CombineFn` of Apache Beam.

predictions | beam.CombineGlobally(epimeter.beam.CalibrationFn(kind="answer"))      (outcome, confidence) pairs
keyed | beam.CombinePerKey(epimeter.beam.CalibrationFn())                           one report a key
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from epimeter.errors import MissingExtraError
from epimeter.integrations.combiner import Accumulator, Combiner

try:
    from apache_beam import CombineFn
except ImportError:
    raise MissingExtraError("epimeter.beam", "apache-beam", "beam") from None


class CalibrationFn(CombineFn):  # type: ignore[misc]
    """Pairs of outcome and confidence into a report; parameters as `Combiner`."""

    def __init__(self, metrics: Any = None, *, kind: Any = "event", **choices: Any) -> None:
        self.combiner = Combiner(metrics, kind=kind, **choices)

    def create_accumulator(self) -> Accumulator:
        return self.combiner.create()

    def add_input(self, accumulator: Accumulator, element: tuple[Any, Any]) -> Accumulator:
        return self.combiner.add(accumulator, element)

    def merge_accumulators(self, accumulators: Iterable[Accumulator]) -> Accumulator:
        return self.combiner.merge(accumulators)

    def compact(self, accumulator: Accumulator) -> Accumulator:
        return self.combiner.settled(accumulator)

    def extract_output(self, accumulator: Accumulator) -> Any:
        return self.combiner.extract(accumulator)
