"""CEL text to syntax tree: a precedence climber over the grammar of the CEL language definition."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from tallystick.contracts.expr.syntax import (
    KEYWORDS,
    MAX_NESTING,
    MAX_OPERATORS,
    RESERVED,
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
    Token,
    Unary,
    lex,
)

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
_BINDING: Final = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "in": 3,
    "+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}  # fmt: skip
MACROS: Final = {"all": (2,), "exists": (2,), "exists_one": (2,), "filter": (2,), "map": (2, 3)}
"""Receiver macros and how many arguments each takes; the first is the variable."""


def parse(source: str) -> Node:
    """Return the syntax tree of `source`.

    Raises:
        ExpressionProblem: not a CEL expression, or longer or nested deeper than the limits of `syntax`.
    """
    parser = _Parser(lex(source))
    node = parser.expression()
    parser.expect("end")
    return node


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.operators = 0

    @property
    def here(self) -> Token:
        return self.tokens[self.at]

    def fail(self, message: str | None = None, fix: str | None = None) -> ExpressionProblem:
        found = "end of the expression" if self.here.kind == "end" else f"`{self.here.value}`"
        return ExpressionProblem(message or f"unexpected {found}", self.here.at, fix)

    def expect(self, kind: str) -> Token:
        if self.here.kind != kind:
            wanted = {"end": "the end of the expression", "name": "a name"}.get(kind, f"`{kind}`")
            found = "the end of the expression" if self.here.kind == "end" else f"`{self.here.value}`"
            raise self.fail(f"expected {wanted}, found {found}")
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, kind: str) -> bool:
        if self.here.kind == kind:
            self.at += 1
            return True
        return False

    def count(self) -> None:
        self.operators += 1
        if self.operators > MAX_OPERATORS:
            raise self.fail(f"more than {MAX_OPERATORS} operators", "split it into several requirements")

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.fail(f"nested deeper than {MAX_NESTING} levels")
        node = self.binary(1)
        mark = self.here.at
        if self.accept("?"):
            then = self.binary(1)
            self.expect(":")
            node = Ternary(mark, node, then, self.expression())
        self.depth -= 1
        return node

    def binary(self, floor: int) -> Node:
        left = self.unary()
        while (power := _BINDING.get(self.here.kind, 0)) >= floor:
            op = self.here
            self.count()
            self.at += 1
            left = Binary(op.at, op.kind, left, self.binary(power + 1))
        return left

    def unary(self) -> Node:
        op = self.here
        if op.kind not in ("!", "-"):
            return self.member(negative=False)
        count = 0
        while self.accept(op.kind):
            count += 1
        # CEL's grammar: runs of one sign, never mixed; one `-` before a number belongs to the literal, so -2^63 exists.
        if op.kind == "-" and count == 1 and self.here.kind == "number":
            return self.member(negative=True)
        if op.kind == "!" and self.here.kind == "-" and self.tokens[self.at + 1].kind == "number":
            self.at += 1
            operand = self.member(negative=True)
        else:
            operand = self.member(negative=False)
        return Unary(op.at, op.kind, operand) if count % 2 else operand

    def member(self, *, negative: bool) -> Node:
        node = self.primary(negative=negative)
        while True:
            mark = self.here.at
            if self.here.kind in (".", "["):
                self.count()
            if self.accept("."):
                mark = self.here.at
                if self.here.kind == "quoted":
                    node = Select(mark, node, self.expect("quoted").value)
                    continue
                name = self.identifier()
                node = Call(mark, name, node, self.arguments()) if self.accept("(") else Select(mark, node, name)
            elif self.accept("["):
                index = self.expression()
                self.expect("]")
                node = Index(mark, node, index)
            elif self.here.kind == "{":
                raise self.fail("messages are not part of the contract language", "write a map: `{...}`")
            else:
                return node

    def identifier(self) -> str:
        name = self.here
        if name.kind == "in" or name.value in KEYWORDS:
            raise self.fail()
        self.expect("name")
        return str(name.value)

    def arguments(self) -> tuple[Node, ...]:
        out: list[Node] = []
        while not self.accept(")"):
            if out:
                self.expect(",")
            out.append(self.expression())
        return tuple(out)

    def primary(self, *, negative: bool) -> Node:
        token = self.here
        match token.kind:
            case "number":
                self.at += 1
                value = -token.value if negative else token.value
                if type(value) is int and not INT_MIN <= value <= INT_MAX:
                    raise ExpressionProblem(f"`{value}` is out of the range of CEL's 64-bit integers", token.at)
                return Literal(token.at, value if type(value) is int else Decimal(value))
            case "text":
                self.at += 1
                return Literal(token.at, token.value)
            case "(":
                self.at += 1
                node = self.expression()
                self.expect(")")
                return node
            case "[":
                self.at += 1
                return ListNode(token.at, tuple(self.items("]")))
            case "{":
                self.at += 1
                return MapNode(token.at, tuple(self.pairs()))
            case "name":
                return self.named(token)
            case _:
                raise self.fail()

    def named(self, token: Token) -> Node:
        self.at += 1
        constants: dict[str, Any] = {"true": True, "false": False, "null": None}
        if token.value in constants:
            return Literal(token.at, constants[token.value])
        if token.value in RESERVED:
            raise ExpressionProblem(f"`{token.value}` is a reserved word of CEL", token.at)
        if self.accept("("):
            return Call(token.at, str(token.value), None, self.arguments())
        return Name(token.at, str(token.value))

    def items(self, end: str) -> Iterator[Node]:
        while not self.accept(end):
            yield self.expression()
            if not self.accept(","):
                self.expect(end)
                return

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        while not self.accept("}"):
            key = self.expression()
            self.expect(":")
            yield key, self.expression()
            if not self.accept(","):
                self.expect("}")
                return


def is_macro(node: Call) -> bool:
    """Return whether `node` is a receiver macro such as `items.all(i, i.open)`."""
    return node.target is not None and len(node.args) in MACROS.get(node.name, ())


def refs_of(node: Node) -> tuple[tuple[str, ...], ...]:
    """Return every dotted path `node` may read, once each, in order of appearance; macro variables excluded."""
    found: dict[tuple[str, ...], None] = {}
    _refs(node, frozenset(), found)
    return tuple(found)


def path_of(node: Node) -> tuple[str, ...] | None:
    """Return the dotted path that `node` is, or `None` where it is something else."""
    path: list[str] = []
    while isinstance(node, Select):
        path.append(node.field)
        node = node.operand
    return (node.name, *reversed(path)) if isinstance(node, Name) else None


def _refs(node: Node, bound: frozenset[str], found: dict[tuple[str, ...], None]) -> None:
    path = path_of(node)
    if path is not None:
        if path[0] not in bound:
            found.setdefault(path)
        return
    match node:
        case Call() if is_macro(node):
            assert node.target is not None
            _refs(node.target, bound, found)
            first = node.args[0]
            inner = bound | {first.name} if isinstance(first, Name) else bound
            for arg in node.args[1:]:
                _refs(arg, inner, found)
        case Call():
            for arg in (*([node.target] if node.target else []), *node.args):
                _refs(arg, bound, found)
        case Select(operand=child) | Unary(operand=child):
            _refs(child, bound, found)
        case Index(operand=left, index=right) | Binary(left=left, right=right):
            _refs(left, bound, found)
            _refs(right, bound, found)
        case Ternary():
            for child in (node.test, node.then, node.otherwise):
                _refs(child, bound, found)
        case ListNode():
            for child in node.items:
                _refs(child, bound, found)
        case MapNode():
            for key, value in node.pairs:
                _refs(key, bound, found)
                _refs(value, bound, found)
