"""The folder of a run: its settings and its episodes, one JSON object a line, appended as they end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.common import folder
from tallystick.evals.evidence.episode import Episode

EPISODES: Final = "episodes.jsonl"
SETTINGS: Final = "settings.json"


def read_episodes(path: Path) -> list[Episode]:
    """Return the episodes in a file of JSON lines.

    Raises:
        InputError: the file cannot be read, or a line is no episode.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as bad:
        raise InputError(f"cannot be read: {bad.strerror}", where=str(path)) from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(msgspec.json.decode(line, type=Episode))
        except msgspec.DecodeError as bad:
            raise InputError(f"not an episode: {bad}", where=f"{path}:{number}") from None
    return found


def load(
    out: str | Path | None, called: str, *, gated: bool, settings: Mapping[str, Any]
) -> dict[tuple[str, int], Episode]:
    """Return the episodes already in a folder, those left out that infrastructure ended; make the folder if need be.

    Raises:
        InputError: it cannot be used, or holds episodes of another agent or of other settings.
    """
    if out is None:
        return {}
    path = Path(out) / EPISODES
    folder.made(path.parent)
    other_settings = folder.settled(path.parent / SETTINGS, settings, "a run")
    if not path.exists():
        return {}
    found = read_episodes(path)
    other = next((e for e in found if e.agent != called or e.gated != gated), None)
    if other is not None:
        raise InputError(
            f"the folder holds episodes of `{other.agent}`{' behind the gate' if other.gated else ''}",
            where=str(out), fix="another folder for each agent and setting",
        )  # fmt: skip
    if other_settings:
        raise InputError(
            f"the folder holds episodes with other settings: {', '.join(other_settings)}",
            where=str(out), fix="another folder for each agent and setting",
        )  # fmt: skip
    return {(e.case, e.epoch): e for e in found if e.end != "infrastructure"}


def append(out: Path, episode: Episode) -> None:
    """Append an episode to a folder."""
    folder.append(out / EPISODES, episode)
