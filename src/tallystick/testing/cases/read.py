"""Reading cases: one JSON object per line, checked field by field.

What the gates are asked about (`Scene`) is kept apart from what a case is called and expects (`Case`), so that no rule
can look at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model import jsontext

MAX_BYTES: Final = 64 * 1024 * 1024
ATTEMPTS: Final = ("call", "claim", "complete", "handoff", "import")
QUANTIFIERS: Final = ("one", "all", "none", "count")
EVENTS: Final = frozenset(
    [
        *("approval", "assistant", "blocker", "call", "cancel", "check", "clock", "compaction", "constraint", "crash"),
        *("fact", "framework", "handoff", "interrupt", "ledger", "obligations", "operation_closed", "result", "resume"),
        *("run_closed", "schema", "stream_delta", "task_started", "user"),
    ]
)
_KIND = {str: "a string", int: "an integer", bool: "true or false", list: "a list", dict: "an object"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolDecl:
    """One tool as a case declares it."""

    name: str
    effect: str
    entity_arg: str | None = None
    effect_key: tuple[str, ...] = ()
    idempotency_arg: str | None = None
    needs_approval: bool = False
    complete_field: str | None = None
    page_arg: str | None = None
    page_size: int | None = None
    units: Mapping[str, Any] = field(default_factory=dict)
    terminal_states: tuple[str, ...] = ()
    lag_s: int = 0
    batch_arg: str | None = None
    item_status_path: str | None = None
    success_field: str | None = None
    quality_fields: tuple[str, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    entity_kind: str | None = None
    volatile: bool = False
    dedupes_by_key: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """What happened and what is proposed: all that the rules may look at."""

    goal: str
    tools: tuple[ToolDecl, ...]
    events: tuple[Mapping[str, Any], ...]
    attempt: Mapping[str, Any]
    format: str
    raw: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A scene with its name and the verdict and reason kind its author expects."""

    label: str
    verdict: str
    reason_kind: str
    scene: Scene


class _Place:
    """Where in the file a value is, for one clear message."""

    def __init__(self, where: str) -> None:
        self.where = where

    def bad(self, message: str, fix: str | None = None) -> InputError:
        return InputError(message, where=self.where, fix=fix)

    def get(self, holder: Mapping[str, Any], name: str, kind: type, default: Any = None, *, need: bool = False) -> Any:
        value = holder.get(name)
        if value is None:
            if need:
                raise self.bad(f"`{name}` is missing", f"give it, as {_KIND[kind]}")
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.bad(f"`{name}` is not {_KIND[kind]}")
        return value

    def texts(self, holder: Mapping[str, Any], name: str) -> tuple[str, ...]:
        value = self.get(holder, name, list, [])
        if not all(isinstance(v, str) for v in value):
            raise self.bad(f"`{name}` is not a list of strings")
        return tuple(value)

    def within(self, name: str) -> _Place:
        return _Place(f"{self.where}, {name}")


