"""Who answered whom: calls and results of a scene, paired by the importer of its format or, without one, by call id.

The importer reads what crossed the wire; the events add what only a runtime knows (the arguments dispatched, what was
cached, late or undelivered).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model.trace import Trace, TraceCall, TraceDamage, TraceResult
from tallystick.testing.cases.read import Scene, writable
from tallystick.traces.formats import FORMATS, parse
from tallystick.traces.lines import values

IMPORTERS: Final = {"openai_chat": "openai-chat"}
"""Case formats whose native form is read by an importer of tallystick."""


@dataclass(frozen=True, slots=True)
class Made:
    """A call: where its event stands, its minted id, and the arguments dispatched beside the model's own text."""

    at: int
    id: str
    tool: str
    args: Mapping[str, Any]
    args_text: str | None
    native: str | None
    turn: int | None


@dataclass(frozen=True, slots=True)
class Got:
    """A result: where its event stands, the call it answers (None: it cannot be told), and both channels."""

    at: int
    call: Made | None
    native: str | None
    flag: str
    body: Any
    text: str | None
    structured: Any


@dataclass(slots=True)
class Wire:
    """All calls and results by event position, what could not be paired or read, and raw argument texts by call id."""

    calls: dict[int, Made] = field(default_factory=dict)
    results: dict[int, Got] = field(default_factory=dict)
    damage: list[TraceDamage] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


def name_of(call_id: Any) -> str | None:
    """Return a native call id as text."""
    return None if call_id is None else str(call_id)


def wire_of(scene: Scene) -> Wire:
    """Return the calls and results of a scene, paired.

    Raises:
        InputError: the native form and the events do not tell of the same calls and results.
    """
    wire = Wire()
    _streamed(scene, wire)
    importer = IMPORTERS.get(scene.format)
    if importer is None or scene.raw is None:
        _by_id(scene, wire)
        _lines(scene, wire)
        return wire
    if importer not in FORMATS:
        raise InputError(f"no importer for `{importer}`")
    _imported(scene, wire, _trace(scene.raw, importer))
    return wire


def _trace(raw: Any, importer: str) -> Trace:
    found = list(parse(writable(raw), name="case", source="raw", format=importer))
    if len(found) != 1:
        raise InputError(f"`raw` holds {len(found)} conversations", fix="one conversation a case")
    return found[0]


def _streamed(scene: Scene, wire: Wire) -> None:
    """Glue argument fragments as streams deliver them: by index, the id only on the first fragment."""
    ids: dict[Any, str] = {}
    for event in scene.events:
        if event["kind"] != "stream_delta":
            continue
        index = str(event.get("index"))
        native = name_of(event.get("id"))
        if native is not None:
            ids[index] = native
        known = ids.get(index)
        if known is not None:
            wire.texts[known] = wire.texts.get(known, "") + event["arguments"]


def _made(event: Mapping[str, Any], at: int, number: int, args_text: str | None) -> Made:
    text = args_text if args_text is not None else event.get("args_text")
    return Made(
        at, f"call{number}", event["tool"], event["args"], text, name_of(event.get("call_id")), event.get("turn")
    )


def _got(event: Mapping[str, Any], at: int, call: Made | None) -> Got:
    body = event.get("body")
    if body is None and event.get("blocks") is not None:
        body = event["blocks"] or ""
    return Got(
        at=at,
        call=call,
        native=name_of(event.get("call_id")),
        flag=event.get("flag") or "unset",
        body=body,
        text=body if isinstance(body, str) else None,
        structured=event.get("structured"),
    )


def _by_id(scene: Scene, wire: Wire) -> None:
    """Pair by call id; ids are unique only while a call is open. What several open calls could mean is ambiguous."""
    waiting: list[Made] = []
    latest: dict[str, Made] = {}
    for at, event in enumerate(scene.events):
        if event["kind"] == "call":
            made = _made(event, at, len(wire.calls) + 1, None)
            wire.calls[at] = made
            waiting.append(made)
            if made.native is not None:
                latest[made.native] = made
        elif event["kind"] == "result":
            native = name_of(event.get("call_id"))
            name = event.get("name")
            fits = [m for m in waiting if (m.native == native if native is not None else name in (None, m.tool))]
            call: Made | None = None
            if len(fits) == 1:
                call = fits[0]
            elif len(fits) > 1:
                text = f"the result could answer {len(fits)} open calls"
                wire.damage.append(TraceDamage(code="pairing.ambiguous", message=text, where=f"event {at + 1}"))
            elif native is not None and native in latest:
                call = latest[native]  # a second answer to a call that has one: kept beside the first
            else:
                text = "the result answers no call"
                wire.damage.append(TraceDamage(code="result.orphan", message=text, where=f"event {at + 1}"))
            waiting = [m for m in waiting if m is not call]
            wire.results[at] = _got(event, at, call)


def _lines(scene: Scene, wire: Wire) -> None:
    """A native form given as lines is read by the line reader; what it cannot read is damage."""
    raw = scene.raw
    if isinstance(raw, list) and raw and all(isinstance(line, str) for line in raw):
        for _, _, damage in values(line.encode("utf-8") for line in raw):
            wire.damage.extend(damage)


def _imported(scene: Scene, wire: Wire, trace: Trace) -> None:
    """Lay the importer's calls and results over the events, in order."""
    wire.damage.extend(trace.damage)
    calls = [(at, e) for at, e in enumerate(scene.events) if e["kind"] == "call"]
    results = [(at, e) for at, e in enumerate(scene.events) if e["kind"] == "result"]
    if not calls and wire.texts:
        for call in trace.calls:  # only streamed fragments: nothing was dispatched
            if call.native_id is not None and call.args_text is not None:
                wire.texts[call.native_id] = call.args_text
        return
    answers: list[tuple[int, TraceResult, TraceCall | None]] = [
        *((c.result.index, c.result, c) for c in trace.calls if c.result is not None),
        *((r.index, r, None) for r in trace.orphans),
    ]
    answers.sort(key=lambda item: item[0])
    if len(trace.calls) != len(calls) or len(answers) != len(results):
        raise InputError(
            f"`raw` tells of {len(trace.calls)} calls and {len(answers)} results, `events` of {len(calls)} and "
            f"{len(results)}",
            fix="tell both of the same",
        )
    by_id: dict[str, Made] = {}
    for (at, event), call in zip(calls, trace.calls, strict=True):
        made = _made(event, at, len(wire.calls) + 1, call.args_text)
        if made.tool != call.tool:
            raise InputError(
                f"`raw` calls `{call.tool}` where `events` call `{made.tool}`", fix="tell both of the same"
            )
        wire.calls[at] = made
        by_id[call.id] = made
    for (at, event), (_, result, answered) in zip(results, answers, strict=True):
        wire.results[at] = Got(
            at=at,
            call=by_id[answered.id] if answered is not None else None,
            native=result.native_id,
            flag=event.get("flag") or "unset",
            body=result.body,
            text=result.text,
            structured=event.get("structured"),
        )
