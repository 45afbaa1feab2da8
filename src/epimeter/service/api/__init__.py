# SPDX-License-Identifier: Apache-2.0
"""One module an area, one function an endpoint."""
