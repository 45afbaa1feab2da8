# SPDX-License-Identifier: Apache-2.0
"""Errors of all pairs on one CUDA device beside the plain matrix product: ``python benchmarks/torch_pairs.py``.

The product is probs @ probs.T in tiles of the same size, in 32 bits, TF32 off; aim: at most 3 times its time.
"""

import argparse

import torch
from torch_meter import timed

from epimeter import metrics
from epimeter import torch as on_device


def product(points, tile):
    for rows in points.split(tile):
        for columns in points.split(tile):
            rows @ columns.T


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    generator = torch.Generator(given.device).manual_seed(0)
    logits = 3 * torch.randn(given.rows, given.classes, device=given.device, generator=generator)
    probs = logits.softmax(dim=1)
    targets = torch.multinomial(probs, 1, generator=generator)[:, 0]
    features = torch.randn(given.rows, given.classes, device=given.device, generator=generator)
    works = {
        "skce_uq": lambda: on_device.skce_uq(probs, targets, bandwidth=0.5),
        "klce": lambda: on_device.klce(probs, targets, features, bandwidth=14.0),
        "dkde": lambda: on_device.dkde(probs, targets, bandwidth=0.1),
    }
    some = slice(0, 1_000)
    small, label = probs[some].cpu().numpy(), targets[some].cpu().numpy()
    small = small.astype(float) / small.astype(float).sum(axis=1, keepdims=True)
    known = {
        "skce_uq": float(metrics.skce_uq(label, small, bandwidth=0.5).value),
        "klce": float(metrics.klce(label, small, features=features[some].cpu().numpy(), bandwidth=14.0).value),
        "dkde": float(metrics.dkde(label, small, bandwidth=0.1)),
    }
    found = {
        "skce_uq": on_device.skce_uq(probs[some], targets[some], bandwidth=0.5),
        "klce": on_device.klce(probs[some], targets[some], features[some], bandwidth=14.0),
        "dkde": on_device.dkde(probs[some], targets[some], bandwidth=0.1),
    }
    for name, value in known.items():
        print(f"{name}: {value:.9f} on the processor, {found[name]:.9f} on the device")
    if given.device != "cuda":
        return
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    plain = timed(lambda: product(probs, 8_192), 5)
    print(f"plain product {1e3 * plain:.1f} ms")
    for name, work in works.items():
        seconds = timed(work, 5)
        print(f"{name} {1e3 * seconds:.1f} ms, {seconds / plain:.2f} times the product")


if __name__ == "__main__":
    main()
