"""`python -m tallystick.evals.lifecycle.suite`: freeze the suite again, after a change that is meant."""

from __future__ import annotations

from pathlib import Path

from tallystick.evals.lifecycle.suite.manifest import FOLDER, freeze

freeze(Path(__file__).parent / FOLDER)
