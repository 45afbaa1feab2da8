"""The detection family against its definitions written with plain loops."""

import math

import numpy as np
import pytest

from epimeter import metrics
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.metrics.detection import kernel
from epimeter.metrics.detection.matching import iou

GRID = [10**-3, 10**-2.5, 10**-2, 10**-1.5, 10**-1, 0.2, 0.4, 0.6, 0.8, 1.0]
ALL = ("match_detections", "detection_ace", "d_ece", "laece", "laece0", "laace0", "l1cbod", "egce", "qgc", "sgc")


def a_scene(seed, objects=40, detections=70, images=3, classes=2, crowded=False):
    """Objects, detections that lie near some of them, scores with ties."""
    rng = np.random.default_rng(seed)
    corner = rng.random((objects, 2)) * (0.3 if crowded else 0.7)
    truth_box = np.hstack([corner, corner + 0.1 + 0.2 * rng.random((objects, 2))])
    near = rng.integers(0, objects, detections)
    box = truth_box[near] + 0.05 * rng.standard_normal((detections, 4))
    truth_image, truth_class = rng.integers(0, images, objects), rng.integers(0, classes, objects)
    label = np.where(rng.random(detections) < 0.9, truth_class[near], rng.integers(0, classes + 1, detections))
    score = np.round(rng.random(detections), 2)
    return truth_image, truth_class, truth_box, truth_image[near], label, box, score


def plain_iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0 or a[2] <= a[0] or a[3] <= a[1]:
        return 0.0
    shared = width * height
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


def plain_match(scene, threshold=0.5, least_score=0.0):
    """Visit by decreasing score, then row; take the free object of largest IOU, the earliest on ties."""
    truth_image, truth_class, truth_box, image, label, box, score = scene
    kept = [v for v in range(len(score)) if score[v] >= least_score]
    taken, partner, overlap = set(), dict.fromkeys(kept, -1), dict.fromkeys(kept, 0.0)
    for v in sorted(kept, key=lambda v: (-score[v], v)):
        best, best_iou = -1, 0.0
        for t in range(len(truth_image)):
            if truth_image[t] == image[v] and truth_class[t] == label[v] and t not in taken:
                value = plain_iou(box[v], truth_box[t])
                if value > best_iou and value >= threshold:
                    best, best_iou = t, value
        if best >= 0:
            taken.add(best)
            partner[v], overlap[v] = best, best_iou
    return kept, [partner[v] for v in kept], [overlap[v] for v in kept], len(truth_image) - len(taken)


def the_bin(value, bins):
    return min(math.floor(value * bins), bins - 1)


def gather(keys, values):
    cells = {}
    for key, value in zip(keys, values, strict=True):
        cells.setdefault(key, []).append(value)
    return cells


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("least_score", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(6))
def test_rounds_match_as_visiting_one_by_one_does(seed, threshold, least_score):
    scene = a_scene(seed, crowded=seed % 2 == 0, images=1 + seed % 3)
    found = metrics.match_detections(*scene, iou_threshold=threshold, score_threshold=least_score)
    kept, partner, overlap, missed = plain_match(scene, threshold, least_score)
    assert found.kept.tolist() == kept
    assert found.truth_index.tolist() == partner
    np.testing.assert_allclose(found.iou, overlap, rtol=1e-14)
    assert (found.fn, len(found.missed)) == (missed, missed)
    assert found.tp == sum(t >= 0 for t in partner) == found.correct.sum()
    assert found.tp + found.fp == len(kept)
    assert found.iou_sum == pytest.approx(sum(overlap), rel=1e-13)
    assert found.score_sum_tp == pytest.approx(
        sum(scene[6][v] for v, t in zip(kept, partner, strict=True) if t >= 0), rel=1e-13
    )


