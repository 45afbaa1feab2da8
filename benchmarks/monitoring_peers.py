# SPDX-License-Identifier: Apache-2.0
"""The same streams before epimeter, NannyML and Evidently: when does each say that calibration is gone, and how often wrongly?

    python benchmarks/monitoring_peers.py epimeter|nannyml|evidently [streams]

60 days of 20,000 probabilities of outcome 1, calibrated but for a shift of five points from day 40 on (or none), days 0 to 19 as the
reference, one look a day with all labels. NannyML and Evidently want environments of their own (Evidently 0.7.23 needs pandas 2).
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

DAYS, ROWS, REFERENCE, BEGINS = 60, 20_000, 20, 40


def stream(seed, shift):
    """Probability, outcome and time of each day."""
    rng = np.random.default_rng(seed)
    for day in range(DAYS):
        prob = rng.beta(4, 1.5, ROWS)
        true = rng.random(ROWS) < np.clip(prob - shift * (day >= BEGINS), 0, 1)
        seconds = rng.integers(0, 86_400, ROWS).astype("timedelta64[s]")
        yield prob, true.astype(int), np.datetime64("2026-01-01") + np.timedelta64(day, "D") + seconds


def frame(seed, shift):
    """A stream as a data frame with the columns that both others ask for."""
    import pandas as pd

    parts = [
        pd.DataFrame({"day": day, "prob": prob, "answer": (prob >= 0.5).astype(int), "true": true, "time": time})
        for day, (prob, true, time) in enumerate(stream(seed, shift))
    ]
    return pd.concat(parts, ignore_index=True)


def epimeter(seed, shift):
    """Days of the change alarm, by the command."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        for day, (prob, true, time) in enumerate(stream(seed, shift)):
            times = pa.array(time.astype("datetime64[us]"), pa.timestamp("us", "UTC"))
            pq.write_table(
                pa.table({"y_prob": prob, "y_true": true, "timestamp": times}), f"{folder}/{day:02d}.parquet"
            )
        words = [sys.executable, "-m", "epimeter", "monitor", folder, "--json", "-o", ""]
        found = json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    first = np.datetime64("2026-01-01")
    alarms = [one for one in found["systems"][0]["alarms"] if one["kind"] == "change"]
    return {"change alarm": [int((np.datetime64(one["opened"]) - first).astype(int)) for one in alarms]}


def nannyml(seed, shift):
    """Days with an alert: estimated without labels (CBPE), and realised with them."""
    import nannyml as nml

    rows = frame(seed, shift)
    before, after = rows[rows.day < REFERENCE], rows[rows.day >= REFERENCE]
    facts = {"y_pred_proba": "prob", "y_pred": "answer", "y_true": "true", "timestamp_column_name": "time"}
    facts |= {"metrics": ["accuracy", "roc_auc"], "chunk_period": "D", "problem_type": "classification_binary"}
    estimated = nml.CBPE(**facts).fit(before).estimate(after.drop(columns="true"))
    realised = nml.PerformanceCalculator(**facts).fit(before).calculate(after)
    made = {}
    for name, found in (("estimated", estimated), ("realised", realised)):
        table = found.filter(period="analysis").to_df()
        for metric in facts["metrics"]:
            alert = table[(metric, "alert")].to_numpy().astype(bool)
            made[f"{name} {metric}"] = (REFERENCE + np.flatnonzero(alert)).tolist()
    return made


def evidently(seed, shift):
    """Days on which a test fails at its defaults, of every fifth; there is none of calibration."""
    from evidently import BinaryClassification, DataDefinition, Dataset, Report
    from evidently.metrics import Accuracy, LogLoss, ValueDrift

    roles = BinaryClassification(target="true", prediction_labels="answer", prediction_probas="prob")
    known = DataDefinition(classification=[roles], numerical_columns=["prob"])
    rows = frame(seed, shift).drop(columns="time")
    before = Dataset.from_pandas(rows[rows.day < REFERENCE].drop(columns="day"), data_definition=known)
    made = {}
    for day in range(REFERENCE, DAYS, 5):  # a report of it takes seconds
        now = Dataset.from_pandas(rows[rows.day == day].drop(columns="day"), data_definition=known)
        report = Report([LogLoss(), Accuracy(), ValueDrift(column="prob")], include_tests=True)
        for test in report.run(now, before).dict()["tests"]:
            failed = made.setdefault(test["name"].split(" metric")[0], [])
            if "FAIL" in str(test["status"]).upper():
                failed.append(day)
    return made


def main(who, streams=3):
    """Print, for every stream, what is said before the change and when it is said first after it."""
    for shift in (0.0, 0.05):
        for seed in range(1, streams + 1):
            for what, days in {"epimeter": epimeter, "nannyml": nannyml, "evidently": evidently}[who](
                seed, shift
            ).items():
                early, late = [day for day in days if day < BEGINS], [day for day in days if day >= BEGINS]
                print(
                    f"{who}, shift {shift}, stream {seed}, {what}: {len(early)} before, first after {late[:1]}",
                    flush=True,
                )


if __name__ == "__main__":
    sys.path = [place for place in sys.path if place not in ("", str(Path(__file__).parent))]
    main(sys.argv[1], *map(int, sys.argv[2:3]))
