# SPDX-License-Identifier: Apache-2.0
"""The cumulative family: outcome minus confidence, added up along the confidence; no bins."""

from epimeter.metrics.cumulative.bridge import bbt
from epimeter.metrics.cumulative.brownian import brownian_tail
from epimeter.metrics.cumulative.differences import cdp, ecce_mad, ecce_r
from epimeter.metrics.cumulative.subpopulations import mcm

__all__ = ["bbt", "brownian_tail", "cdp", "ecce_mad", "ecce_r", "mcm"]
