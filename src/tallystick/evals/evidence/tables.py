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


def study_text(told: dict[str, Any]) -> str:
    """Return what `study` returned: each arm's tables, then each arm beside its base."""
    parts = []
    for arm, found in told["arms"].items():
        own = {**found, "definitions": {}, "published": None}
        parts += [f"== {arm}", text(own)]
    rows = [["base", "arm", "measure", "scenarios", "base", "arm", "difference", "95% bootstrap"]]
    for pair in told["paired"]:
        show = _mean if pair["measure"] == "information_calls" else percent
        interval = "" if pair["bootstrap"] is None else " to ".join(show(v) for v in pair["bootstrap"])
        means = [show(pair[k]) for k in ("base_mean", "arm_mean", "difference")]
        rows.append([pair["base"], pair["arm"], pair["measure"], str(pair["scenarios"]), *means, interval])
    parts += ["== arms beside their base, over the scenarios both have", *_table(rows), ""]
    first = next(iter(told["arms"].values()))
    parts += [f"  {name}: {words}" for name, words in first["definitions"].items()]
    parts += ["", f"published ({first['published']['source']}; not ours, other cases, other models):"]
    parts += [f"  {line}" for line in published_arms(first["published"])]
    return "\n".join(parts) + "\n"


def composition_text(told: dict[str, Any]) -> str:
    """Return the composition of the suite as text."""
    lines = [f"{sum(told['protocols'].values())} cases; manifest {'kept' if told['manifest_ok'] else 'BROKEN'}", ""]
    means = told["reads"]["mean_by_protocol"]
    rows = [["protocol", "cases", "mean required reads"]]
    rows += [[p, str(n), f"{means[p]:.2f}"] for p, n in told["protocols"].items()]
    lines += [*_table(rows), "", *_table([["domain", "cases"], *([d, str(n)] for d, n in told["domains"].items())]), ""]
    v3 = told["v3"]
    lines.append(f"V3: {v3['nodes']} action nodes, {v3['edges']} edges, {v3['forks']} forked, {v3['joins']} joined")
    lines.append(f"most required reads: {told['reads']['max']}")
    return "\n".join(lines) + "\n"


def check_text(told: dict[str, Any]) -> str:
    """Return what the suite's own check found as text."""
    rows = [["played", "paths"]]
    rows += [[k.replace("_", " "), str(v)] for k, v in told.items() if isinstance(v, int)]
    rows += [[f"corrupted: {kind}", str(n)] for kind, n in told["corrupted"].items()]
    lines = [*_table(rows), ""]
    lines += [f"{f['case']}: {f['kind']}: {f['message']}" for f in told["findings"]]
    audit = told["checkpoints"]
    lines.append(f"findings: {len(told['findings'])}")
    lines.append(
        f"labelled checkpoints {audit['checkpoints']}: false acceptance {audit['false_acceptances']} of"
        f" {audit['of_unsupported']}, false rejection {audit['false_rejections']} of {audit['of_supported']}"
    )
    return "\n".join(lines) + "\n"


def _lines(told: dict[str, Any]) -> Iterator[str]:
    gate = "behind the act gate" if told["gated"] else "without a gate"
    kind = "scripted agent" if told["scripted"] else "agent"
    yield f"{kind} `{told['agent']}`, {gate}; seed {told['seed']}, {told['set']}; {told['cases']} cases,"
    yield f"{told['epochs']} rollout(s), {told['scored']} episodes scored, {told['excluded']} excluded (infrastructure)"
    settings = {k: v for k, v in told["settings"].items() if k not in ("agent", "gated", "seed")}
    if settings:
        yield ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in settings.items())
    yield ""
    rows = [["measure", *told["protocols"]]]
    rows += [[m.name, *(cell(told["protocols"][p].get(m.name)) for p in told["protocols"])] for m in MEASURES]
    yield from _table(rows)
    yield ""
    macro = told["macro"]
    over = f"over protocols {percent(macro['protocol'])}, over domains {percent(macro['domain'])}"
    yield f"macro average of ECS: {over}"
    effects = told["effects"]
    yield (
        f"actions that took effect early {effects['early']}, on a wrong entity {effects['wrong_entity']};"
        f" calls refused by the gate {told['refused']}"
    )
    yield ""
    yield "share of n, 95% Wilson interval, [bootstrap over scenarios]. " + told["note"]
    yield from (f"  {name}: {words}" for name, words in told["definitions"].items())
    if told["published"] is not None:
        yield ""
    if told["published"] is None:
        return
    yield f"published ({told['published']['source']}; not ours, other cases, other models):"
    yield from _table(published_rows(told["published"]))
    yield from (f"  {line}" for line in published_lines(told["published"]))


def cell(share: dict[str, Any] | None) -> str:
    """Return a share with its n and its intervals, or "" where a protocol does not define it."""
    if share is None:
        return ""
    if not share["of"]:
        return "0 of 0"
    found = f"{percent(share['share'])} of {share['of']} ({_range(share['wilson'])})"
    return f"{found} [{_range(share['bootstrap'])}]" if share["bootstrap"] else found


def percent(value: float | None) -> str:
    """Return a share as a percentage, or "" where there is none."""
    return "" if value is None else f"{100 * value:.1f}%"


def _range(interval: Any) -> str:
    return f"{100 * interval[0]:.1f}-{100 * interval[1]:.1f}"


def published_rows(found: dict[str, Any]) -> list[list[str]]:
    """Return the paper's configurations as rows under a head; cells that the source lacks are empty."""
    rows = [["configuration", *PROTOCOLS, "overall", "place"]]
    for name, row in found["configurations"].items():
        rows.append([name, *(percent(row.get(k)) for k in (*PROTOCOLS, "overall")), row["at"]])
    return rows


def published_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the paper's ranges of the main measures, each with its place."""
    for name in _MAIN:
        row = found["main"][name]
        shown = f"{percent(row['range'][0])}-{percent(row['range'][1])} over {row['over']}" if row["range"] else ""
        if "tenth" in row:
            shown += f", the tenth {percent(row['tenth'])}"
        yield f"{name}: {shown}  ({row['at']})"


def published_arms(found: dict[str, Any]) -> Iterator[str]:
    """Yield what the paper reports on interventions, matched pairs and balanced triples, each with its place."""
    for group in ("interventions", "static_interactive", "balanced"):
        for name, row in found[group].items():
            shown = ", ".join(f"{k} {_plain(v)}" for k, v in row.items() if k != "at")
            yield f"{group}, {name}: {shown}  ({row['at']})"


def _plain(value: Any) -> str:
    return " to ".join(map(str, value)) if isinstance(value, list) else str(value)


def _mean(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _table(rows: list[list[str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
