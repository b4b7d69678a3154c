"""A report as text: our measures with counts and intervals, their definitions, the published figures beside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tallystick.evals.evidence.case import PROTOCOLS
from tallystick.evals.evidence.measures import MEASURES

_MAIN: Final = ("ECS", "BSR", "PAR", "CAS", "Gap", "Part")


def text(told: dict[str, Any]) -> str:
    """Return the tables of what `run` returned, as plain text for a terminal or a file."""
    return "\n".join(_lines(told)) + "\n"


def _lines(told: dict[str, Any]) -> Iterator[str]:
    gate = "behind the act gate" if told["gated"] else "without a gate"
    kind = "scripted agent" if told["scripted"] else "agent"
    yield f"{kind} `{told['agent']}`, {gate}; seed {told['seed']}, {told['set']}; {told['cases']} cases,"
    yield f"{told['epochs']} rollout(s), {told['scored']} episodes scored, {told['excluded']} excluded (infrastructure)"
    yield ""
    rows = [["measure", *told["protocols"]]]
    rows += [[m.name, *(_cell(told["protocols"][p].get(m.name)) for p in told["protocols"])] for m in MEASURES]
    yield from _table(rows)
    yield ""
    macro = told["macro"]
    over = f"over protocols {_percent(macro['protocol'])}, over domains {_percent(macro['domain'])}"
    yield f"macro average of ECS: {over}"
    effects = told["effects"]
    yield (
        f"actions that took effect early {effects['early']}, on a wrong entity {effects['wrong_entity']};"
        f" calls refused by the gate {told['refused']}"
    )
    yield ""
    yield "share of n, 95% Wilson interval, [bootstrap over scenarios]. " + told["note"]
    yield from (f"  {name}: {words}" for name, words in told["definitions"].items())
    yield ""
    yield f"published ({told['published']['source']}; not ours, other cases, other models):"
    yield from _published(told["published"])


def _cell(share: dict[str, Any] | None) -> str:
    if share is None:
        return ""
    if not share["of"]:
        return "0 of 0"
    found = f"{_percent(share['share'])} of {share['of']} ({_range(share['wilson'])})"
    return f"{found} [{_range(share['bootstrap'])}]" if share["bootstrap"] else found


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}%"


def _range(interval: Any) -> str:
    return f"{100 * interval[0]:.1f}-{100 * interval[1]:.1f}"


def _published(found: dict[str, Any]) -> Iterator[str]:
    rows = [["configuration", *PROTOCOLS, "overall", "place"]]
    for name, row in found["configurations"].items():
        rows.append([name, *(_percent(row.get(k)) for k in (*PROTOCOLS, "overall")), row["at"]])
    yield from _table(rows)
    for name in _MAIN:
        row = found["main"][name]
        shown = f"{_percent(row['range'][0])}-{_percent(row['range'][1])} over {row['over']}" if row["range"] else ""
        if "tenth" in row:
            shown += f", the tenth {_percent(row['tenth'])}"
        yield f"  {name}: {shown}  ({row['at']})"


def _table(rows: list[list[str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
