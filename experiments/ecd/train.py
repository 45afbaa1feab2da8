# SPDX-License-Identifier: Apache-2.0
"""Train the models of the ECD experiments and store what they state; a few minutes on two cores.

    python experiments/ecd/train.py FOLDER

FOLDER holds adult.data, adult.test and Telco-Customer-Churn.csv; README.md says where they come from. Every file is held
against its digest first. Written are src/epimeter/data/ecd_adult.npz and ecd_telco.npz: log odds (float32) on the rows that
maps are fitted on and on the rows that are measured, five models with five seeds each.
"""

import csv
import hashlib
import os
import sys
import warnings
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # before numpy is loaded: sums in one order

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler

SEEDS = range(5)
STORED = Path(__file__).parents[2] / "src" / "epimeter" / "data"
DIGESTS = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    "Telco-Customer-Churn.csv": "16320c9c1ec72448db59aa0a26a0b95401046bef5d02fd3aeb906448e3055e91",
}
ADULT_NUMBERS = (0, 2, 4, 10, 11, 12)
TELCO_NUMBERS = ("tenure", "MonthlyCharges", "TotalCharges")


def models(seed):
    return {
        "logistic": LogisticRegression(max_iter=1000),
        "naive_bayes": GaussianNB(),
        "forest": RandomForestClassifier(100, random_state=seed),
        "boosting": HistGradientBoostingClassifier(random_state=seed),
        "network": MLPClassifier((64, 32), learning_rate_init=1e-3, max_iter=30, random_state=seed),
    }


def checked(folder):
    for name, digest in DIGESTS.items():
        path = folder / name
        if not path.exists():
            sys.exit(f"{path} is missing; experiments/ecd/README.md says where to get it")
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            sys.exit(f"{path} is not the file that is meant: its SHA-256 must be {digest}")


def adult(folder):
    """Rows of the training and of the test file; a missing value is a category of its own."""
    tables = []
    for name in ("adult.data", "adult.test"):
        lines = [
            line.rstrip(".\n").split(", ") for line in (folder / name).read_text().splitlines() if line.count(",") == 14
        ]
        tables.append(lines)
    rows = np.array(tables[0] + tables[1], object)
    numbers = rows[:, ADULT_NUMBERS].astype(float)
    words = np.delete(rows[:, :-1], ADULT_NUMBERS, axis=1).astype(str)
    return numbers, words, (rows[:, -1] == ">50K").astype(np.uint8), len(tables[0])


def telco(folder):
    """All rows; a blank total of charges (customers of month 0) is 0."""
    with open(folder / "Telco-Customer-Churn.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = np.array([[float(row[name].strip() or 0) for name in TELCO_NUMBERS] for row in rows])
    words = [name for name in rows[0] if name not in (*TELCO_NUMBERS, "customerID", "Churn")]
    return (
        numbers,
        np.array([[row[name] for name in words] for row in rows]),
        np.array([row["Churn"] == "Yes" for row in rows], np.uint8),
    )


def columns(numbers, words):
    return np.concatenate([numbers.astype(object), words.astype(object)], axis=1)


def log_odds(model, x):
    """log p - log(1 - p), infinite where a model is certain; far out no digit is lost, as it would be of p near 1."""
    with np.errstate(divide="ignore"):
        logs = model.predict_log_proba(x) if not hasattr(model, "decision_function") else None
        score = model.decision_function(x) if logs is None else logs[:, 1] - logs[:, 0]
    return np.asarray(score, np.float32)


def train(name, numbers, words, true, first_test):
    """`first_test`: where a test part of its own begins; None: a fifth of the rows, another one with every seed."""
    stored, table = {}, columns(numbers, words)
    encoder = make_column_transformer(
        (StandardScaler(), list(range(numbers.shape[1]))),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(range(numbers.shape[1], table.shape[1]))),
    )
    for seed in SEEDS:
        every = np.arange(len(true))
        if first_test is None:
            rest, test = train_test_split(every, test_size=0.2, random_state=seed, stratify=true)
        else:
            rest, test = every[:first_test], every[first_test:]
        learn, fit = train_test_split(rest, test_size=0.2, random_state=seed, stratify=true[rest])
        x = encoder.fit(table[learn]).transform(table).astype(np.float64)
        stored |= {f"y_fit_{seed}": true[fit], f"y_test_{seed}": true[test]}
        for model_name, model in models(seed).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a network that is stopped after 30 rounds says so
                model.fit(x[learn], true[learn])
            stored |= {
                f"{part}_{model_name}_{seed}": log_odds(model, x[rows]) for part, rows in (("fit", fit), ("test", test))
            }
            right = ((stored[f"test_{model_name}_{seed}"] > 0) == true[test]).mean()
            print(f"{name} {model_name} seed {seed}: accuracy {right:.4f}", flush=True)
    np.savez_compressed(STORED / f"ecd_{name}.npz", **stored)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
    checked(folder)
    train("telco", *telco(folder), None)
    *parts, first_test = adult(folder)
    train("adult", *parts, first_test)


if __name__ == "__main__":
    main()
