"""A report as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallystick.evals.handoff.tables import tables
from tallystick.evals.lifecycle import table

_READINGS = {
    "precedence": "a whole block of the record decides P, a partial or edited one is lost status, else words (ours)",
    "plain": "the rule of appendix A.3 over all words, those of blocks too",
}


def text(told: Mapping[str, Any], reading: str = "precedence") -> str:
    """Return a report as text: who played, what is missing, the audits, then the tables of one reading."""
    roles = "; ".join(f"{name}: {', '.join(who)}" for name, who in told["roles"].items())
    lines = [f"handoff suite, {', '.join(told['models'])}", roles]
    carried = list(dict.fromkeys(str(one.get("substrate", "plain")) for one in told["settings"]))
    if carried not in ([], ["plain"]):
        lines.append(f"artifacts carried by: {', '.join(carried)}")
    if told["reference"]:
        lines.append("transformer and executor are scripts: their rates follow from the scripts, not from any model")
    elif "scripted" in told["roles"]["reviewer"]:
        lines.append("the reviewer is a script that passes the canonical record on: D_up is 1 by construction")
    lines.append(", ".join(f"{name} {n} episodes" for name, n in told["episodes"].items()))
    for name, one in told["missing"].items():
        lines += [f"{name}: {n} items of {study} without a reply" for study, n in one.items()]
    if told["flagged"]:
        lines.append(f"{told['flagged']} executor replies could not be read as asked; they stay in every denominator")
    leaks = told["leaks"]
    lines.append(
        f"leak audit: {leaks['records']} executor views, {leaks['fields']} checks each, {len(leaks['leaks'])} leaks"
    )
    lines += leaks["leaks"][:10]
    if "endpoint" in told["episodes"]:
        mixed = told["apart"]
        lines.append(f"controls that changed bytes, P or C: {len(mixed) or 'none'}")
        lines += mixed[:10]
    lines.append(f"reading: {reading}: {_READINGS[reading]}")
    lines.append(f"both readings agree on {100 * told['agreement']:.1f}% of the episodes")
    return "\n".join(lines) + "\n\n" + table.text(tables(told, reading))
