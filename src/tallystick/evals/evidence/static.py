"""Static judgement: the same case with the observations supplied, nothing to call, and one proposed action to judge."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tallystick.evals.evidence.case import ActionSpec, Case, Public
from tallystick.evals.evidence.desk import Desk
from tallystick.evals.evidence.paths import reads
from tallystick.evals.evidence.schemas import submit_schema
from tallystick.evals.evidence.world import world

LABELS: Final = {"DONE": "ALLOW", "ALLOW": "ALLOW", "BLOCK": "BLOCK", "DEFER": "DEFER"}


def static_of(case: Case, text: str, spec: ActionSpec, *, silent: bool = False) -> Case:
    """Return `case` as a static item.

    Args:
        case: an interactive case, whose reference reads supply the observations.
        text: the item's text.
        spec: the proposed action.
        silent: leave out observations that only say a record was not found.
    """
    desk = Desk(case, b"supplied")
    supplied: list[dict[str, Any]] = []
    for step in reads(case):
        result, _ = desk.call(step.tool, step.args)
        if not (silent and result.get("found") is False):
            supplied.append({"tool": step.tool, "args": step.args, "result": result})
    about = next(t["description"] for t in case.public.tools if t["name"] == spec.tool)
    public = Public(
        protocol="Legacy",
        domain=case.domain,
        text=text,
        tools=(submit_schema("static"),),
        supplied=tuple(supplied),
        candidate={"tool": spec.tool, "args": spec.args, "about": about},
    )
    private = msgspec.structs.replace(case.private, label=LABELS[case.private.label], actions=(), candidate=spec)
    return msgspec.structs.replace(case, protocol="Legacy", public=public, private=private)


def judge_text(case: Case) -> str:
    """Return the text of a static item made from an interactive one: its own, with the way to answer exchanged."""
    words = world(case.domain).words
    return f"{case.public.text.removesuffix(str(words['ending']))}{words['judge']}"
