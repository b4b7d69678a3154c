"""Evidence, not words: gates, a receipt ledger and audits for tool-using LLM agents.

The names here are what the package promises to keep; everything else may change.
"""

from tallystick.contracts.types import Principal, Task
from tallystick.errors import ContractError, InputError, LeaseHeldError, LedgerError, TallystickError
from tallystick.handoff import Transfer
from tallystick.model.proposal import Claim
from tallystick.model.values import EntityRef
from tallystick.runtime.blocking import Shown
from tallystick.runtime.guard import Guard
from tallystick.runtime.lost import LostAnswer
from tallystick.runtime.outcome import Finish, Outcome, Refusal, RefusedError
from tallystick.runtime.replicas import deepcopy_replica, sqlite_replica
from tallystick.runtime.results import ToolResult
from tallystick.runtime.run import Run
from tallystick.runtime.successors import Brief
from tallystick.runtime.takeover_result import Takeover

__version__ = "0.1.0.dev0"

__all__ = [
    "Brief",
    "Claim",
    "ContractError",
    "EntityRef",
    "Finish",
    "Guard",
    "InputError",
    "LeaseHeldError",
    "LedgerError",
    "LostAnswer",
    "Outcome",
    "Principal",
    "Refusal",
    "RefusedError",
    "Run",
    "Shown",
    "Takeover",
    "TallystickError",
    "Task",
    "ToolResult",
    "Transfer",
    "deepcopy_replica",
    "sqlite_replica",
]
