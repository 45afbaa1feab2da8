"""The page on the architecture names files, functions and classes that are there."""

import importlib
import pkgutil
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "epimeter"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
NAMES = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
HEADS = {module.name for module in pkgutil.iter_modules([str(PACKAGE)])}


def resolved(dotted):
    """What a dotted name stands for, read as a module as far as it goes and as attributes from there."""
    parts, last = dotted.split("."), None
    for end in range(len(parts), 0, -1):
        try:
            last = importlib.import_module(".".join(["epimeter", *parts[:end]]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            last = getattr(last, part, None)
        return last
    return None


def test_every_file_that_the_page_names_is_there():
    files = [
        name for name in NAMES if re.fullmatch(r"[\w/*]+(/|\.\w+)", name) and ("/" in name or name.endswith(".py"))
    ]
    assert len(files) > 15
    for name in files:
        places = [base / name.rstrip("/") for base in (PACKAGE, PACKAGE / "core", ROOT)]
        assert any(place.exists() or list(place.parent.glob(place.name)) for place in places), name


def test_every_function_that_the_page_names_in_a_room_is_there():
    dotted = [name for name in NAMES if re.fullmatch(r"\w+(\.\w+)+", name) and name.split(".")[0] in HEADS]
    dotted = [name for name in dotted if not name.endswith((".py", ".c", ".h"))]
    assert len(dotted) > 10
    for name in dotted:
        assert resolved(name) is not None, name


def test_every_class_and_loop_that_the_page_names_is_in_the_sources():
    text = "\n".join(path.read_text() for path in PACKAGE.rglob("*") if path.suffix in (".py", ".c", ".h"))
    words = [name for name in NAMES if re.fullmatch(r"(epi_\w+|[A-Z]\w+(\.\w+)?|fill|group|add_scores)", name)]
    assert len(words) > 5
    for name in words:
        head, _, method = name.partition(".")
        assert re.search(rf"(class|def) {head}\b|\b{head}\(", text), name
        assert not method or re.search(rf"def {method}\b|\b{method}:|self\.{method} =", text), name
