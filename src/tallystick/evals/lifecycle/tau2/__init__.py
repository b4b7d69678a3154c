"""The reporting duty on τ²-bench: four tags asked of an agent, gold by replaying the prefix, and what comes of it.

Source: unreliable-progress-bar, sections 2.1 and 2.2 and appendix G. The instruction block is ours: the paper's is an
image. Tasks, tools, policies and the user simulator are the benchmark's, untouched.
"""
