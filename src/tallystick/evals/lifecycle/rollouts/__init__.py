"""The validating environment and its rollouts: sessions under a stop policy, with success read from state.

`environment` dispatches tools against a typed store; `session` plays one session; `agents` are scripted, `model` asks a
real one; `rolling` runs and keeps them; `reader` reads the kept state again without any of that; `table` compares.
"""
