"""What kept runs come to: rows from raw replies, who is admitted, then the study's own analysis and tables.

Several folders are deployments of one study. Scoring, measures and statistics are `lifecycle`'s own modules'.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.lifecycle import admission, analysis, corruption, obligations, table, tables
from tallystick.evals.lifecycle.row import Row
from tallystick.evals.lifecycle.suite import kept
from tallystick.evals.lifecycle.suite.item import Item
from tallystick.evals.lifecycle.suite.kept import Raw
from tallystick.evals.lifecycle.suite.reporters import is_scripted
from tallystick.evals.lifecycle.suite.run import checked, plan_of, stored

ROWS: Final = "rows.jsonl"


def report(folders: Sequence[Path], *, fit: bool = True) -> dict[str, Any]:
    """Return what the kept runs of one study come to, and write each folder's rows beside its replies.

    Args:
        folders: runs of the same study, one a deployment.
        fit: fit the models of the main study, which needs statsmodels.

    Raises:
        InputError: a folder holds no run, or one of another study; nobody is admitted.
    """
    rows: list[Row] = []
    raws: list[tuple[Item, Raw]] = []
    settings = [kept.settings_of(f) for f in folders]
    plans = [plan_of(s, str(f)) for s, f in zip(settings, folders, strict=True)]
    names = list(dict.fromkeys(str(s.get("name")) for s in settings))
    if len(names) != 1:
        raise InputError(f"folders of {len(names)} studies: {', '.join(names)}", fix="studies are never pooled")
    planned: dict[str, int] = {}
    for folder, its, plan in zip(folders, settings, plans, strict=True):
        planned[str(its["deployment"])] = plan.total
        items, replies = stored(folder)
        by_id = {i.id: i for i in items}
        own = kept.rows(items, replies)
        (folder / ROWS).write_bytes(b"".join(msgspec.json.encode(r) + b"\n" for r in own))
        rows += own
        raws += [(by_id[r.stimulus], r) for r in replies]
    deployments = [str(s["deployment"]) for s in settings]
    if len(set(deployments)) != len(deployments):
        raise InputError("two folders of one deployment", fix="one folder a deployment")
    told, counted = admission.admit(
        deployments, [c for f in folders if (c := checked(f)) is not None], rows,
        exempt=[d for d in deployments if is_scripted(d)],
    )  # fmt: skip
    found: dict[str, Any] = {
        "study": names[0],
        "settings": settings,
        "scripted": [d for d in deployments if is_scripted(d)],
        "admission": msgspec.to_builtins(told),
        "planned": planned,
        "replies": _replies(raws),
    }
    if not counted:
        return found
    obliged = names[0].removesuffix("-en") == "obligations"
    gate = corruption.gate(counted, obligations.score, obligations.CORRUPTIONS) if obliged else corruption.gate(counted)
    analysed = analysis.plain(analysis.analyse(names[0], counted, fit=fit))
    found |= {"corruption": msgspec.to_builtins(gate), "analysis": analysed}
    if names[0].removesuffix("-en") == "thinking":
        found["manipulation"] = manipulation(raws)
    return found


def _replies(raws: Sequence[tuple[Item, Raw]]) -> dict[str, dict[str, int]]:
    """Return by deployment: how many replies, cut by the token limit, with reasoning in the answer, tokens."""
    told: dict[str, dict[str, int]] = {}
    for _, raw in raws:
        own = told.setdefault(
            raw.deployment,
            dict.fromkeys(("replies", "failures", "cut", "inline_reasoning", "tokens_in", "tokens_out"), 0),
        )
        own["replies"] += 1
        own["failures"] += bool(raw.failure)
        own["cut"] += raw.cut
        own["inline_reasoning"] += raw.inline_reasoning
        own["tokens_in"] += raw.tokens_in
        own["tokens_out"] += raw.tokens_out
    return told


def manipulation(raws: Sequence[tuple[Item, Raw]]) -> dict[str, dict[str, Any]]:
    """Return by deployment whether the thinking toggle was seen to work: reasoning in every on reply, in no off reply.

    A deployment that reasons inside its answers, or in neither lane, is not verified, and nothing is concluded of it.
    """
    told: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(raw.deployment for _, raw in raws):
        lanes: dict[str, Any] = {}
        for lane in ("on", "off"):
            own = [r for i, r in raws if r.deployment == name and i.arm.thinking == lane and not r.failure]
            lanes[lane] = {
                "replies": len(own),
                "reasoning": sum(r.reasoning > 0 for r in own),
                "mean_characters": sum(r.reasoning for r in own) / len(own) if own else None,
                "inline": sum(r.inline_reasoning for r in own),
            }
        on, off = lanes["on"], lanes["off"]
        verified = 0 < on["replies"] == on["reasoning"] and not off["reasoning"] and not on["inline"] + off["inline"]
        told[name] = {**lanes, "verified": verified}
    return told


def text(found: dict[str, Any]) -> str:
    """Return a report as text."""
    lines = [f"study {found['study']}"]
    if found["scripted"]:
        lines.append(f"scripted reporters, not models: {', '.join(found['scripted'])}")
    told = found["admission"]
    lines.append(f"admitted {len(told['admitted'])} of {len(told['planned'])} planned: {', '.join(told['admitted'])}")
    lines += [f"excluded {e['deployment']}: {e['reason']}" for e in told["excluded"]]
    for name, one in told["transport"].items():
        lines.append(f"{name}: {one['failed']} of {one['of']} replies lost to transport")
    for name, one in found["replies"].items():
        lines.append(
            f"{name}: {one['replies']} of {found['planned'][name]} planned replies, {one['cut']} cut at the limit;"
            f" {one['tokens_in']} + {one['tokens_out']} tokens"
        )
    for name, one in found.get("manipulation", {}).items():
        verified = "verified" if one["verified"] else "NOT verified: nothing is concluded from it"
        lines.append(f"{name}: thinking toggle {verified}")
    if "analysis" not in found:
        return "\n".join([*lines, "nobody is admitted, so nothing is scored"]) + "\n"
    gate = found["corruption"]
    lines += [f"corruption gate {'passed' if gate['passed'] else 'FAILED'}", *gate["failures"], ""]
    return "\n".join(lines) + "\n" + table.text(tables.tables(found["study"], found["analysis"]))