def load(path: str | Path) -> list[Case]:
    """Return the cases of a JSON Lines file.

    Raises:
        InputError: the file cannot be read, or a line is not a case.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as bad:
        raise InputError(f"cannot be read: {getattr(bad, 'strerror', None) or bad}".lower(), where=str(path)) from None
    if len(raw) > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES:,} bytes", where=str(path), fix="split the file")
    return list(loads(raw, str(path)))


def loads(raw: bytes, source: str) -> Iterator[Case]:
    """Yield the cases in the bytes of a JSON Lines file; `source` names it in messages.

    Raises:
        InputError: a line is not a case; the message names the line.
    """
    found = False
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        found = True
        where = f"{source}:{number}"
        yield _case(jsontext.loads(line, where=where), _Place(where), number)
    if not found:
        raise InputError("no cases in it", where=source, fix="one JSON object per line")


def _case(value: Any, place: _Place, number: int) -> Case:
    if not isinstance(value, Mapping):
        raise place.bad("a case is a JSON object", "one JSON object per line")
    expected = place.get(value, "expected", dict, need=True)
    inside = place.within("expected")
    tools = place.get(value, "tools", list, need=True)
    events = place.get(value, "events", list, need=True)
    scene = Scene(
        goal=place.get(value, "goal", str, ""),
        tools=tuple(_tool(t, place.within(f"tools[{i}]")) for i, t in enumerate(tools)),
        events=tuple(_event(e, place.within(f"events[{i}]")) for i, e in enumerate(events)),
        attempt=_attempt(place.get(value, "attempt", dict, need=True), place.within("attempt")),
        format=place.get(value, "format", str, "runtime"),
        raw=value.get("raw"),
    )
    names = [t.name for t in scene.tools]
    if len(set(names)) != len(names):
        raise place.bad("a tool is declared twice", "declare each tool once")
    label = value.get("id")
    return Case(
        label=label if isinstance(label, str) else f"line {number}",
        verdict=inside.get(expected, "verdict", str, need=True),
        reason_kind=inside.get(expected, "reason_kind", str, need=True),
        scene=scene,
    )


def _tool(value: Any, place: _Place) -> ToolDecl:
    if not isinstance(value, Mapping):
        raise place.bad("a tool is an object")
    effect = place.get(value, "effect", str, need=True)
    if effect not in ("read", "write"):
        raise place.bad(f"`effect` is `{effect[:40]}`", "`read` or `write`")
    size, lag = place.get(value, "page_size", int), place.get(value, "lag_s", int, 0)
    if (size is not None and not 1 <= size <= 1_000_000) or not 0 <= lag <= 999_999_999:
        raise place.bad("`page_size` or `lag_s` is out of range", "a page has at least one item, a lag is not negative")
    return ToolDecl(
        name=place.get(value, "name", str, need=True),
        effect=effect,
        entity_arg=place.get(value, "entity_arg", str),
        effect_key=place.texts(value, "effect_key"),
        idempotency_arg=place.get(value, "idempotency_arg", str),
        needs_approval=place.get(value, "needs_approval", bool, False),
        complete_field=place.get(value, "complete_field", str),
        page_arg=place.get(value, "page_arg", str),
        page_size=size,
        units=place.get(value, "units", dict, {}),
        terminal_states=place.texts(value, "terminal_states"),
        lag_s=lag,
        batch_arg=place.get(value, "batch_arg", str),
        item_status_path=place.get(value, "item_status_path", str),
        success_field=place.get(value, "success_field", str),
        quality_fields=place.texts(value, "quality_fields"),
        annotations=place.get(value, "annotations", dict, {}),
        entity_kind=place.get(value, "entity_kind", str),
        volatile=place.get(value, "volatile", bool, False),
        dedupes_by_key=place.get(value, "dedupes_by_key", bool, False),
    )


_NEEDS: Final[Mapping[str, tuple[tuple[str, type], ...]]] = {
    "call": (("tool", str), ("args", dict)),
    "approval": (("approval_id", str), ("tool", str), ("args", dict), ("decision", str), ("by", str)),
    "constraint": (("blocks", list),),
    "blocker": (("blocks", list),),
    "obligations": (("items", list),),
    "schema": (("tool", str), ("now", dict)),
    "operation_closed": (("operation", str),),
    "user": (("text", str),),
    "assistant": (("text", str),),
    "stream_delta": (("arguments", str),),
    "fact": (("field", str),),
}
_MAY: Final[Mapping[str, type]] = {
    "text": str, "id": str, "scope": dict, "release": str, "blocks": list, "summary": str, "args_text": str,
    "finish_reason": str, "stop_reason": str, "stop": str, "prerequisite": str, "prerequisite_state": str, "owner": str,
    "fallback": str, "at": str, "delay_s": int, "rpc_error": dict, "not_started": list, "digest": str, "name": str,
    "late": bool, "delivered": bool, "synthetic": bool, "valid_s": int, "flag": str, "origin": str,
}  # fmt: skip
_FLAGS: Final = ("ok", "error", "unset")


def _event(value: Any, place: _Place) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise place.bad("an event is an object")
    kind = place.get(value, "kind", str, need=True)
    if kind not in EVENTS:
        raise place.bad(f"unknown event kind `{kind[:40]}`", f"one of: {', '.join(sorted(EVENTS))}")
    for name, wanted in _NEEDS.get(kind, ()):
        place.get(value, name, wanted, need=True)
    for name, wanted in _MAY.items():
        # `approval` scopes are words, a result's `blocks` are content, a constraint's a list of tools.
        if not (kind == "approval" and name == "scope"):
            place.get(value, name, wanted)
    call = value.get("call_id")
    if call is not None and (isinstance(call, bool) or not isinstance(call, (str, int))):
        raise place.bad("`call_id` is neither a string nor an integer")
    if value.get("flag") not in (None, *_FLAGS):
        raise place.bad(f"`flag` is `{str(value['flag'])[:40]}`", f"one of: {', '.join(_FLAGS)}")
    if kind in ("constraint", "blocker") and not all(isinstance(b, str) for b in value["blocks"]):
        raise place.bad("`blocks` is not a list of tool names")
    if kind == "obligations":
        for item in value["items"]:
            if not isinstance(item, Mapping):
                raise place.bad("an obligation is an object")
            place.get(item, "id", str, need=True)
            place.get(item, "text", str, "")
    turn = value.get("turn")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, int)):
        raise place.bad("`turn` is not an integer")
    return value


def _attempt(value: Mapping[str, Any], place: _Place) -> Mapping[str, Any]:
    kind = place.get(value, "kind", str, need=True)
    if kind not in ATTEMPTS:
        raise place.bad(f"unknown attempt kind `{kind[:40]}`", f"one of: {', '.join(ATTEMPTS)}")
    if kind == "call":
        inside, call = place.within("call"), place.get(value, "call", dict, need=True)
        inside.get(call, "tool", str, need=True)
        inside.get(call, "args", dict, need=True)
    claims = place.get(value, "claims", list, [])
    if kind == "claim" and not claims:
        raise place.bad("`claims` is missing or empty", "give at least one claim")
    for i, claim in enumerate(claims):
        inside = place.within(f"claims[{i}]")
        if not isinstance(claim, Mapping):
            raise inside.bad("a claim is an object")
        inside.get(claim, "subject", str)
        inside.get(claim, "field", str, need=True)
        inside.get(claim, "as_of", str)
        if "value" not in claim:
            raise inside.bad("`value` is missing", "give what is claimed; null is a value")
        if claim.get("quantifier", "one") not in QUANTIFIERS:
            raise inside.bad("unknown `quantifier`", f"one of: {', '.join(QUANTIFIERS)}")
        _refs(claim, "cites", inside)
    _refs(value, "residual", place)
    _refs(value, "blockers", place)
    place.get(value, "text", str, "")
    place.get(value, "declared_by", str)
    place.get(value, "finish_reason", str)
    return value


def _refs(holder: Mapping[str, Any], name: str, place: _Place) -> None:
    for ref in place.get(holder, name, list, []):
        if isinstance(ref, bool) or not isinstance(ref, (str, int)):
            raise place.bad(f"`{name}` holds something else than names")


def writable(value: Any) -> bytes:
    """Return the JSON bytes of a value of a case; a lone surrogate cannot be in one, as the file is UTF-8."""
    return jsontext.dumps(value).encode("utf-8")
