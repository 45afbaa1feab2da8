# SPDX-License-Identifier: Apache-2.0
"""One pass over files, frames and clusters: the same bits for every route, in memory that does not grow with the rows."""

from epimeter.scale.scan import scan

__all__ = ["scan"]
