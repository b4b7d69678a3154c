"""Successors: whoever finishes the rest. A successor gets a brief, never anything live, and hands in a whole proposal.

Any callable that takes a `Brief` and returns a proposal will do: JSON text, bytes or a mapping in the form of the
published schema (`proposal_schema`), or None to decline. Under `Run.atake_over` it may be a coroutine function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Protocol

from tallystick.contracts.answer_schema import in_words, schema_of
from tallystick.contracts.types import Contract, Tool
from tallystick.errors import InputError
from tallystick.gates.residual.ground import task_inputs
from tallystick.model import jsontext
from tallystick.model.decision import Reason
from tallystick.model.residual import Residual, residual_of
from tallystick.model.values import Type
from tallystick.runtime.outcome import reasons_json
from tallystick.runtime.replicas import Replica
from tallystick.view import View

Proposed = Mapping[str, Any] | str | bytes | None
"""What a successor hands in; None declines."""
_STATED: Final = (
    "Every value you write must be stated by a live receipt, a fixed choice, the task or the user's words, or be a "
    "reference; a proposal with a value of your own is rejected"
)
_REFERENCES: Final = (
    'Write `{"$from": SOURCE, "$at": JSON_POINTER}` wherever a value comes from something else: SOURCE is the id of an '
    "earlier call of your proposal, of a live receipt, or `task`. Never copy a value that a call of yours will only "
    "return later. Read again, after your last change, what the answer states: a change makes void what was read "
    "before it. `{slot}` in the answer's text stands for the value of that slot."
)
_AMOUNTS: Final = ("money", "quantity", "decimal")


class Successor(Protocol):
    """Finishes the rest: from a brief to a whole proposal, or None. May be asynchronous under `Run.atake_over`."""

    def __call__(self, brief: Brief, /) -> Proposed | Awaitable[Proposed]:
        """Return the proposal. What is raised ends the tenure."""


@dataclass(kw_only=True)
class Brief:
    """What a successor is told. Nothing in it is live, and nothing done to it changes anything.

    Attributes:
        request: what the requester asked, in words.
        residual: the frozen contract: what is fixed, what is owed, what may be done.
        schemas: JSON Schema of the arguments of each tool that may be used, by name.
        descriptions: what each of those tools is for, where the contract says so.
        slots: what the answer must state: slot → in words.
        proposal_schema: JSON Schema of what is to be handed in.
        evidence: what live receipts say: `receipt`, `tool`, `args`, `result` each. Their ids may be referred to.
        inputs: the task's inputs, as `{"$from": "task"}` sees them.
        transcript: (who spoke, text) of the conversation so far.
        feedback: why earlier proposals of this tenure were not admitted, or did not get as far as a change.
        attempt: number of this attempt, from 1; attempts: how many there are in all.
        replica: where calls may be tried, or None: then the proposal is written symbolically.
        tokens: what asking cost so far; a successor adds to it.
    """

    request: str
    residual: Residual
    schemas: Mapping[str, Mapping[str, Any]]
    descriptions: Mapping[str, str]
    slots: Mapping[str, str]
    proposal_schema: Mapping[str, Any]
    evidence: tuple[Mapping[str, Any], ...]
    inputs: Mapping[str, Any]
    transcript: tuple[tuple[str, str], ...]
    feedback: tuple[Reason, ...] = ()
    attempt: int = 1
    attempts: int = 1
    replica: Replica | None = None
    tokens: int = 0

    def prompt(self) -> str:
        """Return everything as one text for a model. The wording is ours; the paper publishes none."""
        z = self.residual
        parts = [
            "You take over a task that another agent began. Finish the rest; do not restart.",
            f"The request: {self.request or '(none in words)'}",
        ]
        if self.transcript:
            parts.append("The conversation so far:\n" + "\n".join(f"{who}: {text}" for who, text in self.transcript))
        parts += [
            _listed("Fixed choices; they stay as they are", map(_shown, z.bindings)),
            _listed("Done already; never do it again and never undo it",
                    ({"tool": k.tool, "entities": k.entities, "item": k.item, "receipt": k.receipt} for k in z.kept)),
            _listed("Still owed; your calls must bring about every one of these",
                    ({"id": o.id, "kind": o.kind, "text": o.text, "tools": o.tools, "entity": o.entity, "args": o.args,
                      "fact": o.fact} for o in z.owed)),
            _listed("Changes you may make, and no others",
                    ({"tool": s.tool, "for": s.obligation, "entity": s.entity, "args": s.args,
                      "times": s.times or "any"} for s in z.effects)),
            _listed("Tools, with the JSON Schema of their arguments",
                    ({"tool": name, "about": self.descriptions.get(name, ""), "args": schema}
                     for name, schema in self.schemas.items())),
            _listed("Live receipts you may refer to", self.evidence),
            f"The task's inputs: {jsontext.dumps(dict(self.inputs))}",
            _listed("Values the answer must state", ({"slot": n, "form": words} for n, words in self.slots.items())),
        ]  # fmt: skip
        if self.replica is not None and self.replica.calls:
            parts.append(_listed("Tried on a replica; this proves nothing, use references for what it returned",
                                 map(_tried, self.replica.calls)))  # fmt: skip
        if self.feedback:
            parts.append(
                "Your earlier proposals were not carried out, because:\n"
                + "\n".join(f"- {jsontext.dumps(reason)}" for reason in reasons_json(self.feedback))
            )
        parts += [
            _stated(z),
            _REFERENCES,
            "Hand in the whole remainder as one JSON object and nothing else, in this form:\n"
            + jsontext.dumps(dict(self.proposal_schema)),
        ]
        return "\n\n".join(part for part in parts if part)


class ScriptedSuccessor:
    """Hands in prepared proposals, one for each time it is asked, then declines. For tests and evaluations.

    Args:
        proposals: the proposals, in order; a callable is asked with the brief.
        tokens: what each costs, as reported.
    """

    def __init__(
        self, proposals: Iterable[Proposed | Callable[[Brief], Proposed]] | Mapping[str, Any], *, tokens: int = 0
    ) -> None:
        self._left = [proposals] if isinstance(proposals, (Mapping, str, bytes)) else list(proposals)
        self._tokens = tokens
        self.briefs: list[Brief] = []

    def __call__(self, brief: Brief) -> Proposed:
        """Return the next proposal."""
        self.briefs.append(brief)
        brief.tokens += self._tokens
        if not self._left:
            return None
        given = self._left.pop(0)
        return given(brief) if callable(given) else given


def brief_of(
    view: View,
    contract: Contract,
    residual: Residual,
    *,
    feedback: tuple[Reason, ...] = (),
    attempt: int = 1,
    attempts: int = 1,
    replica: Replica | None = None,
    tokens: int = 0,
) -> Brief:
    """Return the brief of one attempt. Everything in it is a copy."""
    tools = {name: contract.tools[name] for name in residual.interfaces if name in contract.tools}
    return Brief(
        request=residual.request,
        residual=residual_of(residual.canonical()),  # its lists can be changed; what was frozen cannot
        schemas={name: args_schema(tool) for name, tool in tools.items()},
        descriptions={name: tool.description for name, tool in tools.items() if tool.description},
        slots={s.name: _slot(s.type, s.derive.source, required=s.required) for s in contract.answer}
        if view.task.need_answer
        else {},
        proposal_schema=proposal_schema(),
        evidence=tuple(_evidence(view, e.receipt) for e in residual.receipts),
        inputs=task_inputs(view.task),
        transcript=tuple(view.talk),
        feedback=feedback,
        attempt=attempt,
        attempts=attempts,
        replica=replica,
        tokens=tokens,
    )


def _slot(type_: Type, source: str, *, required: bool) -> str:
    return f"{in_words(type_)}; the record must give it by `{source}`" + ("" if required else "; may be left out")


def args_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments: its own, or one made of the contract's declared types."""
    if tool.args_schema is not None:
        own: dict[str, Any] = _copy(dict(tool.args_schema))
        return own
    return {
        "type": "object",
        "properties": {name: _arg(kind) for name, kind in tool.args.items()},
        "required": [name for name, kind in tool.args.items() if not kind.optional],
        "additionalProperties": not tool.args,
    }


