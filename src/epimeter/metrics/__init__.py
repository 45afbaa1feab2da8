# SPDX-License-Identifier: Apache-2.0
"""Every metric of the catalogue, by its name."""

from epimeter.card import Metric
from epimeter.metrics import bin, cumulative, curve, detection, distribution, kernel, point, selective

for _family in (point, bin, kernel, curve, cumulative, selective, detection, distribution):
    for _name in _family.__all__:
        globals()[_name] = getattr(_family, _name)

__all__ = [_name for _name, _value in list(globals().items()) if isinstance(_value, Metric)]
