"""An independent reader of a kept session's state: it shares no code with the environment, the session or the oracle.

It reads the kept sessions as plain JSON and the scenarios' data files as plain YAML, and replays nothing: from the raw
calls and raw results alone it tells which steps took effect, and holds that against the store and the outcome.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).parent.parent / "suite" / "scenarios"


def scripts() -> dict[str, Any]:
    """Return scenario id → its data."""
    found: dict[str, Any] = {}
    for path in sorted(_FOLDER.glob("*.yaml")):
        found |= {one["id"]: one for one in yaml.safe_load(path.read_text(encoding="utf-8"))}
    return found


def finished(session: Mapping[str, Any], script: Mapping[str, Any]) -> bool:
    """Return whether both steps took effect, from raw calls and raw results.

    A call counts where its result says ok and its arguments themselves show that it may: the first step has every
    declared field and the user's own word in the asked one, the second repeats the id that the first result told.
    """
    accepts = script[session["language"]]["accepts"]
    first, *rest = script["steps"]
    minted = None
    second = not rest
    for call in session["calls"]:
        told = json.loads(call["result"])
        if told.get("status") != "ok":
            continue
        try:
            args = json.loads(call["raw"])
        except ValueError:
            return False
        if call["tool"] == first["tool"] and minted is None:
            whole = all(str(args.get(f, "")).strip() for f in first["fields"])
            if not whole or not re.search(accepts, str(args[first["asked"]]), re.IGNORECASE):
                return False
            minted = told.get(first["mints"])
        elif rest and call["tool"] == rest[0]["tool"] and minted is not None:
            second = second or args.get(rest[0]["takes"]) == minted
    return minted is not None and second


def disagreements(sessions: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return one sentence for each kept session whose store, outcome or end is not what its raw record shows."""
    data = scripts()
    found = []
    for one in sessions:
        name = f"{one['deployment']}/{one['policy']}/{one['scenario']}/{one['repetition']}"
        script = data.get(one["scenario"])
        if script is None:
            found.append(f"{name}: there is no such scenario")
            continue
        try:
            done = finished(one, script)
        except (ValueError, TypeError, AttributeError, KeyError):
            found.append(f"{name}: its calls or results cannot be read")
            continue
        if done != (len(one["store"]) == len(script["steps"])):
            found.append(f"{name}: the raw record says {'finished' if done else 'unfinished'}, the store does not")
        if done != (one["outcome"] == "task_ok"):
            found.append(f"{name}: {one['outcome']}, but the raw record says {'finished' if done else 'unfinished'}")
        owned = not one["policy"].startswith("B")
        if owned and not done and one["outcome"] not in ("stall", "turn_cap", "transport"):
            found.append(f"{name}: ended unfinished by {one['outcome']} under a runtime-owned gate")
    return found
