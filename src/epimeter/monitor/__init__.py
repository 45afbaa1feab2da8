# SPDX-License-Identifier: Apache-2.0
"""Watching calibration over time: predictions now, truth later, alarms that hold their rate.

Rows or daily summaries become windows (`intake`), windows a history that can be saved (`history`), and a history is looked at
(`watch`) as often as one likes.
"""

from epimeter.monitor.history import History
from epimeter.monitor.intake import arrived
from epimeter.monitor.settings import MonitorSettings
from epimeter.monitor.watch import Overview, look

__all__ = ["History", "MonitorSettings", "Overview", "arrived", "look"]
