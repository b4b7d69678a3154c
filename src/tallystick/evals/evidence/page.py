"""A report as one HTML page that needs nothing else: no script, no font, no address is fetched."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.evidence.figures import inline
from tallystick.evals.evidence.measures import MEASURES
from tallystick.evals.evidence.tables import cell, percent, published_arms, published_lines, published_rows

_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}
table{border-collapse:collapse;font-size:.86rem;display:block;overflow-x:auto}
th,td{padding:.3rem .7rem;border-bottom:1px solid #ddd;text-align:left;white-space:nowrap}
thead th{border-bottom:2px solid #999}
.published{color:#666;background:#f6f6f6;padding:.1rem 1rem 1rem}
dt{font-weight:600}dd{margin:0 0 .4rem 1.5rem}svg{max-width:100%;height:auto}
.note{color:#666}
"""
_TITLES: Final = {
    "ecs": "Exact case success", "splits": "How episodes went wrong", "readiness": "Decision readiness",
    "interventions": "Interventions on the evidence", "static-interactive": "Static and interactive",
}  # fmt: skip


def page(told: Mapping[str, Any]) -> str:
    """Return the page of what `run` or `study` returned. Figures are left out where matplotlib is missing."""
    body = "\n".join(_study(told) if "arms" in told else _report(told))
    title = f"Evidence before action: {html.escape(told['agent'])}"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
    )


def _report(told: Mapping[str, Any]) -> Iterator[str]:
    yield _head(told, f"{told['set']}; {told['cases']} cases, {told['epochs']} rollout(s), {told['scored']} episodes"
                f" scored, {told['excluded']} excluded (infrastructure)")  # fmt: skip
    yield from _figures(told)
    yield "<h2>Measures</h2>"
    yield _measures(told)
    macro, effects = told["macro"], told["effects"]
    yield _p(f"Macro average of ECS: over protocols {percent(macro['protocol'])}, over domains"
             f" {percent(macro['domain'])}. Actions that took effect early: {effects['early']}; on a wrong entity:"
             f" {effects['wrong_entity']}. Calls refused by the gate: {told['refused']}.")  # fmt: skip
    rows = [[d, str(found["episodes"]), cell(found["ECS"])] for d, found in told["domains"].items()]
    yield "<h2>Domains</h2>"
    yield _table(["domain", "episodes", "ECS"], rows)
    yield from _definitions(told)
    yield '<section class="published">'
    yield f"<h2>Published ({html.escape(told['published']['source'])}; not ours, other cases, other models)</h2>"
    first, *others = published_rows(told["published"])
    yield _table(first, others)
    yield "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in published_lines(told["published"])) + "</ul>"
    yield "</section>"


def _study(told: Mapping[str, Any]) -> Iterator[str]:
    yield _head(told, f"{len(told['arms'])} derived sets")
    yield from _figures(told)
    if told["paired"]:
        yield "<h2>Arms beside their base, over the scenarios both have</h2>"
        rows = []
        for pair in told["paired"]:
            show = _count if pair["measure"] == "information_calls" else percent
            interval = "" if pair["bootstrap"] is None else " to ".join(show(v) for v in pair["bootstrap"])
            means = [show(pair[k]) for k in ("base_mean", "arm_mean", "difference")]
            rows.append([pair["base"], pair["arm"], pair["measure"], str(pair["scenarios"]), *means, interval])
        head = ["base", "arm", "measure", "scenarios", "base", "arm", "difference", "95% bootstrap"]
        yield _table(head, rows)
    for arm, found in told["arms"].items():
        yield f"<h2>{html.escape(arm)}</h2>"
        yield _p(f"{found['cases']} cases, {found['scored']} episodes scored, {found['excluded']} excluded.")
        yield _measures(found)
    first = next(iter(told["arms"].values()))
    yield from _definitions(first)
    yield '<section class="published">'
    yield f"<h2>Published ({html.escape(first['published']['source'])}; not ours, other cases, other models)</h2>"
    yield "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in published_arms(first["published"])) + "</ul>"
    yield "</section>"


def _head(told: Mapping[str, Any], what: str) -> str:
    kind = "Scripted agent: it reads the reference path, and tests evaluator and gate. " if told["scripted"] else ""
    gate = "behind the act gate" if told["gated"] else "without a gate"
    settings = ", ".join(f"{k} {v}" for k, v in told["settings"].items() if k not in ("agent", "gated", "seed"))
    return _p(f"{kind}{gate}; seed {told['seed']}; {what}{'; ' if settings else ''}{settings}.")


def _figures(told: Mapping[str, Any]) -> Iterator[str]:
    try:
        drawn = list(inline(told))
    except InputError as bad:
        yield _p(f"No figures: {bad.message}.")
        return
    for name, svg in drawn:
        yield f"<h2>{_TITLES[name]}</h2>\n<figure>{svg}</figure>"


def _measures(told: Mapping[str, Any]) -> str:
    rows = [[m.name, *(cell(told["protocols"][p].get(m.name)) for p in told["protocols"])] for m in MEASURES]
    table = _table(["measure", *told["protocols"]], [r for r in rows if any(r[1:])])
    return table + _p("Share of n, 95% Wilson interval, [bootstrap over scenarios].")


def _definitions(told: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Definitions</h2>"
    yield _p(told["note"])
    terms = (f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in told["definitions"].items())
    yield f"<dl>{''.join(terms)}</dl>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(c)}</td>' for c in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _p(text: str) -> str:
    return f'<p class="note">{html.escape(text)}</p>'


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
