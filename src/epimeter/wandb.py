# SPDX-License-Identifier: Apache-2.0
"""Reports in Weights & Biases.

run = wandb.init(…)
epimeter.wandb.log_report(report, run)
"""

from __future__ import annotations

from typing import Any

from epimeter.errors import InputError
from epimeter.integrations.tracked import each, facts, scalars
from epimeter.report import Report
from epimeter.report.slices import Reports


def log_report(
    report: Report | Reports, run: Any, *, step: int | None = None, prefix: str = "calibration"
) -> dict[str, float]:
    """Log a report: its numbers, what they are about in the summary, and the page; gives the numbers as logged.

    Parameters
    ----------
    run
        What `wandb.init` gave.
    step
        The step, such as an epoch.
    prefix
        What names begin with; slices add their value.
    """
    if not (hasattr(run, "log") and hasattr(run, "summary")):
        raise InputError(f"run must be what wandb.init gives; got {type(run).__name__}", field="run")
    logged: dict[str, Any] = {}
    words: dict[str, str] = {}
    pages: dict[str, Any] = {}
    for start, one in each(report, prefix):
        logged |= scalars(one, start)
        words |= {f"{start}{name}": value for name, value in facts(one).items()}
        pages[f"{start}report"] = _page(one)
    run.log({**logged, **{name: page for name, page in pages.items() if page is not None}}, step=step)
    run.summary.update(words)
    return logged


def _page(report: Report) -> Any:
    try:
        import wandb
    except ImportError:  # a run of another make: numbers and words are enough for it
        return None
    return wandb.Html(report.to_html(), inject=False)
