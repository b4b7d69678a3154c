"""The folder of a study: its settings, and its trajectories, one JSON object a line, appended as they end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.common import folder
from tallystick.evals.termination.closed.play import Trajectory

TRAJECTORIES: Final = "trajectories.jsonl"
SETTINGS: Final = "settings.json"
Key = tuple[str, str, int, str]


def read_trajectories(path: Path) -> list[Trajectory]:
    """Return the trajectories in a file of JSON lines; a last line that an interrupt cut off is left out.

    Raises:
        InputError: the file cannot be read, or a line is no trajectory.
    """
    try:
        raw = path.read_bytes()
    except OSError as bad:
        raise InputError(f"cannot be read: {bad.strerror}", where=str(path)) from None
    whole, _, _ = raw.rpartition(b"\n")
    found = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            found.append(msgspec.json.decode(line, type=Trajectory))
        except msgspec.DecodeError as bad:
            raise InputError(f"not a trajectory: {bad}", where=f"{path}:{number}") from None
    return found


def load(out: Path | None, settings: Mapping[str, Any]) -> dict[Key, Trajectory]:
    """Return the trajectories already in a folder; make the folder and keep the settings if need be.

    Raises:
        InputError: it cannot be used, or holds trajectories of other settings.
    """
    if out is None:
        return {}
    folder.made(out)
    other = folder.settled(out / SETTINGS, settings, "a study")
    if other:
        raise InputError(
            f"the folder holds trajectories with other settings: {', '.join(other)}",
            where=str(out), fix="another folder for each agent and setting",
        )  # fmt: skip
    path = out / TRAJECTORIES
    if not path.exists():
        return {}
    found = read_trajectories(path)
    path.write_bytes(b"".join(msgspec.json.encode(t) + b"\n" for t in found))  # without what was cut off
    return {t.key: t for t in found}


def append(out: Path, trajectory: Trajectory) -> None:
    """Append a trajectory to a folder."""
    folder.append(out / TRAJECTORIES, trajectory)
