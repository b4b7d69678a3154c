"""Drafting a contract from tool declarations, as a host would: what each rule reads is said beside it.

Entities have the declared `entity_kind`, else the one kind `entity`: such declarations name no kinds, so ids are
compared digit by digit and nothing more is assumed. Where a result keeps its items, its ids and its currency is drafted
from the results on record, as one drafts it from a tool's examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tallystick.contracts.build import build
from tallystick.contracts.expr.syntax import KEYWORDS, RESERVED
from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.pointer import join
from tallystick.testing.cases.read import Scene, ToolDecl
from tallystick.testing.cases.wire import Wire
from tallystick.testing.cases.words import names_action, tokens

KIND: Final = "entity"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN: Final = frozenset({"at", "id"})
_AMOUNTS: Final = ("total", "amount", "amount_due", "balance", "price", "subtotal")
_NEXT: Final = ("next_page", "next", "next_cursor", "nextCursor", "next_page_token")
_MINOR: Final = frozenset({"currency_minor", "minor", "cents", "minor_unit"})
_MILLI: Final = 3


@dataclass(slots=True)
class Shapes:
    """What the results on record look like, per tool."""

    results: dict[str, list[Any]] = field(default_factory=dict)
    currencies: set[str] = field(default_factory=set)

    def of(self, tool: str) -> list[Any]:
        """Return the results of one tool."""
        return self.results.get(tool, [])

    def records(self, tool: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield (pointer, record) for the result itself and for the items of its lists."""
        for value in self.of(tool):
            if isinstance(value, Mapping):
                yield "", value
                for name, inner in value.items():
                    if isinstance(inner, list):
                        yield from ((f"{join((name,))}/*", i) for i in inner if isinstance(i, Mapping))
            elif isinstance(value, list):
                yield from (("/*", i) for i in value if isinstance(i, Mapping))


def shapes_of(wire: Wire) -> Shapes:
    """Return the shapes of every paired result on record."""
    shapes = Shapes()
    for got in wire.results.values():
        if got.call is None:
            continue
        value = got.structured if got.structured is not None else got.body
        shapes.results.setdefault(got.call.tool, []).append(value)
    for tool in list(shapes.results):
        for _, record in shapes.records(tool):
            _currency(record, shapes)
    for made in wire.calls.values():
        _currency(made.args, shapes)
    return shapes


def _currency(record: Mapping[str, Any], shapes: Shapes) -> None:
    stated = record.get("currency")
    if isinstance(stated, str) and re.fullmatch(r"[A-Z]{3}", stated):
        shapes.currencies.add(stated)


def kind_of(tool: ToolDecl) -> str:
    """Return the kind of the entities a tool addresses."""
    return tool.entity_kind or KIND


def contract_of(scene: Scene, shapes: Shapes) -> Contract:
    """Return the contract a host would write for these tools.

    Raises:
        InputError: the declarations make no contract; the message names what is wrong.
    """
    asked = [w for text in (scene.goal, *said_by_user(scene)) for w in tokens(text)]
    draft = _Draft(scene, shapes, asked)
    tools = {tool.name: draft.tool(tool) for tool in scene.tools}
    entities = {kind: draft.fields.get(kind, {}) for kind in {KIND, *map(kind_of, scene.tools)}}
    return build({"contract": "case/1", "entities": entities, "tools": tools})


def said_by_user(scene: Scene) -> list[str]:
    """Return the user's messages."""
    return [e["text"] for e in scene.events if e["kind"] == "user"]


def _args(name: str) -> str | None:
    """Return the expression for an argument, or None where its name cannot be written in one."""
    return f"args.{name}" if _sayable(name) else None


