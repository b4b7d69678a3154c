"""τ²-bench, retail and airline: frontiers cut from the calls that the tasks' authors made.

The benchmark is the package `inspect-evals`; nothing of its texts or data is kept here. The contracts are ours, written
from the tools' public schemas. A gold replay has no conversation, so the user's side is a stand-in, and labelled so.
"""

from tallystick.evals.takeover.tau2.contracts import contract_of
from tallystick.evals.takeover.tau2.surface import Tau2

RETAIL_EVERY = Tau2("retail", every=True)
RETAIL_BARE = Tau2("retail", looked=False)
AIRLINE_EVERY = Tau2("airline", every=True)
AIRLINE_BARE = Tau2("airline", looked=False)
"""The other frontiers, for `tallystick eval takeover --surface tallystick.evals.takeover.tau2:RETAIL_EVERY`."""

__all__ = ["AIRLINE_BARE", "AIRLINE_EVERY", "RETAIL_BARE", "RETAIL_EVERY", "Tau2", "contract_of"]
