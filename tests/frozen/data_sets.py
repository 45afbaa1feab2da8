# SPDX-License-Identifier: Apache-2.0
"""Two hundred random data sets: all kinds, float32, ties, exact 0 and 1, weights and groups.

python tests/frozen/data_sets.py writes the values of their default reports into bits.json; only where a change of values is
meant and said under "Values changed" in the changelog.
"""

import json
import warnings
from pathlib import Path

import numpy as np

import epimeter

BITS = Path(__file__).with_name("bits.json")
SEEDS = range(200)


def data_set(seed):
    """The columns of one data set as `evaluate` takes them."""
    rng = np.random.Generator(np.random.PCG64(seed))
    kind = ("event", "answer", "classes")[seed % 3]
    rows = int(rng.integers(2, 50) if seed % 10 == 0 else rng.integers(50, 1500))
    if kind == "classes":
        weight_of = rng.random((rows, int(rng.integers(2, 7)))) ** int(rng.integers(1, 6)) + 1e-9
        prob = weight_of / weight_of.sum(axis=1, keepdims=True)
        true = (rng.random(rows)[:, None] > np.cumsum(prob[:, :-1], axis=1)).sum(axis=1)
    else:
        prob = rng.random(rows) * rng.random(rows) if seed % 4 == 1 else rng.random(rows)
        if seed % 5 == 0:
            prob = np.round(prob, 1)
        if seed % 7 == 0:
            prob = np.where(rng.random(rows) < 0.05, np.round(prob), prob)
        true = (rng.random(rows) < 0.05 + 0.9 * prob).astype(np.int64)
    true[:2] = 0, 1
    if seed % 4 == 0:
        prob = prob.astype(np.float32)
    columns = {"correct": true, "confidence": prob} if kind == "answer" else {"y_true": true, "y_prob": prob}
    if seed % 8 < 2:
        columns["sample_weight"] = rng.integers(1, 5, rows) * 1.0 if seed % 8 else rng.random(rows) + 0.1
    if seed % 6 == 5:
        columns["groups"] = rng.integers(0, max(rows // 5, 2), rows)
    return columns


def values(seed):
    """Every value of the default report, to the last bit; those of tests rest on functions of the machine's library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = epimeter.evaluate(**data_set(seed))
    return {
        line.metric: None if line.value is None else line.value.hex()
        for line in report.measurements
        if "p_value" not in line.fields
    }


if __name__ == "__main__":
    lines = (f'"{seed}": {json.dumps(values(seed))}' for seed in SEEDS)
    BITS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
