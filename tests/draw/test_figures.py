"""Figures as people use them: in a notebook, on axes of their own, with several models, from an estimator."""

import json

import numpy as np
import pytest
from matplotlib.text import Text

from epimeter import draw, metrics
from epimeter.cli import main
from epimeter.errors import InputError


def sample(n=200, seed=0):
    rng = np.random.default_rng(seed)
    prob = rng.random(n)
    return (rng.random(n) < prob**1.5).astype(int), prob


def run(*arguments):
    with pytest.raises(SystemExit) as done:
        main([str(argument) for argument in arguments])
    return done.value.code


OVERLAID = ["reliability", "isotonic", "smooth", "roof", "cumulative", "brier"]


@pytest.mark.parametrize("noun", draw.CURVES)
def test_a_figure_shows_itself_and_can_be_drawn_on_axes_of_ones_own(noun):
    from matplotlib.figure import Figure

    rng = np.random.default_rng(1)
    columns = sample() if noun not in ("simplex", "classwise") else (rng.integers(0, 3, 90), rng.dirichlet([1] * 3, 90))
    paint = draw.CURVES[noun][1]
    assert paint(*columns)._repr_png_().startswith(b"\x89PNG")
    mine = Figure()
    left, right = mine.subplots(1, 2)
    further = {"classes": [1]} if noun == "classwise" else {}
    assert paint(*columns, ax=right, **further) is mine
    assert right.has_data() and not left.has_data()
    assert right.get_title("left")
    with pytest.raises(InputError, match="ax must be the axes"):
        paint(*columns, ax="here", **further)


@pytest.mark.parametrize("noun", OVERLAID)
def test_several_models_lie_over_each_other_with_their_numbers(noun):
    true, prob = sample()
    compute, paint = draw.CURVES[noun]
    by_columns = paint({"raw": (true, prob), "sharp": (true, prob**1.5)})
    by_outcomes = paint(true, {"raw": prob, "sharp": prob**1.5})
    by_curves = paint({"raw": compute(true, prob), "sharp": compute(true, prob**1.5)})
    assert draw.rendered(by_columns) == draw.rendered(by_outcomes) == draw.rendered(by_curves)
    names = [text.get_text() for text in by_columns.axes[0].get_legend().get_texts()]
    assert [name for name in names if name != "perfect"] == ["raw", "sharp"]
    assert f"raw: N = 200, {compute(true, prob).metric}" in by_columns.get_label()


def test_models_that_cannot_be_told_apart_or_are_none_are_refused():
    true, prob = sample()
    with pytest.raises(InputError, match="1 to 7 models"):
        draw.reliability(true, {str(k): prob for k in range(8)})
    with pytest.raises(InputError, match="'a' is a ndarray"):
        draw.reliability({"a": prob})
    with pytest.raises(InputError, match="shows one model"):
        draw.histogram(true, {"a": prob, "b": prob})
    with pytest.raises(InputError, match="bars show one model"):
        draw.reliability(true, {"a": prob, "b": prob}, style="bars")
    with pytest.raises(InputError, match="style must be one of"):
        draw.reliability(true, prob, style="pie")


def test_bars_end_at_the_frequency_and_gaps_at_the_confidence():
    curve = draw.reliability_curve(*sample(), bins=5)
    axes = draw.reliability(curve, style="bars").axes[0]
    bars, gaps = axes.containers[0], axes.containers[1]
    np.testing.assert_allclose([bar.get_height() for bar in bars], curve.frequency)
    np.testing.assert_allclose([gap.get_y() + gap.get_height() for gap in gaps], curve.confidence)


def test_a_line_goes_through_the_bins_with_outcomes_of_rows_that_were_there():
    true, prob = sample()
    curve = draw.reliability_curve(true, prob, bins=5, shown=30)
    axes = draw.reliability(curve, style="line").axes[0]
    line = next(line for line in axes.lines if line.get_label() == "bins")
    np.testing.assert_array_equal(line.get_xydata().T, [curve.confidence, curve.frequency])
    rows = set(zip(prob.tolist(), true.tolist(), strict=True))
    assert {*zip(curve.shown_at.tolist(), curve.shown_true.tolist(), strict=True)} <= rows
    assert len(curve.shown_at) == 30


def test_the_ribbon_of_the_smooth_curve_stays_between_0_and_1():
    figure = draw.smooth([0] * 300 + [1], np.r_[np.linspace(0, 0.05, 300), 0.05])
    for ribbon in figure.axes[0].collections:
        for path in ribbon.get_paths():
            assert (path.vertices[:, 1] >= 0).all() and (path.vertices[:, 1] <= 1).all()


