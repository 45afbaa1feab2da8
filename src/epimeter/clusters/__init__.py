# SPDX-License-Identifier: Apache-2.0
"""Passes over frames that lie on many machines: an engine that exists does the scheduling, ledgers of partitions merge."""
