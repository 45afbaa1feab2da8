"""COCO-style files into detection columns: what is read, what is left out and said, what is refused."""

import json

import numpy as np
import pytest

from epimeter import metrics
from epimeter.errors import InputError, ReadError
from epimeter.readers.coco import Detections, read_coco
from epimeter.report.detections import evaluate_detections

TRUTH = {
    "info": {"year": 2024},
    "images": [
        {"id": 7, "width": 100, "height": 50, "file_name": "a.jpg"},
        {"id": 9, "width": 200, "height": 200},
    ],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 20], "iscrowd": 0, "area": 400},
        {
            "id": 2,
            "image_id": 7,
            "category_id": 3,
            "bbox": [0, 0, 100, 50],
            "iscrowd": 1,
            "segmentation": {"counts": "x"},
        },
        {"id": 3, "image_id": 9, "category_id": 5, "bbox": [1.5, 2.5, 10, 4]},
    ],
    "categories": [{"id": 3, "name": "cat"}, {"id": 5, "name": "dog", "supercategory": "animal"}],
}
RESULTS = [
    {"image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 20], "score": 0.9},
    {"image_id": 9, "category_id": 3, "bbox": [1, 2, 10, 4], "score": 0.25},
]


@pytest.fixture
def files(tmp_path):
    def write(truth=TRUTH, results=RESULTS):
        paths = tmp_path / "truth.json", tmp_path / "results.json"
        for path, content in zip(paths, (truth, results), strict=True):
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return paths

    return write


def changed(place, value):
    """The ground truth with one value replaced; a place such as ("images", 0, "width")."""
    truth = json.loads(json.dumps(TRUTH))
    inner = truth
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return truth


def test_boxes_become_corners_and_columns_keep_the_order_of_the_files(files):
    found = read_coco(*files())
    assert isinstance(found, Detections)
    assert found.truth_image.tolist() == [7, 9]
    assert found.truth_class.tolist() == [3, 5]
    assert found.truth_box.tolist() == [[10, 10, 30, 30], [1.5, 2.5, 11.5, 6.5]]
    assert found.image.tolist() == [7, 9]
    assert found.label.tolist() == [3, 3]
    assert found.box.tolist() == [[10, 10, 30, 30], [1, 2, 11, 6]]
    assert found.score.tolist() == [0.9, 0.25]
    assert found.classes == {3: "cat", 5: "dog"}
    assert found.n_images == 2


def test_a_crowd_is_left_out_and_counted(files):
    found = read_coco(*files())
    assert found.crowds == 1
    assert len(found.truth_image) == 2


def test_a_crowd_may_be_written_as_true(files):
    assert read_coco(*files(changed(("annotations", 0, "iscrowd"), True))).crowds == 2


def test_a_flat_crowd_is_no_fault(files):
    assert read_coco(*files(changed(("annotations", 1, "bbox"), [0, 0, 0, 0]))).crowds == 1


def test_the_columns_go_straight_into_a_metric(files):
    found = read_coco(*files())
    assert metrics.match_detections(*found.columns).tp == 1
    assert metrics.d_ece(
        *found.columns, variant="full", bins=2, min_count=1, image_size=found.image_size
    ).value == pytest.approx((0.1 + 0.25) / 2)


def test_each_detection_has_the_size_of_its_image(files):
    assert read_coco(*files()).image_size.tolist() == [[100, 50], [200, 200]]


def test_an_image_may_be_silent_on_its_size_until_it_is_asked(files):
    truth = changed(("images", 1), {"id": 9})
    found = read_coco(*files(truth))
    assert found.sizes == {7: (100.0, 50.0)}
    with pytest.raises(InputError, match="image 9 of detection 1 does not"):
        _ = found.image_size


def test_no_results_are_results(files):
    found = read_coco(*files(results=[]))
    assert found.box.shape == (0, 4)
    assert found.image_size.shape == (0, 2)
    assert metrics.qgc(*found.columns) == 1.0


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        (
            changed(("annotations", 2, "bbox"), [1, 2, 3]),
            r"annotations\[2\]\.bbox is not: expected `array` of length 4",
        ),
        (changed(("annotations", 0, "bbox", 1), "wide"), r"annotations\[0\]\.bbox\[1\] is not: expected `float`"),
        (changed(("annotations", 0, "image_id"), 8), r"annotations\[0\] of .* has image_id 8"),
        (changed(("annotations", 2, "category_id"), 4), r"annotations\[2\] of .* has category_id 4"),
        (changed(("annotations", 2, "bbox"), [1, 2, 0, 4]), r"positive width and height; 1 of 2 .* annotations\[2\]"),
        (changed(("annotations", 2, "bbox"), [1, 2, 3, -4]), r"positive width and height"),
        (changed(("annotations", 2, "id"), 1), "1 occurs 2 times"),
        (changed(("annotations", 0, "iscrowd"), 2), "iscrowd is not"),
        (changed(("annotations", 0), {"image_id": 7, "category_id": 3}), "missing required field `bbox`"),
        (changed(("images", 1, "id"), 7), "images of .* must have an id of their own; 7 occurs 2 times"),
        (changed(("images", 0, "width"), 0), r"images\[0\] of .* is 0 by 50"),
        (changed(("categories", 1, "id"), 3), "categories of .* 3 occurs 2 times"),
        (changed(("images", 0, "id"), 2**70), r"images\[0\]\.id is not"),
        ({"images": [], "annotations": []}, "missing required field `categories`"),
        (RESULTS, "must be COCO ground truth; the whole file is not"),
        ("{", "must be JSON; it is not"),
        ("", "must be JSON; it is not"),
        ('{"images": [' + "[" * 5000, "must (be|not)"),
    ],
)
def test_bad_ground_truth_is_refused(files, truth, words):
    with pytest.raises(ReadError, match=words) as refusal:
        read_coco(*files(truth))
    assert "truth.json" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([RESULTS[0], RESULTS[1] | {"score": 1.5}], r"score must lie in \[0, 1\]; 1 of 2 .* \[1\] of .* has score 1.5"),
        ([RESULTS[0] | {"image_id": 1}], "has image_id 1"),
        ([RESULTS[0] | {"category_id": 1}], "has category_id 1"),
        ([{"image_id": 7, "category_id": 3, "bbox": [1, 2, 3, 4]}], "missing required field `score`"),
        ([RESULTS[0] | {"image_id": "a.jpg"}], r"\[0\]\.image_id is not: expected `int`, got `str`"),
        (TRUTH, "must be a list of COCO results; the whole file is not"),
        ('[{"image_id": 7, "category_id": 3, "bbox": [1, 2, 3, 4], "score": NaN}]', "must be JSON"),
    ],
)
def test_bad_results_are_refused(files, results, words):
    with pytest.raises(ReadError, match=words) as refusal:
        read_coco(*files(results=results))
    assert "results.json" in str(refusal.value)