@pytest.mark.parametrize("rows", [300, 2_000_000])
def test_numbers_on_bars_do_not_collide(rows):
    rng = np.random.default_rng(3)
    curve = draw.reliability_curve(*sample(400), edges=[0, 0.02, 0.04, 0.5, 0.52, 1])
    scaled = {**vars(curve), "cell_rows": curve.cell_rows * rows / 400}
    for figure in (
        draw.reliability(type(curve)(**scaled)),
        draw.histogram(rng.integers(0, 2, rows // 100), rng.random(rows // 100)),
    ):
        renderer = figure.canvas.get_renderer() if hasattr(figure.canvas, "get_renderer") else figure._get_renderer()
        boxes = [text.get_window_extent(renderer) for text in figure.axes[-1].texts]
        assert boxes
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


def test_the_roof_has_bars_under_it():
    curve = draw.roof_curve(*sample(), bins=4)
    axes = draw.roof(curve).axes[0]
    assert len([c for c in axes.collections if c.get_alpha() == 0.28]) == 4


def test_groups_within_a_bin_are_drawn_at_their_frequencies():
    rng = np.random.default_rng(4)
    prob, group = rng.random(600), rng.choice(["a", "b"], 600)
    true = (rng.random(600) < np.clip(prob + np.where(group == "a", 0.2, -0.2), 0, 1)).astype(int)
    curve = draw.grouping_curve(true, prob, groups=group, bins=3)
    loss = 0.0
    for b in range(3):
        inside = np.minimum((prob * 3).astype(int), 2) == b
        for g, name in enumerate("ab"):
            rows = inside & (group == name)
            assert curve.count[b, g] == rows.sum()
            assert curve.frequency[b, g] == pytest.approx(true[rows].mean())
            loss += rows.sum() / 600 * (true[rows].mean() - true[inside].mean()) ** 2
    assert curve.plugin == pytest.approx(loss)
    assert 0.02 < curve.value < loss
    assert "grouping loss" in draw.grouping(curve).get_label()
    blind = [
        draw.grouping_curve(true, prob, groups=np.random.default_rng(s).permutation(group)).value for s in range(40)
    ]
    assert abs(np.mean(blind)) < 0.002, "groups that mean nothing explain nothing"
    assert len(draw.grouping_curve(true, prob, groups=prob * 3).groups) == 4
    with pytest.raises(InputError, match="needs the column groups"):
        draw.grouping_curve(true, prob)


def words(drawn):
    """Every text on a figure, the lines of notes joined."""
    return [" ".join(text.get_text().split()) for text in drawn.findobj(match=Text)]


@pytest.mark.parametrize("noun", ["reliability", "isotonic", "smooth", "roof", "cumulative", "brier", "recalibration"])
def test_figures_of_an_event_do_not_speak_of_confidence(noun):
    y, p = sample()
    y[:2], p[:2] = [0, 1], 0.5
    more = {"recalibration": (p**2,)}.get(noun, ())
    choices = {"style": "bars"} if noun == "reliability" else {}
    said = " ".join(words(getattr(draw, noun)(y, p, *more, **choices)))
    assert "outcome 1" in said and "confiden" not in said.lower()


def detections(n=3000):
    rng = np.random.default_rng(5)
    centre, size = rng.random((n, 2)), 0.02 + 0.1 * rng.random((n, 1))
    box = np.hstack([centre - size, centre + size])
    score = rng.random(n)
    hit = rng.random(n) < score * centre[:, 0]
    image, label = np.arange(n), np.zeros(n, int)
    return image[hit], label[hit], box[hit], image, label, box, score


@pytest.mark.parametrize("variant", ["location", "shape"])
def test_the_cells_of_the_heat_map_add_up_to_d_ece(variant):
    made = draw.detection_map(*detections(), variant=variant, bins=5)
    whole = metrics.d_ece(*detections(), variant=variant, bins=5)
    assert made.value == whole.value
    some = made.used > 0
    assert (made.used * made.error)[some].sum() / made.n_rows == pytest.approx(whole.value)
    assert made.count.sum() == made.n_rows == 3000
    if variant == "location":
        assert made.gap[:, 0].mean() > made.gap[:, -1].mean() + 0.2, "columns run along x: over-confident on the left"
    drawn = draw.detections(made)
    assert "d_ece" in drawn.get_label()
    # Cells without detections stay white, cells with too few are grey, and the words under the title say which is which.
    grey, coloured = (mesh.get_array() for mesh in drawn.axes[0].collections[:2])
    np.testing.assert_array_equal(~np.ma.getmaskarray(coloured), np.isfinite(made.error))
    np.testing.assert_array_equal(~np.ma.getmaskarray(grey), (made.count > 0) & np.isnan(made.error))
    assert f"grey: in no score bin {made.min_count} of them; white: none" in " ".join(words(drawn))


def test_before_and_after_show_both_curves_and_the_map():
    true, prob = sample(300)
    from epimeter.recalibration import platt_scaling

    answer = platt_scaling(true, prob, at=prob)
    curve = draw.recalibration_curve(true, prob, answer, bins=5)
    assert curve.before.value == metrics.ece(true, prob, bins=5)
    assert curve.value == curve.after.value == metrics.ece(true, answer.mapped, bins=5)
    order = np.argsort(prob)
    np.testing.assert_allclose(curve.map_from, prob[order])
    np.testing.assert_allclose(curve.map_to, np.asarray(answer.mapped)[order])
    assert len(draw.recalibration(curve).axes) == 2
    json.dumps(curve.to_dict(), allow_nan=False)
    with pytest.raises(InputError, match="at=before"):
        draw.recalibration(true, prob, platt_scaling(true, prob))


def test_a_display_comes_from_an_estimator_with_words_for_classes():
    from matplotlib.figure import Figure
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(6)
    rows = rng.normal(size=(300, 2))
    label = np.where(rows[:, 0] + rng.normal(size=300) > 0, "yes", "no")
    model = LogisticRegression().fit(rows, label)
    shown = draw.ReliabilityDisplay.from_estimator(model, rows, label, n_bins=6, strategy="quantile")
    expected = draw.reliability_curve(
        (label == "yes").astype(int), model.predict_proba(rows)[:, 1], bins=6, binning="mass"
    )
    assert shown.curve.to_dict() == expected.to_dict()
    assert shown._repr_png_().startswith(b"\x89PNG")
    assert "LogisticRegression" in repr(shown)
    no = draw.ReliabilityDisplay.from_estimator(model, rows, label, pos_label="no")
    assert no.curve.n_rows == 300 and no.curve.value != shown.curve.value
    mine = Figure().subplots()
    shown.plot(ax=mine)
    no.plot(ax=mine, name="other")
    assert shown.ax_ is mine
    assert "other: ece" in " ".join(text.get_text() for text in mine.get_legend().get_texts())
    three = LogisticRegression().fit(rows, np.array(list("abc"))[np.arange(300) % 3])
    top = draw.ReliabilityDisplay.from_estimator(three, rows, np.array(list("abc"))[np.arange(300) % 3])
    assert "top label of 3 classes" in top.curve.convention
    with pytest.raises(InputError, match="is none"):
        draw.ReliabilityDisplay.from_estimator(model, rows[:1], ["maybe"])
    with pytest.raises(InputError, match="fitted classifier"):
        draw.ReliabilityDisplay.from_estimator(object(), rows, label)


@pytest.fixture
def two_files(tmp_path):
    true, prob = sample()
    for name, said in (("a", prob), ("b", prob**1.5)):
        lines = "".join(
            f"{p},{t},{'north' if t + i % 2 else 'south'}\n" for i, (t, p) in enumerate(zip(true, said, strict=True))
        )
        (tmp_path / f"{name}.csv").write_text("y_prob,y_true,group\n" + lines)
    return tmp_path / "a.csv", tmp_path / "b.csv"


def test_the_command_draws_several_files(two_files, tmp_path, capsys):
    assert run("draw", *two_files, "-o", tmp_path / "x.png", "--style", "line") == 0
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert run("draw", *two_files, "--curve", "recalibration", "-o", tmp_path / "r.svg") == 0
    assert run("draw", two_files[0], "--curve", "grouping", "-o", tmp_path / "g.pdf") == 0
    capsys.readouterr()
    assert run("draw", *two_files, "--json", "--bins", "4") == 0
    made = json.loads(capsys.readouterr().out)
    true, prob = sample()
    assert made["b"] == json.loads(json.dumps(draw.reliability_curve(true, prob**1.5, bins=4).to_dict()))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--curve", "brier", "--style", "bars", "-o", "x.png"], "--style is for"),
        (["--truth", "x.json", "-o", "x.png"], "belong together"),
        (["--curve", "detections", "-o", "x.png"], "belong together"),
        (["--curve", "histogram", "-o", "x.png"], "one file at a time"),
        (["-o", "x.bmp"], "saved as .png, .svg or .pdf"),
    ],
)
def test_the_command_refuses_what_has_no_effect(two_files, arguments, sentence, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert run("draw", *two_files, *arguments) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.glob("x.*"))
