"""Lifecycle: are progress reports delivered where due, and do they name the true stage? Source: StageIF.

`oracle` derives gold from state; `row` is one answered checkpoint; `suite/` holds the frozen stimuli; `score` gives
each row exactly one code; `measures` and `statistics` summarise; `tables` and `figures` show.
"""
