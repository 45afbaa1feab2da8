# SPDX-License-Identifier: Apache-2.0
"""Sums under the beta kernel at every point of a line, in a time that grows with the points and not with their pairs.

With d = sin^2(theta/2), d the distance from the nearer end, the beta kernel of width h is about sqrt(h) wide in theta wherever it
stands. So the line is cut into panels of two such widths, and smooth functions of a place are carried by their values at 28
Chebyshev points of a panel:

1. sources: sum_i v_i g(x_i) over a panel is the same combination of g at its Chebyshev points; a panel of fewer points keeps them;
2. reach: panels further than 13 widths weigh less than exp(-40) of the peak and are left out;
3. targets: the sums are made at the Chebyshev points of a panel and interpolated to the points in it. Towards 0 and 1 a power of d
   is no polynomial; there panels shrink by 4 and the variable is log d, in which powers are smooth, down to where they are clipped.

The sums are within about 1e-12 of the plain ones, in parts of the peak of a kernel there times the weight around it; at the
narrowest widths rounding of the kernel itself leaves more, 1e-10. Whoever takes his own row out of a sum sees that enough is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epimeter.metrics.kernel.dirichlet import LEAST, constants, log_points, pairs_of, row_blocks

Floats = NDArray[np.float64]

NODES = 28
PANEL = 2.0
REACH = 13.0
"""Widths of a kernel in theta: of a panel, and of what is summed to either side."""
MANY = 1_000
"""Up to so many points all pairs are summed plainly; that takes no longer."""
ENOUGH = 0.01
"""What must be left of a sum, in parts of what was taken out of it, for its rounding not to count."""
AT_A_TIME = 2_048
TURN = 4.0
"""From so many widths on the panels of targets are cut in theta, before in log d."""


class PanelSums(NamedTuple):
    """Sums at every target: of k v in units of exp(log_scale), and of k^2 v in units of its square."""

    log_scale: Floats
    first: Floats
    second: Floats


class _Panel(NamedTuple):
    """The points between two places, and its bounds in the variable in which it is interpolated."""

    points: slice
    mirrored: bool
    low: float
    high: float
    variable: str


class _Kernel(NamedTuple):
    """What stands for the sources: shapes, constants and values in the order of the line; where panels lie and begin."""

    scaled: Floats
    fixed: Floats
    values: Floats
    theta: Floats
    starts: list[int]

    def at(self, logs: Floats, near: float, far: float, squares: bool) -> PanelSums:
        """The sums at targets of these logarithms, from the panels between two angles."""
        first, last = np.searchsorted(self.theta, (near, far))
        some = slice(self.starts[max(0, first - 1)], self.starts[min(int(last), len(self.starts) - 1)])
        log_scale, sums = np.empty(len(logs)), np.empty((2, len(logs), self.values.shape[1]))
        for rows in row_blocks(len(logs), max(1, some.stop - some.start)):
            log_kernel = logs[rows] @ self.scaled[:, some]
            log_kernel += self.fixed[some]
            log_scale[rows] = log_kernel.max(axis=1)
            log_kernel -= log_scale[rows, None]
            kernel = np.exp(log_kernel, out=log_kernel)
            sums[0, rows] = kernel @ self.values[some]
            if squares:
                sums[1, rows] = np.square(kernel, out=kernel) @ self.values[some]
        return PanelSums(log_scale, sums[0], sums[1])


def on_a_line(points: Floats) -> bool:
    """Whether points are pairs x, 1 - x: of two classes, and adding up to 1 but for the rounding of doubles."""
    return points.shape[1] == 2 and bool(np.all(np.abs(points[:, 0] + points[:, 1] - 1) < 4e-16))


def beta_sums(points: Floats, width: float, values: Floats, *, squares: bool = False) -> PanelSums:
    """Sum of k(x_j; x_i) values_i over all i, for each j; the points are pairs x, 1 - x, and x ascends.

    `values` has a row for each point; the second sums are made where `squares` are asked for.
    """
    x = points[:, 0]
    kernel = _sources(x, width, values)
    logs, reach = log_points(points), REACH * width**0.5
    made = PanelSums(np.empty(len(x)), np.empty(values.shape), np.empty(values.shape if squares else (0, 0)))
    for panel in _target_panels(x, width):
        here = panel.points
        near, far = _theta(x[[here.start, here.stop - 1]])
        nodes, to_coefficients = _chebyshev()
        if panel.variable == "none" or here.stop - here.start <= NODES:
            found = kernel.at(logs[here], near - reach, far + reach, squares)
            made.log_scale[here], made.first[here] = found.log_scale, found.first
            if squares:
                made.second[here] = found.second
            continue
        found = kernel.at(_logs(_inside(panel, nodes), panel), near - reach, far + reach, squares)
        top = found.log_scale.max()
        scale = np.exp(found.log_scale - top)[:, None]
        made.log_scale[here] = top
        first, second = to_coefficients @ (scale * found.first), to_coefficients @ (scale**2 * found.second)
        for rows, table in _polynomials(panel, _own(panel, x, logs)):
            at = slice(here.start + rows.start, here.start + rows.stop)
            made.first[at] = table.T @ first
            if squares:
                made.second[at] = table.T @ second
    return made


def _sources(x: Floats, width: float, values: Floats) -> _Kernel:
    half = _angles(width**0.5, np.array([0.0, width**0.5]))
    pairs, sums, starts = [], [], [0]
    nodes, to_coefficients = _chebyshev()
    for panel in _panels(x, np.sin(half / 2) ** 2, ["distance"] * (len(half) - 1)):
        here = panel.points
        if here.stop - here.start <= NODES:
            pairs.append(pairs_of(x[here]))
            sums.append(values[here])
        else:
            place = _inside(panel, nodes)
            pairs.append(np.column_stack([1 - place, place] if panel.mirrored else [place, 1 - place]))
            tables = _polynomials(panel, 1 - x[here] if panel.mirrored else x[here])
            moments = sum(table @ values[here][rows] for rows, table in tables)
            sums.append(to_coefficients.T @ moments)
        starts.append(starts[-1] + len(pairs[-1]))
    shapes = np.concatenate(pairs)
    theta = np.concatenate([half, np.pi - half[-2::-1]])
    return _Kernel(shapes.T / width, constants(shapes, width), np.concatenate(sums), theta, starts)


def _target_panels(x: Floats, width: float) -> Iterator[_Panel]:
    step = width**0.5
    turn = np.sin(min(TURN * step, np.pi / 2) / 2) ** 2  # for wide kernels the middle of the line
    by_log = np.concatenate([LEAST * 4.0 ** np.arange(np.ceil(np.log(turn / LEAST) / np.log(4.0))), [turn]])
    angles = _angles(step, np.array([2 * np.arcsin(turn**0.5)]))
    distances = np.concatenate([[0.0], by_log, np.sin(angles[1:] / 2) ** 2])
    kinds = ["none"] + ["log"] * (len(by_log) - 1) + ["theta"] * (len(angles) - 1)
    return (panel for panel in _panels(x, distances, kinds) if panel.points.start < panel.points.stop)


def _angles(step: float, first: Floats) -> Floats:
    """Bounds of panels in theta from some first ones to the middle of the line."""
    after = np.arange(first[-1] + PANEL * step, np.pi / 2, PANEL * step)
    return np.concatenate([first[first < np.pi / 2], after, [np.pi / 2]])


def _panels(x: Floats, distances: Floats, variables: list[str]) -> Iterator[_Panel]:
    """The panels between such distances from 0, up to the middle, then those between the same distances from 1."""
    upto = np.searchsorted(x, distances)
    upto[-1] = np.searchsorted(x, 0.5)
    onward = np.searchsorted(x, 1 - distances[::-1], side="right")
    onward[0], onward[-1] = upto[-1], len(x)
    for mirrored, bounds in ((False, upto), (True, onward)):
        order = range(len(variables))
        for turn, panel in enumerate(reversed(order) if mirrored else order):
            points = slice(int(bounds[turn]), int(max(bounds[turn], bounds[turn + 1])))
            low, high = distances[panel : panel + 2]
            if variables[panel] == "log":
                low, high = np.log(low), np.log(high)
            elif variables[panel] == "theta":
                low, high = _theta(low), _theta(high)
            yield _Panel(points, mirrored, float(low), float(high), variables[panel])


def _theta(x: Floats | float) -> Floats:
    return np.asarray(2 * np.arcsin(np.sqrt(x)))


def _inside(panel: _Panel, place: Floats) -> Floats:
    """Places of [-1, 1] as the panel's variable."""
    return (panel.low + panel.high) / 2 + (panel.high - panel.low) / 2 * place


