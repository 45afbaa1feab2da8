# SPDX-License-Identifier: Apache-2.0
"""Examples of the OpenAPI document, by operation: requests, and the answers that a server gave; a test compares their shape."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

EXAMPLES: dict[str, Any] = json.loads(files("epimeter.service").joinpath("examples.json").read_text("utf-8"))
