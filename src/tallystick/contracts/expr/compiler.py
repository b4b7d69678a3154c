"""Syntax tree to closure, checking kinds on the way: one pass, each node gives its kind and its `Run`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from tallystick.contracts.expr.arithmetic import arithmetic, negation
from tallystick.contracts.expr.functions import FUNCTIONS, METHODS, UNSUPPORTED, Argument, Builder, Typed
from tallystick.contracts.expr.kinds import BOOLEAN, JSON, TEXT, Kind, join, literal_kind
from tallystick.contracts.expr.macros import macro
from tallystick.contracts.expr.operators import Run, Test, comparable, equality, mismatch, order
from tallystick.contracts.expr.parser import MACROS, is_macro, path_of
from tallystick.contracts.expr.syntax import (
    Binary,
    Call,
    ExpressionProblem,
    Index,
    ListNode,
    Literal,
    MapNode,
    Name,
    Node,
    Select,
    Ternary,
    Unary,
)
from tallystick.errors import ExpressionError
from tallystick.model.values import same

_RELATIONS: Final = ("<", "<=", ">", ">=")
_ABSENT: Final = (KeyError, TypeError, IndexError)


def emit(node: Node, scope: Mapping[str, Kind]) -> Typed:
    """Return kind and closure of `node`, with `scope` giving the kinds of the roots.

    Raises:
        ExpressionProblem: an unknown name, field or function, or kinds that do not fit.
    """
    match node:
        case Literal(value=value):
            return literal_kind(value), lambda _env: value
        case Name() | Select():
            return _path(node, scope)
        case Index():
            return _index(node, scope)
        case Unary(op="!"):
            return BOOLEAN, _negated(truth(node.operand, scope))
        case Unary():
            return negation(*emit(node.operand, scope), node.at)
        case Binary():
            return _binary(node, scope)
        case Ternary():
            return _ternary(node, scope)
        case ListNode():
            return _list(node, scope)
        case MapNode():
            return _map(node, scope)
        case Call():
            return _call(node, scope)
    raise ExpressionProblem("unexpected expression", node.at)


def truth(node: Node, scope: Mapping[str, Kind]) -> Test:
    """Return the closure of `node`, which must be a boolean when it runs."""
    kind, run = emit(node, scope)
    if kind.name == "boolean" and not kind.optional and not isinstance(node, (Name, Select, Index)):
        return run  # made by an operator of ours, so it is a bool
    if kind.name not in ("boolean", "json"):
        raise ExpressionProblem(f"expected true or false, got {kind}", node.at, "compare it with something")

    def checked(env: Mapping[str, Any]) -> bool:
        value = run(env)
        if value is True or value is False:
            return value
        raise mismatch("true or false", value)

    return checked


def _missing(path: tuple[str, ...]) -> ExpressionError:
    return ExpressionError(f"nothing is known at `{'.'.join(path)}`", where=".".join(path))


def _path(node: Node, scope: Mapping[str, Kind]) -> Typed:
    path = path_of(node)
    if path is None:
        assert isinstance(node, Select)
        kind, run = emit(node.operand, scope)
        return member(kind, node.field, node.at), _selected(run, node.field)
    if path[0] not in scope:
        raise _unknown("name", path[0], scope, _root(node).at)
    kind = scope[path[0]]
    for step in _selects(node):
        kind = member(kind, step.field, step.at)
    return kind, _lookup(path)


def _selects(node: Node) -> list[Select]:
    steps: list[Select] = []
    while isinstance(node, Select):
        steps.insert(0, node)
        node = node.operand
    return steps


def _root(node: Node) -> Node:
    while isinstance(node, Select):
        node = node.operand
    return node


def member(kind: Kind, name: str, at: int) -> Kind:
    """Return the kind of `.name` on a value of `kind`.

    Raises:
        ExpressionProblem: `kind` has no such member.
    """
    if kind.name == "json":
        return JSON
    if kind.name == "map":
        return kind.item or JSON
    if kind.name == "record":
        if name in kind.fields:
            return kind.fields[name]
        if kind.open:
            # A name so near to a declared one is a slip more often than another argument, and would never be met.
            close = get_close_matches(name, kind.fields, n=1, cutoff=0.85)
            if close:
                fix = f"did you mean `{close[0]}`? otherwise declare `{name}` too"
                raise ExpressionProblem(f"`{name}` is not declared", at, fix)
            return JSON
        raise _unknown("field", name, kind.fields, at)
    raise ExpressionProblem(f"{kind} has no field `{name}`", at)


def _unknown(what: str, name: str, known: Mapping[str, Any], at: int) -> ExpressionProblem:
    visible = sorted(k for k in known if k.isidentifier())
    close = get_close_matches(name, visible, n=1)
    names = ", ".join(f"`{k}`" for k in visible[:12]) or "none"
    fix = f"did you mean `{close[0]}`?" if close else f"known here: {names}"
    return ExpressionProblem(f"unknown {what} `{name}`", at, fix)


def _lookup(path: tuple[str, ...]) -> Run:
    if len(path) == 1:
        (root,) = path

        def one(env: Mapping[str, Any]) -> Any:
            try:
                return env[root]
            except KeyError:
                raise _missing(path) from None

        return one
    if len(path) == 2:
        root, field = path

        def two(env: Mapping[str, Any]) -> Any:
            try:
                return env[root][field]
            except _ABSENT:
                raise _missing(path) from None

        return two

    def many(env: Mapping[str, Any]) -> Any:
        value: Any = env
        try:
            for name in path:
                value = value[name]
        except _ABSENT:
            raise _missing(path) from None
        return value

    return many


def _selected(run: Run, field: str) -> Run:
    def select(env: Mapping[str, Any]) -> Any:
        value = run(env)
        try:
            return value[field]
        except _ABSENT:
            raise _missing((field,)) from None

    return select


def _index(node: Index, scope: Mapping[str, Kind]) -> Typed:
    kind, run = emit(node.operand, scope)
    key_kind, run_key = emit(node.index, scope)
    if kind.name == "record" and isinstance(node.index, Literal) and isinstance(node.index.value, str):
        return member(kind, node.index.value, node.at), _selected(run, node.index.value)
    if kind.name not in ("list", "map", "json"):
        raise ExpressionProblem(f"{kind} cannot be indexed", node.at)
    wanted = {"list": ("integer", "json"), "map": ("text", "integer", "boolean", "json")}.get(kind.name)
    if wanted and key_kind.name not in wanted:
        raise ExpressionProblem(f"{kind} is not indexed by {key_kind}", node.at)

    def index(env: Mapping[str, Any]) -> Any:
        value, key = run(env), run_key(env)
        try:
            if isinstance(value, (list, tuple)):
                if type(key) is int and 0 <= key < len(value):
                    return value[key]
            elif isinstance(value, Mapping):
                for known in (key,) if key in value else ():
                    return value[known]
        except TypeError:
            pass
        raise ExpressionError("nothing is at this index")

    return (JSON if kind.name == "json" else kind.item or JSON), index


def _negated(run: Test) -> Test:
    return lambda env: not run(env)


def _binary(node: Binary, scope: Mapping[str, Kind]) -> Typed:
    op = node.op
    if op in ("&&", "||"):
        deciding = op == "||"
        return BOOLEAN, _absorbing(truth(node.left, scope), truth(node.right, scope), deciding)
    left, run_l = emit(node.left, scope)
    right, run_r = emit(node.right, scope)
    if op in ("==", "!="):
        return BOOLEAN, equality(op, left, right, run_l, run_r, node.at)
    if op in _RELATIONS:
        return BOOLEAN, order(op, left, right, run_l, run_r, node.at)
    if op == "in":
        return BOOLEAN, _membership(node, left, right, run_l, run_r)
    return arithmetic(op, left, right, run_l, run_r, node.at)


def _absorbing(run_l: Test, run_r: Test, deciding: bool) -> Test:
    # CEL, "Logical operators": an operand that decides the answer absorbs an error of the other.
    def logical(env: Mapping[str, Any]) -> bool:
        try:
            if run_l(env) is deciding:
                return deciding
        except ExpressionError:
            if run_r(env) is deciding:
                return deciding
            raise
        return run_r(env)

    return logical


def _membership(node: Binary, left: Kind, right: Kind, run_l: Run, run_r: Run) -> Run:
    if right.name == "text":
        raise ExpressionProblem("`in` looks into lists and maps", node.at, "write `text.contains(part)`")
    if right.name not in ("list", "set", "map", "record", "json"):
        raise ExpressionProblem(f"`in` looks into lists and maps, not into {right}", node.at)
    if right.name in ("map", "record"):
        comparable(left, TEXT, node.at)
    elif right.item is not None:
        comparable(left, right.item, node.at)
    elif right.name == "json":
        comparable(left, JSON, node.at)
    constants = _constants(node.right)
    if constants is not None and left.name == "text" and not left.optional:
        frozen: frozenset[str] = constants

        def among(env: Mapping[str, Any]) -> bool:
            value = run_l(env)
            if type(value) is str:
                return value in frozen
            raise mismatch("a string", value)

        return among

    def inside(env: Mapping[str, Any]) -> bool:
        value, container = run_l(env), run_r(env)
        if isinstance(container, Mapping):
            return isinstance(value, str) and bool(value in container)
        if isinstance(container, (list, tuple, frozenset)):
            return any(same(value, item) for item in container)
        raise mismatch("a list or map", container)

    if left.literal is not None and right.item is not None and right.item.name in ("money", "quantity"):
        raise ExpressionProblem(f"a bare number is not looked for in {right}", node.at, 'write `money(…, "EUR")`')
    return inside


def _constants(node: Node) -> frozenset[str] | None:
    if isinstance(node, ListNode):
        values = [item.value for item in node.items if isinstance(item, Literal) and isinstance(item.value, str)]
        if len(values) == len(node.items):
            return frozenset(values)
    return None


def _ternary(node: Ternary, scope: Mapping[str, Kind]) -> Typed:
    test = truth(node.test, scope)
    then, run_then = emit(node.then, scope)
    otherwise, run_otherwise = emit(node.otherwise, scope)
    kind = join(then, otherwise)
    if kind is None:
        raise ExpressionProblem(f"the branches are {then} and {otherwise}", node.at, "give both the same type")
    return kind, lambda env: run_then(env) if test(env) else run_otherwise(env)


def _joined(kinds: list[Kind], at: int, what: str) -> Kind | None:
    found: Kind | None = None
    for kind in kinds:
        both = kind if found is None else join(found, kind)
        if both is None:
            raise ExpressionProblem(f"the {what} are {found} and {kind}", at, "give all the same type")
        found = both
    return (
        Kind(name=found.name, unit=found.unit, item=found.item, fields=found.fields, optional=found.optional)
        if found
        else None
    )


def _list(node: ListNode, scope: Mapping[str, Kind]) -> Typed:
    items = [emit(item, scope) for item in node.items]
    runs = [run for _, run in items]
    item = _joined([kind for kind, _ in items], node.at, "items")
    return Kind(name="list", item=item), lambda env: tuple(run(env) for run in runs)


def _map(node: MapNode, scope: Mapping[str, Kind]) -> Typed:
    keys, values = [emit(k, scope) for k, _ in node.pairs], [emit(v, scope) for _, v in node.pairs]
    for (kind, _), (key, _value) in zip(keys, node.pairs, strict=True):
        if kind.name != "text":
            raise ExpressionProblem(f"a key must be a string, got {kind}", key.at)
    runs = [(run_k, run_v) for (_, run_k), (_, run_v) in zip(keys, values, strict=True)]

    def build(env: Mapping[str, Any]) -> Mapping[str, Any]:
        out: dict[str, Any] = {}
        for run_k, run_v in runs:
            key = run_k(env)
            if key in out:
                raise ExpressionError("a map states one key twice")
            out[key] = run_v(env)
        return out

    return Kind(name="map", item=_joined([kind for kind, _ in values], node.at, "values")), build


def _call(node: Call, scope: Mapping[str, Kind]) -> Typed:
    if is_macro(node):
        return macro(node, scope, emit, truth)
    if node.name == "has" and node.target is None:
        return BOOLEAN, _has(node, scope)
    table = FUNCTIONS if node.target is None else METHODS
    found: tuple[tuple[int, ...], Builder] | None = table.get(node.name)
    if found is None:
        if node.target is not None and node.name in MACROS:
            raise ExpressionProblem(f"`{node.name}` takes a variable and an expression", node.at)
        if node.target is None and node.name in UNSUPPORTED:
            raise ExpressionProblem(
                f"`{node.name}` is not part of the contract language", node.at, UNSUPPORTED[node.name]
            )
        raise _unknown("function", node.name, {**table, **(MACROS if node.target else {"has": 1})}, node.at)
    nodes = (*((node.target,) if node.target else ()), *node.args)
    counts, builder = found
    if len(nodes) not in counts:
        given = len(node.args)
        raise ExpressionProblem(f"`{node.name}` does not take {given} argument{'' if given == 1 else 's'}", node.at)
    arguments: list[Argument] = [(n, *emit(n, scope)) for n in nodes]
    return builder(arguments)


def _has(node: Call, scope: Mapping[str, Kind]) -> Run:
    if len(node.args) != 1 or not isinstance(node.args[0], Select):
        raise ExpressionProblem("`has` takes a field selection", node.at, "write `has(args.amount)`")
    select = node.args[0]
    kind, run = emit(select.operand, scope)
    member(kind, select.field, select.at)
    field = select.field

    def has(env: Mapping[str, Any]) -> bool:
        value = run(env)
        if isinstance(value, Mapping):
            return field in value
        raise mismatch("an object", value)

    return has


Emit = Callable[[Node, Mapping[str, Kind]], Typed]
