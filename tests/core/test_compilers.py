"""Every compiler at every level of optimisation, and under sanitizers, gives the same integers."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import hashlib, importlib.util, sys
import numpy as np
spec = importlib.util.spec_from_file_location("epimeter.core._native", sys.argv[1])
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)
sys.modules["epimeter.core._native"] = made
import epimeter.metrics.point as point
from epimeter.core import lib
from epimeter.core.class_loops import class_bins, top_labels
from epimeter.core.row_loops import width_bins
from epimeter.inference.draws import bounds, count_bytes, label_bits, side_bits, words
from epimeter.passes.plan import Plan
from epimeter.summaries import Bins, FineBins, MomentBins, paired
from epimeter.summaries.row_totals import RowTotals
from epimeter.summaries.sorting import sorted_keys
from epimeter.summaries.travel import to_bytes
from epimeter.metrics.curve.isotonic import isotonic
from epimeter.summaries.rows import Levels, square_sums
from epimeter.summaries.weighed_rows import weighed_summaries
from epimeter.views import Binary
rng = np.random.Generator(np.random.PCG64(1))
n = 20_011
shapes = [rng.random(n), rng.beta(0.1, 0.1, n), rng.integers(0, 11, n) / 10, rng.random(n).astype(np.float32),
          (rng.choice([0.0, 0.5, 1.0], n) + rng.choice([1, -1], n) * 10.0 ** rng.uniform(-320, -6, n)).clip(0, 1)]
weight = rng.random(n) * 10.0 ** rng.integers(-12, 12, n) * (rng.random(n) < 0.9)
recipes = [r for r in Plan.of(None, {}, kind="event", weighted=False, cells=True).streaming if r.loop is not None]
weighted = Plan.of(None, {}, kind="event", weighted=True).streaming
recipes += [Bins(20), MomentBins(300), Bins(1000)]
found = []
for level in (1, 3, 4, 5):
    lib.epi_limit_level(level)
    digest = hashlib.sha256()
    for prob in shapes:
        true = (np.arange(n) * 7919 % 1000 < 1000 * prob).astype(np.uint8)
        totals = RowTotals(recipes)
        assert totals.add_all(true, prob)
        for recipe in recipes:
            digest.update(to_bytes(totals.summary(recipe)))
        for recipe in (Bins(15, "mass"), FineBins(10, "area")):
            digest.update(to_bytes(recipe.of(Binary(true, prob))))
        for bins in (1, 15, 256, 300):
            digest.update(width_bins(true, prob, bins).tobytes())
        digest.update(sorted_keys(prob, true, weight).tobytes())
        for cell in (None, np.arange(n) % 7):
            total = paired.binned(prob.astype(np.float64), weight, cell, 1 if cell is None else 7)
            digest.update(total.high.tobytes() + total.low.tobytes())
        for summary in weighed_summaries(Binary(true, prob, weight + 1e-12), weighted).values():
            digest.update(to_bytes(summary))
        ones = np.where(weight > 0, 1.0, 0.5)
        digest.update(repr(square_sums(prob.astype(np.float64), ones, true * ones)).encode())
        fit = isotonic(Levels(prob.astype(np.float64), weight + 1e-12, true * (weight + 1e-12)))
        digest.update(fit.tobytes())
    matrix = np.tile([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]], (500, 1))
    generator = words(7)
    for prob in shapes:
        digest.update(label_bits(generator, range(3, 9), bounds(prob)).tobytes())
    digest.update(count_bytes(generator, range(5), n).tobytes() + side_bits(generator, range(8), n).tobytes())
    digest.update(class_bins(np.arange(1000) % 3, matrix, 15).tobytes() + top_labels(matrix, 1e-6)[1].tobytes())
    found.append(digest.hexdigest())
assert len(set(found)) == 1, found
print(found[0])
"""


def compilers():
    known = {name: [name] for name in ("gcc", "clang") if shutil.which(name)}
    if importlib.util.find_spec("ziglang"):
        known["zig"] = [sys.executable, "-m", "ziglang", "cc"]
    return known


def build_core():
    spec = importlib.util.spec_from_file_location("build_core", ROOT / "build_core.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def build():
    return build_core().build


def integers(library, **more):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **more}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(library)], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.fixture(scope="module")
def expected():
    return integers(ROOT / "src" / "epimeter" / "core" / "_native.abi3.so")


@pytest.mark.slow
@pytest.mark.parametrize("optimised", ["-O0", "-O2", "-O3"])
@pytest.mark.parametrize("name", compilers())
def test_every_compiler_gives_the_same_integers(name, optimised, tmp_path, expected):
    flags = (optimised, "-fno-sanitize=undefined") if name == "zig" else (optimised,)
    assert integers(build()(tmp_path / "_native.abi3.so", flags, compilers()[name])) == expected


@pytest.mark.slow
def test_the_loops_are_clean_under_sanitizers(tmp_path, expected):
    """Addresses and undefined behaviour; Python itself is not compiled with either, so the runtime is loaded before it."""
    flags = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    library = build()(tmp_path / "_native.abi3.so", flags, ["gcc"])
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    assert integers(library, LD_PRELOAD=runtime, ASAN_OPTIONS="detect_leaks=0") == expected


@pytest.mark.slow
@pytest.mark.skipif("zig" not in compilers() or not shutil.which("qemu-aarch64"), reason="needs ziglang and qemu-user")
def test_the_build_for_aarch64_gives_the_same_integers(tmp_path):
    """The draws and their totals, which need no Python, under an emulator and here at every level."""
    core = ROOT / "src" / "epimeter" / "core"
    here, zig = build_core(), compilers()["zig"]

    def program(name, compiler, levels, more):
        flags = ["-std=c11", "-O2", "-ffp-contract=off", f"-I{core}", f"-I{core / 'include'}", *more]
        objects = []
        for level, own in levels.items():
            for part in ("draws", "resampling"):
                objects.append(tmp_path / f"{name}-{part}-{level}.o")
                source = core / "levels" / f"{part}.c"
                command = [*compiler, *flags, *own, f"-DLEVEL={level}", "-c", source, "-o", objects[-1]]
                subprocess.run(command, check=True)
        sources = [Path(__file__).with_name("integers.c"), core / "resampling.c", core / "level.c"]
        subprocess.run([*compiler, *flags, *sources, *objects, "-o", tmp_path / name], check=True)
        return str(tmp_path / name)

    def told(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout

    levels = here.LEVELS.get(here.machine(), {"v1": ()})
    native = program("native", here.compiler() or zig, levels, [])
    foreign = program(
        "foreign", [*zig, "-target", "aarch64-linux-musl"], {"v1": ()}, ["-static", "-fno-sanitize=undefined"]
    )
    assert told("qemu-aarch64", foreign) == told(native)


def test_the_sources_are_compiled_with_what_keeps_the_bits():
    text = (ROOT / "build_core.py").read_text()
    assert "-ffp-contract=off" in text and "-ffast-math" not in text
