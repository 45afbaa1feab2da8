# SPDX-License-Identifier: Apache-2.0
"""Studies that can be run again: cells of work in a folder that remembers what was done.

`folder` keeps a study, `running` works through its cells on all cores, `ecd` repeats the experiments with the entropic calibration
difference, `bias` measures how far each metric is from the truth as rows grow.
"""
