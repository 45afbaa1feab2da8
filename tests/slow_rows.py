"""The slow twins of the core's loops over rows, in numpy: the same integers, written for reading."""

import numpy as np

from epimeter.summaries import BinTotals, MomentTotals, fine, fixed
from epimeter.summaries.cell_totals import CELLS, EMPTY, MIXED, CellTotals, cell_of
from epimeter.summaries.cuts import width_index
from epimeter.summaries.fixed import Fixed


def same(left, right):
    """Whether two summaries hold the same integers."""
    if hasattr(left, "__dataclass_fields__"):
        return type(left) is type(right) and all(
            same(getattr(left, name), getattr(right, name)) for name in left.__dataclass_fields__
        )
    return np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right


def slowly(recipe, view):
    """The summary of rows with one confidence each and no weight, as the recipe's loop must make it."""
    loop = recipe.loop
    if loop is None:
        return recipe.summarise(view)
    if loop.kind in ("scores", "powers"):
        return recipe.by_score(view)
    return {"bins": bins, "moments": moments, "cells": cells}[loop.kind](view, loop.bins)


def bins(view, number):
    index = width_index(view.prob, number)
    count = np.bincount(index, minlength=number)
    true = Fixed.of_counts(np.bincount(index[view.true == 1], minlength=number))
    prob = fixed.binned(view.prob, index, number)
    return BinTotals(count, Fixed.of_counts(count), true, prob, np.arange(number + 1) / number)


def moments(view, number):
    index = width_index(view.prob, number)
    prob, true = view.prob.astype(np.float64), view.true.astype(np.float64)
    residual = true - prob
    lost = (true - residual) - prob  # what the residual was rounded by
    variance = prob * (1 - prob)
    skew = variance * (1 - 2 * prob)
    columns = {
        "variance1": variance,
        "variance2": variance**2,
        "variance3": variance * variance**2,
        "skew1": skew,
        "skew2": skew**2,
    }
    made = {name: fine.binned(values, index, number) for name, values in columns.items()}
    made["square"] = fine.squares(residual, lost, index, number)
    plain = bins(view, number)
    said = fine.binned(prob, index, number)
    return MomentTotals(plain.count, plain.weight, plain.true, said, plain.edges, **made)


def class_bins(view, number):
    parts = [
        bins(type(view.event)((view.true == k).astype(np.uint8), view.prob[:, k]), number)
        for k in range(view.n_classes)
    ]
    return parts


def cells(view, _=0):
    prob = view.prob.astype(np.float64) + 0.0  # -0.0 becomes 0.0
    cell = cell_of(prob)
    place = 2 * cell + view.true
    count = np.bincount(place, minlength=2 * CELLS).reshape(CELLS, 2)
    total = fixed.binned(prob, place, 2 * CELLS)
    only = np.full(CELLS, EMPTY)
    if len(prob):
        order = np.lexsort((prob, cell))
        found, starts = np.unique(cell[order], return_index=True)
        ends = np.append(starts[1:], len(prob)) - 1
        low, high = prob[order][starts], prob[order][ends]
        only[found] = np.where(low == high, low, MIXED)
    return CellTotals(count, Fixed(total.units.reshape(CELLS, 2), total.steps.reshape(CELLS, 2)), only)
