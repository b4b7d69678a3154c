"""The guard: the only part that reads a clock, makes ids, runs tools and writes a run's events.

`guard` makes runs, `run` is what an agent's host holds, `calls` is the path of one call (decide, intent, tool,
receipt), `closing` decides the final status, `journal` keeps store and view in step, `letters` brings in what
principals sign.
"""