def _arg(kind: Type) -> dict[str, Any]:
    if kind.name in _AMOUNTS:  # on the wire a tool takes the number alone; a float would not be exact
        unit = f" in {kind.unit}" if kind.unit else ""
        return {"type": ["string", "integer"], "description": f'an amount{unit}, as decimal text like "420.00"'}
    return schema_of(kind)


@cache
def _proposal_schema_text() -> str:
    return (files("tallystick.gates.residual") / "proposal.schema.json").read_text("utf-8")


def proposal_schema() -> dict[str, Any]:
    """Return the published JSON Schema of proposals."""
    schema: dict[str, Any] = jsontext.loads(_proposal_schema_text())
    return schema


def _evidence(view: View, receipt: str) -> Mapping[str, Any]:
    record = view.receipt(receipt)
    if record is None or record.call is None:
        raise InputError("the contract refers to a receipt that is not in the record", where=receipt)
    return {
        "receipt": record.id, "tool": record.call.tool, "args": _copy(dict(record.call.args)),
        "result": _copy(record.value),
    }  # fmt: skip


def _copy(value: Any) -> Any:
    return jsontext.loads(jsontext.dumps(value))


def _shown(binding: Any) -> dict[str, Any]:
    value = jsontext.loads(binding.value) if binding.value else ""
    return {
        "kind": binding.kind, "id": binding.id, "name": binding.name, "said_by": binding.source, "value": value
    }  # fmt: skip


def _stated(z: Residual) -> str:
    free = ", ".join(f"`{name}` of {tool}" for tool, name in z.free)
    return f"{_STATED}. Only these are yours to word: {free}." if free else f"{_STATED}."


def _tried(call: Any) -> dict[str, Any]:
    said = call.error if call.error is not None else (call.result.text if call.result is not None else "")
    return {"call": call.id, "tool": call.tool, "args": call.args.text, "result": said}


def _listed(title: str, rows: Iterable[Mapping[str, Any]]) -> str:
    lines = [f"- {jsontext.dumps({k: v for k, v in row.items() if v not in ('', [], None)})}" for row in rows]
    return f"{title}:\n" + "\n".join(lines) if lines else ""


def proposal_bytes(given: object) -> bytes:
    """Return a proposal as bytes.

    Raises:
        InputError: it is no text, bytes or mapping of JSON values.
    """
    if isinstance(given, (bytes, bytearray)):
        return bytes(given)
    if isinstance(given, str):
        return given.encode("utf-8", "surrogatepass")
    if isinstance(given, Mapping):
        return jsontext.dumps(jsontext.exact(dict(given))[0]).encode("utf-8", "surrogatepass")
    raise InputError(f"a {type(given).__name__} is no proposal", where="successor", fix="a mapping, JSON text, or None")