def test_a_long_chain_of_neighbours_is_matched_in_order():
    # Every detection lies between two objects; the first choice decides the second, and so on to the end.
    n = 60
    x = np.arange(n)
    truth_box = np.column_stack([x, 0 * x, x + 1, 0 * x + 1]).astype(float)
    box = truth_box[:-1] + np.array([0.5, 0, 0.5, 0])
    same = np.zeros(n, int)
    scene = (same, same, truth_box, same[1:], same[1:], box, np.linspace(0.9, 0.1, n - 1))
    found = metrics.match_detections(*scene, iou_threshold=0.1)
    assert found.truth_index.tolist() == list(range(n - 1))


def test_an_exact_tie_of_iou_goes_to_the_earliest_object():
    truth = [[0, 0, 2, 1], [1, 0, 3, 1]]
    found = metrics.match_detections([0, 0], [0, 0], truth, [0], [0], [[0.5, 0, 2.5, 1]], [0.5])
    assert found.truth_index.tolist() == [0]


def test_an_iou_equal_to_the_threshold_matches_and_none_never_does():
    scene = ([0], [0], [[0, 0, 2, 1]], [0], [0], [[0, 0, 1, 1]], [0.5])
    assert metrics.match_detections(*scene, iou_threshold=0.5).tp == 1
    apart = ([0], [0], [[0, 0, 1, 1]], [0], [0], [[1, 0, 2, 1]], [0.5])
    assert metrics.match_detections(*apart, iou_threshold=0.0).tp == 0


def test_a_detected_box_without_area_is_a_false_positive():
    boxes = [[0.5, 0.5, 0.2, 0.9], [0.3, 0.3, 0.3, 0.6], [0.9, 0.9, 0.1, 0.1]]
    found = metrics.match_detections(
        [0], [0], [[0, 0, 1, 1]], [0] * 3, [0] * 3, boxes, [0.9, 0.8, 0.7], iou_threshold=0.0
    )
    assert (found.tp, found.fp, found.fn) == (0, 3, 1)


