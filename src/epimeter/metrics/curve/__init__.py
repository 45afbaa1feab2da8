# SPDX-License-Identifier: Apache-2.0
"""The curve family."""

__all__: list[str] = []
