"""CEL expressions over exact values: parsed, checked against declared types, compiled once to closures.

The parser, checker and compiler are our own (see `docs/adr/0003-contract-syntax.md` for the measurement behind that);
nothing outside this package knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tallystick.contracts.expr.compiler import emit, truth
from tallystick.contracts.expr.kinds import INSTANT, JSON, OPEN_RECORD, TEXT, Kind, kind_of, record_of
from tallystick.contracts.expr.macros import BUDGET, MAX_STEPS
from tallystick.contracts.expr.parser import MACROS, parse, refs_of
from tallystick.contracts.expr.syntax import Call, ExpressionProblem, Node
from tallystick.errors import ExpressionError

__all__ = [
    "INSTANT",
    "JSON",
    "OPEN_RECORD",
    "TEXT",
    "Compiled",
    "ExpressionProblem",
    "Kind",
    "compile_expression",
    "kind_of",
    "parse",
    "record_of",
    "refs_of",
]


class Compiled:
    """A compiled expression; see `contracts.types.Expr`. `kind` is what the checker knows about its value."""

    __slots__ = ("_metered", "_run", "kind", "refs", "source")

    def __init__(self, source: str, refs: tuple[tuple[str, ...], ...], kind: Kind, run: Any, *, metered: bool) -> None:
        self.source: Final = source
        self.refs: Final = refs
        self.kind: Final = kind
        self._run = run
        self._metered = metered

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the value under `env` (root name → value).

        A caller that evaluates many expressions within one bound puts a list with the steps left under `macros.BUDGET`.

        Raises:
            ExpressionError: a missing name, mixed types, overflow, division by zero, too many steps.
        """
        try:
            if self._metered:
                return self._run({BUDGET: [MAX_STEPS], **env})
            return self._run(env)
        except ExpressionError:
            raise
        except Exception as bad:
            raise ExpressionError(f"`{self.source}` cannot be evaluated: {type(bad).__name__.lower()}") from bad

    def __repr__(self) -> str:
        return f"Compiled({self.source!r})"


def compile_expression(source: str, scope: Mapping[str, Kind], *, boolean: bool = False) -> Compiled:
    """Return `source` compiled under `scope` (root name → kind).

    Args:
        source: CEL text.
        scope: what each root name stands for.
        boolean: the value must be true or false; anything else is a problem here, or an error when it runs.

    Raises:
        ExpressionProblem: not CEL, an unknown name, or kinds that do not fit; carries the offset and a fix.
    """
    node = parse(source)
    try:
        kind, run = emit(node, scope)
        if boolean:
            run = truth(node, scope)
    except RecursionError:
        raise ExpressionProblem("nested too deeply", 0) from None
    return Compiled(source, refs_of(node), kind, run, metered=_uses_macros(node))


def _uses_macros(node: Any) -> bool:
    if isinstance(node, Call) and node.target is not None and node.name in MACROS:
        return True
    if isinstance(node, tuple):
        return any(_uses_macros(child) for child in node)
    if isinstance(node, Node):
        return any(_uses_macros(getattr(node, name)) for name in type(node).__dataclass_fields__)
    return False