def _own(panel: _Panel, x: Floats, logs: Floats) -> Floats:
    """The panel's points in its variable."""
    if panel.variable == "log":
        return np.asarray(logs[panel.points, int(panel.mirrored)])
    return _theta(1 - x[panel.points] if panel.mirrored else x[panel.points])


def _logs(place: Floats, panel: _Panel) -> Floats:
    """log x and log(1 - x) of places in the panel's variable."""
    if panel.variable == "log":
        near, far = place, np.log1p(-np.exp(place))
    else:
        near, far = 2 * np.log(np.sin(place / 2)), 2 * np.log(np.cos(place / 2))
    return np.column_stack([far, near] if panel.mirrored else [near, far])


def _polynomials(panel: _Panel, own: Floats) -> Iterator[tuple[slice, Floats]]:
    """The Chebyshev polynomials at the points of a panel, a row each, for some points at a time: they stay in the cache."""
    for begin in range(0, len(own), AT_A_TIME):
        rows = slice(begin, min(len(own), begin + AT_A_TIME))
        place = (2 * own[rows] - panel.low - panel.high) / (panel.high - panel.low)
        table = np.empty((NODES, len(place)))
        table[0], table[1] = 1.0, place
        place *= 2
        for degree in range(2, NODES):
            np.multiply(place, table[degree - 1], out=table[degree])
            table[degree] -= table[degree - 2]
        yield rows, table


@lru_cache
def _chebyshev() -> tuple[Floats, Floats]:
    """The points of [-1, 1], and the matrix from values there to coefficients of the polynomials."""
    angles = (np.arange(NODES) + 0.5) * np.pi / NODES
    matrix = np.cos(np.outer(np.arange(NODES), angles)) * 2 / NODES
    matrix[0] /= 2
    return np.cos(angles), matrix
