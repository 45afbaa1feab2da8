# SPDX-License-Identifier: Apache-2.0
"""An evaluator of MLflow: ``mlflow.models.evaluate(…, evaluators="epimeter")`` logs the report.

    mlflow.models.evaluate(data=frame, targets="y", predictions="p", model_type="calibration", evaluators="epimeter",
                           evaluator_config={"metrics": "ece,brier_score", "bins": 15})

It takes part where the model type is ``calibration`` or a configuration is given to it, and in no other evaluation.
"""

from __future__ import annotations

from typing import Any

from mlflow.models.evaluation.base import EvaluationResult, ModelEvaluator

from epimeter.errors import InputError
from epimeter.integrations.mlflow_runs import log_report
from epimeter.report import evaluate


class CalibrationEvaluator(ModelEvaluator):  # type: ignore[misc]
    """The report of outcomes and probabilities; its configuration is that of `evaluate`, and `prefix`."""

    @classmethod
    def can_evaluate(cls, *, model_type: Any, evaluator_config: Any, **_: Any) -> bool:
        """Whether this evaluation is meant."""
        return model_type == "calibration" or bool(evaluator_config)

    def evaluate(
        self, *, model_type: Any, dataset: Any, run_id: Any, evaluator_config: Any, model: Any = None, **_: Any
    ) -> Any:
        """Measure and log."""
        config = dict(evaluator_config or {})
        prefix = str(config.pop("prefix", "calibration"))
        if not dataset.has_targets:
            raise InputError("the evaluator needs what came true: targets=, the column of the labels", field="targets")
        if dataset.has_predictions:
            said = dataset.predictions_data
        elif model is not None:
            said = model.predict(dataset.features_data)
        else:
            raise InputError(
                "the evaluator needs probabilities: predictions=, their column, or a model that gives them"
            )
        report = evaluate(dataset.labels_data, getattr(said, "to_numpy", lambda: said)(), **config)
        return EvaluationResult(metrics=log_report(report, prefix=prefix, run_id=run_id), artifacts={})
