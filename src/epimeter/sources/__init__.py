# SPDX-License-Identifier: Apache-2.0
"""Where rows come from: files, folders, frames, queries; each gives the jobs of a pass, and the columns they read."""
