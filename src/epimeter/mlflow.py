# SPDX-License-Identifier: Apache-2.0
"""Reports in MLflow.

with mlflow.start_run():
epimeter.mlflow.log_report(report)
"""

from __future__ import annotations

import importlib.util

from epimeter.errors import MissingExtraError

if importlib.util.find_spec("mlflow") is None:
    raise MissingExtraError("epimeter.mlflow", "mlflow", "mlflow")

from epimeter.integrations.mlflow_runs import log_report

__all__ = ["log_report"]
