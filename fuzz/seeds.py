# SPDX-License-Identifier: Apache-2.0
"""Sound inputs for fuzz/parquet_pages.c, made by pyarrow: `python fuzz/seeds.py FOLDER`."""

import io
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from epimeter.readers.parquet_pages import checked_footer

FOOTER, HEADER, SNAPPY, RUNS, COLUMN = range(5)
KINDS = {"DOUBLE": 0, "FLOAT": 1, "BOOLEAN": 2, "BYTE_ARRAY": 3}


def tables():
    """Small tables of every kind of column that pages are read of."""
    rng = np.random.default_rng(0)
    for n in (3, 40, 300):
        yield pa.table(
            {
                "double": rng.random(n),
                "few": rng.choice([0.25, 0.5], n),
                "float": rng.random(n).astype(np.float32),
                "bool": rng.random(n) < 0.5,
                "runs": np.arange(n) < n // 2,
                "text": pa.array([f"m{i % 3}" for i in range(n)]),
            }
        )


def main(folder: Path) -> None:
    """Write the seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 0

    def write(kind: int, how: int, data: bytes) -> None:
        nonlocal number
        (folder / f"seed-{number:04}").write_bytes(bytes([kind, how]) + data)
        number += 1

    for table in tables():
        for version in ("1.0", "2.0"):
            for compression in ("none", "snappy"):
                for nullable in (True, False):
                    made = io.BytesIO()
                    fields = [pa.field(f.name, f.type, nullable=nullable) for f in table.schema]
                    pq.write_table(
                        table.cast(pa.schema(fields)), made, data_page_version=version, compression=compression
                    )
                    raw = made.getvalue()
                    size = int.from_bytes(raw[-8:-4], "little")
                    write(FOOTER, 19, raw[-8 - size : -8])
                    footer = checked_footer(io.BytesIO(raw))
                    for place in range(footer.n_columns):
                        facts = footer.facts(0, place)
                        chunk = raw[facts.start : facts.start + facts.size]
                        how = KINDS[facts.physical] | (compression == "snappy") << 2 | nullable << 3 | 1 << 6
                        write(COLUMN, how, chunk)
                        write(HEADER, 3, chunk[:80])
    for data in (b"ab" * 100, bytes(range(200)), b"\0" * 160):
        write(SNAPPY, len(data) // 16, pa.Codec("snappy").compress(data[: len(data) // 16 * 16], asbytes=True))
    write(RUNS, 3 | 32, bytes([3, 0b10001000, 0b11000110, 0b11111010, 16, 5]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
