# SPDX-License-Identifier: Apache-2.0
"""The meter on one CUDA device, beside the memory's bandwidth and torchmetrics: ``python benchmarks/torch_meter.py``.

Times are medians of device events, after a warm-up. Bandwidth is that of the logits, read once, against the bandwidth of a copy
on the same device (bytes read and written) and against the figure given with ``--peak``, in terabytes a second.
"""

import argparse
import statistics

import torch

from epimeter import evaluate
from epimeter.integrations import torch_batch
from epimeter.torch import CalibrationMeter


def timed(work, repeats=20):
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times)


def copied():
    """Terabytes a second of a copy, read and written."""
    plain = torch.empty(1 << 32, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(plain)
    return 2 * len(plain) / timed(lambda: other.copy_(plain)) / 1e12


def right(logits, targets):
    """Whether the device's confidences are softmax's, its labels the first of equals, and its report that of `evaluate`."""
    some = slice(0, 4096)
    logits, targets = logits[some].clone(), targets[some]
    logits[: len(logits) // 2, -1] = logits[: len(logits) // 2].max(dim=1).values  # ties
    meter = CalibrationMeter()
    meter.update(logits, targets)
    prob, label, _ = torch_batch._top_of_logits(logits)
    exact = torch.softmax(logits.double(), 1).max(1).values
    worst = ((prob.double() - exact).abs() / exact).max().item()
    first = (logits == logits.max(1, keepdim=True).values).int().argmax(1)
    same = bool((label == first).all())
    expected = evaluate(correct=(label == targets).cpu().numpy(), confidence=prob.cpu().numpy()).to_dict()
    made = meter.compute().to_dict()
    return worst, same, all(made[name] == expected[name] for name in expected if name != "source")


def refused(logits, targets):
    spoiled = logits[:100].clone()
    spoiled[17, 3] = float("nan")
    meter = CalibrationMeter()
    meter.update(spoiled, targets[:100])
    try:
        meter.compute()
    except ValueError as sentence:
        return str(sentence)
    return "NaN was not refused"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=65_536)
    parser.add_argument("--classes", type=int, default=50_257)
    parser.add_argument("--peak", type=float, default=4.8)
    given = parser.parse_args()
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "kernel:", torch_batch._kernel() is not None)
    copy = copied()
    print(f"copy {copy:.2f} TB/s")
    for kind in (torch.float16, torch.bfloat16, torch.float32):
        generator = torch.Generator("cuda").manual_seed(0)
        logits = torch.empty(given.rows, given.classes, dtype=kind, device="cuda")
        for part in logits.split(4096):
            part.copy_(3 * torch.randn(part.shape, generator=generator, device="cuda"))
        targets = torch.randint(0, given.classes, (given.rows,), generator=generator, device="cuda")
        worst, same, bits = right(logits, targets)
        print(f"{kind}: relative error {worst:.1e}, first of equals {same}, bits of evaluate {bits}")
        size = logits.numel() * logits.element_size()

        running = CalibrationMeter()

        def ours(meter=running, logits=logits, targets=targets):
            meter.update(logits, targets)

        for name, work in (
            ("update", ours),
            ("softmax alone", lambda logits=logits: torch_batch._top_of_logits(logits)),
        ):
            taken = timed(work)
            rate = size / taken / 1e12
            print(
                f"  {name}: {taken * 1e3:.2f} ms, {rate:.2f} TB/s, {rate / given.peak:.0%} of {given.peak} TB/s, {rate / copy:.0%} of a copy"
            )
            if name == "update":
                mine = taken
        try:
            from torchmetrics.classification import MulticlassCalibrationError

            def theirs(logits=logits, targets=targets):
                metric = MulticlassCalibrationError(given.classes, n_bins=10, validate_args=False).cuda()
                metric.update(logits, targets)
                return metric.compute()

            taken = timed(theirs, 5)
            meter = CalibrationMeter(metrics="ece")
            meter.update(logits, targets)
            value, ece = theirs().item(), meter.compute()["ece"].value
            print(
                f"  torchmetrics: {taken * 1e3:.2f} ms, {taken / mine:.1f} times ours; ece {value:.7f}, ours {ece:.7f}"
            )
        except ImportError:
            print("  torchmetrics is not installed")
        except torch.cuda.OutOfMemoryError:
            print("  torchmetrics: out of memory")
        if kind == torch.float16:
            print(" ", refused(logits, targets))
        del logits, targets
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
