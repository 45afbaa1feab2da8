# SPDX-License-Identifier: Apache-2.0
"""Reports in TensorBoard, through any writer that has `add_scalar` and `add_text` (torch, tensorboardX).

epimeter.tensorboard.log_report(report, writer, step=epoch)
"""

from __future__ import annotations

from typing import Any

from epimeter.errors import InputError
from epimeter.integrations.tracked import each, scalars
from epimeter.report import Report
from epimeter.report.slices import Reports


def log_report(
    report: Report | Reports, writer: Any, *, step: int | None = None, prefix: str = "calibration"
) -> dict[str, float]:
    """Write a report: its numbers as scalars, the whole as text; gives the scalars as written.

    Parameters
    ----------
    writer
        A SummaryWriter.
    step
        The step, such as an epoch.
    prefix
        What tags begin with; slices add their value.
    """
    if not (hasattr(writer, "add_scalar") and hasattr(writer, "add_text")):
        raise InputError(f"writer must have add_scalar and add_text, as SummaryWriter; got {type(writer).__name__}")
    logged: dict[str, float] = {}
    for start, one in each(report, prefix):
        numbers = scalars(one, start)
        for name, value in numbers.items():
            writer.add_scalar(name, value, global_step=step)
        writer.add_text(f"{start}report", one.to_markdown(), global_step=step)
        logged |= numbers
    return logged
