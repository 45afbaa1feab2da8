"""The wheel: the same bytes from the same sources, and a core that needs no compiler where it is installed."""

import importlib.util
import os
import platform
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def wheel(folder, **more):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, **more})
    (made,) = folder.glob("*.whl")
    return made


def works_without_a_compiler(wheel, folder):
    """Whether the wheel gives an error of calibration in an environment that has no compiler and no path to one."""
    clean = folder / "clean"
    venv.create(clean)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(clean)}))
    zipfile.ZipFile(wheel).extractall(packages)
    # What the wheel depends on is taken from here; hooks of an editable install in that folder are not run.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    told = (
        "import epimeter.core, epimeter.metrics as m; print(epimeter.core.__file__, float(m.ece([0, 1], [0.25, 0.75])))"
    )
    spoken = subprocess.run(
        [clean / "bin" / "python", "-c", told],
        env={"PATH": os.devnull, "HOME": str(folder)},
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    place, value = spoken.stdout.split()
    return Path(place).is_relative_to(clean) and float(value) == pytest.approx(0.25, abs=1e-13)


@pytest.mark.slow
def test_two_builds_give_the_same_bytes_and_one_works_without_a_compiler(tmp_path):
    first, second = (wheel(tmp_path / name) for name in ("first", "second"))
    assert sorted(made.name for made in first.parent.iterdir()) == sorted([first.name, "epimeter.cdx.json"])
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()

    assert works_without_a_compiler(first, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("ziglang"), reason="needs ziglang")
@pytest.mark.parametrize(("processor", "machine"), [("x86_64", 62), ("aarch64", 183)])
def test_zig_builds_a_wheel_for_many_linuxes(processor, machine, tmp_path):
    """As `make wheels` does: a wheel for another libc and processor, which says so and asks for no newer libc."""
    made = wheel(tmp_path / "made", EPIMETER_TARGET=f"{processor}-linux-gnu.2.17")
    assert made.name.endswith(f"-cp311-abi3-manylinux_2_17_{processor}.whl")
    (core,) = (name for name in zipfile.ZipFile(made).namelist() if name.endswith("_native.abi3.so"))
    library = zipfile.ZipFile(made).read(core)
    assert library[:4] == b"\x7fELF" and int.from_bytes(library[18:20], "little") == machine
    asked = [tuple(map(int, version.split(b"."))) for version in re.findall(rb"GLIBC_(\d+\.[\d.]*\d)", library)]
    assert asked and max(asked) <= (2, 17)
    if processor == platform.machine():
        assert works_without_a_compiler(made, tmp_path)
