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
from tallystick.evals.common import folder as common
from tallystick.evals.common.folder import differing, made, mend, records, write_settings
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
    return {reply.key: reply for reply in records(path, Reply, "a reply")}


def append(folder: Path, reply: Reply) -> None:
    """Append a reply."""
    common.append(folder / REPLIES, reply)


def settle(folder: Path, settings: Mapping[str, Any]) -> None:
    """Make a folder for a run, or see that it is this run's, and cut off a line that was left unfinished.

    `panels` of the settings may grow from run to run; all else is the run.

    Raises:
        InputError: it cannot be used, or holds a run with other settings.
    """
    made(folder)
    told = dict(settings)
    path = folder / SETTINGS
    if path.exists():
        before = settings_of(folder)
        told["panels"] = list(dict.fromkeys([*before.get("panels", ()), *settings.get("panels", ())]))
        other = differing(before, told, apart={"panels"})
        if other:
            raise InputError(
                f"the folder holds a run with other settings: {', '.join(other)}", where=str(folder),
                fix="another folder for each model and setting",
            )  # fmt: skip
    write_settings(path, told)
    mend(folder / REPLIES)


def settings_of(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder.

    Raises:
        InputError: it holds no run.
    """
    try:
        return msgspec.json.decode((folder / SETTINGS).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        raise InputError("the folder holds no run", where=str(folder), fix="make one with `--model … --out`") from None
