"""Streams of predictions for the tests: one file a day, truth late, a shift from some day on."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FIRST = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def day(number):
    return (FIRST + datetime.timedelta(days=number)).date().isoformat()


def rows(number, *, n=800, shift=0.0, only=None, labelled=True, seed=0, scale=1.0, regions=("eu", "us")):
    """One day of answers; `shift` moves how often they are right, in one region `only` if it is named."""
    rng = np.random.default_rng([seed, number])
    confidence = rng.beta(6, 2, n)
    region = rng.choice(regions, n)
    chance = confidence + shift * (np.ones(n, bool) if only is None else region == only)
    right = rng.random(n) < np.clip(chance, 0, 1)
    seconds = rng.integers(0, 86400, n)
    times = [FIRST + datetime.timedelta(days=number, seconds=int(s)) for s in seconds]
    known = rng.random(n) < labelled if isinstance(labelled, float) else np.full(n, labelled)
    return pa.table(
        {
            "id": [f"{number}-{k}" for k in range(n)],
            "confidence": confidence * scale,
            "correct": pa.array([bool(r) if k else None for r, k in zip(right, known, strict=True)], pa.bool_()),
            "timestamp": pa.array(times),
            "region": region,
        }
    )


def stream(folder, days=24, *, begins=None, shift=-0.1, delay=0, **facts):
    """A folder with one Parquet file a day."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(days):
        here = shift if begins is not None and number >= begins else 0.0
        table = rows(number, shift=here, labelled=number < days - delay, **facts)
        pq.write_table(table, folder / f"part-{number:03d}.parquet")
    return folder
