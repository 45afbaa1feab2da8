# SPDX-License-Identifier: Apache-2.0
"""Reports in trackers, in Hugging Face's protocol, and as four functions for engines that combine."""

import json
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import epimeter.huggingface
import epimeter.tensorboard
import epimeter.wandb
from epimeter import evaluate, scan
from epimeter.errors import InputError
from epimeter.integrations import combiner as combining
from epimeter.integrations.combiner import Combiner


def columns(n_rows=800, seed=0):
    rng = np.random.Generator(np.random.PCG64(seed))
    prob = rng.random(n_rows)
    return (rng.random(n_rows) < prob**1.4).astype(int), prob


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # MLflow's own, of whatever it imports
def test_mlflow_keeps_numbers_tags_and_the_report_itself(tmp_path, monkeypatch):
    import mlflow

    import epimeter.mlflow

    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv(
        "MLFLOW_REGISTRY_URI", f"sqlite:///{tmp_path}/runs.db"
    )  # else it asks a Spark that another test ended
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("quiz", artifact_location=str(tmp_path / "artifacts")))
    report = evaluate(*columns())
    with mlflow.start_run() as run:
        logged = epimeter.mlflow.log_report(report, step=3)
    found = mlflow.get_run(run.info.run_id).data
    assert found.metrics == pytest.approx(logged)
    assert found.metrics["calibration/ece"] == report["ece"].value
    assert found.metrics["calibration/ece.high"] == report["ece"].interval.high
    assert found.tags["calibration.kind"] == "event" and "Calibration is" in found.tags["calibration.verdict"]
    kept = json.loads(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/calibration/report.json"))
    assert kept == json.loads(json.dumps(report.to_dict()))
    assert "<html" in mlflow.artifacts.load_text(f"{run.info.artifact_uri}/calibration/report.html")

    import pandas
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry

    from epimeter.integrations.mlflow_evaluator import CalibrationEvaluator

    _model_evaluation_registry.register(
        "epimeter", CalibrationEvaluator
    )  # as the entry point does once it is installed
    true, prob = columns()
    frame = pandas.DataFrame({"y": true, "p": prob})
    asked = {"targets": "y", "predictions": "p", "evaluators": "epimeter", "evaluator_config": {"bins": 15}}
    with mlflow.start_run() as run:
        found = mlflow.models.evaluate(data=frame, model_type="calibration", **asked)
    assert found.metrics["calibration/ece"] == evaluate(true, prob, bins=15)["ece"].value
    assert "calibration/report.json" in [
        file.path for file in mlflow.MlflowClient().list_artifacts(run.info.run_id, "calibration")
    ]
    assert not CalibrationEvaluator.can_evaluate(model_type="classifier", evaluator_config={})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_tensorboard_shows_every_slice_under_its_name(tmp_path):
    import pandas
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    true, prob = columns()
    frame = pandas.DataFrame({"y_true": true, "y_prob": prob, "city": np.where(np.arange(800) % 2, "a/b", "c")})
    reports = scan(frame, by="city")
    with SummaryWriter(tmp_path) as writer:
        epimeter.tensorboard.log_report(reports, writer, step=5, prefix="test")
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    (only,) = events.Scalars("test/a_b/ece")
    assert only.step == 5 and only.value == pytest.approx(reports["a/b"]["ece"].value, rel=1e-6)
    assert "test/c/report/text_summary" in events.Tags()["tensors"]
    with pytest.raises(InputError, match="add_scalar"):
        epimeter.tensorboard.log_report(reports, None)


def test_weights_and_biases_gets_numbers_and_words():
    report = evaluate([1, 0, 1], [1.0, 1.0, 0.5])  # nll is infinite, which no tracker draws
    logged, summary = [], {}
    run = SimpleNamespace(log=lambda numbers, step: logged.append((numbers, step)), summary=summary)
    made = epimeter.wandb.log_report(report, run, step=2, prefix="")
    assert logged[0][0].items() >= made.items() and logged[0][1] == 2
    assert "brier_score" in made and "nll" not in made
    assert summary["kind"] == "event"
    with pytest.raises(InputError, match=r"wandb\.init"):
        epimeter.wandb.log_report(report, None)
    with pytest.raises(InputError, match="takes a report"):
        epimeter.wandb.log_report({"ece": 1}, run)


def test_a_module_of_hugging_face_measures_batches_and_sequences():
    true, prob = columns()
    module = epimeter.huggingface.Calibration("ece,brier_score", bins=15)
    module.add_batch(references=true[:500], predictions=prob[:500])
    for one in range(500, 800):
        module.add(references=true[one], predictions=prob[one])
    expected = evaluate(true, prob, metrics="ece,brier_score", bins=15)
    assert module.compute()["ece"] == expected["ece"].value
    assert module.report.to_dict() == expected.to_dict()
    rng = np.random.Generator(np.random.PCG64(1))
    logits, labels = rng.normal(size=(8, 50, 5)), rng.integers(0, 5, (8, 50))
    labels[:, 40:] = -100
    made = epimeter.huggingface.compute_metrics((logits, labels))
    exact = evaluate(labels[:, :40].ravel(), logits[:, :40].reshape(-1, 5), logits=True)
    assert made["ece"] == exact["ece"].value and made["rows"] == 320
    with pytest.raises(InputError, match="as many rows"):
        module.compute(references=[1, 0], predictions=[0.5])
    with pytest.raises(InputError, match="none were added"):
        module.compute()


def test_a_dataset_of_hugging_face_is_read_as_a_stream_of_tables():
    import pyarrow

    true, prob = columns()
    table = pyarrow.table({"y_true": true, "y_prob": prob})
    dataset = (
        SimpleNamespace(  # the methods of datasets.IterableDataset, which weighs as much as all of epimeter's tests
            features=SimpleNamespace(arrow_schema=table.schema),
            with_format=lambda kind: {"arrow": SimpleNamespace(iter=lambda batch_size: iter(table.to_batches(300)))}[
                kind
            ],
        )
    )
    made, expected = (scan(source).to_dict() for source in (dataset, {"y_true": true, "y_prob": prob}))
    assert {**made, "source": 0} == {**expected, "source": 0}
    dataset.features = None
    with pytest.raises(InputError, match="must know its columns"):
        scan(dataset)


def test_four_functions_have_the_bits_of_one_pass(monkeypatch):
    monkeypatch.setattr(combining, "ROOM", 64)
    true, prob = columns()
    combiner = pickle.loads(pickle.dumps(Combiner(kind="answer", bins=20)))
    parts = []
    for start in range(0, 600, 150):
        accumulator = combiner.create()
        for row in zip(true[start : start + 150].tolist(), prob[start : start + 150].tolist(), strict=True):
            accumulator = combiner.add(accumulator, row)
        parts.append(pickle.loads(pickle.dumps(accumulator)))
    parts.append(combiner.add(combiner.create(), (true[600:], prob[600:])))
    parts.append(combiner.add(combiner.create(), (None, 0.5)))
    whole = combiner.extract(combiner.merge([*parts[::-1], combiner.create()]))
    expected = scan({"correct": true, "confidence": prob}, row_limit=0, bins=20)
    numbers = [{k: v for k, v in report.to_dict().items() if k != "source"} for report in (whole, expected)]
    assert numbers[0] == numbers[1] and whole.source["unlabelled"] == 1


@pytest.mark.parametrize(
    ("row", "sentence"), [((2, 0.5), "outcomes must be 0 or 1"), ((1, 1.5), r"\[0, 1\]"), ((1, "x"), "must be numbers")]
)
def test_rows_that_cannot_be_combined_are_refused(row, sentence):
    combiner = Combiner()
    with pytest.raises(InputError, match=sentence):
        combiner.extract(combiner.add(combiner.create(), row))
    with pytest.raises(InputError, match="holds none"):
        combiner.extract(combiner.create())
