# SPDX-License-Identifier: Apache-2.0
"""The cumulative family."""

__all__: list[str] = []
