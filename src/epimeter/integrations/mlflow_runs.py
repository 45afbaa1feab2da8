# SPDX-License-Identifier: Apache-2.0
"""A report in a run of MLflow."""

from __future__ import annotations

from typing import Any

import mlflow

from epimeter.integrations.tracked import each, facts, scalars
from epimeter.report import Report
from epimeter.report.slices import Reports


def log_report(
    report: Report | Reports, *, prefix: str = "calibration", step: int | None = None, run_id: str | None = None
) -> dict[str, float]:
    """Log a report: its numbers as metrics, what they are about as tags, the report as JSON and as a page.

    Parameters
    ----------
    prefix
        What names and artifacts begin with; slices add their value.
    step
        The step of the metrics, such as an epoch.
    run_id
        The run; None for the active one.

    Returns
    -------
    dict
        The metrics as logged. What is undefined or infinite stands in the report alone.
    """
    logged: dict[str, float] = {}
    where: Any = {} if run_id is None else {"run_id": run_id}
    for start, one in each(report, prefix):
        numbers = scalars(one, start)
        mlflow.log_metrics(numbers, step=step, **where)
        client = mlflow.MlflowClient()
        run = run_id or mlflow.active_run().info.run_id
        for name, value in facts(one).items():
            client.set_tag(run, f"{start}{name}".replace("/", "."), value)
        mlflow.log_dict(one.to_dict(), f"{start}report.json", **where)
        mlflow.log_text(one.to_html(), f"{start}report.html", **where)
        logged |= numbers
    return logged
