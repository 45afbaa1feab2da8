# SPDX-License-Identifier: Apache-2.0
"""``python -m epimeter`` is the command."""

from epimeter.cli import main

main()
