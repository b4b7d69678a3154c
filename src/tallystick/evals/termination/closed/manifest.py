"""The frozen study: SHA-256 of every cluster, so that a changed character of a task, world or contract is noticed."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tallystick.evals.termination.closed.clusters import SEED, Cluster, clusters
from tallystick.evals.termination.family import data
from tallystick.model import jsontext
from tallystick.model.canonical import digest

FILE: Final = "closed/manifest.json"


def of(cluster: Cluster) -> str:
    """Return the digest of a cluster: its gap, task, world and contract."""
    drawn = cluster.scenario
    parts = [cluster.name, cluster.gap, cluster.primary, drawn.request, drawn.bindings, drawn.elsewhere, drawn.world]
    return digest(jsontext.dumps([*parts, cluster.contract.sha256]).encode("utf-8"))


def written(seed: str = SEED) -> dict[str, Any]:
    """Return the manifest of the study as it is now."""
    return {"seed": seed, "clusters": {c.name: of(c) for c in clusters(seed)}}


def stored() -> dict[str, Any]:
    """Return the manifest in the package."""
    found: dict[str, Any] = msgspec.json.decode(data(FILE))
    return found


def manifest_ok() -> bool:
    """Return whether every cluster, drawn again, has the digest in the manifest, and none is more or less."""
    return written() == stored()


def text(value: dict[str, Any]) -> str:
    """Return a manifest as JSON, a line per cluster."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8") + "\n"
