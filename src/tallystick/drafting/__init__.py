"""First contracts for a person to edit: drafted from what tools declare, or mined from good trajectories."""

from tallystick.drafting.draft import Drafted, draft

__all__ = ["Drafted", "draft"]
