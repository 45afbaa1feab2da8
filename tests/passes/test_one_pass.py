"""One plan, one pass, one ledger, one report: rows in memory and rows from elsewhere differ in where they come from only."""

import numpy as np
import pyarrow as pa
import pytest

from epimeter import evaluate, scan
from epimeter.passes.plan import Plan
from epimeter.passes.workers import over_view
from epimeter.report.building import report
from epimeter.views import view


def drawn(kind, n=3_000, weighted=False):
    rng = np.random.Generator(np.random.PCG64(n))
    columns = {"weight": rng.exponential(1, n)} if weighted else {}
    if kind == "classes":
        prob = rng.dirichlet(np.ones(3), n)
        true = rng.integers(0, 3, n)
        return true, prob, columns | {f"prob_{k}": prob[:, k] for k in range(3)} | {"label": true}
    prob = np.round(rng.beta(0.6, 0.7, n), 3)
    true = (rng.random(n) < prob).astype(np.uint8)
    true[:5], prob[:5] = 1, 0.0
    names = ("correct", "confidence") if kind == "answer" else ("y_true", "y_prob")
    return true, prob, columns | dict(zip(names, (true, prob), strict=True))


def without_source(made):
    return {name: value for name, value in made.to_dict().items() if name != "source"}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["event", "answer", "classes"])
def test_a_scan_of_few_rows_is_the_report_of_the_same_rows_in_memory(kind, weighted):
    true, prob, columns = drawn(kind, weighted=weighted)
    memory = evaluate(true, prob, kind=kind, sample_weight=columns.get("weight"))
    assert without_source(scan(pa.table(columns), threads=1)) == without_source(memory)


def test_groups_count_as_units_wherever_the_rows_come_from():
    true, prob, columns = drawn("event")
    groups = np.arange(len(true)) // 6
    names = "ece,brier_score,pce"
    memory = evaluate(true, prob, metrics=names, groups=groups)
    passed = scan(pa.table(columns | {"group": groups}), names)
    assert passed.n_units == 500
    assert without_source(passed) == without_source(memory)


def test_rows_that_are_gone_leave_their_cautions_behind():
    true, prob, columns = drawn("event")
    table = pa.table(columns | {"y_prob": 1 - prob})
    gone = scan(table, row_limit=0)
    assert any("1 - p passed?" in caution for caution in gone.cautions)
    kept = [caution for caution in scan(table).cautions if "1 - p passed?" in caution]
    assert kept and kept[0] in gone.cautions
    infinite = scan(pa.table(columns), row_limit=0)
    assert infinite["nll"].infinite == "5 rows said 0 for what came true"
    sure = scan(pa.table({"y_true": true, "y_prob": (prob > 0.5).astype(float)}), row_limit=0)
    assert any("only 0 and 1 are stated" in caution for caution in sure.cautions)


def test_a_view_in_memory_is_not_copied_and_keeps_no_cells():
    true, prob, _ = drawn("event")
    rows = view(true, prob)
    plan = Plan.of("ecce_mad,ece", {}, kind="event", weighted=False, in_memory=True)
    ledger = over_view(plan, rows)
    assert ledger.slices[None].rows.view() is rows
    assert report(ledger)["ecce_mad"].exact
    assert not plan.wants_cells and not plan.wants_rows
