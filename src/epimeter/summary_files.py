# SPDX-License-Identifier: Apache-2.0
"""Ledgers as files: kilobytes that stand for billions of rows.

No rows travel. With the evidence for a certificate go counts by class and source of truth, the first and last time, and
digests. A total of few rows still tells about them, and a cell with one row tells its confidence: cells go into
a file only for a metric that needs them, or when asked for.

A file holds, for every slice, the summary of every recipe under the recipe's identity, beside the metrics they were
made for. Its bytes are those of `summaries.travel`: versioned, under a checksum, refused when a bit is wrong. It is
also refused when this version would summarise by another recipe, and it merges only with files of the same recipes.

What files have in common (the plan, the slices, the shape of every summary) is one string of bytes, the head, read
once for all files that share it; the numbers are two rows, of integers and of doubles.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter import __version__
from epimeter.errors import EpimeterError, InputError, MergeError, ReadError
from epimeter.kinds import Kind
from epimeter.passes.ledger import Ledger, SliceTotals, joined, joined_counts, joined_evidence, refuse_too_many
from epimeter.passes.plan import Plan, identity
from epimeter.readers.files import faults_of
from epimeter.readers.findings import Findings, merged_findings
from epimeter.readers.wording import clean, shown
from epimeter.summaries.cells import Cells
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.score_moments import MomentsOf
from epimeter.summaries.stacked import Numbers, Stack, collapsed
from epimeter.summaries.travel import from_bytes, to_bytes
from epimeter.trust.evidence import Evidence

FORMAT = 2
SUFFIX = ".epi"
EARLIER_KIND: Kind = "answer"
"""What one number a row was taken for, by certificates and words alike, before the kind of forecast was recorded."""
EARLIER_HEADLINES = (
    "ece", "mce", "lp_ce", "esce", "brier_score", "nll", "ecd", "spherical_score", "success_rate", "eo_ratio", "dpe",
    "l2_ece_ci", "spiegelhalter_z", "ecd_test",
)  # fmt: skip
"""What a summary measured by default then."""
TOGETHER = 1000
"""Files whose numbers are held at a time."""


def to_file(ledger: Ledger, path: str | os.PathLike[str]) -> None:
    """Write a ledger; the file appears whole or not at all."""
    data = packed(ledger)
    folder = os.path.dirname(os.path.abspath(path))
    with faults_of(shown(os.fsdecode(path)), os.fsdecode(path)):
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=SUFFIX)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)  # as any new file, not as a temporary one
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def packed(ledger: Ledger) -> bytes:
    """The ledger as bytes, rows left out: they do not travel."""
    import msgspec

    plan = ledger.plan.without_rows()
    numbers = Numbers()
    slices = []
    for value in _in_order(ledger):
        one = ledger.slices[value]
        facts = [numbers.shape_of(fact) for fact in (one.n_rows, one.low, one.high)]
        totals = [[identity(recipe), numbers.shape_of(summary)] for recipe, summary in one.totals.items()]
        slices.append([_plain(value), facts, totals])
    head = {"plan": to_bytes(plan.facts()), "n_classes": ledger.n_classes, "slices": slices}
    ints, floats = numbers.rows()
    return to_bytes(
        {
            "format": FORMAT,
            "epimeter": __version__,
            "head": msgspec.msgpack.encode(head, order="deterministic"),
            "ints": ints.astype("<i8").tobytes(),
            "floats": floats.astype("<f8").tobytes(),
            "unlabelled": ledger.unlabelled,
            "skipped": ledger.skipped,
            "source": ledger.source,
            "findings": ledger.findings.to_dict(),
            "class_counts": [list(ledger.slices[value].class_counts) for value in _in_order(ledger)],
        }
        | ({} if ledger.evidence is None else {"evidence": ledger.evidence.to_dict()})
    )


def _in_order(ledger: Ledger) -> list[Any]:
    """The slices as a file has them."""
    return sorted(ledger.slices, key=lambda value: (type(value).__name__, str(value)))


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value)


@dataclass(frozen=True)
class Head:
    """What files of one kind have in common."""

    plan: Plan
    n_classes: int
    slices: Sequence[Any]
    recipes: dict[str, Recipe]


@dataclass(frozen=True)
class SummaryFile:
    """One file: its head, its numbers, and what it says of itself."""

    name: str
    head: Head
    ints: NDArray[np.int64]
    floats: NDArray[np.float64]
    facts: dict[str, Any]
    digest: bytes


def body(data: bytes, name: str) -> SummaryFile:
    """A file that is whole and of this version."""
    found = from_bytes(data, name)
    if not isinstance(found, dict) or "format" not in found:
        raise ReadError(f"{name} holds one summary and not the summaries of a pass; it has nothing to report")
    if found["format"] != FORMAT:
        raise ReadError(
            f"{name} is of format {found['format']}, written by epimeter {found['epimeter']}; "
            f"this version reads format {FORMAT}"
        )
    with _crafted(name):
        try:
            head = _head(found["head"])
        except InputError as refusal:
            raise ReadError(f"{name} cannot be read by this version: {refusal}") from None
        ints, floats = np.frombuffer(found["ints"], "<i8"), np.frombuffer(found["floats"], "<f8")
    return SummaryFile(name, head, ints, floats, found, hashlib.sha256(data).digest())


@contextmanager
def _crafted(name: str) -> Iterator[None]:
    """Anybody can put a checksum on anything: what fits no summary is refused as such, whatever it would break."""
    try:
        yield
    except EpimeterError:
        raise
    except Exception as fault:
        raise ReadError(f"{name} holds what no summary holds ({type(fault).__name__}: {fault!s:.80})") from None


@lru_cache(maxsize=64)
def _head(data: bytes) -> Head:
    import msgspec

    found = msgspec.msgpack.decode(data)
    facts = from_bytes(found["plan"], "its plan")
    if "matrix" in facts:  # from before the kind of forecast was recorded
        facts["kind"] = "classes" if facts.pop("matrix") else EARLIER_KIND
        facts["judged"] = False
        if facts["metrics"] is None:
            facts["metrics"] = EARLIER_HEADLINES + (("classwise_ece", "wcr") if facts["kind"] == "classes" else ())
    plan = Plan.of(facts.pop("metrics"), facts.pop("choices"), **facts)
    recipes = {identity(recipe): recipe for recipe in plan.streaming}
    for _, _, totals in found["slices"]:
        words = [word for word, _ in totals]
        other = [word for word in words if word not in recipes]
        missing = [word for word in recipes if word not in words and not _may_miss(recipes[word])]
        if other or missing:
            raise ReadError(f"it was summarised by another recipe, {(other or missing)[0]}")
    return Head(plan, found["n_classes"], found["slices"], recipes)


def _may_miss(recipe: Recipe) -> bool:
    """Cells are dropped where slices are many; moments are missing in files of earlier versions, and intervals with them."""
    return isinstance(recipe, Cells | MomentsOf)


def _together(bodies: Sequence[SummaryFile]) -> Ledger:
    """The ledger of files that share a head."""
    head, n = bodies[0].head, len(bodies)
    stack = Stack(np.stack([part.ints for part in bodies]), np.stack([part.floats for part in bodies]))
    slices = {}
    for place, (value, facts, totals) in enumerate(head.slices):
        rows, low, high = (stack.value(fact) for fact in facts)
        made = {head.recipes[word]: collapsed(stack.value(shape), n) for word, shape in totals}
        counts = joined_counts([_class_counts(part, place) for part in bodies])
        slices[value] = SliceTotals(int(rows.sum()), float(low.min()), float(high.max()), made, class_counts=counts)
    refuse_too_many(sum(one.n_rows for one in slices.values()))
    whole = Ledger(
        head.plan,
        slices,
        head.n_classes,
        sum(part.facts["unlabelled"] for part in bodies),
        tuple(dict.fromkeys(note for part in bodies for note in part.facts["skipped"])),
        _source(bodies),
        joined_evidence([_evidence(part) for part in bodies]),
        merged_findings(Findings.from_dict(part.facts["findings"]) for part in bodies if "findings" in part.facts),
    )
    if whole.evidence is not None and whole.evidence.n_rows != whole.n_rows:
        raise ReadError(
            f"{', '.join(part.name for part in bodies[:3])} must hold evidence of the rows that were summarised; there are "
            f"{whole.n_rows:,} rows and evidence of {whole.evidence.n_rows:,}"
        )
    return whole


def _source(bodies: Sequence[SummaryFile]) -> dict[str, Any]:
    """Where the rows of the first file came from; that rows belong together is said of any."""
    sources = [part.facts["source"] for part in bodies]
    groups = [source["groups"] for source in sources if "groups" in source]
    return dict(sources[0]) | ({"groups": groups[0]} if groups else {})


def _class_counts(part: SummaryFile, place: int) -> Sequence[int]:
    """Rows of each class of one slice; nothing in files of earlier versions."""
    return [int(count) for count in part.facts["class_counts"][place]] if "class_counts" in part.facts else ()


def _evidence(part: SummaryFile) -> Evidence | None:
    found = part.facts.get("evidence")
    try:
        return None if found is None else Evidence.from_dict(found)
    except (InputError, KeyError, TypeError, ValueError, IndexError, AttributeError) as fault:
        raise ReadError(f"{part.name} holds evidence that does not hold together ({fault})") from None


def from_file(path: str | os.PathLike[str]) -> Ledger:
    """Read a ledger."""
    return unpacked(*_read(path))


def unpacked(data: bytes, name: str) -> Ledger:
    """The ledger back from bytes."""
    part = body(data, name)
    with _crafted(name):
        return _together([part])


def _read(path: str | os.PathLike[str]) -> tuple[bytes, str]:
    name = clean(os.path.basename(os.fsdecode(path)))
    with faults_of(name, os.fsdecode(path)), open(path, "rb") as file:
        return file.read(), name


def merged_files(paths: Sequence[str | os.PathLike[str]], mind: Callable[[str], None] | None = None) -> Ledger:
    """The ledger of many files; `mind` is told what is lost by merging them."""
    if not paths:
        raise ReadError("merging needs at least one summary; none was named")
    _refuse_twice(paths)
    whole: Ledger | None = None
    first: SummaryFile | None = None
    digests: dict[bytes, str] = {}
    evident = 0
    for start in range(0, len(paths), TOGETHER):
        alike: dict[int, list[SummaryFile]] = {}
        for path in paths[start : start + TOGETHER]:
            part = body(*_read(path))
            first = first or part
            if part.head is not first.head:
                _refuse_other_recipes(first, part)
            alike.setdefault(id(part.head), []).append(part)
            if part.digest in digests:
                raise MergeError(
                    f"a summary counts once; {part.name} and {digests[part.digest]} hold the same bytes, so one is a copy of the "
                    "other. Leave one out"
                )
            digests[part.digest] = part.name
            evident += "evidence" in part.facts
        with _crafted(f"one of {len(paths):,} summaries" if len(paths) > 1 else first.name if first else ""):
            some = [_together(bodies) for bodies in alike.values()]
        whole = joined(some if whole is None else [whole, *some])
    assert whole is not None
    if mind is not None and 0 < evident < len(paths):
        mind(f"no evidence for a certificate: only {evident:,} of the {len(paths):,} summaries have some")
    name = whole.source.get("name") if len(paths) == 1 else f"{len(paths):,} summaries"
    return replace(whole, source=whole.source | {"name": name, "summary": digest_of(list(digests))})


def digest_of(digests: Sequence[bytes]) -> str:
    """What a report says it was made of: the SHA-256 of the file, or that of the sorted ones of several files."""
    made = digests[0] if len(digests) == 1 else hashlib.sha256(b"".join(sorted(digests))).digest()
    return f"sha-256:{made.hex()}"


def _refuse_twice(paths: Sequence[str | os.PathLike[str]]) -> None:
    """A summary that is merged twice counts its rows twice."""
    seen = set()
    for path in paths:
        real = os.path.abspath(path)
        if real in seen:
            raise InputError(f"a summary counts once; {shown(os.fsdecode(path))} was named twice", field="source")
        seen.add(real)


def _refuse_other_recipes(first: SummaryFile, other: SummaryFile) -> None:
    here, there = first.head.plan.facts(), other.head.plan.facts()
    differing = [name for name in here if here[name] != there[name]]
    if differing:
        words = {"choices": "parameters", "by": "slices", "kind": "kinds of forecast", "weighted": "weights"}
        raise MergeError(
            f"{first.name} and {other.name} were summarised by different recipes: their "
            f"{words.get(differing[0], differing[0])} differ. Summarise both with the same options"
        )
