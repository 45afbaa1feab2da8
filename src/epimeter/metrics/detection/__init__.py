# SPDX-License-Identifier: Apache-2.0
"""The detection family."""

__all__: list[str] = []
