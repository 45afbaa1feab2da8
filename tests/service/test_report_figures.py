# SPDX-License-Identifier: Apache-2.0
"""The report of an evaluation has the figures of the command's report, though its rows are gone."""

import re

import ground
import numpy as np

FIGURES = (
    "Reliability: said against seen",
    "Cumulative differences",
    "Confidence of right and wrong answers",
    "Risk against coverage",
)


def test_page_and_report_show_every_figure_of_the_command(service, tmp_path):
    columns = ground.columns(1500, seed=4)
    with service.tenant("Figures") as client:
        made = client.post("/v1/evaluate", json=ground.body(columns, model_id="drawn", model_version="1")).json()
        path = f"/v1/evaluations/{made['evaluation_id']}/report"
        html = client.get(path, headers={"Accept": "text/html"}).text
        stored = client.get(path, headers={"Accept": "application/json"}).json()["report"]["curves"]
    assert all(title in html for title in FIGURES)
    assert html.count("<polygon") == 1  # the band
    right = np.asarray(columns["correct"], float)
    assert stored["risk"][-1] == float(f"{1 - right.mean():.5g}")
    assert re.search(r"of all answers [\d.]+% are wrong", html)
