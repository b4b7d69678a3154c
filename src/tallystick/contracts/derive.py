"""Derivations: how a claimed value is recomputed from receipts or facts.

Three forms: `pay_invoice./amount` (what the newest good receipt says there), an aggregate such as
`sum(list_invoices./items/*/amount where item.status == "open")`, or a CEL expression over the facts of the slot's
entity. In a `where`, `item` is what the last `*` of the pointer stands for (the whole result where there is none),
`result` is the whole result and `args` are the arguments of that call. The gates evaluate them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tallystick.contracts.expr import JSON, Kind
from tallystick.contracts.names import Names, split_source
from tallystick.contracts.types import Derivation
from tallystick.contracts.yamltext import Path

FUNCTIONS: Final = ("identity", "sum", "count", "min", "max", "list", "set", "first", "last")
_CALL: Final = re.compile(r"\s*(?P<function>[a-z]+)\s*\((?P<inside>.*)\)\s*", re.DOTALL)
_DOTTED: Final = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_:-]*)\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_WHERE: Final = re.compile(r"\s+where\s+")


def derivation(text: Any, path: Path, names: Names, facts: Mapping[str, Kind]) -> Derivation | None:
    """Return the derivation a text states, or `None` after reporting what is wrong with it.

    Args:
        text: one of the three forms.
        path: where it stands.
        names: what is declared.
        facts: what a CEL expression may read.
    """
    if not isinstance(text, str):
        return None
    call = _CALL.fullmatch(text)
    function, inside, start = "identity", text.strip(), len(text) - len(text.lstrip())
    if call is not None and _is_source(call["inside"].strip(), names.tools):
        function, inside = call["function"], call["inside"]
        start = call.start("inside") + len(inside) - len(inside.lstrip())
        inside = inside.strip()
        if function not in FUNCTIONS:
            names.report.unknown(path, "aggregate", function, FUNCTIONS)
            return None
    if not _is_source(inside, names.tools):
        dotted = _DOTTED.fullmatch(inside)
        if dotted is not None and dotted[1] in names.tools and dotted[1] not in facts:
            pointer = dotted[2].replace(".", "/")
            names.report.add(path, f"`{inside}` names a tool like a fact", f"write `{dotted[1]}./{pointer}`")
            return None
        expr = names.expr(text, path, facts, boolean=False)
        return None if expr is None else Derivation(source=text, function="expr", expr=expr)
    where = _WHERE.search(inside)
    place = inside if where is None else inside[: where.start()]
    found = names.source(place, path)
    if found is None:
        return None
    tool, pointer = found
    condition = None
    if where is not None:
        scope = {"item": JSON, "result": JSON, "args": names.args_kind(tool)}
        condition = names.part(inside[where.end() :], path, scope, start + where.end())
        if condition is None:
            return None
    if function == "identity" and "*" in pointer:
        names.report.add(path, "`*` names several places", "wrap it: `sum(…)`, `count(…)`, `list(…)`, `first(…)`")
        return None

    return Derivation(source=text, function=_function(function), tool=tool, pointer=pointer, where=condition)


def _function(name: str) -> Any:
    assert name in FUNCTIONS
    return name


def _is_source(text: str, tools: tuple[str, ...]) -> bool:
    # `name./pointer` is never CEL, so an unknown tool is reported as such rather than as bad CEL.
    return split_source(text, tools) is not None or re.match(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*\./", text) is not None
