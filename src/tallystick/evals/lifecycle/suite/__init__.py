"""The frozen suite of the lifecycle evaluation: scenarios, checkpoints, arms, studies, their manifests, and the runner.

`scenario` reads the scripts; `trace` folds a scripted trace into trusted state and renders it as a history; `protocol`
and `treatment` say what is asked and what an arm changes; `item` puts a stimulus and its answer key together; `studies`
enumerates; `manifest` freezes. `asking`, `kept` and `run` put the stimuli before a model; `reporters` are scripted.
"""
