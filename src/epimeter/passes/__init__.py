# SPDX-License-Identifier: Apache-2.0
"""One way from rows to totals, wherever the rows come from: plan -> pass -> ledger.

plan.py      what a pass measures, and what the rows must be condensed to for it
selection.py which metrics are asked for, and which the columns do not allow
batch.py     some rows of a source
tally.py     the running totals of one worker
workers.py   the pass itself: batches of a source, or a view in memory, to the tallies of all cores
ledger.py    the totals of a pass by slice; ledgers of parts merge
"""
