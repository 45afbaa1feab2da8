"""A study in its folder: stopped and gone on with, never two at once, never two seeds in one."""

import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from epimeter.cli import main
from epimeter.errors import InputError
from epimeter.experiments.folder import opened
from epimeter.experiments.running import run

CELLS = {f"cell {k}": {"number": k} for k in range(6)}


def squared(cell):
    if cell.get("fails"):
        raise ValueError("stopped here")
    return {"square": cell["number"] ** 2, "process": os.getpid()}


def failing_at(key):
    return {name: cell | ({"fails": True} if name == key else {}) for name, cell in CELLS.items()}


def test_a_study_that_stopped_goes_on_where_it_stopped(tmp_path):
    with opened(tmp_path / "s", "squares", {"seed": 1}) as study, pytest.raises(ValueError):
        run(study, failing_at("cell 3"), squared, processes=1)
    file = tmp_path / "s" / "cells.jsonl"
    kept = file.read_text()
    assert kept.count("\n") == 3
    file.write_text(kept + '{"key": "cell 3", "resu')  # killed while it wrote
    told = []
    with opened(tmp_path / "s", "squares", {"seed": 1}) as study:
        answers = run(study, CELLS, squared, processes=2, progress=told.append)
    assert [answer["square"] for answer in answers.values()] == [0, 1, 4, 9, 16, 25]
    assert file.read_text().startswith(kept) and file.read_text().count("\n") == 6
    assert sorted(told) == ["cell 3", "cell 4", "cell 5"]
    assert os.getpid() not in {answers[f"cell {k}"]["process"] for k in (3, 4, 5)}  # other processes did it


@pytest.mark.parametrize(
    ("experiment", "settings", "said"),
    [
        ("squares", {"seed": 2}, "holds a study with seed 1; got seed 2, and two studies cannot be merged"),
        ("cubes", {"seed": 1}, "holds the study 'squares'; got 'cubes'"),
        ("squares", {"seed": 1, "sets": 9}, "holds a study with sets None; got sets 9"),
    ],
)
def test_another_study_is_not_merged_into_the_first(tmp_path, experiment, settings, said):
    with opened(tmp_path / "s", "squares", {"seed": 1}) as study:
        study.keep("a", {"x": 1})
    before = (tmp_path / "s" / "cells.jsonl").read_bytes()
    with pytest.raises(InputError, match=said), opened(tmp_path / "s", experiment, settings):
        pass
    assert (tmp_path / "s" / "cells.jsonl").read_bytes() == before


def _hold(path, begun, end):
    with opened(path, "squares", {"seed": 1}):
        begun.set()
        end.wait(30)


def test_a_second_start_on_one_folder_is_refused_while_the_first_runs(tmp_path):
    context = multiprocessing.get_context("spawn")
    begun, end = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(tmp_path / "s", begun, end))
    other.start()
    assert begun.wait(30)
    with (
        pytest.raises(InputError, match="belongs to a study that is running"),
        opened(tmp_path / "s", "squares", {"seed": 1}),
    ):
        pass
    end.set()
    other.join()
    with opened(tmp_path / "s", "squares", {"seed": 1}):
        pass


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds other things"), opened(tmp_path, "squares", {}):
        pass
    with pytest.raises(InputError, match="is a file"), opened(tmp_path / "thesis.tex", "squares", {}):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["thesis.tex"]


def test_the_command_refuses_another_setting_in_one_sentence(tmp_path, capsys):
    folder = tmp_path / "s"
    with opened(folder, "ecd", {"seeds": 5, "draws": 999, "data": ["adult", "telco", "cifar10"]}):
        pass
    with pytest.raises(SystemExit) as ended:
        main(["experiment", "ecd", str(folder), "--draws", "499"])
    assert ended.value.code == 2
    assert "with draws 999; got draws 499" in capsys.readouterr().err
    assert json.loads((folder / "experiment.json").read_text())["settings"]["draws"] == 999


KILLED = """
import os, sys, time
from pathlib import Path
from epimeter.experiments.folder import opened
from epimeter.experiments.running import run

def work(cell):
    Path(sys.argv[1], f"{cell['number']}.pid").write_text(str(os.getpid()))
    time.sleep(60)
    return {}

if __name__ == "__main__":
    with opened(Path(sys.argv[1], "s"), "sleep", {}) as study:
        run(study, {str(k): {"number": k} for k in range(2)}, work, processes=2)
"""


def test_a_killed_study_leaves_no_process_behind_and_its_folder_free(tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    study = subprocess.Popen([sys.executable, str(tmp_path / "killed.py"), str(tmp_path)])
    until = time.monotonic() + 120
    while len(pids := [path.read_text() for path in tmp_path.glob("*.pid")]) < 2 or "" in pids:
        assert time.monotonic() < until and study.poll() is None
        time.sleep(0.1)
    study.kill()
    study.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < until, "a worker outlives its study"
        time.sleep(0.1)
    with opened(tmp_path / "s", "sleep", {}) as again:
        assert not again.results()
