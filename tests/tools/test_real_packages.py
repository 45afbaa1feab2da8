# SPDX-License-Identifier: Apache-2.0
"""Tools that the suite does not install, each by itself: `make tools` installs them and runs these."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet
import pytest

from epimeter import evaluate, scan

pytestmark = [pytest.mark.tools, pytest.mark.filterwarnings("ignore")]  # warnings of theirs, about themselves


def columns(n_rows=6_000, seed=0):
    rng = np.random.Generator(np.random.PCG64(seed))
    prob = rng.random(n_rows)
    return (rng.random(n_rows) < prob**1.4).astype(int), prob


def numbers(report):
    """A report without where its rows came from."""
    return {name: value for name, value in report.to_dict().items() if name != "source"}


def test_a_run_of_weights_and_biases_keeps_numbers_words_and_the_page(tmp_path, monkeypatch):
    import wandb

    import epimeter.wandb

    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    true, prob = columns()
    report = evaluate(true, prob)
    with wandb.init(mode="offline", project="quiz", dir=tmp_path, settings=wandb.Settings(silent=True)) as run:
        logged = epimeter.wandb.log_report(report, run, step=3)
        run.log({"epoch": 1}, step=4)  # numbers come into the summary once their step is over
        words = dict(run.summary)
        (page,) = (tmp_path / "wandb").glob("offline-run-*/files/media/html/calibration/report*.html")
        assert page.read_text().startswith("<!doctype html>")
    assert words["calibration/ece"] == logged["calibration/ece"] == report["ece"].value
    assert words["calibration/kind"] == "event" and "Calibration is" in words["calibration/verdict"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_combine_of_beam_has_the_bits_of_one_pass(workers):
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.testing.util import assert_that

    from epimeter.beam import CalibrationFn

    true, prob = columns()
    rows = list(zip(true.tolist(), prob.tolist(), strict=True))
    whole = numbers(scan({"y": true, "p": prob}, row_limit=0))
    odd = {key: numbers(scan({"y": true[key::2], "p": prob[key::2]}, row_limit=0)) for key in (0, 1)}

    def all_rows(found):
        assert [numbers(report) for report in found] == [whole]

    def by_key(found):
        assert {key: numbers(report) for key, report in found} == odd

    options = PipelineOptions(["--direct_num_workers", str(workers), "--direct_running_mode", "in_memory"])
    with beam.Pipeline("DirectRunner", options=options) as pipeline:
        made = pipeline | beam.Create(rows) | beam.Reshuffle()
        assert_that(made | beam.CombineGlobally(CalibrationFn()), all_rows, label="all")
        keyed = pipeline | "keyed" >> beam.Create([(number % 2, row) for number, row in enumerate(rows)])
        assert_that(keyed | beam.CombinePerKey(CalibrationFn()), by_key, label="keys")


def test_an_aggregate_of_ray_has_the_bits_of_one_pass():
    import ray
    from ray.data.aggregate import AggregateFn

    from epimeter.integrations.combiner import Combiner

    true, prob = columns()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        c = Combiner()
        rows = ray.data.from_items([{"y": int(y), "p": float(p)} for y, p in zip(true, prob, strict=True)])
        found = rows.repartition(5).aggregate(
            AggregateFn(
                init=lambda key: c.create(),
                accumulate_row=lambda a, row: c.add(a, (row["y"], row["p"])),
                merge=lambda a, b: c.merge([a, b]),
                finalize=c.extract,
                name="calibration",
            )
        )
    finally:
        ray.shutdown()
    assert numbers(found["calibration"]) == numbers(scan({"y": true, "p": prob}, row_limit=0))


@pytest.mark.parametrize("streamed", [False, True])
def test_a_dataset_of_hugging_face_is_a_source(streamed, tmp_path):
    import datasets

    true, prob = columns()
    city = ["north" if number % 3 else "south" for number in range(len(true))]
    made = datasets.Dataset.from_dict({"label": true, "prob": prob, "city": city})
    expected = scan({"label": true, "prob": prob, "city": city}, by="city")
    if streamed:
        made.to_parquet(tmp_path / "rows.parquet")
        made = datasets.load_dataset(
            "parquet", data_files=str(tmp_path / "rows.parquet"), split="train", streaming=True
        )
    found = scan(made, by="city")
    assert {key: numbers(report) for key, report in found.items()} == {
        key: numbers(report) for key, report in expected.items()
    }
    if not streamed:
        assert numbers(evaluate(made)) == numbers(evaluate({"label": true, "prob": prob}))


def test_a_module_stands_in_a_combination_of_evaluate():
    import evaluate as hugging_face

    import epimeter.huggingface

    true, prob = columns()
    together = hugging_face.combine([epimeter.huggingface.Calibration("ece,brier_score")])
    found = together.compute(references=true, predictions=prob)
    assert found["ece"] == evaluate(true, prob)["ece"].value


def test_lightning_logs_the_metric_of_every_validation(tmp_path):
    import lightning
    import torch

    from epimeter.torch import CalibrationMetric

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 3)
            self.calibration = CalibrationMetric(metrics="ece,brier_score")
            self.seen = []

        def training_step(self, batch, number):
            return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def validation_step(self, batch, number):
            logits = self.layer(batch[0])
            self.seen.append((logits.detach().clone(), batch[1]))
            self.calibration.update(logits, batch[1])

        def on_validation_epoch_end(self):
            self.log_dict({f"val/{name}": value for name, value in self.calibration.compute().items()})
            self.calibration.reset()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(256, 4), torch.randint(0, 3, (256,)))
    model = Model()
    trainer = lightning.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False, num_sanity_val_steps=0,
        enable_checkpointing=False, default_root_dir=tmp_path,
    )  # fmt: skip
    loader = torch.utils.data.DataLoader(data, 64)
    trainer.fit(model, loader, loader)
    logits, targets = (torch.cat(parts) for parts in zip(*model.seen, strict=True))
    prob = torch.softmax(logits, 1)
    expected = evaluate((prob.argmax(1) == targets).int(), prob.max(1).values, kind="answer", metrics="ece,brier_score")
    assert float(trainer.callback_metrics["val/ece"]) == pytest.approx(expected["ece"].value, abs=1e-6)


def test_sums_of_clickhouse_have_the_bits_of_a_scan(tmp_path):
    import chdb

    true, prob = columns()
    special = [0.0, 1.0, 0.5, 0.5 + 1e-10, 1e-17, 5e-324, 1 - 2.0**-53, 0.1, 0.3, 0.7 - 2.0**-53, 2.0**-50, 2.0**-49]
    prob[: 40 * len(special)] = np.repeat(special, 40)
    city = np.where(np.arange(len(true)) % 3, "a", "o'k")
    rows, sums = tmp_path / "rows.parquet", tmp_path / "sums.csv"
    pyarrow.parquet.write_table(pyarrow.table({"confidence": prob, "outcome": true, "city": city}), rows)

    def typed(*arguments):
        command = [sys.executable, "-m", "epimeter", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ).stdout

    def expected(chosen):
        return numbers(scan({"y": true[chosen], "p": prob[chosen]}, row_limit=0))

    table = f"file('{rows}', 'Parquet')"
    for by, wanted in (
        ((), expected(slice(None))),
        (("--by", "city"), {name: expected(city == name) for name in ("a", "o'k")}),
    ):
        sums.write_bytes(
            chdb.query(typed("sql", "--dialect", "clickhouse", "--table", table, *by), "CSVWithNames").bytes()
        )
        made = json.loads(typed("report", "--from-sums", str(sums), "--json"))
        for part in [made] if not by else made.values():
            part.pop("source")
        assert made == json.loads(json.dumps(wanted))
