"""The duty on τ²-bench. Everything here needs the `tau2` extra and is skipped, visibly, without it."""

import pytest

pytest.importorskip("inspect_evals", reason="the `tau2` extra is not installed")
