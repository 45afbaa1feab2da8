# SPDX-License-Identifier: Apache-2.0
"""The kernel family."""

__all__: list[str] = []