def test_boxes_of_huge_coordinates_do_not_overflow_into_a_match():
    left = np.array([[-1e308, 0, 1e308, 0.0], [-1e200, -1e200, 1e200, 1e200]])
    assert iou(left, np.array([[0.0, 0, 1, 1]] * 2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("seed", range(4))
def test_average_calibration_error(seed):
    scene = a_scene(seed)
    kept, partner, _, _ = plain_match(scene, 0.4, 0.2)
    cells = gather([the_bin(scene[6][v], 7) for v in kept], zip(kept, partner, strict=True))
    gaps = [abs(np.mean([(t >= 0) - scene[6][v] for v, t in cell])) for cell in cells.values()]
    answer = metrics.detection_ace(*scene, bins=7, iou_threshold=0.4, score_threshold=0.2)
    assert answer == pytest.approx(np.mean(gaps), abs=1e-12)


@pytest.mark.parametrize("variant", ["confidence", "location", "shape", "full"])
@pytest.mark.parametrize("renormalise", [False, True])
@pytest.mark.parametrize("size", [(1.0, 1.0), (0.5, 2.0)])
def test_detection_expected_calibration_error(variant, renormalise, size):
    scene = a_scene(5, detections=120)
    wanted = {"confidence": [3], "location": [3, 2, 2], "shape": [3, 2, 4], "full": [2, 2, 2, 3, 2]}[variant]
    kept, partner, _, _ = plain_match(scene)

    def cell(v):
        x1, y1, x2, y2 = scene[5][v]
        place = [(x1 + x2) / 2 / size[0], (y1 + y2) / 2 / size[1]]
        shape = [(x2 - x1) / size[0], (y2 - y1) / size[1]]
        more = {"confidence": [], "location": place, "shape": shape, "full": place + shape}[variant]
        features = [scene[6][v]] + [min(1, max(0, f)) for f in more]
        return tuple(the_bin(f, b) for f, b in zip(features, wanted, strict=True))

    cells = gather([cell(v) for v in kept], zip(kept, partner, strict=True))
    used = [c for c in cells.values() if len(c) >= 4]
    inside = sum(map(len, used))
    total = sum(abs(sum((t >= 0) - scene[6][v] for v, t in c)) for c in used)
    answer = metrics.d_ece(*scene, variant=variant, bins=wanted, min_count=4, renormalise=renormalise, image_size=size)
    assert answer.value == pytest.approx(total / (inside if renormalise else len(kept)), abs=1e-12)
    assert (answer.cells, answer.coverage) == (len(used), pytest.approx(inside / len(kept)))


def test_a_size_for_each_detection_equals_dividing_the_boxes():
    scene = a_scene(8)
    size = np.random.default_rng(0).random((len(scene[6]), 2)) + 0.5
    # Matching stays as it was; only the features see the size.
    one = metrics.d_ece(*scene, variant="shape", bins=3, min_count=1, image_size=size)
    same = metrics.d_ece(*scene, variant="shape", bins=3, min_count=1, image_size=np.ones((len(scene[6]), 2)))
    assert same == metrics.d_ece(*scene, variant="shape", bins=3, min_count=1)
    assert one.coverage == 1.0


def plain_class_errors(scene, threshold, least_score, bins, classes):
    kept, partner, overlap, _ = plain_match(scene, threshold, least_score)
    errors = {}
    for k in classes:
        mine = [(scene[6][v], t >= 0, o) for v, t, o in zip(kept, partner, overlap, strict=True) if scene[4][v] == k]
        if not mine:
            errors[k] = None
        elif bins is None:
            errors[k] = np.mean([abs(o - c) for c, _, o in mine])
        else:
            error = 0.0
            for cell in gather([the_bin(c, bins) for c, _, _ in mine], mine).values():
                precision = np.mean([right for _, right, _ in cell])
                fits = [o for _, right, o in cell if right]
                fit = np.mean(fits) if fits else 0.0
                error += len(cell) / len(mine) * abs(precision * fit - np.mean([c for c, _, _ in cell]))
            errors[k] = error
    return errors


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("classes", [None, [0, 2, 9]])
@pytest.mark.parametrize("empty", ["zero", "skip"])
def test_localisation_aware_errors(seed, classes, empty):
    scene = a_scene(seed)
    known = classes or sorted(set(scene[1]) | set(scene[4]))

    def mean(errors):
        values = [e for e in errors.values() if e is not None or empty == "zero"]
        return np.mean([e or 0.0 for e in values])

    choices = {"classes": classes, "empty_classes": empty, "score_threshold": 0.3}
    expected = mean(plain_class_errors(scene, 0.3, 0.3, 6, known))
    assert metrics.laece(*scene, bins=6, iou_threshold=0.3, **choices) == pytest.approx(expected, abs=1e-12)
    expected = mean(plain_class_errors(scene, 0.0, 0.3, 6, known))
    assert metrics.laece0(*scene, bins=6, **choices) == pytest.approx(expected, abs=1e-12)
    expected = mean(plain_class_errors(scene, 0.0, 0.3, None, known))
    assert metrics.laace0(*scene, **choices) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_global_errors_count_what_was_missed(seed, average):
    scene = a_scene(seed)
    choices = {"iou_threshold": 0.4, "score_threshold": 0.25, "average": average}
    kept, partner, _, missed = plain_match(scene, 0.4, 0.25)
    points = [(scene[6][v], float(t >= 0)) for v, t in zip(kept, partner, strict=True)]
    n = len(points) + missed if average else 1
    cells = gather([the_bin(c, 8) for c, _ in points] + [7] * missed, points + [(1.0, 0.0)] * missed)
    binned = sum(abs(sum(y - c for c, y in cell)) for cell in cells.values())
    assert metrics.egce(*scene, bins=8, **choices) == pytest.approx(binned / n, abs=1e-11)
    square = sum((y - c) ** 2 for c, y in points) + missed
    assert metrics.qgc(*scene, **choices) == pytest.approx(square / n, abs=1e-11)
    sphere = len(points) + missed - sum((c if y else 1 - c) / math.hypot(c, 1 - c) for c, y in points)
    assert metrics.sgc(*scene, **choices) == pytest.approx(sphere / n, abs=1e-11)


def log_kernel(x, c, h):
    norm = math.lgamma(1 / h + 2) - math.lgamma(c / h + 1) - math.lgamma((1 - c) / h + 1)
    left = 0.0 if c == 0 else (c / h * math.log(x) if x > 0 else -math.inf)
    right = 0.0 if c == 1 else ((1 - c) / h * math.log1p(-x) if x < 1 else -math.inf)
    return norm + left + right


def plain_kernel_error(score, target, h):
    total = 0.0
    for v, x in enumerate(score):
        others = [u for u in range(len(score)) if u != v]
        logs = [log_kernel(x, score[u], h) for u in others]
        if max(logs) == -math.inf:
            edge = (min if x == 0 else max)(score[u] for u in others)
            mean = np.mean([target[u] for u in others if score[u] == edge])
        else:
            weights = [math.exp(one - max(logs)) for one in logs]
            mean = sum(w * target[u] for w, u in zip(weights, others, strict=True)) / sum(weights)
        total += abs(mean - x)
    return total / len(score)


def plain_likelihood(score, h):
    total = 0.0
    for v, x in enumerate(score):
        logs = [log_kernel(x, c, h) for u, c in enumerate(score) if u != v]
        top = max(logs)
        if top == -math.inf:
            return -math.inf
        total += top + math.log(sum(math.exp(one - top) for one in logs) / (len(score) - 1))
    return total


@pytest.mark.parametrize("h", [0.001, 0.02, 0.3, 1.0])
@pytest.mark.parametrize("ends", [[], [0.0], [1.0], [0.0, 1.0], [0.0, 0.0, 1.0, 1.0, 1.0]])
def test_kernel_error_and_likelihood_follow_the_formula(h, ends):
    rng = np.random.default_rng(3)
    score = np.concatenate([np.round(rng.beta(2, 1, 40), 2).clip(0.01, 0.99), [1e-7, 1 - 1e-9], ends])
    target = rng.random(len(score))
    assert kernel.kernel_error(score, target, h) == pytest.approx(plain_kernel_error(score, target, h), abs=1e-11)
    likelihood = kernel.Kernel(kernel.ScoreLevels.of(score, target), h).log_likelihood()
    assert likelihood == pytest.approx(plain_likelihood(score, h), rel=1e-10)


def test_a_score_far_from_all_others_is_smoothed_without_loss():
    # Its own weight outweighs the others' by hundreds of orders of magnitude; only the others count.
    score = np.array([0.1, 0.11, 0.12, 0.9])
    target = np.array([1.0, 0.0, 1.0, 0.0])
    assert kernel.kernel_error(score, target, 0.001) == pytest.approx(
        plain_kernel_error(score, target, 0.001), rel=1e-11
    )


@pytest.mark.parametrize("rows", [3, 256])
def test_windows_leave_out_only_what_does_not_matter(monkeypatch, rows):
    monkeypatch.setattr(kernel, "ROWS", rows)
    rng = np.random.default_rng(0)
    score, target = rng.beta(1, 3, 300), rng.integers(0, 2, 300).astype(float)
    assert kernel.kernel_error(score, target, 0.001) == pytest.approx(
        plain_kernel_error(score, target, 0.001), rel=1e-11
    )


@pytest.mark.parametrize("classwise", [False, True])
@pytest.mark.parametrize("link", ["threshold", "identity"])
def test_l1cbod_with_the_bandwidth_it_chooses(link, classwise):
    scene = a_scene(11, detections=40)
    kept, partner, overlap, _ = plain_match(scene, 0.5 if link == "threshold" else 0.0)
    score = scene[6][kept]
    target = np.array([float(t >= 0) for t in partner]) if link == "threshold" else np.array(overlap)
    label = scene[4][kept]
    parts = [label == k for k in sorted(set(label)) if sum(label == k) > 1] if classwise else [label == label]
    errors = []
    for part in parts:
        best = max(GRID, key=lambda h: (plain_likelihood(score[part], h), -h))
        errors.append(plain_kernel_error(score[part], target[part], best))
    assert metrics.l1cbod(*scene, link=link, classwise=classwise) == pytest.approx(np.mean(errors), rel=1e-10)


NOTHING = ([], [], [], [], [], [], [])
ONLY_OBJECTS = ([0, 0], [0, 1], [[0, 0, 1, 1], [0, 0, 1, 1]], [], [], [], [])
ONLY_DETECTIONS = ([], [], [], [0, 0], [0, 1], [[0, 0, 1, 1], [0, 0, 1, 1]], [0.25, 0.75])


@pytest.mark.parametrize("name", ALL)
def test_nothing_at_all_is_refused(name):
    with pytest.raises(InputError, match="at least one object or one detection"):
        getattr(metrics, name)(*NOTHING)


def test_objects_without_detections_are_all_missed():
    found = metrics.match_detections(*ONLY_OBJECTS)
    assert (found.tp, found.fp, found.fn, found.precision, found.recall) == (0, 0, 2, 0.0, 0.0)
    assert metrics.egce(*ONLY_OBJECTS) == metrics.qgc(*ONLY_OBJECTS) == metrics.sgc(*ONLY_OBJECTS) == 1.0
    for name in ("detection_ace", "d_ece", "laece", "laece0", "laace0", "l1cbod"):
        with pytest.raises(UndefinedMetricError, match="needs at least"):
            getattr(metrics, name)(*ONLY_OBJECTS)


def test_detections_without_objects_are_all_false():
    found = metrics.match_detections(*ONLY_DETECTIONS)
    assert (found.tp, found.fp, found.fn, found.recall) == (0, 2, 0, 0.0)
    assert metrics.detection_ace(*ONLY_DETECTIONS) == 0.5
    assert metrics.laece(*ONLY_DETECTIONS) == metrics.laace0(*ONLY_DETECTIONS) == 0.5
    assert metrics.qgc(*ONLY_DETECTIONS) == pytest.approx((0.25**2 + 0.75**2) / 2)


def test_scores_all_below_the_threshold_leave_nothing_to_measure():
    with pytest.raises(UndefinedMetricError):
        metrics.qgc(*ONLY_DETECTIONS, score_threshold=0.9)
    with pytest.raises(UndefinedMetricError):
        metrics.detection_ace(*ONLY_DETECTIONS, score_threshold=0.9)


def test_sparse_cells_are_an_answer_of_their_own():
    with pytest.raises(UndefinedMetricError, match="at least 8 detections; the fullest has 1"):
        metrics.d_ece(*ONLY_DETECTIONS)


def test_listed_classes_that_were_never_detected_cannot_all_be_skipped():
    assert metrics.laece(*ONLY_DETECTIONS, classes=[7]) == 0.0
    with pytest.raises(UndefinedMetricError, match="classes listed"):
        metrics.laece(*ONLY_DETECTIONS, classes=[7], empty_classes="skip")


@pytest.mark.parametrize(
    ("column", "row", "value", "words"),
    [
        (0, 1, 0.5, r"truth_image must hold whole numbers; .* truth_image\[1\] = 0.5"),
        (2, 1, [0, 0, 0, 1], r"truth_box must have x1 < x2, y1 < y2 and an area; 1 of 3 .* truth_box\[1\]"),
        (2, 2, [0, 0, math.nan, 1], r"truth_box must be finite; .* truth_box\[2\]"),
        (5, 2, [0, math.inf, 1, 1], r"box must be finite; .* box\[2\]"),
        (6, 1, 1.5, r"score must lie in \[0, 1\]; 1 of 3 does not, the first: score\[1\] = 1.5"),
        (6, 2, math.nan, r"score must lie in .* score\[2\] = nan"),
    ],
)
def test_a_bad_row_is_named(column, row, value, words):
    columns = [np.array(c, float) for c in ([0, 0, 1], [0, 1, 1], [[0, 0, 1, 1]] * 3) * 2] + [np.full(3, 0.5)]
    columns[column][row] = value
    for name in ALL:
        with pytest.raises(InputError, match=words) as raised:
            getattr(metrics, name)(*columns)
        assert raised.value.row == row


def test_columns_of_different_length_are_refused():
    with pytest.raises(InputError, match="image, label, box, score must have the same length; got 2, 1, 2, 2"):
        metrics.qgc([0], [0], [[0, 0, 1, 1]], [0, 0], [0], [[0, 0, 1, 1]] * 2, [0.5, 0.5])


def test_columns_of_other_kinds_are_refused():
    good = ([0], [0], [[0, 0, 1, 1]], [0], [0], [[0, 0, 1, 1]], [0.5])
    for place, bad, words in [
        (0, ["a"], "truth_image must hold whole numbers"),
        (2, [[0, 0, 1]], "four columns"),
        (5, [[0, 0, 1, 1], [0, 0]], "rows of one length"),
        (6, ["high"], "score must be numbers"),
        (6, [[0.5]], "score must be a vector"),
        (3, [[0]], "image must be a vector of ids"),
    ]:
        with pytest.raises(InputError, match=words):
            metrics.qgc(*[bad if i == place else column for i, column in enumerate(good)])


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match="score is missing"):
        metrics.qgc([0], [0], [[0, 0, 1, 1]], [0], [0], [[0, 0, 1, 1]])


def test_columns_may_be_given_by_name():
    names = ("truth_image", "truth_class", "truth_box", "image", "label", "box", "score")
    scene = a_scene(0)
    assert metrics.qgc(**dict(zip(names, scene, strict=True))) == metrics.qgc(*scene)


def test_parameters_that_cannot_be_are_refused():
    scene = a_scene(0)
    for choices, words in [
        ({"bins": [2, 2]}, "or 1 of them for the variant confidence"),
        ({"bins": 0}, "from 1 on"),
        ({"bins": 2.5}, "whole number"),
        ({"variant": "size"}, "must be one of"),
        ({"image_size": (0, 1)}, "positive width and height"),
        ({"image_size": "big"}, "positive width and height"),
        ({"iou_threshold": 1.5}, "must be in"),
    ]:
        with pytest.raises(InputError, match=words):
            metrics.d_ece(*scene, **choices)
    for classes in ([], [1, 1], [0.5], ["a"]):
        with pytest.raises(InputError, match="none twice"):
            metrics.laece(*scene, classes=classes)
    for bandwidth in (0, -1, "wide"):
        with pytest.raises(InputError, match="bandwidth of l1cbod"):
            metrics.l1cbod(*scene, bandwidth=bandwidth)


@pytest.mark.parametrize("name", ALL)
def test_the_order_of_the_rows_does_not_matter_without_equal_scores(name):
    scene = list(a_scene(2))
    rng = np.random.default_rng(0)
    scene[6] = rng.permutation(len(scene[6])) / len(scene[6])
    objects, detections = rng.permutation(len(scene[0])), rng.permutation(len(scene[6]))
    mixed = [c[objects] for c in scene[:3]] + [c[detections] for c in scene[3:]]
    choices = {"min_count": 2} if name == "d_ece" else {}
    one, other = getattr(metrics, name)(*scene, **choices), getattr(metrics, name)(*mixed, **choices)
    if name in ("match_detections", "d_ece"):
        assert [v for v in one.to_dict().values() if not isinstance(v, list)] == [
            v for v in other.to_dict().values() if not isinstance(v, list)
        ]
    else:
        assert one == other


@pytest.mark.parametrize("name", ALL)
def test_ids_are_names_not_numbers(name):
    scene = a_scene(4)
    renamed = (scene[0] * 10**12 - 5, scene[1] * 7 - 3, scene[2], scene[3] * 10**12 - 5, scene[4] * 7 - 3, *scene[5:])
    choices = {"min_count": 2} if name == "d_ece" else {}
    one, other = getattr(metrics, name)(*scene, **choices), getattr(metrics, name)(*renamed, **choices)
    assert str(one) == str(other)
