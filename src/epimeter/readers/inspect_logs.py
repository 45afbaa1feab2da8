# SPDX-License-Identifier: Apache-2.0
"""Logs of inspect-ai: `.eval` archives, whose members are compressed with Zstandard, and plain `.json`."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections import Counter
from typing import Any, BinaryIO, Literal

from epimeter.errors import ReadError
from epimeter.readers.files import opened
from epimeter.readers.logbook import Missing, Rows, Source, number, parsed
from epimeter.readers.table import Table
from epimeter.readers.wording import brief, clean, listed, shown

ZSTANDARD = 93
LARGEST = 1 << 31
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error)
MARKS = {"C": 1, "I": 0}
OPEN = {"P": "partly right", "N": "no answer"}

Way = Literal["metadata", "sequence_logprob", "mean_token_logprob", "agreement"]


def read_inspect(
    path: Source, *, scorer: str | None = None, confidence: Way | None = None, missing: Missing = "refuse"
) -> Table:
    """Read an inspect-ai log.

    C is right and I is wrong; P (partly), N (no answer) and NaN (not scored) are outcomes nobody knows: such
    rows are unlabelled and noted. Epochs of one sample share its group.

    Parameters
    ----------
    path
        The `.eval` or `.json` file.
    scorer
        Which scorer to read, when there are several.
    confidence
        Where the confidence comes from: `metadata` (the score's own `confidence`), `sequence_logprob`
        (product of the token probabilities, falling with length), `mean_token_logprob` (their geometric mean,
        no probability), or `agreement` (share of epochs with the same answer). By default metadata, else
        sequence_logprob, else agreement, as any sample has it.
    missing
        What to do about an answer without a confidence: refuse the file, or leave the answer out and note it.
    """
    header, samples, source = _log(path)
    if not samples:
        raise ReadError(f"{source} has no samples; its status is {shown(header.get('status'))}")
    scorer = _scorer(samples, scorer, source)
    way: Way = confidence or _way(samples, scorer, source)
    answers = Counter((str(sample.get("id")), _answer(sample, scorer)) for sample in samples)
    epochs = Counter(str(sample.get("id")) for sample in samples)
    rows, open_marks = Rows(source), Counter[str]()
    for place, sample in enumerate(samples):
        question, epoch = str(sample.get("id")), sample.get("epoch", 1)
        value = _score(sample, scorer).get("value")
        if isinstance(value, str) and value in OPEN:
            open_marks[value] += 1
        if way == "agreement":
            answer = _answer(sample, scorer)
            said = None if answer is None else answers[question, answer] / epochs[question]
        else:
            said = _confidence(sample, scorer, way)
        where = f"sample {shown(question)}, epoch {shown(epoch)}, of {source}"
        rows.add(said, _outcome(value, where), question, f"{question}_epoch_{epoch}", place)
    about = header.get("eval")
    notes = [f"{n} answers marked {mark} ({OPEN[mark]}) count as unlabelled" for mark, n in open_marks.items()]
    if header.get("status") not in (None, "success"):
        notes.append(f"the run ended with status {shown(header.get('status'))}")
    return rows.table(
        confidence_source="other" if way == "metadata" else way,
        roles={"confidence": way, "label": f"scores.{scorer}.value", "group": "id", "id": "id, epoch"},
        missing=missing,
        metadata={key: about[key] for key in ("task", "model", "run_id", "created") if key in about}
        if isinstance(about, dict)
        else {},
        notes=tuple(notes),
    )


def _log(path: Source) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    """The header and the samples of a log, and its name."""
    with opened(path) as stream:
        if stream.head.startswith(b"PK"):
            header, samples = _archive(stream.seekable(), stream.source)
        else:
            header = parsed(stream.read(), stream.source)
            samples = (header.get("samples") or []) if isinstance(header, dict) else []
        source = stream.source
    if not isinstance(header, dict) or not isinstance(samples, list):
        raise ReadError(f"an inspect log must be an object with samples; {source} is none")
    for place, sample in enumerate(samples):
        if not isinstance(sample, dict):
            raise ReadError(f"every sample must be an object; sample {place} of {source} is {shown(sample)}")
    return header, samples, source


def _archive(place: Any, source: str) -> tuple[Any, list[Any]]:
    """The header and samples of a `.eval` archive."""
    try:
        with zipfile.ZipFile(place) as archive:
            assert archive.fp is not None
            members = {info.filename: info for info in archive.infolist()}
            head = members.get("header.json") or members.get("_journal/start.json")
            if head is None:
                raise ReadError(f"an inspect log must hold header.json; {source} holds {listed(list(members))}")
            header = parsed(_member(archive, head, source), f"{head.filename} of {source}")
            samples = [
                parsed(_member(archive, info, source), f"{clean(name)} of {source}")
                for name, info in sorted(members.items())
                if name.startswith("samples/") and name.endswith(".json")
            ]
            return header, samples
    except DAMAGE as fault:
        raise ReadError(f"{source} must be a whole archive; it is damaged or was cut off ({brief(fault)})") from None


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, source: str) -> bytes:
    """One member's bytes; method 93, Zstandard, is read here: zipfile knows it from Python 3.14 on."""
    if info.file_size > LARGEST:
        raise ReadError(f"a member must have less than 2 GiB; {clean(info.filename)} of {source} has more")
    if info.compress_type != ZSTANDARD:
        return archive.read(info)
    assert archive.fp is not None
    packed = _packed(archive.fp, info)  # type: ignore[arg-type]
    import pyarrow as pa

    try:
        text = bytes(pa.decompress(packed, info.file_size, codec="zstd", asbytes=True))
    except (pa.ArrowException, OSError, ValueError) as fault:
        raise zipfile.BadZipFile(f"{info.filename}: {brief(fault)}") from None
    if zlib.crc32(text) != info.CRC:
        raise zipfile.BadZipFile(f"{info.filename}: wrong checksum")
    return text


def _packed(file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """A member's bytes as they lie in the file, behind its local header (APPNOTE 4.3.7)."""
    file.seek(info.header_offset)
    fixed = file.read(30)
    if fixed[:4] != b"PK\x03\x04" or info.flag_bits & 1:
        raise zipfile.BadZipFile(f"{info.filename}: no local header, or encrypted")
    name, extra = struct.unpack("<HH", fixed[26:30])
    file.seek(name + extra, 1)
    packed = file.read(info.compress_size)
    if len(packed) != info.compress_size:
        raise zipfile.BadZipFile(f"{info.filename}: cut off")
    return packed


def _scorer(samples: list[dict[str, Any]], wanted: str | None, source: str) -> str:
    """The scorer to read: the only one, or the one named."""
    scores = [sample["scores"] for sample in samples if isinstance(sample.get("scores"), dict)]
    names = list(dict.fromkeys(name for score in scores for name in score))
    if not names:
        raise ReadError(f"{source} has no scores; score the log first: inspect score", field="scores")
    if wanted is None and len(names) > 1:
        raise ReadError(f"{source} has several scorers; choose scorer= of {listed(names)}", field="scorer")
    if wanted is not None and wanted not in names:
        raise ReadError(f"{source} has no scorer {shown(wanted)}; it has {listed(names)}", field="scorer")
    return wanted or names[0]


def _score(sample: dict[str, Any], scorer: str) -> dict[str, Any]:
    scores = sample.get("scores")
    score = scores.get(scorer) if isinstance(scores, dict) else None
    return score if isinstance(score, dict) else {}


def _answer(sample: dict[str, Any], scorer: str) -> str | None:
    answer = _score(sample, scorer).get("answer")
    return answer.strip() if isinstance(answer, str) else None


def _outcome(value: Any, where: str) -> int | None:
    """Right or wrong; None when nobody knows."""
    if value is None or (isinstance(value, str) and value in OPEN):
        return None
    if isinstance(value, str) and value in MARKS:
        return MARKS[value]
    if isinstance(value, bool):
        return int(value)
    found = number(value) if not isinstance(value, str) else None
    if found is not None and math.isnan(found):
        return None
    if found in (0.0, 1.0):
        return int(found)
    raise ReadError(f"a score must be C, I, P, N, 0 or 1; {where}, has {shown(value)}", field="value")


def _way(samples: list[dict[str, Any]], scorer: str, source: str) -> Way:
    """Where confidence is to be had."""
    ways: tuple[Way, ...] = ("metadata", "sequence_logprob")
    for way in ways:
        if any(_confidence(sample, scorer, way) is not None for sample in samples):
            return way
    repeated = len({str(sample.get("id")) for sample in samples}) < len(samples)
    if repeated and any(_answer(sample, scorer) is not None for sample in samples):
        return "agreement"
    raise ReadError(
        f"{source} states no confidence: no log-probabilities, no `confidence` in the scores' metadata, no "
        f"epochs to "
        "compare. Run again with --logprobs, or with --epochs 5",
        field="confidence",
    )


def _confidence(sample: dict[str, Any], scorer: str, way: Way) -> float | None:
    """One answer's confidence, or None."""
    if way == "metadata":
        metadata = _score(sample, scorer).get("metadata")
        return number(metadata.get("confidence")) if isinstance(metadata, dict) else None
    try:
        tokens = sample["output"]["choices"][0]["logprobs"]["content"]
        found = [float(token["logprob"]) for token in tokens]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    if not found or not all(value <= 0 for value in found):
        return None
    total = math.fsum(found)
    return math.exp(total if way == "sequence_logprob" else total / len(found))
