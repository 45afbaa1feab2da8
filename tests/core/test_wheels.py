"""The wheel: the same bytes from the same sources, and a core that needs no compiler where it is installed."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def wheel(folder):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.slow
def test_two_builds_give_the_same_bytes_and_one_works_without_a_compiler(tmp_path):
    first, second = (wheel(tmp_path / name) for name in ("first", "second"))
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()

    clean = tmp_path / "clean"
    venv.create(clean)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(clean)}))
    zipfile.ZipFile(first).extractall(packages)
    # What the wheel depends on is taken from here; hooks of an editable install in that folder are not run.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    bare = {"PATH": os.devnull, "HOME": str(tmp_path)}
    told = (
        "import epimeter.core, epimeter.metrics as m; print(epimeter.core.__file__, float(m.ece([0, 1], [0.25, 0.75])))"
    )
    python = clean / "bin" / "python"
    spoken = subprocess.run([python, "-c", told], env=bare, check=True, capture_output=True, text=True, cwd=tmp_path)
    place, value = spoken.stdout.split()
    assert Path(place).is_relative_to(clean)
    assert float(value) == pytest.approx(0.25, abs=1e-13)
