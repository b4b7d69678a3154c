"""The folder of a run: its settings, and every reply as it came, one JSON object a line, with the prompt it answers.

Episodes are never kept: they are derived again from replies, so a report is what the kept replies come to today, and an
interrupted run goes on with the replies it lacks. Nothing is scored here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.model.canonical import canonical, digest

REPLIES: Final = "replies.jsonl"
SETTINGS: Final = "settings.json"


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reply of a model.

    Attributes:
        key: digest of role, prompt and schema; the same question is asked once.
        role: reviewer, competence, transformer or executor.
        prompt: the whole user message that was sent; nothing else is.
        text: what came back.
        cut: it reached its token limit.
        failure: why nothing came; "" otherwise.
    """

    key: str
    role: str
    prompt: str
    text: str = ""
    cut: bool = False
    served: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    failure: str = ""


def key_of(role: str, prompt: str, schema: Mapping[str, Any] | None) -> str:
    """Return the key of a question."""
    return digest(canonical({"role": role, "prompt": prompt, "schema": dict(schema) if schema else None}))


def read(folder: Path) -> dict[str, Reply]:
    """Return the replies of a folder by key; the last of several, a failure made good.

    Raises:
        InputError: a line is no reply. A last line that was cut off is left out.
    """
    path = folder / REPLIES
    if not path.exists():
        return {}
    found: dict[str, Reply] = {}
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        try:
            reply = msgspec.json.decode(line, type=Reply)
        except msgspec.DecodeError as bad:
            if number == len(lines) and not line.endswith(b"\n"):
                break  # the run was killed while it wrote; it is asked again
            raise InputError(f"not a reply: {bad}", where=f"{path}:{number}") from None
        found[reply.key] = reply
    return found


def append(folder: Path, reply: Reply) -> None:
    """Append a reply."""
    with (folder / REPLIES).open("ab") as file:
        file.write(msgspec.json.encode(reply) + b"\n")


def settle(folder: Path, settings: Mapping[str, Any]) -> None:
    """Make a folder for a run, or see that it is this run's, and cut off a line that was left unfinished.

    `panels` of the settings may grow from run to run; all else is the run.

    Raises:
        InputError: it cannot be used, or holds a run with other settings.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as bad:
        raise InputError(f"cannot be made: {bad.strerror}", where=str(folder), fix="name a folder") from None
    told = dict(settings)
    path = folder / SETTINGS
    if path.exists():
        before = settings_of(folder)
        told["panels"] = list(dict.fromkeys([*before.get("panels", ()), *settings.get("panels", ())]))
        other = sorted(k for k in {*before, *told} - {"panels"} if before.get(k) != told.get(k))
        if other:
            raise InputError(
                f"the folder holds a run with other settings: {', '.join(other)}", where=str(folder),
                fix="another folder for each model and setting",
            )  # fmt: skip
    path.write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n")
    replies = folder / REPLIES
    if replies.exists():
        data = replies.read_bytes()
        if data and not data.endswith(b"\n"):
            replies.write_bytes(data[: data.rfind(b"\n") + 1])


def settings_of(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder.

    Raises:
        InputError: it holds no run.
    """
    try:
        return msgspec.json.decode((folder / SETTINGS).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        raise InputError("the folder holds no run", where=str(folder), fix="make one with `--model … --out`") from None
