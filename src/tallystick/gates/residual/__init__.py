"""May this successor finish the rest? Three stages, each in modules of its own.

RSCC (`ground`, `construct`, `frontier`) makes the residual contract of the state reached, before anyone is asked.
ERC (`proposal`, `refs`, `rebind`, `close`) closes what a successor proposes to a graph, without choosing for it.
CE (`admit`, and its conditions in `grounding`, `effects`, `duplicates`, `coverage`, `executable`, `claims`) judges the
whole graph before anything may write; `live` checks each live receipt, and what is discharged by it.
"""

from tallystick.gates.residual.admit import may_take_over
from tallystick.gates.residual.close import UnclosedError, close
from tallystick.gates.residual.construct import construct, duty_id, not_open
from tallystick.gates.residual.frontier import ErrorStreak, Explicit, Frontier, Spent, Supported, at_frontier
from tallystick.gates.residual.ground import Grounded, ground
from tallystick.gates.residual.grounding import verified_entities
from tallystick.gates.residual.live import bound_answer, bound_args, discharged, mismatch, superseded, unshown
from tallystick.gates.residual.proposal import Proposal, Proposed, parse_proposal

__all__ = [
    "ErrorStreak",
    "Explicit",
    "Frontier",
    "Grounded",
    "Proposal",
    "Proposed",
    "Spent",
    "Supported",
    "UnclosedError",
    "at_frontier",
    "bound_answer",
    "bound_args",
    "close",
    "construct",
    "discharged",
    "duty_id",
    "ground",
    "may_take_over",
    "mismatch",
    "not_open",
    "parse_proposal",
    "superseded",
    "unshown",
    "verified_entities",
]
