# SPDX-License-Identifier: Apache-2.0
"""The tables of clauses against the package and against the page that lists them."""

import ast
import re
from pathlib import Path

import pytest
from standard_samples import declared, liable, whole_json

from epimeter.passport import passport
from epimeter.standards.clause import field_at, function_named
from epimeter.standards.conformance import STANDARDS, clause_tests, page, state
from epimeter.standards.decisions import DECISIONS
from epimeter.standards.schemas import SCHEMAS

ROOT = Path(__file__).parents[2]
CLAUSES = [clause for standard in STANDARDS for clause in standard]
TESTS = clause_tests(ROOT / "tests")


@pytest.fixture(scope="module")
def documents():
    evaluation = whole_json(declaration=declared()) | {"liability": liable().to_dict()}
    return {"evaluation": evaluation, "passport": passport(evaluation), "liability": evaluation["liability"]}


def test_there_are_151_clauses_of_three_documents_each_once():
    assert [len(standard.clauses) for standard in STANDARDS] == [62, 66, 23]
    assert len({clause.id for clause in CLAUSES}) == 151


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.id)
def test_what_a_clause_names_as_its_answer_exists(clause, documents):
    for place in clause.answer.places:
        if clause.answer.kind == "function":
            assert callable(function_named(place))
        elif clause.answer.kind in documents:
            field_at(documents[clause.answer.kind], place)
        elif clause.answer.kind == "schema":
            assert place in SCHEMAS
        else:
            assert clause.answer.kind in ("service", "nobody")


@pytest.mark.parametrize("clause", [c for c in CLAUSES if c.test], ids=lambda clause: clause.id)
def test_every_clause_that_can_be_tested_is(clause):
    assert state(clause, TESTS) == "tested"


def test_the_page_is_up_to_date():
    assert (ROOT / "docs/conformance.md").read_text("utf-8") == page(TESTS), "run make generate"


def test_the_page_lists_every_clause_and_every_decision():
    text = (ROOT / "docs/conformance.md").read_text("utf-8")
    for clause in CLAUSES:
        assert f"| {clause.id} |" in text
    assert [d.id for d in DECISIONS] == [f"C-{n:02d}" for n in range(1, 54)]
    for decision in DECISIONS:
        assert f"| {decision.id} |" in text


def test_decisions_and_clauses_that_are_cited_exist():
    known = {d.id for d in DECISIONS} | {c.id for c in CLAUSES}
    for path in (ROOT / "src/epimeter/standards").glob("*.py"):
        for cited in re.findall(r"\bC-\d\d\b", path.read_text("utf-8")):
            assert cited in known, f"{path.name} cites {cited}"


def test_no_text_says_that_a_system_complies_with_a_law():
    for folder in ("standards", "passport", "report"):
        for path in (ROOT / "src/epimeter" / folder).rglob("*.py"):
            text = path.read_text("utf-8")
            for found in re.finditer(r"compl(y|ies) with", text):
                around = text[max(0, found.start() - 60) : found.end()]
                assert "never" in around, f"{path.name}: …{around}"


LIBRARY = (
    "epimeter.standards.unknowns.",
    "epimeter.standards.ers.epistemic_gap",
    "epimeter.standards.schedule.liability_due",
)
"""Functions that users call from Python, and no command for them."""


def test_a_clause_points_at_code_that_runs():
    """A function that no command, endpoint or public function calls answers nothing."""
    import epimeter.standards

    code = {path: path.read_text("utf-8") for path in (ROOT / "src/epimeter").rglob("*.py")}
    for clause in CLAUSES:
        for place in clause.answer.places if clause.answer.kind == "function" else ():
            home, _, name = place.rpartition(".")
            if name in epimeter.standards.__all__ or place.startswith(LIBRARY):
                continue
            own = ROOT / "src" / (home.replace(".", "/") + ".py")
            called = any(
                re.search(rf"\b{name}\(", text)
                for path, text in code.items()
                if path != own and "_clauses" not in path.name
            )
            assert called or len(re.findall(rf"\b{name}\(", code[own])) > 1, f"{clause.id}: nobody calls {place}"


def test_what_the_service_answers_is_tested_at_the_service():
    tests = clause_tests(ROOT / "tests")
    for clause in CLAUSES:
        if clause.answer.kind == "service" and clause.id in tests:
            assert any(name.startswith("service/") for name in tests[clause.id]), (
                f"{clause.id} is tested at no endpoint"
            )


ENDPOINT = {"tenant", "nobody", "service", "other", "installation"}
COMMAND = {"run", "typed", "invoke", "command", "main", "CliRunner"}


def reached(path, name):
    """Every name that a test uses, also through helpers and fixtures of its own file and of the samples beside it."""
    trees = [ast.parse(path.read_text("utf-8"))]
    samples = path.parent / "standard_samples.py"
    trees += [ast.parse(samples.read_text("utf-8"))] if samples.is_file() and samples != path else []
    bodies = {
        node.name: node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    found, waiting = set(), [name]
    while waiting:
        node = bodies.get(waiting.pop())
        if node is None:
            continue
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        names |= {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
        names |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
        waiting += names - found
        found |= names
    return found


def test_the_test_of_a_clause_goes_the_way_of_a_user():
    """Through an endpoint, a command, or a function that users call and that endpoints and commands call too."""
    import epimeter
    import epimeter.metrics
    import epimeter.standards
    from epimeter.card_index import catalogue

    public = {*epimeter.__all__, *epimeter.standards.__all__, *catalogue(), "evaluate_standards", "records", "passport"}
    library = {place.rpartition(".")[2] for place in LIBRARY} | set(epimeter.standards.unknowns.__all__)
    public |= library | {"liability_report", "certify", "Registry", "verify", "read", "pdf", "evaluation_schema"}
    astray = []
    for clause, tests in TESTS.items():
        ways = [reached(ROOT / "tests" / one.partition("::")[0], one.partition("::")[2]) for one in tests]
        if not any(way & (ENDPOINT | COMMAND | public) for way in ways):
            astray.append((clause, tests))
    assert not astray, "\n".join(f"{clause}: {tests}" for clause, tests in astray)
