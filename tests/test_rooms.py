"""Imports only point to the left: columns -> view -> summary -> metric -> report -> standard -> certificate -> service."""

import ast
from pathlib import Path

import epimeter

ROOT = Path(epimeter.__file__).parent
ORDER = (
    "errors",
    "special",
    "core",
    "limits",
    "names",
    "kinds",
    "documents",
    "readers",
    "checks",
    "views",
    "forecasts",
    "summaries",
    "parameters",
    "results",
    "uncertainty",
    "card",
    "schema",
    "metrics",
    "stub",
    "simulate",
    "inference",
    "passes",
    "sources",
    "clusters",
    "recalibration",
    "draw",
    "report",
    "standards",
    "passport",
    "trust",
    "summary_files",
    "monitor",
    "integrations",
    "sklearn",
    "experiments",
    "torch",
    "mlflow",
    "wandb",
    "tensorboard",
    "huggingface",
    "beam",
    "gate",
    "store",
    "service",
    "web",
    "testing",
    "pytest_plugin",
    "generate",
    "cli",
    "__main__",
)


def room(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("epimeter."):
            yield node.module.split(".")[1], node.lineno
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("epimeter."):
                    yield name.name.split(".")[1], node.lineno


def files():
    return [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]


def test_every_room_has_its_place():
    assert {room(path) for path in files()} - {"data"} <= set(ORDER)


def test_imports_point_to_the_left():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {target}"
        for path in files()
        for target, line in imported(path)
        if target in ORDER and ORDER.index(target) > ORDER.index(room(path))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_room_is_called_by_a_name_that_says_nothing():
    for path in files():
        assert path.stem not in ("utils", "helpers", "common", "base"), path
