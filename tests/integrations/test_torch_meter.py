# SPDX-License-Identifier: Apache-2.0
"""The meter of training loops: what it computes has the bits of `evaluate`, however the rows came in."""

import re

import numpy as np
import pytest
import torch
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassCalibrationError

from epimeter import evaluate, metrics
from epimeter.errors import InputError, MergeError
from epimeter.integrations import torch_pairs, torch_totals
from epimeter.torch import CalibrationMeter, CalibrationMetric, dkde, klce, skce_uq


def batch(n_rows=1500, n_classes=6, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    logits = (2 * torch.randn(n_rows, n_classes, generator=generator)).to(dtype)
    return logits, torch.multinomial(torch.softmax(logits.float() / 2, 1), 1, generator=generator)[:, 0]


def numbers(report):
    made = report.to_dict()
    return {name: value for name, value in made.items() if name != "source"}


def by_top_label(probs, targets):
    return evaluate(correct=(probs.argmax(1) == targets).numpy(), confidence=probs.max(1).values.numpy())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_probabilities_of_any_precision_have_the_bits_of_evaluate(dtype):
    logits, targets = batch()
    probs = torch.softmax(logits.double(), 1).to(dtype)
    meter = CalibrationMeter()
    for rows in torch.randperm(len(probs), generator=torch.Generator().manual_seed(1)).split(331):
        meter.update(probs=probs[rows], targets=targets[rows])
    wide = probs if dtype in (torch.float32, torch.float64) else probs.float()
    assert numbers(meter.compute()) == numbers(by_top_label(wide, targets))


def test_logits_are_read_as_softmax_reads_them_and_the_first_of_equals_is_the_answer():
    logits, targets = batch(dtype=torch.bfloat16)
    logits[:200, 4] = logits[:200].max(1).values  # ties, which half precision is full of
    meter = CalibrationMeter(metrics="ece,brier_score,auroc")
    meter.update(logits.reshape(30, 50, 6), targets.reshape(30, 50))
    expected = evaluate(targets.numpy(), torch.softmax(logits.double(), 1).numpy(), metrics="ece,auroc")
    made = meter.compute()
    assert made["ece"].value == pytest.approx(expected["ece"].value, abs=1e-7)
    assert made["auroc"].value == pytest.approx(expected["auroc"].value, abs=1e-4)
    assert made.kind == "answer" and "softmax" in made.source["notes"][0]


def test_a_matrix_wider_than_a_chunk_is_read_in_parts(monkeypatch):
    from epimeter.integrations import torch_batch

    logits, targets = batch()
    whole, parts = CalibrationMeter(), CalibrationMeter()
    whole.update(logits, targets)
    monkeypatch.setattr(torch_batch, "CHUNK", 100)
    parts.update(logits, targets)
    assert numbers(whole.compute()) == numbers(parts.compute())


def test_events_answers_and_classes_are_kinds_of_their_own():
    logits, targets = batch()
    probs = torch.softmax(logits.double(), 1)
    right = (probs.argmax(1) == targets).long()
    made = {}
    for kind, given, target in (
        (None, probs[:, 0], (targets == 0).long()),
        ("answer", probs.max(1).values, right),
        ("classes", probs, targets),
    ):
        meter = CalibrationMeter(kind=kind)
        meter.update(probs=given, targets=target)
        made[kind] = numbers(meter.compute())
    assert made[None] == numbers(evaluate((targets == 0).numpy(), probs[:, 0].numpy()))
    assert made["answer"] == numbers(by_top_label(probs, targets))
    assert made["classes"] == numbers(evaluate(targets.numpy(), probs.numpy()))


def test_merging_counting_and_checkpoints_change_nothing(monkeypatch, tmp_path):
    logits, targets = batch(3000)
    probs = torch.softmax(logits, 1)
    whole = CalibrationMeter()
    whole.update(probs=probs, targets=targets)
    expected = numbers(whole.compute())
    monkeypatch.setattr(torch_totals, "ROOM", 100)
    left, right = CalibrationMeter(), CalibrationMeter()
    for meter, some in ((left, slice(0, 1100)), (right, slice(1100, None))):
        for part in range(0, len(probs[some]), 90):
            rows = slice(part, part + 90)
            meter.update(probs=probs[some][rows], targets=targets[some][rows])
    torch.save(right.state_dict(), tmp_path / "meter.pt")
    again = CalibrationMeter()
    again.load_state_dict(torch.load(tmp_path / "meter.pt", weights_only=True))
    assert numbers(left.merge(again).compute()) == expected
    assert numbers(right.merge(CalibrationMeter()).compute()) == numbers(again.compute())
    left.reset()
    with pytest.raises(InputError, match="needs a batch"):
        left.compute()


def test_single_and_double_precision_go_into_one_meter():
    logits, targets = batch()
    probs = torch.softmax(logits, 1)
    meter = CalibrationMeter()
    meter.update(probs=probs[:700], targets=targets[:700])
    meter.update(probs=probs[700:].double(), targets=targets[700:])
    assert numbers(meter.compute()) == numbers(by_top_label(probs, targets))


def test_padding_does_not_count_and_is_counted():
    logits, targets = batch()
    padded = targets.clone()
    padded[::3] = -100
    meter = CalibrationMeter()
    logits[::3] = float("nan")  # what stands beside padding does not matter
    meter.update(logits, padded)
    kept = CalibrationMeter()
    some = padded != -100
    kept.update(logits[some], targets[some])
    made = meter.compute()
    assert numbers(made) == numbers(kept.compute())
    assert made.source["unlabelled"] == 500
    empty = CalibrationMeter()
    empty.update(logits[::3], padded[::3])
    with pytest.raises(InputError, match="all 500 have the target -100"):
        empty.compute()


def test_a_score_that_is_infinite_names_no_rows_that_nobody_can_find():
    meter = CalibrationMeter(metrics="nll")
    meter.update(probs=torch.tensor([1.0, 0.5, 0.0]), targets=torch.tensor([1, 0, 1]))
    report = meter.compute()
    assert report["nll"].infinite == "1 row said 0 for what came true"
    assert any(report["nll"].infinite in caution for caution in report.cautions)
    assert not any("counted from" in caution for caution in report.cautions)


def spoiled(place, value):
    logits, targets = batch(20)
    logits[place] = value
    return logits, targets


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda m: m.update(*spoiled((7, 2), float("nan"))),
            "logits must be numbers.*1 of the rows.*the first is row 7",
        ),
        (lambda m: m.update(*spoiled((3, 0), float("inf"))), "logits must be numbers"),
        (lambda m: m.update(*spoiled(4, float("-inf"))), "logits must be numbers.*row 4"),
        (lambda m: m.update(batch(5)[0], torch.tensor([0, 1, 6, 2, -7])), "targets must be classes.*2 are not.*row 2"),
        (lambda m: m.update(probs=batch(5)[0], targets=batch(5)[1]), r"probs must lie in \[0, 1\]"),
        (lambda m: m.update(probs=torch.tensor([0.5, 1.5]), targets=torch.tensor([0, 1])), "probs must lie"),
        (lambda m: m.update(batch(5)[0], batch(5)[1].to("meta")), "one device; got cpu and meta"),
        (lambda m: m.update(batch(5)[0], batch(6)[1]), r"targets must have the shape.*\(6,\) beside \(5, 6\)"),
        (lambda m: m.update(batch(5)[0].long(), batch(5)[1]), "logits must be floating point"),
        (lambda m: m.update(batch(5)[0], batch(5)[1].float()), "targets must be whole numbers"),
        (lambda m: m.update(batch(5)[0].numpy(), batch(5)[1]), "logits must be a tensor; got ndarray"),
        (lambda m: m.update(batch(5)[0]), "update takes logits or probs="),
        (lambda m: m.update(batch(5, 1)[0], batch(5)[1] * 0), "two classes or more"),
        (lambda m: m.load_state_dict({"seen": 3}), "parts of it are missing"),
        (lambda m: CalibrationMeter(kind="top"), "kind must be event"),
        (lambda m: CalibrationMeter(metrics="nosuch"), "nosuch"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_sentence_and_leaves_no_trace(call, sentence):
    meter = CalibrationMeter()
    with pytest.raises(InputError) as refusal:
        call(meter)
    assert re.search(sentence, str(refusal.value))
    assert meter.seen == 0 and meter.totals is None


def test_meters_of_different_rows_do_not_mix():
    logits, targets = batch(50)
    answers, events, classes = CalibrationMeter(), CalibrationMeter(), CalibrationMeter(kind="classes")
    answers.update(logits, targets)
    events.update(logits[:, 0], (targets == 0).long())
    classes.update(logits, targets)
    with pytest.raises(MergeError, match="one kind, here answer; got event"):
        answers.merge(events)
    with pytest.raises(MergeError, match="here answer; got event"):
        answers.update(logits[:, 0], (targets == 0).long())
    with pytest.raises(MergeError, match="as many classes, here 6; got 4"):
        classes.update(logits[:, :4], targets % 4)
    held = answers.to("meta")
    with pytest.raises(InputError, match="on one device, here meta; got a batch on cpu"):
        held.update(logits, targets)


def test_a_metric_of_torchmetrics_stands_in_a_collection_beside_theirs():
    logits, targets = batch()
    collection = MetricCollection(
        {
            "ours": CalibrationMetric(metrics=["ece", "brier_score"], bins=15),
            "theirs": MulticlassCalibrationError(6, 15),
        }
    )
    for rows in torch.arange(1500).split(400):
        collection(logits[rows], targets[rows])
    made = collection.compute()
    meter = CalibrationMeter(metrics=["ece", "brier_score"], bins=15)
    meter.update(logits, targets)
    assert made["ece"].item() == meter.compute()["ece"].value
    assert made["ece"].item() == pytest.approx(made["theirs"].item(), abs=1e-6)
    collection.reset()
    padded = torch.full_like(targets, -100)
    padded[:10] = targets[:10]
    metric = collection["ours"]
    metric.update(logits, padded)
    assert metric.report().n_rows == 10
    with pytest.raises(InputError, match="reads events and answers"):
        CalibrationMetric(kind="classes")


def _process(rank, address, queue):
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    logits, targets = batch(900)
    probs = torch.softmax(logits, 1)
    both, one = CalibrationMeter(bins=20), CalibrationMeter(bins=20)
    rows = slice(0, 200) if rank == 0 else slice(200, None)
    both.update(probs=probs[rows] if rank == 0 else probs[rows].double(), targets=targets[rows])
    if rank == 0:  # the other process has no rows at all
        one.update(probs=probs, targets=targets)
    queue.put((rank, numbers(both.compute()), numbers(one.compute()), both.seen))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_every_process_gets_the_report_of_all_rows_and_keeps_its_own(tmp_path):
    spawn = torch.multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    processes = [spawn.Process(target=_process, args=(rank, f"file://{tmp_path}/meet", queue)) for rank in range(2)]
    for process in processes:
        process.start()
    found = sorted((queue.get(timeout=300) for _ in processes), key=lambda one: one[0])
    for process in processes:
        process.join(60)
    logits, targets = batch(900)
    probs = torch.softmax(logits, 1)
    confidence, right = probs.max(1).values.numpy(), (probs.argmax(1) == targets).numpy()
    expected = numbers(evaluate(correct=right, confidence=confidence, bins=20))
    assert [made for _, *reports, _ in found for made in reports] == [expected] * 4
    assert [seen for *_, seen in found] == [200, 700]


def test_keys_are_ordered_as_the_confidences_are():
    prob = torch.tensor([0.0, -0.0, 1e-45, 0.25, 0.5, 1.0])
    for precision in (torch.float32, torch.float64):
        meter = CalibrationMeter()
        meter.update(probs=prob.to(precision), targets=torch.ones(6, dtype=torch.long))
        back, outcome = meter.totals.columns()
        assert np.array_equal(back, np.sort(prob.numpy().astype(back.dtype))) and outcome.all()
        assert meter.totals.counts.tolist() == [2, 1, 1, 1, 1]


def test_what_is_refused_late_is_still_told_by_number_and_place(monkeypatch):
    logits, targets = batch(20)
    logits[13, 1] = float("nan")
    meter = CalibrationMeter()
    monkeypatch.setattr("epimeter.integrations.torch_meter._refuse", lambda *_: None)  # as on a device, before compute
    meter.update(*batch(30))
    meter.update(logits, targets)
    monkeypatch.undo()
    with pytest.raises(InputError, match="1 of the rows are otherwise, the first is row 43"):
        CalibrationMeter().merge(meter).compute()


def test_errors_of_all_pairs_have_the_values_of_the_catalogue(monkeypatch):
    monkeypatch.setattr(torch_pairs, "TILE", 64)
    rng = np.random.default_rng(3)
    prob, x = rng.dirichlet(np.full(5, 0.7), 150), rng.normal(size=(150, 4))
    label = np.array([rng.choice(5, p=row) for row in prob])
    given = torch.tensor(prob), torch.tensor(label)
    near = {"rel": 1e-4, "abs": 2e-6}  # the root of a small distance in 32 bits
    for kernel in ("laplace", "gaussian"):
        expected = metrics.skce_uq(label, prob, bandwidth=0.4, kernel=kernel).value
        assert skce_uq(*given, bandwidth=0.4, kernel=kernel) == pytest.approx(float(expected), **near)
        expected = metrics.klce(label, prob, features=x, bandwidth=2.0, kernel=kernel).value
        assert klce(*given, torch.tensor(x), bandwidth=2.0, kernel=kernel) == pytest.approx(float(expected), **near)
    for norm in (1.0, 2.0):
        expected = float(metrics.dkde(label, prob, bandwidth=0.05, norm=norm))
        assert dkde(*given, bandwidth=0.05, norm=norm) == pytest.approx(expected, **near)
    with pytest.raises(ValueError, match="targets must be classes 0 to 4; row 0 has -100"):
        skce_uq(given[0], torch.full((150,), -100), bandwidth=0.4)
    with pytest.raises(ValueError, match="add up to 1; row 0 does not"):
        dkde(2 * given[0], given[1], bandwidth=0.4)
