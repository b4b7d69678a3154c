"""What rollouts came to: outcomes by stop policy with intervals, contrasts of configurations, regating, the reader."""

from __future__ import annotations

import importlib.resources
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import yaml

from tallystick.errors import InputError
from tallystick.evals.common.clusters import difference, estimate
from tallystick.evals.common.estimate import Estimate, not_estimable
from tallystick.evals.common.intervals import wilson
from tallystick.evals.lifecycle.rollouts.reader import disagreements
from tallystick.evals.lifecycle.rollouts.session import OUTCOMES, Session
from tallystick.gates.stop_policies import ENDS, POLICIES, regate

NOTES: Final = (
    "Contrasts compare reporting-and-termination configurations, not gate rules.",
    "Only B1 carries the reporting instructions, and A changes who asks the agent to continue.",
    "Rollouts give no stage gap: their terminal checkpoints are selected by survival.",
)
"""What must stand beside the table."""
LABELS: Final = {
    "outcomes": "Observational", "contrasts": "Controlled intervention", "regating": "Audit/engineering",
    "reader": "Audit/engineering",
}  # fmt: skip
_NAMES: Final = tuple(p.name for p in POLICIES.values())
CONTRASTS: Final = (("B2", "B1"), ("A unmatched", "B1"), ("A matched", "B1"), ("A matched", "A unmatched"),
             ("B2 with reports", "B1"), ("B2 with reports", "B2"))  # fmt: skip
"""Pairs of configurations. The last two are *ours*: two rules under one instruction, one rule with and without it."""


def told(sessions: Sequence[Session]) -> dict[str, Any]:
    """Return everything the rollouts came to, ready for JSON.

    Raises:
        InputError: there are no sessions.
    """
    if not sessions:
        raise InputError("there are no sessions to report")
    present = [n for n in _NAMES if any(s.policy == n for s in sessions)]
    counts = {n: Counter(s.outcome for s in sessions if s.policy == n) for n in present}
    return {
        "deployments": sorted({s.deployment for s in sessions}),
        "scripted": all(s.deployment.startswith("scripted:") for s in sessions),
        "languages": sorted({s.language for s in sessions}),
        "sessions": len(sessions),
        "scenarios": len({s.scenario for s in sessions}),
        "labels": LABELS,
        "notes": NOTES,
        "outcomes": {
            n: {o: {"n": counts[n][o], "of": counts[n].total(), "interval": wilson(counts[n][o], counts[n].total())}
                for o in OUTCOMES}
            for n in present
        },
        "contrasts": {
            f"{a} - {b}": msgspec.to_builtins(_contrast(sessions, a, b))
            for a, b in CONTRASTS
            if a in present and b in present
        },
        "regating": _regated(sessions),
        "reader": {"sessions": len(sessions), "disagreements": disagreements(map(_plain, sessions))},
        "published": published(),
    }  # fmt: skip


def _plain(one: Session) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(one))
    return found


def _contrast(sessions: Sequence[Session], first: str, second: str) -> Estimate:
    """Task success of one configuration minus another's, scenarios resampled (equation 17)."""
    clusters = sorted({s.scenario for s in sessions})
    sums = []
    for cluster in clusters:
        line = []
        for name in (first, second):
            its = [s for s in sessions if s.scenario == cluster and s.policy == name]
            line += [sum(s.outcome == "task_ok" for s in its), len(its)]
        sums.append(line)
    try:
        return estimate(sums, difference)
    except InputError as bad:
        return not_estimable(bad.message, clusters=len(clusters))


def _regated(sessions: Sequence[Session]) -> dict[str, dict[str, Any]]:
    """Return, for each recorded and each other policy, how many recordings it can judge, and to what end."""
    found: dict[str, dict[str, Any]] = {}
    for recorded, other in itertools.permutations(POLICIES.values(), 2):
        its = [s for s in sessions if s.policy == recorded.name]
        if its:
            judged = [(s, regate([t.moment() for t in s.turns], recorded, other)) for s in its]
            ends = Counter(_end(s, r.turn, r.ruling) for s, r in judged if r.exact)
            found[f"{recorded.name} as {other.name}"] = {
                "exact": sum(r.exact for _, r in judged),
                "not_regatable": dict(Counter(r.why_not for _, r in judged if not r.exact)),
                "outcomes": dict(ends),
            }
    return found


def _end(one: Session, turn: int | None, ruling: str | None) -> str:
    """Return the outcome of a recording that another policy ends at a turn; its own, where that is its end too."""
    if turn is None or ruling not in ENDS:
        return one.outcome
    if one.turns[turn].stage == "completed":
        return "task_ok"
    return {"stop": "premature_stop", "dead_end": "dead_end", "give_up": "stall"}[ruling]


def published() -> dict[str, Any]:
    """Return the source's figures, with their places."""
    text = (importlib.resources.files(__package__) / "published.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def text(report: dict[str, Any]) -> str:
    """Return the report as text."""
    who = ", ".join(report["deployments"])
    kind = "scripted agent" if report["scripted"] else "deployment"
    languages = ", ".join(report["languages"])
    lines = [
        f"{kind} {who}; {report['sessions']} sessions over {report['scenarios']} scenarios ({languages})",
        "",
        f"outcomes, % of sessions [Wilson 95%]; published beside, never ours   ({report['labels']['outcomes']})",
        f"{'gate':18}{'n':>5}  " + "".join(f"{o:>22}" for o in OUTCOMES),
    ]
    table = report["published"]["table_19"]
    for name, row in report["outcomes"].items():
        of = next(iter(row.values()))["of"]
        lines.append(f"{name:18}{of:5}  " + "".join(f"{_share(row[o]):>22}" for o in OUTCOMES))
        if name in table:
            lines.append(f"{'  published':23}  " + "".join(f"{table[name].get(o, ''):>22}" for o in OUTCOMES))
    lines += ["", *report["notes"]]
    if report["contrasts"]:
        lines += ["", f"task success, points, scenarios resampled   ({report['labels']['contrasts']})"]
        for name, raw in report["contrasts"].items():
            shown = msgspec.convert(raw, type=Estimate).shown(sign=True)
            paper = "   published +13.0 [+7.1, +19.4]" if name == "B2 - B1" else ""
            lines.append(f"{name:28}{shown}{paper}")
    if report["regating"]:
        lines += ["", f"recordings under another policy, where exact   ({report['labels']['regating']})"]
        for name, one in report["regating"].items():
            if not one["exact"]:
                continue
            ends = ", ".join(f"{n} {o}" for o, n in sorted(one["outcomes"].items()))
            lines.append(f"{name:28}{one['exact']:4} exact: {ends}; {sum(one['not_regatable'].values())} not regatable")
        none = [n for n, one in report["regating"].items() if not one["exact"]]
        lines += [f"not regatable: {'; '.join(none)}"] if none else []
    reader = report["reader"]
    lines += [
        "",
        f"independent reader: {reader['sessions']} sessions read, {len(reader['disagreements'])} disagreements",
    ]
    lines += [f"  {one}" for one in reader["disagreements"][:10]]
    return "\n".join(lines) + "\n"


def _share(cell: dict[str, Any]) -> str:
    if not cell["of"]:
        return "-"
    low, high = cell["interval"]
    return f"{100 * cell['n'] / cell['of']:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
