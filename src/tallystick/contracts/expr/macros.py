"""The CEL macros over lists, sets and map keys, each within a budget of steps so that evaluation ends soon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from tallystick.contracts.expr.kinds import BOOLEAN, JSON, TEXT, Kind
from tallystick.contracts.expr.operators import Run, Test, mismatch
from tallystick.contracts.expr.syntax import Call, ExpressionProblem, Name, Node
from tallystick.errors import ExpressionError

MAX_STEPS: Final = 100_000
"""Most macro steps in one evaluation, over all nested macros together."""
BUDGET: Final = "\0steps"
"""Key in the environment of a running expression that counts the steps left; no CEL name can spell it."""
Emit = Callable[[Node, Mapping[str, Kind]], tuple[Kind, Run]]
Truth = Callable[[Node, Mapping[str, Kind]], Test]


def macro(node: Call, scope: Mapping[str, Kind], emit: Emit, truth: Truth) -> tuple[Kind, Run]:
    """Return kind and closure of a receiver macro.

    Raises:
        ExpressionProblem: the receiver cannot be walked, or the variable is not a plain new name.
    """
    assert node.target is not None
    kind, walk = emit(node.target, scope)
    variable = node.args[0]
    if not isinstance(variable, Name):
        raise ExpressionProblem(f"the first argument of `{node.name}` is the variable", variable.at)
    if kind.name not in ("list", "set", "map", "json"):
        raise ExpressionProblem(f"`{node.name}` walks lists and maps, not {kind}", node.at)
    if kind.name == "set" and node.name in ("filter", "map"):
        raise ExpressionProblem(f"a set has no order, so `{node.name}` is not defined for it", node.at)
    item = TEXT if kind.name == "map" else kind.item or JSON
    inner = {**scope, variable.name: item}
    steps = _steps(walk, variable.name)
    if node.name == "all":
        return BOOLEAN, _quantified(steps, truth(node.args[1], inner), deciding=False)
    if node.name == "exists":
        return BOOLEAN, _quantified(steps, truth(node.args[1], inner), deciding=True)
    if node.name == "exists_one":
        test = truth(node.args[1], inner)
        return BOOLEAN, lambda env: _count(steps, test, env) == 1
    if node.name == "filter":
        test = truth(node.args[1], inner)
        return Kind(name="list", item=item), lambda env: tuple(value for here, value in steps(env) if test(here))
    result, run = emit(node.args[-1], inner)
    out = Kind(name="list", item=replace(result, literal=None))
    if len(node.args) == 2:
        return out, lambda env: tuple(run(here) for here, _ in steps(env))
    test = truth(node.args[1], inner)
    return out, lambda env: tuple(run(here) for here, _ in steps(env) if test(here))


Steps = Callable[[Mapping[str, Any]], Iterator[tuple[Mapping[str, Any], Any]]]


def _steps(walk: Run, variable: str) -> Steps:
    def steps(env: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Any]]:
        values = walk(env)
        if not isinstance(values, (list, tuple, frozenset, Mapping)):
            raise mismatch("a list or map", values)
        here, budget = dict(env), env[BUDGET]
        for value in values:
            budget[0] -= 1
            if budget[0] < 0:
                raise ExpressionError(f"more than {MAX_STEPS} macro steps")
            here[variable] = value
            yield here, value

    return steps


def _count(steps: Steps, test: Test, env: Mapping[str, Any]) -> int:
    return sum(1 for here, _ in steps(env) if test(here))


def _quantified(steps: Steps, test: Test, *, deciding: bool) -> Test:
    # As `&&` and `||` over the items: a deciding item absorbs the errors of the others.
    def quantified(env: Mapping[str, Any]) -> bool:
        error: ExpressionError | None = None
        for here, _ in steps(env):
            try:
                if test(here) is deciding:
                    return deciding
            except ExpressionError as bad:
                if env[BUDGET][0] < 0:
                    raise
                error = bad
        if error is not None:
            raise error
        return not deciding

    return quantified
