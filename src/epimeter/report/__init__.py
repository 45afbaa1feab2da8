# SPDX-License-Identifier: Apache-2.0
"""Measurements, the report that holds them, and its renderings."""

from epimeter.report.evaluation import evaluate
from epimeter.report.measurement import Interval, Measurement, Report

__all__ = ["Interval", "Measurement", "Report", "evaluate"]
