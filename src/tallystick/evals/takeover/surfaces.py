"""The surfaces by name, and what is to be said of those that cannot run here."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tallystick.errors import InputError
from tallystick.evals.takeover.invoice import InvoiceDesk
from tallystick.evals.takeover.surface import Surface

SURFACES: Final = ("invoice", "retail", "airline", "state-bench")
PAGE: Final = "docs/how-to/run-takeover-suite.md"
ATTACHED: Final[Mapping[str, str]] = {
    "toolsandbox": f"not shipped: attach your own installation through the surface protocol, see {PAGE}",
    "agent-diff": f"not shipped: attach your own installation through the surface protocol, see {PAGE}",
}
"""Surfaces of the paper that this project does not bring: their rows say "not run", and how they would be."""


def surface_named(name: str, *, state_bench: Path | None = None) -> Surface:
    """Return a surface: one of the suite's, or `MODULE:NAME`, anything importable that is one.

    Raises:
        InputError: there is none of that name; what it needs is not there.
    """
    if state_bench is not None and name != "state-bench":
        raise InputError("only one surface reads a checkout", where="--state-bench", fix="--surface state-bench")
    if name == "invoice":
        return InvoiceDesk()
    if name in ("retail", "airline"):
        from tallystick.evals.takeover.tau2 import Tau2  # noqa: PLC0415 - needs an extra

        return Tau2("retail" if name == "retail" else "airline")
    if name == "state-bench":
        from tallystick.evals.takeover.state_bench import StateBench  # noqa: PLC0415 - reads what a user names

        if state_bench is None:
            raise InputError(
                "its recordings are not shipped", where="--surface state-bench",
                fix="name a checkout of the benchmark with --state-bench DIR",
            )  # fmt: skip
        return StateBench(folder=state_bench)
    if name in ATTACHED:
        raise InputError(f"`{name}` is not run here", where="--surface", fix=ATTACHED[name])
    if ":" in name:
        return _attached(name)
    raise InputError(
        f"there is no surface `{name[:80]}`", where="--surface",
        fix=f"one of: {', '.join(SURFACES)}; or MODULE:NAME of your own",
    )  # fmt: skip


def _attached(name: str) -> Surface:
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as bad:
        raise InputError(f"it cannot be imported: {bad}", where=f"--surface {name[:80]}", fix="MODULE:NAME") from None
    made: Surface = found() if isinstance(found, type) else found
    missing = [part for part in ("name", "structured", "frontiers") if not hasattr(made, part)]
    if missing:
        fix = "what docs/how-to/run-takeover-suite.md lists under `Attach a surface of your own`"
        raise InputError(f"it is no surface: it lacks {', '.join(missing)}", where=f"--surface {name[:80]}", fix=fix)
    return made


def not_run(name: str) -> str:
    """Return how a surface that was not run would be."""
    if name in ATTACHED:
        return ATTACHED[name]
    option = " --state-bench DIR" if name == "state-bench" else ""
    extra = "`pip install 'tallystick[tau2]'`, then " if name in ("retail", "airline") else ""
    return f"not run: {extra}`tallystick eval takeover --surface {name}{option}`"
