# SPDX-License-Identifier: Apache-2.0
"""epimeter inside other tools; each module needs its tool and nothing else imports it."""
