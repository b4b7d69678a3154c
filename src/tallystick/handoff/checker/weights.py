"""Weights of evidence, in logits, for the five judged fields: field → kind of signal → weight, from `weights.json`.

Fitted by `benchmarks/handoff_checker_fit.py`: logistic, with values set by hand as the prior of a ridge, so that a kind that
is seldom met keeps the weight that was thought right. `bias` is what stands when nothing is said. What was measured
before a set was looked at is in docs/reference/handoff-checker.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Final

WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = json.loads(
    resources.files(__package__).joinpath("weights.json").read_text(encoding="utf-8")
)
