"""Was a call refused for what the record says, or for arguments its caller was free to choose?

An agent that asks for the wrong amount is refused, and rightly; that does not show that the right amount could not have
been paid. So a refusal excuses an obligation only where it would meet every call that could discharge it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tallystick.contracts.types import Contract, Requirement, Tool
from tallystick.model.decision import Reason

Refs = Iterable[tuple[str, ...]]


def is_beyond_choice(contract: Contract, tool: Tool, fixed: frozenset[str], reason: Reason) -> bool:
    """Return whether a refusal's reason would stand whatever the arguments outside `fixed` were.

    What cannot be traced to a rule of the contract counts as the caller's choice.
    """
    if reason.code == "approval.denied":
        return True  # a principal saw the call and said no
    if reason.code == "exclusion.taken":
        rule = next((r for r in contract.exclusive if r.id == reason.where), None)
        return rule is not None and tool.name in rule.per and not _chosen(tool, rule.per[tool.name].refs, fixed)
    rules = [rule for rule in tool.requires if reason.where in _ids(rule)]
    return bool(rules) and not any(_chosen(tool, _refs(rule), fixed) for rule in rules)


def _ids(rule: Requirement) -> Iterator[str]:
    yield rule.id
    for option in rule.options:
        yield from _ids(option)


def _refs(rule: Requirement) -> Iterator[tuple[str, ...]]:
    """Yield what a requirement looks at. Of several acceptable sources all count: another might have been met."""
    for expr in (rule.expr, rule.when, rule.entity.id if rule.entity is not None else None):
        yield from expr.refs if expr is not None else ()
    for name in (*rule.args_equal, *((rule.arg,) if rule.arg is not None else ())):
        yield ("args", name)
    for option in rule.options:
        yield from _refs(option)


def _chosen(tool: Tool, refs: Refs, fixed: frozenset[str]) -> bool:
    """Return whether one of `refs` hangs on an argument outside `fixed`, itself or through the entity it names."""
    entities = {expr.alias: expr for expr in (*tool.bind, *tool.target)}
    pending = list(refs)
    seen: set[str] = set()
    while pending:
        ref = pending.pop()
        if ref[0] == "args":
            if len(ref) < 2 or ref[1] not in fixed:
                return True
        elif ref[0] in entities and ref[0] not in seen:
            seen.add(ref[0])
            pending.extend(entities[ref[0]].id.refs)
    return False
