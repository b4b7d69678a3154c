"""(ii) Never twice: no effect of the remainder repeats one that is kept, or one of its own.

Identity is the view's: tool and canonical identifying values, per batch item. Where a dynamic value is part of it, what
may turn out to be the same effect counts as one: two effects are told apart by what is known of both, or not at all.
Where all arguments are the identity, one that the contract does not know, or that says nothing, tells no two apart: a
made-up argument would make any effect a new one.
Source: residual completion, section 3.4, step 1 (ii).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tallystick.contracts.types import Contract, Expr, Tool
from tallystick.errors import ExpressionError
from tallystick.gates.residual.planned import Planned
from tallystick.gates.residual.reasons import no
from tallystick.model import jsontext
from tallystick.model.decision import Reason
from tallystick.model.residual import Kept, Residual, json_text
from tallystick.view.keys import key_value

MAX_SHAPES: Final = 32
"""Most ways in which calls of one tool leave parts of their identity open; more are not told apart."""
_NONE: Final[frozenset[str]] = frozenset()


def duplicates(contract: Contract, residual: Residual, calls: Sequence[Planned]) -> Iterator[Reason]:
    """Yield which calls repeat an effect, or may."""
    telling = {name: _telling(tool, residual) for name, tool in contract.tools.items()}
    kept = [_of_key(k, telling.get(k.tool)) for k in residual.kept]
    seen: dict[tuple[str, str], _Identity] = {}
    for identity in kept:
        seen.setdefault((identity.tool, identity.masked(_NONE)), identity)
    made = [identity for call in calls if call.writes for identity in _identities(call, telling.get(call.name))]
    for identity in made:
        if identity.holes:
            continue
        first = seen.setdefault((identity.tool, identity.masked(_NONE)), identity)
        if first is not identity:
            text = f"`{identity.where}`: {identity.tool} takes effect already in " + (
                f"call {first.where}, which is kept" if first.kept else f"`{first.where}`"
            )
            yield no("residual.duplicate", text, "each effect once", identity.where)
    for name in sorted({identity.tool for identity in made if identity.holes}):
        yield from _may_coincide(name, [identity for identity in (*kept, *made) if identity.tool == name])


def _telling(tool: Tool, residual: Residual) -> frozenset[str] | None:
    """Return the arguments that tell two effects of a tool apart; None where its identity is declared, or all may."""
    if tool.once_per:
        return None
    schema = tool.args_schema if tool.args_schema is not None else {}
    stated = schema.get("properties")
    declared = {*tool.args, *(stated if isinstance(stated, Mapping) else ())}
    if not declared:
        return None
    named = (name for entry in residual.effects if entry.tool == tool.name for name, _ in entry.args)
    return frozenset((*declared, *named)) - {tool.idempotency_arg or ""}


@dataclass(frozen=True, slots=True)
class _Identity:
    """What is known of an effect's identity, part by part; `holes` are the parts that a live result will give."""

    tool: str
    where: str
    parts: Mapping[str, str]
    holes: Mapping[str, str]  # part → the references it hangs on
    kept: bool = False

    def masked(self, parts: frozenset[str]) -> str:
        return json_text({name: value for name, value in self.parts.items() if name not in parts})


def _may_coincide(name: str, found: Sequence[_Identity]) -> Iterator[Reason]:
    """Compare the effects of one tool by what is known of both: those that differ there are two."""
    shapes = list(dict.fromkeys(frozenset(i.holes) for i in found))
    if len(shapes) > MAX_SHAPES:
        yield no(
            "residual.grounding",
            f"calls of {name} leave too much open of which effects they are",
            "values known now",
            name,
        )
        return
    index = {shape: [i for i in found if frozenset(i.holes) == shape] for shape in shapes}
    for at, one in enumerate(shapes):
        yield from _alike(name, one, index[one])
        for other in shapes[at + 1 :]:
            known = {identity.masked(one | other): identity for identity in reversed(index[other])}
            for identity in index[one]:
                twin = known.get(identity.masked(one | other))
                if twin is not None:
                    yield _coincidence(name, identity, twin)


def _alike(name: str, shape: frozenset[str], identities: Sequence[_Identity]) -> Iterator[Reason]:
    """Compare effects that leave the same parts open: taken from the same places they are one, else they may be."""
    first: dict[str, _Identity] = {}
    same: dict[str, _Identity] = {}
    for identity in identities if shape else ():
        mask = identity.masked(shape)
        whole = mask + json_text(dict(identity.holes))
        if whole in same:
            text = f"`{identity.where}` has the effect of `{same[whole].where}` again"
            yield no("residual.duplicate", text, "each effect once", identity.where)
        elif mask in first:
            yield _coincidence(name, identity, first[mask])
        first.setdefault(mask, identity)
        same.setdefault(whole, identity)


def _coincidence(name: str, one: _Identity, other: _Identity) -> Reason:
    text = f"`{one.where}` and `{other.where}` may turn out to be one effect of {name}"
    where = one.where if not one.kept else other.where
    return no("residual.grounding", text, "values known now for what tells them apart", where)


def _of_key(kept: Kept, telling: frozenset[str] | None) -> _Identity:
    value = jsontext.loads(kept.key.removeprefix(kept.tool))
    return _Identity(kept.tool, kept.call, _parts(value, telling), {}, kept=True)


def _identities(call: Planned, telling: frozenset[str] | None) -> Iterator[_Identity]:
    tool = call.tool
    if tool is None:
        return
    if call.keys:
        for key in call.keys:
            yield _Identity(call.name, call.id, _parts(jsontext.loads(key.removeprefix(call.name)), telling), {})
        return
    hangs = {arg: json_text(call.written[arg]) for arg in call.dynamic}
    if tool.once_per:
        parts: dict[str, str] = {}
        holes: dict[str, str] = {}
        for i, expr in enumerate(tool.once_per):
            if call.hangs_on(expr):
                holes[str(i)] = json_text([expr.source, hangs])
            else:
                parts[str(i)] = json_text(_value(call, expr))
        yield _Identity(call.name, call.id, parts, holes)
        return
    known = {n: v for n, v in {**call.args, **call.typed}.items() if n in call.args and n != tool.idempotency_arg}
    tells = {n: text for n, text in hangs.items() if n != tool.idempotency_arg and (telling is None or n in telling)}
    yield _Identity(call.name, call.id, _parts({n: key_value(v) for n, v in known.items()}, telling), tells)


def _value(call: Planned, expr: Expr) -> Any:
    try:
        return key_value(expr.evaluate({"args": call.typed}))
    except ExpressionError:
        return None


def _parts(value: Any, telling: frozenset[str] | None) -> dict[str, str]:
    """Return the parts of an effect key's canonical value: of a list by position, of an object by name."""
    if not isinstance(value, dict):
        return {str(i): json_text(item) for i, item in enumerate(value if isinstance(value, list) else [value])}
    said = {name: item for name, item in value.items() if item is not None and (telling is None or name in telling)}
    return {name: json_text(item) for name, item in said.items()}
