"""The pieces of programs in integrations.md and the first lines of the README, each run inside what it is a piece of.

Of Lightning, Weights & Biases, datasets, Beam and Ray stand-ins are used that call what those call; the tools themselves are run
by `make tools`.
"""

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from epimeter import evaluate

ROOT = Path(__file__).parents[2]
PIECES = re.findall(r"^```py\n(.*?)^```", (ROOT / "docs" / "integrations.md").read_text("utf-8"), re.S | re.M)


def piece(word):
    (found,) = (code for code in PIECES if word in code)
    return found


def columns(n=600):
    rng = np.random.default_rng(4)
    prob = rng.random(n)
    return (rng.random(n) < prob).astype(int), prob


def test_every_piece_has_its_test():
    text = Path(__file__).read_text("utf-8")
    assert len(PIECES) == len(re.findall(r"piece\(\"", text))


def test_lightning_calls_the_two_functions():
    torch = pytest.importorskip("torch")
    from epimeter.torch import CalibrationMetric

    names, logged = {}, {}
    exec(piece("validation_step"), names)

    class Module:
        calibration = CalibrationMetric(metrics="ece,brier_score")

        def __call__(self, inputs):
            return inputs

        def log_dict(self, values):
            logged.update(values)

    module = Module()
    torch.manual_seed(0)
    for number in range(3):
        names["validation_step"](module, (torch.randn(50, 3), torch.randint(0, 3, (50,))), number)
    names["on_validation_epoch_end"](module)
    assert set(logged) == {"val/ece", "val/brier_score"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # MLflow's own, of whatever it imports
def test_trackers_get_the_report_and_mlflow_its_evaluator(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    import epimeter.mlflow
    import epimeter.wandb

    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_REGISTRY_URI", f"sqlite:///{tmp_path}/runs.db")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("page", artifact_location=str(tmp_path / "artifacts")))
    logged = []
    run = SimpleNamespace(log=lambda numbers, step: logged.append((numbers, step)), summary={})
    with mlflow.start_run() as kept:
        exec(piece("wandb.log_report"), {"epimeter": epimeter, "report": evaluate(*columns()), "run": run, "epoch": 3})
    assert "calibration/ece" in mlflow.get_run(kept.info.run_id).data.metrics and logged[0][1] == 3

    import pandas
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry

    from epimeter.integrations.mlflow_evaluator import CalibrationEvaluator

    _model_evaluation_registry.register("epimeter", CalibrationEvaluator)  # as the entry point does when installed
    true, prob = columns()
    exec(piece("mlflow.models.evaluate"), {"mlflow": mlflow, "frame": pandas.DataFrame({"y": true, "p": prob})})


def test_hugging_face_datasets_are_read_and_a_trainer_is_given_its_metrics():
    import epimeter.huggingface

    true, prob = columns()
    table = pa.table({"y_true": true, "y_prob": prob, "language": ["de", "fr"] * 300})
    dataset = SimpleNamespace(
        features=SimpleNamespace(arrow_schema=table.schema),
        with_format=lambda kind: {"arrow": SimpleNamespace(iter=lambda batch_size: iter(table.to_batches(100)))}[kind],
    )
    given = {}
    names = {
        "epimeter": epimeter,
        "dataset": dataset,
        "model": None,
        "Trainer": lambda model, **more: given.update(more),
    }
    exec(piece("Trainer("), names)
    logits = np.random.default_rng(0).normal(size=(40, 3))
    assert "ece" in given["compute_metrics"]((logits, np.arange(40) % 3))


def test_beam_combines_globally_and_by_key(monkeypatch):
    class Globally:
        def __init__(self, function):
            self.function = function

        def __ror__(self, rows):
            made = [self.function.create_accumulator(), self.function.create_accumulator()]
            for number, row in enumerate(rows):
                made[number % 2] = self.function.add_input(made[number % 2], row)
            return self.function.extract_output(self.function.merge_accumulators(made))

    class PerKey(Globally):
        def __ror__(self, rows):
            return {key: [row for k, row in rows if k == key] | Globally(self.function) for key in {k for k, _ in rows}}

    beam = ModuleType("apache_beam")
    beam.CombineFn, beam.CombineGlobally, beam.CombinePerKey = object, Globally, PerKey
    monkeypatch.setitem(sys.modules, "apache_beam", beam)
    monkeypatch.delitem(sys.modules, "epimeter.beam", raising=False)
    import epimeter.beam

    rows = list(zip(*(column.tolist() for column in columns()), strict=True))
    code = (
        piece("beam.CombineGlobally")
        .replace("predictions |", "whole = predictions |")
        .replace("keyed |", "parts = keyed |")
    )
    names = {"beam": beam, "epimeter": epimeter, "predictions": rows, "keyed": [("a", row) for row in rows]}
    exec(code, names)
    monkeypatch.delitem(sys.modules, "epimeter.beam")
    assert names["whole"]["ece"].value == evaluate(*columns(), kind="answer")["ece"].value
    assert names["parts"]["a"]["brier_score"].value == evaluate(*columns())["brier_score"].value


def test_ray_is_given_four_functions():
    from epimeter.integrations.combiner import Combiner

    made = eval(
        piece("AggregateFn("), {"AggregateFn": lambda **more: SimpleNamespace(**more), "c": Combiner(kind="event")}
    )
    parts = [made.init("key"), made.init("key")]
    for number, (outcome, confidence) in enumerate(zip(*(c.tolist() for c in columns()), strict=True)):
        parts[number % 2] = made.accumulate_row(parts[number % 2], {"outcome": outcome, "confidence": confidence})
    assert made.finalize(made.merge(*parts))["ece"].value == evaluate(*columns())["ece"].value


def test_the_lines_of_the_readme_do_what_they_say(tmp_path, monkeypatch, capsys):
    from epimeter.cli import COMMANDS, main

    monkeypatch.chdir(tmp_path)
    true, prob = columns()
    for name in ("predictions.csv", "a.csv", "b.csv"):
        rows = "".join(f"{y},{p}\n" for y, p in zip(true.tolist(), prob.tolist(), strict=True))
        Path(name).write_text("y_true,y_prob\n" + rows)
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 50, "the README is one screen"
    (typed,) = re.findall(r"^```\n(.*?)^```", text, re.S | re.M)
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    exec(code, {"y_true": true, "y_prob": prob})
    files = {"FILE": "predictions.csv", "A": "a.csv", "B": "b.csv"}
    for command in re.sub(r"#.*", "", typed).replace(";", "\n").splitlines():
        words = shlex.split(command)
        if not words:
            continue
        assert words[0] == "epimeter" and words[1] in COMMANDS
        if "…" not in words:  # what more a certificate needs, the guides say
            with pytest.raises(SystemExit) as ended:
                main([files.get(word, word) for word in words[1:]])
            assert ended.value.code in (0, 1 if "--require" in words else 0), capsys.readouterr().err
    assert Path("models.png").exists() and Path("known.csv").exists()
