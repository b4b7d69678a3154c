"""Contracts: what tools do, what evidence their use needs, and what a task owes.

Written in YAML or Python, checked as a whole, compiled to frozen types (`contracts.types`). One checker for all ways
in: `load` (a file), `parse` (a text), `build` (Python values); `check` lists the problems instead of raising them.
"""

from tallystick.contracts.arguments import validate_args
from tallystick.contracts.build import EMPTY, build, check, load, parse
from tallystick.contracts.exact import exact, exact_args
from tallystick.contracts.task import load_task, task_text
from tallystick.contracts.types import Contract, Task

__all__ = [
    "EMPTY",
    "Contract",
    "Task",
    "build",
    "check",
    "exact",
    "exact_args",
    "load",
    "load_task",
    "parse",
    "task_text",
    "validate_args",
]
