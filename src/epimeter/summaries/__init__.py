# SPDX-License-Identifier: Apache-2.0
"""Exact, mergeable, one-pass summaries, and the recipes that make them.

A recipe is a small frozen value that says how a view is condensed: `Bins(bins=15)`. It makes a summary of a view;
two summaries of one recipe merge into the summary of both; `finish` turns the summary into what a metric reads.
Equal recipes make equal summaries, so metrics that read the same one share it.

Sums over rows are sums of integers (`fixed`): they have the same bits for any order of the rows, any chunking, any
number of threads.
"""

from epimeter.summaries.bins import Bins, BinTotals, ClassBins, FineBins, GivenBins, MomentBins, MomentTotals
from epimeter.summaries.means import Mean, MeanOf
from epimeter.summaries.recipe import Recipe, Summary
from epimeter.summaries.rows import BinnedRows, Binning, Ordered, OrderedRows, Rows

__all__ = [
    "BinTotals",
    "BinnedRows",
    "Binning",
    "Bins",
    "ClassBins",
    "FineBins",
    "GivenBins",
    "Mean",
    "MeanOf",
    "MomentBins",
    "MomentTotals",
    "Ordered",
    "OrderedRows",
    "Recipe",
    "Rows",
    "Summary",
]
