"""The frozen study: SHA-256 of every snapshot, so that a changed character of a task, trace or contract is noticed."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tallystick.evals.termination.conditions import isolated, study
from tallystick.evals.termination.family import data
from tallystick.evals.termination.tasks import SEED

FILE: Final = "manifest.json"


def written(seed: str = SEED) -> dict[str, Any]:
    """Return the manifest of the study as it is now: snapshots by task and condition, isolated faults by check."""
    found: dict[str, dict[str, str]] = {}
    for one in study(seed):
        found.setdefault(one.task, {})[one.condition] = one.snapshot.id
    alone = {check: {s.task: s.snapshot.id for s in several} for check, several in isolated(seed).items()}
    return {"seed": seed, "snapshots": found, "isolated": alone}


def stored() -> dict[str, Any]:
    """Return the manifest in the package."""
    found: dict[str, Any] = msgspec.json.decode(data(FILE))
    return found


def manifest_ok() -> bool:
    """Return whether every snapshot, made again, has the digest in the manifest, and none is more or less."""
    return written() == stored()


def text(value: dict[str, Any]) -> str:
    """Return a manifest as JSON with a line per task, so that a change shows which tasks it touched."""
    parts = []
    for name in ("snapshots", "isolated"):
        rows = ",\n".join(f"    {_json(key)}: {_json(row)}" for key, row in value[name].items())
        parts.append(f"  {_json(name)}: {{\n{rows}\n  }}")
    return f'{{\n  "seed": {_json(value["seed"])},\n' + ",\n".join(parts) + "\n}\n"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode("utf-8")
