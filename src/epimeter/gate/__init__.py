# SPDX-License-Identifier: Apache-2.0
"""A gate for continuous integration: a policy in git, predictions, a verdict.

`read_policy` reads `epimeter.toml`, `judge` holds predictions against it, `Judgement` says what came of it.
"""

from epimeter.gate.judging import judge
from epimeter.gate.policy import Gate, Requirement, read_policy
from epimeter.gate.verdict import PolicyJudgement, RequirementVerdict

__all__ = ["Gate", "PolicyJudgement", "Requirement", "RequirementVerdict", "judge", "read_policy"]
