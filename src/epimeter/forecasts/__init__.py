# SPDX-License-Identifier: Apache-2.0
"""Forecasts of a number or of a set: validated rows, as `views` are for probabilities.

A row states a mean and a deviation (of several numbers: means and a covariance), quantiles, the members of an ensemble, an
interval, a set of labels, or an expected count, beside what came true. The kinds differ in what can be read off them: an
interval of a level off all that forecast one continuous number, the probability that the truth would be smaller off a normal
law alone, its rank off quantiles and ensembles too.
"""

from epimeter.forecasts.columns import COLUMNS, forecast
from epimeter.forecasts.counts import Counts
from epimeter.forecasts.numeric import Ensemble, Intervals, Normal, Quantiles
from epimeter.forecasts.row import KINDS, WORDING, Forecast, ForecastKind
from epimeter.forecasts.sets import Sets
from epimeter.forecasts.states import States, spread_of_states

__all__ = [
    "COLUMNS",
    "KINDS",
    "WORDING",
    "Counts",
    "Ensemble",
    "Forecast",
    "ForecastKind",
    "Intervals",
    "Normal",
    "Quantiles",
    "Sets",
    "States",
    "forecast",
    "spread_of_states",
]
