# SPDX-License-Identifier: Apache-2.0
"""The detection family: objects and boxes; was the object there, and does the score say how likely it was."""

from epimeter.metrics.detection.binned import d_ece, detection_ace
from epimeter.metrics.detection.kernel import l1cbod
from epimeter.metrics.detection.localised import laace0, laece, laece0
from epimeter.metrics.detection.matching import match_detections
from epimeter.metrics.detection.whole import egce, qgc, sgc

__all__ = [
    "d_ece",
    "detection_ace",
    "egce",
    "l1cbod",
    "laace0",
    "laece",
    "laece0",
    "match_detections",
    "qgc",
    "sgc",
]
