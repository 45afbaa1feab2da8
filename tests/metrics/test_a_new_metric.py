"""To add a metric takes its function under a card: report, interval, pass over files, summary, page and command follow."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epimeter import card_index, evaluate, scan
from epimeter.card_index import metric
from epimeter.cli import main
from epimeter.generate import reference_page
from epimeter.inference import interval
from epimeter.report.building import reports
from epimeter.report.scan import summarised
from epimeter.summaries import Bins, BinTotals, MeanOf
from epimeter.summary_files import packed, unpacked
from epimeter.uncertainty import GapNorm, MassGapNorm


def distances(view):
    """Distance of the confidence in the answer from its outcome, to the power 3/2."""
    return np.abs(view.true - view.prob.astype(np.float64)) ** 1.5


@pytest.fixture
def new_metrics(monkeypatch):
    """Three metrics that nobody knows: of bins, of a score of answers, and a statistic."""
    card_index.catalogue()
    monkeypatch.setattr(card_index, "_CATALOGUE", dict(card_index._CATALOGUE))
    facts = {"equation": "x", "source": "made up on the spot"}

    @metric(title="Cubic gap", family="bin", reads=Bins(12), range=(0.0, 1.0), ideal=0.0,
            interval=GapNorm(norm=3), bound=MassGapNorm(3), **facts)  # fmt: skip
    def cubic_gap(bins: BinTotals) -> float:
        """Cubic mean of the gaps."""
        return float(np.sum(bins.share * np.abs(bins.gap) ** 3) ** (1 / 3))

    @metric(title="Answer distance", family="point", reads=MeanOf(distances, "answer"), range=(0.0, 1.0), **facts)
    def answer_distance(mean) -> float:
        """Mean distance of the confidence in the answer from whether it was right."""
        return mean.value

    @metric(
        title="Filled bins", family="bin", reads=Bins(12), direction="none", headline_is="a number of bins", **facts
    )
    def filled_bins(bins: BinTotals) -> float:
        """Bins that hold rows."""
        return float((bins.count > 0).sum())

    return "cubic_gap", "answer_distance", "filled_bins"


@pytest.fixture
def rows(tmp_path):
    rng = np.random.Generator(np.random.PCG64(14))
    prob = rng.beta(0.7, 0.7, 5_000)
    true = (rng.random(5_000) < prob**1.3).astype(np.uint8)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"y_prob": prob, "y_true": true}), path, row_group_size=900)
    return true, prob, path


def test_a_report_measures_it_with_its_interval(new_metrics, rows):
    true, prob, _ = rows
    report = evaluate(true, prob, metrics=new_metrics)
    top = np.maximum(prob, 1 - prob)
    right = (prob >= 0.5) == (true == 1)
    assert float(report["answer_distance"]) == pytest.approx(np.mean(np.abs(right - top) ** 1.5), abs=1e-12)
    for name in ("cubic_gap", "answer_distance"):
        alone = interval(name, true, prob, method="asymptotic")
        assert (report[name].interval.low, report[name].interval.high) == (alone.low, alone.high)
        assert alone.low < report[name].value
    assert report["cubic_gap"].interval.method == "inversion"
    assert report["filled_bins"].no_interval == "no population"
    with pytest.raises(ValueError, match="it is a number of bins, not a property of the population"):
        interval("filled_bins", true, prob)


def test_a_pass_over_files_and_a_summary_have_its_bits(new_metrics, rows):
    true, prob, path = rows
    memory = evaluate(true, prob, metrics=new_metrics).to_dict()["measurements"]
    assert scan(path, new_metrics, row_limit=0).to_dict()["measurements"] == memory
    ledger = unpacked(packed(summarised(path, new_metrics)), "rows.epi")
    assert reports(ledger).to_dict()["measurements"] == memory


def test_the_cells_bound_it_as_its_card_says(new_metrics, rows):
    true, prob, path = rows
    exact = float(evaluate(true, prob, metrics="cubic_gap", binning="mass")["cubic_gap"])
    line = scan(path, "cubic_gap", binning="mass", row_limit=0)["cubic_gap"]
    assert not line.exact and abs(line.value - exact) <= line.error < 1e-3


def test_its_page_and_the_command_know_it(new_metrics, rows, capsys):
    page = reference_page(card_index.find("cubic_gap"))
    assert "**Cubic gap** (bin family)" in page and "| in one pass | exactly, in one pass |" in page
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", str(rows[2]), "--metric", "cubic gap,answer_distance", "--json"])
    assert ended.value.code == 0
    lines = json.loads(capsys.readouterr().out)["measurements"]
    assert [line["metric"] for line in lines] == ["cubic_gap", "answer_distance"]
    assert all("interval" in line for line in lines)
