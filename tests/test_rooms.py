"""Imports only point to the left: columns -> view -> summary -> metric -> report -> standard -> certificate -> service."""

import ast
from functools import cache
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
    "calling",
    "card_index",
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


@cache
def tree(path):
    return ast.parse(path.read_text())


def imported(path):
    for node in ast.walk(tree(path)):
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


def modules():
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files()}


def used(top, known):
    """The modules that a file imports when it runs, also inside its functions; types alone make no circle."""
    waiting, found = [top], set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("epimeter."):
            inner = node.module.removeprefix("epimeter.")
            found |= {f"{inner}.{each.name}" if f"{inner}.{each.name}" in known else inner for each in node.names}
        waiting += ast.iter_child_nodes(node)
    return found & set(known)


def test_no_two_modules_import_each_other_not_even_inside_functions():
    known = modules()
    # A package's __init__ is a table of contents: it names its modules, and they are asked for one by one.
    uses = {name: used(tree(path), known) - {name} for name, path in known.items() if path.name != "__init__.py"}
    while free := {name for name, others in uses.items() if not others & set(uses)}:
        uses = {name: others for name, others in uses.items() if name not in free}
    circles = {name: sorted(others & set(uses)) for name, others in uses.items()}
    assert not circles, circles


def test_a_class_name_stands_for_one_thing():
    owners = {}
    for path in files():
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                owners.setdefault(node.name, set()).add(str(path.relative_to(ROOT)))
    assert not {name: sorted(where) for name, where in owners.items() if len(where) > 1}