def _sayable(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and name not in KEYWORDS and name not in RESERVED


class _Draft:
    def __init__(self, scene: Scene, shapes: Shapes, asked: list[str]) -> None:
        self.scene = scene
        self.shapes = shapes
        self.asked = asked
        self.fields: dict[str, dict[str, str]] = {}
        self.id_keys = self._id_keys()
        self.amounts = self._amount_types()

    def _id_keys(self) -> dict[str, str]:
        """Which members of results are ids: named like some tool's entity argument, or like its declared kind."""
        keys: dict[str, str] = {}
        for tool in self.scene.tools:
            if tool.entity_kind is not None:
                keys[tool.entity_kind.rpartition("_")[2]] = tool.entity_kind
                keys[tool.entity_kind] = tool.entity_kind
            elif tool.entity_arg is not None and tool.batch_arg is None:
                keys.setdefault(tool.entity_arg, KIND)
        keys.setdefault("id", KIND)
        return keys

    def _amount_types(self) -> dict[str, str]:
        """Types of result members: declared units, else money in major units beside a stated currency."""
        found: dict[str, str] = {}
        holders: dict[str, set[str]] = {}
        for tool in self.scene.tools:
            for _, record in self.shapes.records(tool.name):
                for name in record:
                    holders.setdefault(name, set()).add(tool.name)
                    if name in _AMOUNTS and isinstance(record.get("currency"), str):
                        found.setdefault(name, "money(/currency)")
        for tool in self.scene.tools:
            # Another tool's member of that name may mean something else.
            own = (pair for pair in self._units(tool).items() if holders.get(pair[0], set()) <= {tool.name})
            found.update(own)
        return found

    def _units(self, tool: ToolDecl) -> dict[str, str]:
        scale = tool.units.get("scale")
        out: dict[str, str] = {}
        for name, unit in tool.units.items():
            if name == "scale" or not isinstance(unit, str) or not _NAME.fullmatch(name):
                continue
            digits = scale if isinstance(scale, int) and not isinstance(scale, bool) and 0 <= scale <= 30 else None
            if unit in _MINOR and digits is None:
                # Minor units shift by the currency's own exponent (ISO 4217), so the currency must be known.
                if len(self.shapes.currencies) == 1:
                    out[name] = f"money({next(iter(self.shapes.currencies))} minor)"
                continue
            shift = digits if digits is not None else _MILLI if unit.startswith("milli") else 0
            if self.shapes.currencies:
                out[name] = f"money(/currency scale {shift})"
            elif _NAME.fullmatch(unit):
                out[name] = f"quantity({unit} scale {shift})"
        return out

    def tool(self, tool: ToolDecl) -> dict[str, Any]:
        out: dict[str, Any] = {"effect": tool.effect}
        target = self._target(tool)
        if target is not None:
            out["target"] = target
        yields = self._yields(tool)
        if yields:
            out["yields"] = yields
        if tool.volatile:
            out["volatile"] = True
        if tool.lag_s:
            out["lag"] = f"{tool.lag_s}s"
        # An argument echoed by the result must be the argument of the call.
        if tool.entity_arg is not None and tool.batch_arg is None and _args(tool.entity_arg):
            out["echoes"] = {tool.entity_arg: join((tool.entity_arg,))}
        if tool.success_field is not None:
            if not _sayable(tool.success_field):
                raise InputError(f"`success_field` is `{tool.success_field[:40]}`", fix="the name of a member")
            out["ok"] = f"result.{tool.success_field} == true"
        complete = self._complete(tool)
        if complete:
            out["complete"] = complete
        if tool.effect == "write":
            self._write(tool, out)
        return out

    def _target(self, tool: ToolDecl) -> str | None:
        name = tool.batch_arg or tool.entity_arg
        expr = _args(name) if name is not None else None
        if expr is None:
            return None
        if tool.batch_arg is None:
            return f"{kind_of(tool)}({expr})"
        key = self._batch_key(tool)
        if key is None:
            return f"each {kind_of(tool)}({expr})"
        return f"each {kind_of(tool)}({expr}.map(i, i.{key}))" if _sayable(key) else None

    def _batch_key(self, tool: ToolDecl) -> str | None:
        """`orders[].order_id` in the effect key says which member of an item is its id."""
        for key in tool.effect_key:
            head, mark, rest = key.partition("[].")
            if mark and head == tool.batch_arg:
                return rest
        return None

    def _yields(self, tool: ToolDecl) -> dict[str, list[dict[str, str]]]:
        """What a result states becomes facts of the entities whose ids it states, else of the one asked about."""
        found: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
        echoed = False
        for at, record in self.shapes.records(tool.name):
            for key, kind in self.id_keys.items():
                if key in record and not isinstance(record[key], (Mapping, list, bool)):
                    echoed = echoed or (at == "" and key == tool.entity_arg)
                    self._entry(found, kind, at, join((key,)), record)
        if tool.entity_arg is not None and not echoed and tool.batch_arg is None and _args(tool.entity_arg):
            own = {k: v for value in self.shapes.of(tool.name) if isinstance(value, Mapping) for k, v in value.items()}
            self._entry(found, kind_of(tool), "", f"args.{tool.entity_arg}", own)
        return {kind: list(entries.values()) for kind, entries in found.items()}

    def _entry(
        self,
        found: dict[str, dict[tuple[str, str], dict[str, str]]],
        kind: str,
        at: str,
        id_: str,
        record: Mapping[str, Any],
    ) -> None:
        entry = found.setdefault(kind, {}).setdefault((at, id_), {"id": id_, **({"at": at} if at else {})})
        for name, value in record.items():
            if _sayable(name) and name not in _TAKEN and not isinstance(value, Mapping):
                entry[name] = join((name,))
                self.fields.setdefault(kind, {})[name] = self.amounts.get(name, "json")

    def _complete(self, tool: ToolDecl) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if tool.complete_field is not None:
            out["flag"] = join((tool.complete_field,))
        seen = {k for value in self.shapes.of(tool.name) if isinstance(value, Mapping) for k in value}
        marker = next((n for n in _NEXT if n in seen), None)
        if marker is not None and (tool.page_arg is not None or not out):
            out["next"] = join((marker,))
        if tool.page_size is not None:
            out["page_size"] = tool.page_size
        if not out:
            return {}  # nothing says when an answer is complete, so none ever is
        if tool.page_arg is not None:
            out["page_arg"] = tool.page_arg
        out["items"] = self._items(tool)
        if tool.quality_fields:
            out["degraded"] = [join((name,)) for name in tool.quality_fields]
        return out

    def _items(self, tool: ToolDecl) -> str:
        lists = {
            k for value in self.shapes.of(tool.name) if isinstance(value, Mapping) for k, v in value.items()
            if isinstance(v, list)
        }  # fmt: skip
        return join((next(iter(lists)),)) if len(lists) == 1 else ""

    def _write(self, tool: ToolDecl, out: dict[str, Any]) -> None:
        keys = [e for k in tool.effect_key if "[]" not in k and k != "*" and (e := _args(k)) is not None]
        if tool.batch_arg is not None:
            out["batch"] = self._batch(tool)
        elif keys and "*" not in tool.effect_key and len(keys) == len(tool.effect_key):
            out["once_per"] = keys
        if tool.idempotency_arg is not None:
            out["idempotency_arg"] = tool.idempotency_arg
            if tool.dedupes_by_key:
                out["dedupes_by_key"] = True
        if tool.needs_approval:
            out["needs_approval"] = "any"
        if tool.terminal_states:
            out["status_at"], out["terminal"] = "/status", list(tool.terminal_states)
        args = {
            n: t for n, t in self._units(tool).items() if not t.startswith("money(/") or "currency" in tool.effect_key
        }
        if args:
            out["args"] = args
        requires = [*self._asked(tool, out), *self._stated(tool), *self._within(tool, args)]
        if requires:
            out["requires"] = requires

    def _batch(self, tool: ToolDecl) -> dict[str, str]:
        key = self._batch_key(tool)
        out = {"arg": tool.batch_arg or "", **({"key": join((key,))} if key else {})}
        path = self._batch_results(tool)
        if path is None:
            return out
        out["results"] = path
        items = [record for at, record in self.shapes.records(tool.name) if at == path]
        members = {k for record in items for k, v in record.items() if isinstance(v, str)}
        named = next((k for k in (key, "id", tool.entity_arg) if k and k in members), None)
        if named is not None:
            out["result_key"] = join((named,))
        return out

    def _batch_results(self, tool: ToolDecl) -> str | None:
        """The declared JSONPath of item answers (`$.results[*]`), else the one list of objects in the results."""
        if tool.item_status_path is not None:
            names = re.findall(r"\.([A-Za-z_][A-Za-z0-9_]*)", tool.item_status_path)
            return f"{join(tuple(names))}/*"
        places = {at for at, _ in self.shapes.records(tool.name) if at}
        return next(iter(places)) if len(places) == 1 else None

    # ------------------------------------------------------------ what a write needs

    def _asked(self, tool: ToolDecl, out: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A write must be asked for: the user named its entity, or named the action and a receipt shows the entity."""
        if "target" not in out:
            return []
        entity = out["target"]
        options: list[dict[str, Any]] = [{"confirmed": entity}]
        if names_action(tool.name, [t.name for t in self.scene.tools], self.asked):
            options.append({"known": entity})
        return [{"id": "asked", "any": options}]

    def _stated(self, tool: ToolDecl) -> list[dict[str, Any]]:
        """What the user stated as a typed fact binds the write: a date every date argument, else its namesake."""
        out = []
        for event in self.scene.events:
            if event["kind"] != "fact" or event.get("origin") != "user":
                continue
            value = event.get("value")
            date = re.fullmatch(r"(--|[0-9]{4}-)([0-9]{2}-[0-9]{2})", value) if isinstance(value, str) else None
            for name in tool.effect_key:
                expr = _args(name)
                if expr is None:
                    continue
                if date is not None:
                    start = "[0-9]{4}-" if date[1] == "--" else date[1]
                    like = f'string({expr}).matches("^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}")'
                    fact = f'string({expr}).matches("^{start}{date[2]}")'
                    out.append({"id": f"stated.{name}", "when": like, "fact": fact})
                elif name == event["field"] and isinstance(value, (str, int)) and not isinstance(value, bool):
                    out.append({"id": f"stated.{name}", "fact": f"{expr} == {jsontext.dumps(value)}"})
        return out

    def _within(self, tool: ToolDecl, args: Mapping[str, str]) -> list[dict[str, Any]]:
        """An amount in declared units must not exceed the amount that receipts state for its entity."""
        kind = kind_of(tool)
        total = next((n for n in _AMOUNTS if self._states(kind, n)), None)
        if total is None or tool.batch_arg is not None or tool.entity_arg is None:
            return []
        return [{"id": f"unit.{name}", "fact": f"args.{name} <= {kind}.{total}"} for name in args]

    def _states(self, kind: str, name: str) -> bool:
        """Whether some read on record states that amount of that kind of entity."""
        keys = {k for k, v in self.id_keys.items() if v == kind}
        return self.amounts.get(name, "").startswith("money") and any(
            name in record and (keys & record.keys() or (t.entity_arg is not None and kind_of(t) == kind))
            for t in self.scene.tools
            if t.effect == "read"
            for _, record in self.shapes.records(t.name)
        )
