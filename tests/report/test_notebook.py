"""The notebook of the documentation, run cell by cell; what its cells show is what a notebook would display."""

import ast
import json
from pathlib import Path

from IPython.core.formatters import DisplayFormatter

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebooks" / "calibration.ipynb"


def shown(source, names):
    """Run a cell; the forms in which a fresh notebook can display its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return {}
    formatter = DisplayFormatter()
    formatter.active_types = formatter.format_types
    return formatter.format(eval(compile(ast.Expression(last.value), "cell", "eval"), names))[0]


def test_every_cell_of_the_notebook_shows_what_it_promises():
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] for cell in cells)
    names = {}
    forms = [shown("".join(cell["source"]), names) for cell in cells]
    reported, framed, display, recalibrated, overlaid, compared = forms[1], *forms[3:]
    assert "<svg" in reported["text/html"] and "<style" in reported["text/html"]
    assert "<table" in framed["text/html"]
    for figure in (display, recalibrated, overlaid):
        assert figure["image/png"].startswith(b"\x89PNG")
    assert "naive Bayes against recalibrated" in compared["text/html"]
