"""First contracts for a person to edit: drafted from what tools declare, or mined from good trajectories."""

from tallystick.drafting.draft import Drafted, draft
from tallystick.drafting.labels import chosen, read_labels
from tallystick.drafting.mining.mine import MIN_SUPPORT, Mined, mine
from tallystick.drafting.specs import read_sources

__all__ = ["MIN_SUPPORT", "Drafted", "Mined", "chosen", "draft", "mine", "read_labels", "read_sources"]
