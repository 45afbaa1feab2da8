# SPDX-License-Identifier: Apache-2.0
"""Documents as data, and their renderings: terminal, Markdown, HTML, LaTeX, CSV, PDF; and results that one can hold."""
