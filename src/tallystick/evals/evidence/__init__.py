"""Evidence before action: a suite of 656 cases, its environment, its evaluator. Source: SafeActBench.

`world` and `worlds/` are the authored domains; `build` draws cases from them; `desk` runs a case's tools; `score`
judges what an agent did; `run` puts these together. An agent sees a `Public` part only, through a `Session`.
"""
