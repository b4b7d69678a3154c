"""The words of a CEL expression: the syntax tree, and the lexer.

Lexical rules follow the CEL language definition, "Syntax". Two deliberate differences: a literal with a fraction or an
exponent is an exact decimal, never a binary float; unsigned integers and bytes are not part of the contract language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, NamedTuple

MAX_SOURCE: Final = 4_000
"""Longest expression, in characters."""
MAX_NESTING: Final = 32
"""Deepest nesting of parentheses, lists, calls and macros; the limit cel-cpp and cel-go set by default."""
MAX_OPERATORS: Final = 256
"""Most operators, selections and calls, so that the depth of the tree stays small."""
MAX_EXPONENT: Final = 400
RESERVED: Final = frozenset(
    [
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"),
        *("namespace", "return", "var", "void", "while"),
    ]
)
KEYWORDS: Final = frozenset({"in", "true", "false", "null"})


class ExpressionProblem(ValueError):  # noqa: N818 - a problem found at load; `ExpressionError` is the one at run time
    """The expression cannot be read or does not type-check; `at` is the 0-based offset in its text."""

    def __init__(self, message: str, at: int, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.fix = fix


@dataclass(frozen=True, slots=True)
class Node:
    """Base of all syntax nodes; `at` is the 0-based offset of the node's operator or first token."""

    at: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """`1`, `10000.00`, `"open"`, `true`, `null`; the value is an int, Decimal, str, bool or None."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A root name or macro variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`operand.field`."""

    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`operand[index]`."""

    operand: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`name(args)`, or `target.name(args)`; macros are calls until the compiler meets them."""

    name: str
    target: Node | None
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`!operand` or `-operand`."""

    op: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """`left op right`."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Ternary(Node):
    """`test ? then : otherwise`."""

    test: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class ListNode(Node):
    """`[a, b]`."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapNode(Node):
    """`{k: v}`."""

    pairs: tuple[tuple[Node, Node], ...]


class Token(NamedTuple):
    """A token: its kind (an operator is its own kind), its value and its offset."""

    kind: str
    value: Any
    at: int


_TOKEN: Final = re.compile(
    r"""(?P<space>(?:[\t\n\f\r ]|//[^\n]*)+)
    |(?P<string>(?P<prefix>[bBrR]{0,2})(?P<quote>\"\"\"|'''|"|'))
    |(?P<decimal>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<integer>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<quoted>`[A-Za-z0-9_.\-/ ]+`)
    |(?P<op>&&|\|\||[=!<>]=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(
    r"""\\(?:[abfnrtv"'`\\?]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""
)
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def lex(source: str) -> list[Token]:
    """Return the tokens of `source`, ending in one of kind `end`.

    Raises:
        ExpressionProblem: a character, escape or literal that CEL (or its decimal subset here) does not have.
    """
    if len(source) > MAX_SOURCE:
        raise ExpressionProblem(f"the expression has {len(source)} characters; at most {MAX_SOURCE} are allowed", 0)
    at, tokens = 0, []
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None:
            if source[at] == "=":
                raise ExpressionProblem("`=` is not an operator", at, "compare with `==`")
            fix = {"&": "write `&&`", "|": "write `||`"}.get(source[at])
            raise ExpressionProblem(f"unexpected character `{source[at]}`", at, fix)
        end = found.end()
        match found.lastgroup:
            case "quote" | "prefix" | "string":
                value, end = _string(source, found)
                tokens.append(Token("text", value, at))
            case "decimal":
                number = Decimal(found[0])
                if number and abs(number.adjusted()) > MAX_EXPONENT:
                    raise ExpressionProblem(f"the number `{found[0][:40]}` is out of range", at)
                tokens.append(Token("number", number, at))
            case "integer":
                tokens.append(Token("number", int(found[0], 16 if found[0][:2] == "0x" else 10), at))
            case "name":
                tokens.append(Token("in" if found[0] == "in" else "name", found[0], at))
            case "quoted":
                tokens.append(Token("quoted", found[0][1:-1], at))
            case "op":
                tokens.append(Token(found[0], found[0], at))
        if found.lastgroup == "integer" and source[end : end + 1] in ("u", "U"):
            raise ExpressionProblem("unsigned integers are not part of the contract language", at, "drop the `u`")
        at = end
    tokens.append(Token("end", "", len(source)))
    return tokens


def _string(source: str, found: re.Match[str]) -> tuple[str, int]:
    prefix, quote, start = found["prefix"].lower(), found["quote"], found.start()
    if "b" in prefix:
        raise ExpressionProblem("bytes are not part of the contract language", start, "write a string")
    if prefix not in ("", "r"):
        raise ExpressionProblem(f"`{prefix}` is not a string prefix", start)
    out: list[str] = []
    at = found.end()
    while not source.startswith(quote, at):
        if at >= len(source):
            raise ExpressionProblem("unterminated string", start, f"close it with {quote}")
        char = source[at]
        if len(quote) == 1 and char in "\r\n":
            raise ExpressionProblem("a line break inside a string", at, 'write `\\n`, or use `"""`')
        if char != "\\":
            out.append(char)
            at += 1
        elif prefix == "r":
            out.append(source[at : at + 2])
            at += 2
        else:
            escape = _ESCAPE.match(source, at)
            if escape is None:
                raise ExpressionProblem(f"`{source[at : at + 2]}` is not an escape", at, "write `\\\\` for a backslash")
            out.append(_unescape(escape[0][1:], at))
            at = escape.end()
    return "".join(out), at + len(quote)


def _unescape(text: str, at: int) -> str:
    if text in _SIMPLE:
        return _SIMPLE[text]
    if text[0] in "xXuU":
        code = int(text[1:], 16)
    elif text[0].isdigit():
        code = int(text, 8)
    else:
        return text
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ExpressionProblem(f"`\\{text}` is not a character", at)
    return chr(code)
