"""Reliability cases as files: each is turned into a contract, a record and a proposal, and the gates are asked.

`python -m tallystick.testing.cases FILE [--json]`. The translation knows no single case: `read` takes what a case says,
`declare` drafts a contract as a host would from such tool declarations, `record` writes its events, `propose` its
attempt. See `docs/reference/cases.md` for every rule and for the table of reason kinds.
"""

from tallystick.testing.cases.judge import Answer, Item, Result, answer, run
from tallystick.testing.cases.read import Case, Scene, load, loads

__all__ = ["Answer", "Case", "Item", "Result", "Scene", "answer", "load", "loads", "run"]
