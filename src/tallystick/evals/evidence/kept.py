"""The folder of a run: its settings and its episodes, one JSON object a line, appended as they end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as bad:
        raise InputError(f"cannot be made: {bad.strerror}", where=str(out), fix="name a folder") from None
    other_settings = _settle(path.parent / SETTINGS, settings)
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


def _settle(path: Path, settings: Mapping[str, Any]) -> list[str]:
    """Keep a new folder's settings; return the names of those that differ from what is kept there."""
    now = msgspec.to_builtins(dict(settings))
    if not path.exists():
        path.write_bytes(msgspec.json.format(msgspec.json.encode(now), indent=2) + b"\n")
        return []
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as bad:
        raise InputError(f"not the settings of a run: {bad}", where=str(path)) from None
    return sorted(k for k in {*kept, *now} if kept.get(k) != now.get(k))


def append(out: Path, episode: Episode) -> None:
    """Append an episode to a folder."""
    with (out / EPISODES).open("ab") as file:
        file.write(msgspec.json.encode(episode) + b"\n")
