"""``python -m bench.faults``: failures of what authsite depends on, one after the other.

A run breaks one thing while real requests arrive, and returns rows that compare each figure with
its target. docs/reliability.md explains the runs and has their table.

A new run is a function in a module of this package, and one line in `runs.RUNS`.
"""
