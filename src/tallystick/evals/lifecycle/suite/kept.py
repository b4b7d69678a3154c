"""The folder of a run: its settings, its precheck, and every raw reply, one JSON object a line, appended as they come.

Nothing is scored here. A stored reply names its stimulus and carries that stimulus's digest, so scoring later can tell
whether the suite is still the one that was asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.common import folder as common
from tallystick.evals.lifecycle.row import Reply, Row
from tallystick.evals.lifecycle.suite.item import Item

REPLIES: Final = "replies.jsonl"
SETTINGS: Final = "settings.json"
PRECHECK: Final = "precheck.json"


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call of a reply: the tool's name and the arguments' raw text."""

    tool: str
    raw: str = "{}"


class Raw(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reply as it came.

    Attributes:
        stimulus: id of the item.
        digest: SHA-256 of the stimulus that was sent.
        repetition: from 0.
        deployment: model and serving configuration.
        text: raw assistant text.
        calls: tool calls, in order.
        reasoning: characters of reasoning in a channel of its own.
        inline_reasoning: reasoning tags stand in the answer itself.
        served: the model's name as the endpoint stated it.
        cut: the reply reached its token limit.
        tokens_in, tokens_out: as the endpoint counted them.
        failure: why there is no complete response; "" where there is one. Never counted against a model.
        attempts: requests made for it.
        source: for repairs, the stimulus and repetition of the reply it follows.
    """

    stimulus: str
    digest: str
    repetition: int
    deployment: str
    text: str = ""
    calls: tuple[Called, ...] = ()
    reasoning: int = 0
    inline_reasoning: bool = False
    served: str = ""
    cut: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    failure: str = ""
    attempts: int = 1
    source: str = ""


def row_of(item: Item, raw: Raw) -> Row:
    """Return a stored reply beside its item's key, as scoring reads it.

    Raises:
        InputError: the reply was given to another stimulus than the item is now.
    """
    if raw.digest != item.digest:
        raise InputError("the stimulus is not the one that was asked", where=raw.stimulus, fix="run the study again")
    return Row(
        study=item.study,
        deployment=raw.deployment,
        scenario=item.scenario,
        checkpoint=item.checkpoint,
        encoding=item.encoding,
        arm=item.arm.name,
        repetition=raw.repetition,
        due=item.key.due,
        stage=item.key.stage,
        expected=item.key.expected,
        reply=Reply(mode="act" if raw.calls else "speak", text=raw.text, valid=not raw.failure),
        factors=dict(item.arm.factors),
        stimulus=item.id,
    )


def rows(items: Iterable[Item], found: Iterable[Raw]) -> list[Row]:
    """Return stored replies beside the keys of their items.

    Raises:
        InputError: a reply names no item, or was given to another stimulus.
    """
    by_id = {i.id: i for i in items}
    told = []
    for raw in found:
        if raw.stimulus not in by_id:
            raise InputError("no item of the study has this id", where=raw.stimulus)
        told.append(row_of(by_id[raw.stimulus], raw))
    return told


def read(folder: Path, name: str = REPLIES) -> list[Raw]:
    """Return the replies of a folder; of several for one stimulus and repetition, the last: a failure made good.

    Raises:
        InputError: the file cannot be read, or a line is no reply. A last line that was cut off is left out.
    """
    replies = common.records(folder / name, Raw, "a reply")
    return list({(raw.stimulus, raw.repetition, raw.source): raw for raw in replies}.values())


def append(folder: Path, raw: Raw, name: str = REPLIES) -> None:
    """Append a reply to a folder."""
    common.append(folder / name, raw)


def mend(folder: Path, name: str = REPLIES) -> None:
    """Cut off a last line that a killed run left unfinished, so that the next one does not join it."""
    common.mend(folder / name)


def settle(folder: Path, settings: Mapping[str, Any]) -> None:
    """Make a folder for a run, or see that it is this run's.

    Raises:
        InputError: it cannot be used, or holds a run with other settings.
    """
    common.made(folder)
    now = msgspec.to_builtins(dict(settings))
    path = folder / SETTINGS
    if not path.exists():
        common.write_settings(path, now)
        return
    before = settings_of(folder)
    other = common.differing(before, now)
    if other:
        raise InputError(
            f"the folder holds a run with other settings: {', '.join(other)}", where=str(folder),
            fix="another folder for each study, deployment and setting",
        )  # fmt: skip


def settings_of(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder.

    Raises:
        InputError: it holds no run.
    """
    path = folder / SETTINGS
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        raise InputError("the folder holds no run", where=str(folder), fix="make one with `--study … --out`") from None
