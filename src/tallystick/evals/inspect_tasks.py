"""What `inspect eval tallystick/NAME` finds: every task of ours. Importing this registers them."""

from __future__ import annotations

from tallystick.evals.evidence.harness.inspect_task import evidence
from tallystick.evals.lifecycle.tau2.inspect_task import tau2_duty

__all__ = ["evidence", "tau2_duty"]
