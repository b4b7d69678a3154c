"""The full-trace critic: a model reads every word and result of a run, and says complete, continue or stuck.

It needs a model (`--model`); without one it is not run, and its figures are null. Its prompt is ours: the
paper's is not in the source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.termination.snapshot import Decision, Snapshot
from tallystick.model.canonical import digest
from tallystick.model.events import Intent, Receipt, Said
from tallystick.models import ChatEndpoint

KEPT: Final = "full_trace_critic.jsonl"
_DECISIONS: Final[tuple[Decision, ...]] = ("complete", "continue", "stuck")
_SCHEMA: Final = {
    "type": "object",
    "properties": {"decision": {"type": "string", "enum": list(_DECISIONS)}},
    "required": ["decision"],
    "additionalProperties": False,
}
_RULE: Final = (
    "You judge whether an agent that uses tools may stop. Below are the request, every tool call with its result, and"
    " the agent's last words. Say `complete` only where the results support every part of the answer; `continue` where"
    " something is missing, wrong, or still pending; `stuck` where the agent goes round in circles. Answer as JSON."
)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a model, kept so that an interrupted run goes on: which snapshot, which model, and what it said."""

    snapshot: str
    model: str
    decision: Decision


@dataclass(frozen=True, kw_only=True)
class Critic:
    """A model that judges snapshots, one request each, at temperature 0.

    Attributes:
        name: what the endpoint calls the model.
        called: what reports call it.
        endpoint: where it answers.
    """

    name: str
    called: str
    endpoint: ChatEndpoint

    def decide(self, snapshot: Snapshot) -> Decision:
        """Return what the model says.

        Raises:
            InputError: the endpoint cannot be used, or answers something else.
        """
        messages = [{"role": "system", "content": _RULE}, {"role": "user", "content": transcript(snapshot)}]
        answer = self.endpoint.constrained(self.name, messages, _SCHEMA, max_tokens=24)
        said = answer.get("decision") if isinstance(answer, dict) else None
        found = next((d for d in _DECISIONS if d == said), None)
        if found is None:
            raise InputError("the model's answer is no decision", where=self.endpoint.where)
        return found

    def judge(
        self, snapshots: Sequence[Snapshot], out: Path | None, progress: Callable[[int, int], None] | None = None
    ) -> list[Decision]:
        """Return a decision per snapshot; with a folder, answers are kept there and are not asked for again.

        Raises:
            InputError: the endpoint or the folder cannot be used.
        """
        kept = read(out / KEPT) if out is not None else []
        done = {k.snapshot: k.decision for k in kept if k.model == self.called}
        found: list[Decision] = []
        for number, snapshot in enumerate(snapshots, 1):
            if snapshot.id not in done:
                done[snapshot.id] = self.decide(snapshot)
                if out is not None:
                    _append(out, Kept(snapshot=snapshot.id, model=self.called, decision=done[snapshot.id]))
            found.append(done[snapshot.id])
            if progress is not None:
                progress(number, len(snapshots))
        return found

    @property
    def prompt_sha256(self) -> str:
        """SHA-256 of the instruction, so that figures of two prompts are told apart."""
        return digest(_RULE.encode("utf-8"))


def transcript(snapshot: Snapshot) -> str:
    """Return a run as text: words, calls and results as they crossed the wire, in order."""
    lines = []
    for sealed in snapshot.events:
        body = sealed.event.body
        if isinstance(body, Said):
            lines.append(f"{body.role}: {body.text}")
        elif isinstance(body, Intent):
            lines.append(f"call {body.tool} {body.args.text}")
        elif isinstance(body, Receipt) and body.result is not None:
            lines.append(f"result {body.result.text}")
    if not snapshot.shown.completion:
        lines.append("(the agent has not said that it is done)")
    return "\n".join(lines)


def read(path: Path) -> list[Kept]:
    """Return the answers kept in a file; none where there is no file.

    Raises:
        InputError: the file cannot be read, or a line is no answer.
    """
    if not path.exists():
        return []
    found: list[Kept] = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError as bad:
        raise InputError(f"cannot be read: {bad.strerror}", where=str(path)) from None
    for number, line in enumerate(lines, 1):
        try:
            found.append(msgspec.json.decode(line, type=Kept))
        except msgspec.DecodeError as bad:
            raise InputError(f"not an answer of a critic: {bad}", where=f"{path}:{number}") from None
    return found


def _append(out: Path, kept: Any) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with (out / KEPT).open("ab") as file:
            file.write(msgspec.json.encode(kept) + b"\n")
    except OSError as bad:
        raise InputError(f"cannot be written: {bad.strerror}", where=str(out), fix="name a folder") from None
