"""Turning an attempt into the proposal a gate is asked about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallystick.gates.claim_evidence import DONE
from tallystick.gates.claim_slot import OBLIGATION
from tallystick.model.proposal import Call, Claim, Handoff, Stop
from tallystick.model.values import EntityRef
from tallystick.testing.cases.declare import KIND, Shapes
from tallystick.testing.cases.read import Scene
from tallystick.testing.cases.record import CUT, Recorder
from tallystick.testing.cases.wire import Wire, name_of
from tallystick.testing.cases.words import names_tool, parts, says_done, tokens
from tallystick.view import View


def call_of(scene: Scene, wire: Wire, recorder: Recorder) -> Call:
    """Return the call proposed, with the raw argument text of the turn that makes it, where there is one."""
    call = scene.attempt["call"]
    native = name_of(call.get("call_id"))
    own = [m for m in wire.calls.values() if m.native == native and m.id not in recorder.view.calls]
    text = own[-1].args_text if own else wire.texts.get(native or "")
    cut = bool(own) and scene.events[own[-1].at].get("stop_reason") in CUT
    return Call(
        tool=call["tool"],
        args=call["args"],
        now=recorder.now,
        args_text=text,
        native_id=native,
        complete=not cut,
    )


def stop_of(scene: Scene, shapes: Shapes, view: View, recorder: Recorder) -> Stop:
    """Return the stop proposed. Who declares it is carried along, and is only words."""
    said = [v for v in scene.events if v["kind"] == "assistant"]
    last = said[-1] if said else {}
    cut = scene.attempt.get("finish_reason") in CUT or last.get("finish_reason") in CUT
    return Stop(
        now=recorder.now,
        claims=claims_of(scene, shapes, view),
        text=scene.attempt.get("text") or "",
        declared_by=scene.attempt.get("declared_by") or "agent",
        truncated=cut,
    )


def claims_of(scene: Scene, shapes: Shapes, view: View) -> tuple[Claim, ...]:
    """Return the claims made, each about the entity its subject names."""
    return tuple(_claim(c, scene, shapes, view) for c in scene.attempt.get("claims") or ())


def handoff_of(scene: Scene, view: View, recorder: Recorder) -> Handoff:
    """Return the handoff proposed; obligations named by their text stand for their ids."""
    residual = scene.attempt.get("residual")
    return Handoff(
        text=scene.attempt.get("text") or "",
        now=recorder.now,
        residual=None if residual is None else tuple(_owed(str(r), view) for r in residual),
        carries=tuple(str(b) for b in scene.attempt.get("blockers") or ()),
    )


def _owed(text: str, view: View) -> str:
    if text in view.obligations:
        return text
    for owed in view.obligations.values():
        if owed.text == text or (owed.tool is not None and names_tool(owed.tool, tokens(text))):
            return owed.id
    return text


def _claim(value: Mapping[str, Any], scene: Scene, shapes: Shapes, view: View) -> Claim:
    cites = tuple(str(c) for c in value.get("cites") or ())
    tools = [r.call.tool for c in cites if (r := view.receipt(c)) is not None and r.call is not None]
    quantifier = value.get("quantifier", "one")
    return Claim(
        field=_field(value, tools, scene, shapes),
        value=value["value"],
        subject=_subject(value.get("subject"), scene),
        quantifier=quantifier,
        cites=cites,
        as_of=_as_of(value.get("as_of"), view),
    )


def _subject(text: str | None, scene: Scene) -> EntityRef | None:
    """`order:O-1` is the entity O-1; `customer:city=X` the one asked for as X; a range or a bare word names none."""
    kind, mark, name = (text or "").partition(":")
    if not mark or not name or ".." in name:
        return None
    if kind == OBLIGATION:
        return EntityRef(OBLIGATION, name)
    arg, equals, value = name.partition("=")
    if equals and any(t.entity_arg == arg for t in scene.tools):
        name = value
    declared = next((t.entity_kind for t in scene.tools if t.entity_kind == kind), None)
    return EntityRef(declared or KIND, name)


def _field(value: Mapping[str, Any], tools: list[str], scene: Scene, shapes: Shapes) -> str:
    """Name a field as the cited tool's results do: without the tool's own word, in the items' singular, or `done`."""
    name = str(value["field"])
    for tool in tools:
        head, dot, rest = name.partition(".")
        if dot and head.lower() in parts(tool):
            name = rest
        members = {k for _, record in shapes.records(tool) for k in record}
        if name in members:
            return name
        path = _only_path(name, shapes.of(tool))
        if path is not None:
            return path
        if isinstance(value["value"], list) and name.endswith("s") and name[:-1] in members:
            return name[:-1]
        effect = next((t.effect for t in scene.tools if t.name == tool), "read")
        counted = value.get("quantifier") == "count" and not isinstance(value["value"], bool)
        if effect == "write" and says_done(name, tool) and (isinstance(value["value"], bool) or counted):
            return DONE
    return name


def _only_path(name: str, results: list[Any]) -> str | None:
    """Return the dotted path of the one member called `name` inside the objects of the recorded results."""
    found: set[str] = set()
    stack: list[tuple[str, Any]] = [("", value) for value in results]
    while stack:
        path, here = stack.pop()
        if isinstance(here, Mapping):
            stack.extend((f"{path}.{key}" if path else key, v) for key, v in here.items() if "." not in key)
            if path and name in here:
                found.add(f"{path}.{name}")
    return found.pop() if len(found) == 1 else None


def _as_of(text: str | None, view: View) -> str | None:
    """`after r2` means after the receipt that states `r2`; one that no receipt states cannot be resolved."""
    if text is None:
        return None
    wanted = text.removeprefix("after ").strip()
    for receipt in reversed(view.receipts):
        if wanted in (receipt.id, receipt.body.native_id) or _states(receipt.value, wanted):
            return receipt.id
    return wanted


def _states(value: Any, wanted: str) -> bool:
    if isinstance(value, Mapping):
        return any(_states(v, wanted) for v in value.values())
    if isinstance(value, list):
        return any(_states(v, wanted) for v in value)
    return isinstance(value, str) and value == wanted
