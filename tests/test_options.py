# SPDX-License-Identifier: Apache-2.0
"""No option without effect: on a plain file of predictions each changes what is said, or is refused.

`SAME` names those that say what is so already, with the reason.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from option_walk import STAND_INS, WITH_ISSUER, commands, idle_options, prepared

PLAIN = {
    "evaluate": ["a.csv"],
    "compare": ["a.csv", "b.csv", "--draws", "20"],
    "test": ["a.csv", "--draws", "20"],
    "draw": ["a.csv", "--json"],
    "judge": ["judged.csv"],
    "summarise": ["a.csv", "-o", "out.epi"],
    "slices": ["a.csv"],
    "plan": ["--level", "L2", "--expected-ece", "0.05"],
    "simulate": ["wavy", "-o", "out.csv"],
    "recalibrate fit": ["a.csv", "-o", "map.json"],
    "recalibrate compare": ["a.csv", "--draws", "20"],
    "passport": ["timed.csv", "--standard", "ers"],
    "recalibrate apply": ["map.json", "b.csv", "-o", "out.csv"],
    "merge": ["a.epi", "b.epi", "-o", "out.epi"],
    "convert": ["log.json", "-o", "out.csv"],
    "monitor look": ["timed.csv", "--as-of", "2024-01-20"],
    "monitor feed": ["state.json", "timed.csv", "--as-of", "2024-01-20"],
    "report": ["by.epi"],
    "sql": ["--dialect", "duckdb"],
    "gate": [],
    "collect": ["gathered", "arriving.csv"],
    "monitor acknowledge": ["state.json", "silence-predictions:state:2024-01-12"],
    "metrics": [],
    "demo": [],
    "experiment which": ["--rows", "1000"],
}  # fmt: skip
FIRST = {
    "recalibrate apply": ["recalibrate fit a.csv -o map.json"],
    "merge": ["summarise a.csv -o a.epi", "summarise b.csv -o b.epi"],
    "monitor feed": ["monitor feed state.json timed.csv --as-of 2024-01-12"],
    "monitor acknowledge": ["monitor feed state.json timed.csv --as-of 2024-01-12"],
    "report": ["summarise a.csv --by site -o by.epi"],
}
"""Commands whose files others read."""
VALUES = {
    "abstain": "wrong", "adjust": "by", "alpha": "0.2", "answer_key": "a.csv", "binning": "mass", "bins": "7", "by": "site",
    "classes": "no,yes", "columns": "confidence=q", "confidence": "verbalised", "confidence_pattern": r"(\d+)",
    "correct_from": "0.5", "depth": "1", "error": "mce", "least": "30",
    "curve": "isotonic", "declare": "frequency=daily", "dpi": "90", "domain": "medical", "draws": "33", "eps": "0.01",
    "ers_threshold": "0.6", "figure": "out.png", "filter": "none", "forecast": "answer", "format": "json", "group": "site",
    "human": "judge", "interval": "bootstrap", "judged": "human", "kind": "answer", "level": "0.8", "metrics": "mce",
    "model_version": "2", "new_baseline": "moved", "of": "mce", "onto_domain": "finance", "organization": "us",
    "output": "out.json",
    "positive": "0", "requirements": "ece<=0", "row_limit": "10", "sample": "20", "scale": "100", "scorer": "choice", "seed": "5",
    "settings": "norm=3", "standard": "ers", "strategy": "adaptive", "style": "bars", "system": "ours", "task": "detection",
    "tau": "0.01", "taxonomy": "t", "title": "mine", "truth": "a.csv", "unit": "question", "unknown_threshold": "0.4",
    "value": "north", "weights": "0.5,0.5", "weights_reason": "asked", "words": "sure=0.9", "baseline": "0.1", "date": "2024-01-01",
    "folds": "3", "expected_ece": "0.02", "metric": "ece", "limit": "0.1", "expected": "0.05", "deviation": "0.2",
    "expected_u_recall": "0.9", "accuracy": "0.6", "unknowns": "0.4", "power": "0.8", "rows": "50", "strength": "0.7",
    "verify_url": "https://example.org/v", "folder": "nowhere", "passphrase_file": "a.csv",
    "reference": "timed.csv", "tolerance": "0.3", "false_alarms": "1 per month", "window": "week", "delay": "2", "horizon": "3",
    "as_of": "2024-01-08", "system_id": "t", "system_version": "2", "digests": "sha-256:" + "0" * 64, "registration": "none",
    "who": "me", "dialect": "postgres", "table": "rows", "outcome": "y", "only": "a", "junit": "out.xml", "sarif": "out.sarif",
    "shields": "out.json", "family": "kernel", "write": "out", "study": "a.csv", "slice": "north", "require": "ece<=0",
}  # fmt: skip
"""A value for every option that takes one; not the default, and nothing that fits a plain file by chance."""
OWN = {
    ("plan", "--level"): "L1", ("plan", "--confidence"): "0.9", ("plan", "--standard"): "ers", ("simulate", "--kind"): "answer",
    ("simulate", "--classes"): "4", ("merge", "--output"): "two.epi", ("convert", "--output"): "two.csv",
    ("recalibrate apply", "--output"): "two.csv", ("certify", "--output"): "two.json", ("monitor look", "--level"): "L1",
    ("monitor feed", "--level"): "L1", ("monitor look", "--system"): "site", ("monitor feed", "--system"): "site",
    ("recalibrate fit", "--map"): "platt", ("recalibrate compare", "--map"): "platt",
}  # fmt: skip
"""Values of options that mean another thing in one command."""
LOG = Path(__file__).parent / "logs" / "data" / "inspect_verbal_conf_choice.json"
SAME = {
    ("evaluate", "--sample"): "for more rows than --row-limit",
    ("evaluate", "--skip-damaged"): "nothing is damaged",
    ("summarise", "--skip-damaged"): "nothing is damaged",
    ("test", "--gate"): "calibration is not refuted: nothing to stop",
    ("slices", "--depth"): "no crossing of the two columns is large enough",
    ("slices", "--alpha"): "no segment stands out at either",
    ("compare", "--paired"): "the outcomes say so already",
    ("draw", "--json"): "given already",
    ("passport", "--kind"): "the names say so already",
    ("passport", "--standard"): "given already",
    ("passport", "--assume-utc"): "the times have zones",
    ("recalibrate apply", "--edited"): "the map is as it was fitted",
    ("recalibrate apply", "--positive"): "outcomes are read only to see whether the map was fitted on these rows",
    ("convert", "--scorer"): "there is one alone",
    ("convert", "--confidence"): "it is the first that is found",
    ("convert", "--scale"): "every confidence is stated in percent",
    ("convert", "--abstain"): "no answer is declined",
    ("convert", "--correct-from"): "no answer has partial credit",
    ("monitor look", "--delay"): "every row is labelled",
    ("monitor look", "--kind"): "the names say so already",
    ("monitor feed", "--delay"): "every row is labelled",
    ("monitor feed", "--kind"): "the names say so already",
    ("certify", "--kind"): "the names say so already",
    ("certify", "--assume-utc"): "the times have zones",
    ("passport", "--interval"): "the intervals of a standard are drawn anyway",
}

BESIDE_A_STANDARD = {"--kind": "the names say so already", "--assume-utc": "the times have zones"}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    said = rng.random(120)
    true = (rng.random(120) < said).astype(int)
    other = np.clip(said + rng.normal(0, 0.1, 120), 0, 1)
    lines = [
        f"{p:.3f},{q:.3f},{y},{'north' if k % 2 else 'south'}"
        for k, (p, q, y) in enumerate(zip(said, other, true, strict=True))
    ]
    (tmp_path / "a.csv").write_text("\n".join(["p,q,y,site", *lines]))
    (tmp_path / "b.csv").write_text("\n".join(["p,y", *(f"{q:.3f},{y}" for q, y in zip(other, true, strict=True))]))
    shutil.copy(LOG, tmp_path / "log.json")
    graded = (f"{int(p > 0.5)},{y if k % 3 else ''},{k % 40}" for k, (p, y) in enumerate(zip(said, true, strict=True)))
    (tmp_path / "judged.csv").write_text("\n".join(["judge,human,site", *graded]))
    timed = (
        f"2024-01-0{1 + k % 9}T10:00:00Z,{p:.3f},{y},{'north' if k % 2 else 'south'}"
        for k, (p, y) in enumerate(zip(np.tile(said, 10), np.tile(true, 10), strict=True))
    )
    (tmp_path / "timed.csv").write_text("\n".join(["timestamp,confidence,correct,site", *timed]))
    arriving = (f"i{k},2024-01-0{1 + k % 9}T10:00:00Z,{p:.3f}" for k, p in enumerate(said))
    (tmp_path / "arriving.csv").write_text("\n".join(["id,time,confidence", *arriving]))
    gate = "[gate.{0}]\ndata = '{0}.csv'\n[[gate.{0}.require]]\nmetric = 'ece'\nat_most = 0.5\n"
    (tmp_path / "epimeter.toml").write_text(gate.format("a") + gate.format("b"))
    return tmp_path


@pytest.mark.parametrize("command", PLAIN)
def test_every_option_changes_what_is_said_or_is_refused(command, files):
    prepared(*FIRST.get(command, ()))
    idle = idle_options(
        files,
        command,
        PLAIN[command],
        lambda option, name: OWN.get((command, name)) or VALUES[option.name],
        [name for one, name in SAME if one == command],
        again=False,
    )
    assert not idle, f"without effect: {idle}"


def test_every_option_beside_a_standard_changes_what_is_said_or_is_refused(files):
    """--binning, --metric and --set changed nothing of what was printed."""
    rows = (files / "timed.csv").read_text().splitlines()[:601]
    (files / "graded.csv").write_text(
        "\n".join(f"{row},{int(k % 7 == 0) if k else 'unknown'}" for k, row in enumerate(rows))
    )
    plain = ["graded.csv", "--standard", "both", "--interval", "none"]
    idle = idle_options(
        files, "evaluate", plain, lambda option, name: VALUES[option.name], BESIDE_A_STANDARD, again=False
    )
    assert not idle, f"without effect: {idle}"


def test_every_command_is_walked():
    """Here, or where an issuer, a server or a study is at hand."""
    assert {*commands()} == {*PLAIN, *WITH_ISSUER, *STAND_INS}
