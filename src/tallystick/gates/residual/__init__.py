"""May this successor finish the rest? Three stages, each of its own: RSCC, ERC, CE.

RSCC (`ground`, `construct`, `frontier`) makes the residual contract of the state reached, before anyone is asked.
"""

from tallystick.gates.residual.construct import construct, duty_id
from tallystick.gates.residual.frontier import ErrorStreak, Explicit, Frontier, Spent, Supported, at_frontier
from tallystick.gates.residual.ground import Grounded, ground

__all__ = [
    "ErrorStreak",
    "Explicit",
    "Frontier",
    "Grounded",
    "Spent",
    "Supported",
    "at_frontier",
    "construct",
    "duty_id",
    "ground",
]
