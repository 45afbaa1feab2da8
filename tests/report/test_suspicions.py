# SPDX-License-Identifier: Apache-2.0
"""What looks as if something else was meant is said in the report."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import epimeter
from epimeter.cli import epimeter as command_line


@pytest.mark.parametrize("ids", [["a", "b", "a", "c", "a"], [7, 8, 7, 9, 7]])
def test_rows_with_the_id_of_an_earlier_one_are_counted(ids):
    report = epimeter.evaluate({"id": ids, "y_prob": [0.1, 0.6, 0.1, 0.8, 0.1], "y_true": [0, 1, 0, 1, 0]})
    assert any(caution.startswith("2 rows have the id of an earlier one") for caution in report.cautions)
    unique = epimeter.evaluate({"id": [1, 2], "y_prob": [0.1, 0.6], "y_true": [0, 1]})
    assert not any("the id of" in caution for caution in unique.cautions)


def boxes(folder, shift=0.0, corners=False):
    """Twelve objects, each found but for `shift`; the boxes of the results as corners or with their size."""
    objects = [(k // 3, 10.0 + 40 * (k % 3), 20.0 + 7 * k, 30.0, 25.0) for k in range(12)]
    truth = {
        "images": [{"id": k, "width": 640, "height": 480} for k in range(4)],
        "categories": [{"id": 1, "name": "cup"}],
        "annotations": [
            {"id": k, "image_id": image, "category_id": 1, "bbox": list(box)} for k, (image, *box) in enumerate(objects)
        ],
    }
    found = [
        {
            "image_id": image,
            "category_id": 1,
            "bbox": [x + shift, y, x + shift + w, y + h] if corners else [x + shift, y, w, h],
            "score": 0.5 + image / 10,
        }
        for image, x, y, w, h in objects
    ]
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "found.json").write_text(json.dumps(found))
    return ["evaluate", str(folder / "found.json"), "--task", "detection", "--truth", str(folder / "truth.json")]


def test_boxes_that_would_match_as_corners_are_suspected(tmp_path):
    said = CliRunner().invoke(command_line, [*boxes(tmp_path, corners=True), "-m", "d_ece"]).output
    assert "0 detections match an object, and 12 would if their boxes were corners" in said
    assert "corners" not in CliRunner().invoke(command_line, [*boxes(tmp_path), "-m", "d_ece"]).output
    assert (
        "no detection matches an object"
        in CliRunner().invoke(command_line, [*boxes(tmp_path, shift=300.0), "-m", "d_ece"]).output
    )


def test_detections_have_intervals_when_images_are_drawn_again(tmp_path):
    command = [*boxes(tmp_path), "-m", "detection_ace", "--json"]
    plain = json.loads(CliRunner().invoke(command_line, command).output)["measurements"][0]
    assert plain["no_interval"] == "bootstrap only"
    drawn = CliRunner().invoke(command_line, [*command, "--interval", "bootstrap", "--draws", "20", "--level", "0.9"])
    found = json.loads(drawn.output)["measurements"][0]["interval"]
    assert (found["level"], found["units"]) == (0.9, 4)
    bare = json.loads(CliRunner().invoke(command_line, [*command, "--interval", "none"]).output)["measurements"][0]
    assert "no_interval" not in bare
