"""`python -m tallystick.evals.handoff`: freeze the suite again, after a change that is meant."""

from __future__ import annotations

from pathlib import Path

from tallystick.evals.handoff.manifest import freeze

freeze(Path(__file__).parent)
