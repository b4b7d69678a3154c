"""τ²-bench as the PyPI package `inspect-evals` ships it: its tasks, and environments to replay calls in.

Tasks, policies, tools and assertions are that package's own and are read from where it is installed; nothing of them is
copied here. Any suite that needs a trajectory's state at a message replays the calls before it in a fresh environment.
"""
