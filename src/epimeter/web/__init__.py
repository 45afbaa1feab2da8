# SPDX-License-Identifier: Apache-2.0
"""The pages of the service: what the registry holds, for whoever opens it in a browser."""

from epimeter.web.site import install

__all__ = ["install"]