def test_a_refusal_knows_its_row(files):
    with pytest.raises(ReadError) as refusal:
        read_coco(*files(results=[RESULTS[0], RESULTS[1] | {"score": -0.1}]))
    assert (refusal.value.row, refusal.value.count, refusal.value.field) == (1, 1, "score")
    with pytest.raises(ReadError) as refusal:
        read_coco(*files(changed(("annotations", 2, "bbox"), [1, 2, 3])))
    assert refusal.value.row == 2


def test_a_file_that_is_not_there_is_refused(files, tmp_path):
    truth, _ = files()
    with pytest.raises(ReadError, match=r"no file is called .*nowhere\.json"):
        read_coco(truth, tmp_path / "nowhere.json")
    with pytest.raises(ReadError, match="is a directory; name one file in it"):
        read_coco(tmp_path, truth)


def test_a_large_box_keeps_its_digits(files):
    box = [123.456, 0.1, 1e-3, 5000.25]
    found = read_coco(*files(changed(("annotations", 0, "bbox"), box)))
    np.testing.assert_array_equal(found.truth_box[0], [123.456, 0.1, 123.456 + 1e-3, 0.1 + 5000.25])


@pytest.mark.parametrize("twice", ['"score": 0.9, "score": 0.1', '"score": 0.9, "sc\\u006fre": 0.1'])
def test_a_key_that_stands_twice_is_refused(files, twice):
    text = f'[{{"image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 20], {twice}}}]'
    with pytest.raises(ReadError, match="has 'score' twice"):
        read_coco(*files(results=text))


def test_a_detector_is_judged_by_tests_that_count_images(tmp_path):
    rng = np.random.default_rng(8)
    objects, found = [], []
    for image in range(1, 41):
        for corner in (10, 200, 400):
            box = [corner, corner, 50, 50]
            objects.append(
                {"id": len(objects) + 1, "image_id": image, "category_id": 1, "bbox": box, "area": 2500, "iscrowd": 0}
            )
            shift = 0 if rng.random() < 0.5 else 120
            found.append({"image_id": image, "category_id": 1, "bbox": [corner + shift, corner, 50, 50], "score": 0.9})
    images = [{"id": image, "width": 640, "height": 640} for image in range(1, 41)]
    truth = {"images": images, "annotations": objects, "categories": [{"id": 1, "name": "thing"}]}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "found.json").write_text(json.dumps(found))
    report = evaluate_detections(str(tmp_path / "truth.json"), str(tmp_path / "found.json"), metrics="detection_ace")
    assert report.verdict.refuted and "N = 120 in 40 groups" in report.verdict.sentences[0]
    assert report.verdict.bias_low > 0.2 and "over-confident by" in report.verdict.sentences[1]
    assert "epimeter draw" in report.verdict.sentences[-1] and "recalibrate" not in report.verdict.sentences[-1]
