"""Evaluation suites, one package per paper. Nothing here is needed to guard a run or to audit a trace."""
