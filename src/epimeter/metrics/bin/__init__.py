# SPDX-License-Identifier: Apache-2.0
"""The bin family: confidences cut into bins, what was said against what was seen."""

from epimeter.metrics.bin.adaptive import t_cal
from epimeter.metrics.bin.classwise import classwise_ece
from epimeter.metrics.bin.expected import ece

__all__ = ["classwise_ece", "ece", "t_cal"]
