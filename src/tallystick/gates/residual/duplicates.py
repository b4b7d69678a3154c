"""(ii) Never twice: no effect of the remainder repeats one that is kept, or one of its own.

Identity is the view's: tool and canonical identifying values, per batch item. Where a dynamic value is part of it, what
may turn out to be the same effect counts as one: two effects are told apart by what is known of both, or not at all.
Source: residual completion, section 3.4, step 1 (ii).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tallystick.contracts.types import Expr
from tallystick.errors import ExpressionError
from tallystick.gates.residual.planned import Planned
from tallystick.gates.residual.reasons import no
from tallystick.model import jsontext
from tallystick.model.decision import Reason
from tallystick.model.residual import Residual, json_text
from tallystick.view.keys import key_value

MAX_SHAPES: Final = 32
"""Most ways in which calls of one tool leave parts of their identity open; more are not told apart."""


def duplicates(residual: Residual, calls: Sequence[Planned]) -> Iterator[Reason]:
    """Yield which calls repeat an effect, or may."""
    kept = {entry.key: entry.call for entry in residual.kept}
    seen: dict[str, str] = {}
    open_tools: set[str] = set()
    for call in calls:
        if not call.writes or call.tool is None:
            continue
        if not call.keys:
            open_tools.add(call.name)
        for key in call.keys:
            if key in kept:
                text = f"`{call.id}`: {call.name} already took effect in call {kept[key]}, which is kept"
                yield no("residual.duplicate", text, "a remainder without it", call.id)
            elif key in seen:
                text = f"`{call.id}` has the effect of `{seen[key]}` again"
                yield no("residual.duplicate", text, "each effect once", call.id)
            seen.setdefault(key, call.id)
    for name in sorted(open_tools):
        yield from _may_coincide(name, residual, [c for c in calls if c.writes and c.name == name])


@dataclass(frozen=True, slots=True)
class _Identity:
    """What is known of an effect's identity, part by part; `holes` are the parts that a live result will give."""

    where: str
    parts: Mapping[str, str]
    holes: Mapping[str, str]  # part → the references it hangs on
    kept: bool = False

    def masked(self, parts: frozenset[str]) -> str:
        return json_text({name: value for name, value in self.parts.items() if name not in parts})


def _may_coincide(name: str, residual: Residual, calls: Sequence[Planned]) -> Iterator[Reason]:
    """Compare the effects of one tool by what is known of both: those that differ there are two."""
    found = [_of_key(k.call, k.key.removeprefix(name)) for k in residual.kept if k.tool == name]
    for call in calls:
        found.extend(_identities(call))
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


def _of_key(call: str, key: str) -> _Identity:
    return _Identity(call, _parts(jsontext.loads(key)), {}, kept=True)


def _identities(call: Planned) -> Iterator[_Identity]:
    if call.keys:
        for key in call.keys:
            yield _Identity(call.id, _parts(jsontext.loads(key.removeprefix(call.name))), {})
        return
    assert call.tool is not None
    hangs = {arg: json_text(call.written[arg]) for arg in call.dynamic}
    if call.tool.once_per:
        parts: dict[str, str] = {}
        holes: dict[str, str] = {}
        for i, expr in enumerate(call.tool.once_per):
            if call.hangs_on(expr):
                holes[str(i)] = json_text([expr.source, hangs])
            else:
                parts[str(i)] = json_text(_value(call, expr))
        yield _Identity(call.id, parts, holes)
        return
    known = {n: v for n, v in call.typed.items() if n in call.args and n != call.tool.idempotency_arg}
    whole = {**call.args, **known}
    whole = {n: v for n, v in whole.items() if n != call.tool.idempotency_arg}
    yield _Identity(
        call.id,
        {name: json_text(key_value(value)) for name, value in whole.items()},
        {name: text for name, text in hangs.items() if name != call.tool.idempotency_arg},
    )


def _value(call: Planned, expr: Expr) -> Any:
    try:
        return key_value(expr.evaluate({"args": call.typed}))
    except ExpressionError:
        return None


def _parts(value: Any) -> dict[str, str]:
    """Return the parts of an effect key's canonical value: of a list by position, of an object by name."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else [("", value)]
    return {str(name): json_text(item) for name, item in items}
