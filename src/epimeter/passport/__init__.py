# SPDX-License-Identifier: Apache-2.0
"""The epistemic passport: one document a system, as JSON and as PDF."""

from epimeter.passport.changes import Change, changes
from epimeter.passport.document import canonical, check, digest, passport, verification_address
from epimeter.passport.pdf import pdf

__all__ = ["Change", "canonical", "changes", "check", "digest", "passport", "pdf", "verification_address"]
