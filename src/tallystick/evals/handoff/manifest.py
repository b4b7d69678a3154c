"""The frozen suite: SHA-256 of every item and data file, and counts taken from what is rendered."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.evals.handoff import items, restore, task, wording
from tallystick.evals.handoff.controls import CONTROLS
from tallystick.evals.handoff.panels import played
from tallystick.evals.handoff.run import reference_cast
from tallystick.model.canonical import digest

FILE: Final = "manifest.json"
MODELS: Final = 6
"""Model variants of the paper's primary matrix, by which its counts per condition are divided."""


def digests() -> dict[str, dict[str, str]]:
    """Return data file → SHA-256, and item → SHA-256 of what is rendered."""
    files = {f"tasks/{name}.yaml": digest(task.text_of(name).encode("utf-8")) for name in task.TRAJECTORIES}
    files[wording.FILE] = digest(wording.text_of().encode("utf-8"))
    found = {i.id: i.digest for i in (*items.main(), *items.compression(), *items.bases(), *items.paraphrased())}
    return {"files": files, "items": found}


def stored() -> dict[str, dict[str, str]]:
    """Return the manifest that is in the package."""
    place = importlib.resources.files(__package__) / FILE
    found: dict[str, dict[str, str]] = msgspec.json.decode(place.read_bytes())
    return found


def freeze(folder: Path) -> None:
    """Write the manifest: what a maintainer does when the suite is meant to change."""
    (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(digests()), indent=0) + b"\n")


def listing() -> dict[str, Any]:
    """Return what the suite consists of, counted over distinct rendered items.

    Of fixed artifacts the reference transformers' are rendered; what is distinct is an executor's whole view, its arm
    and its control. `per_condition` is what six models make of one condition.
    """
    main = {i.digest: i for i in items.main()}
    cast = reference_cast()
    told: dict[str, Any] = {
        "tasks": {name: len({t.id for t in task.tasks(name)}) for name in task.TRAJECTORIES},
        "domains": len({t.domain for t in task.tasks()}),
        "episodes_per_model": len(main),
        "conditions": {
            name: {"per_model": n, "over_six_models": n * MODELS}
            for name in dict.fromkeys(i.condition for i in main.values())
            if (n := sum(i.condition == name for i in main.values()))
        },
        "episodes_over_six_models": len(main) * MODELS,
        "interventions": {},
    }
    arms = {
        "compression": items.COMPRESSION, "restoration": restore.RESTORE, "leave_out": restore.LEAVE_OUT,
        "endpoint": CONTROLS,
    }  # fmt: skip
    for study, names in arms.items():
        views = {(e.condition, e.control, e.sight, e.source) for e in played(study, cast)}  # type: ignore[arg-type]
        told["interventions"][study] = {
            "episodes": len(views),
            "arms": {name: sum(condition == name for condition, *_ in views) for name in names},
            "artifacts": len({source for *_, source in views}),
        }
    told["paraphrases"] = len({i.digest for i in items.paraphrased()})
    told["transport"] = {
        name: len({i.digest for i in items.transported() if i.condition == name}) for name in items.TRANSPORT
    }
    told["manifest_ok"] = digests() == stored()
    return told
