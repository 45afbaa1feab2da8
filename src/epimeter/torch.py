# SPDX-License-Identifier: Apache-2.0
"""Calibration inside PyTorch: `CalibrationMeter`, and `CalibrationMetric` for torchmetrics and Lightning.

`skce_uq`, `klce` and `dkde` compare all pairs of rows on the device.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from epimeter.errors import MissingExtraError

if importlib.util.find_spec("torch") is None:
    raise MissingExtraError("epimeter.torch", "torch", "torch")

from epimeter.integrations.torch_meter import CalibrationMeter
from epimeter.integrations.torch_pairs import dkde, klce, skce_uq

if TYPE_CHECKING:
    from epimeter.integrations.torch_metric import CalibrationMetric

__all__ = ["CalibrationMeter", "CalibrationMetric", "dkde", "klce", "skce_uq"]


def __getattr__(name: str) -> Any:
    if name == "CalibrationMetric":
        if importlib.util.find_spec("torchmetrics") is None:
            raise MissingExtraError("epimeter.torch.CalibrationMetric", "torchmetrics", "torchmetrics")
        return importlib.import_module("epimeter.integrations.torch_metric").CalibrationMetric
    raise AttributeError(f"module 'epimeter.torch' has no attribute {name!r}")
