"""What the evaluator knows of a frontier of STATE-Bench: the recorded remainder that is right, and what was done.

Made from replaying the recording beyond the cut, so neither a gate nor a successor that is a model is given it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tallystick.contracts.types import Contract
from tallystick.evals.takeover.state_bench_cuts import Cut
from tallystick.evals.takeover.state_bench_world import stated
from tallystick.evals.takeover.surface import Gold, Wanted
from tallystick.model.pointer import join, leaves
from tallystick.model.residual import AT, FROM
from tallystick.model.values import same
from tallystick.view import View, targets_of

DONE = "Everything you asked for is done."
"""What the perfect continuation says at the end: the contracts have no answer slots, so nothing has to be claimed."""


def gold_of(cut: Cut, contract: Contract, view: View) -> Gold:
    """Return the gold of a frontier; without a continuation where neither the recording nor trying has one."""
    walk = cut.walk
    later = cut.continuation
    known = [call.result for call in walk.calls[: cut.upto]]
    words = "\n".join(
        str(said.get("content") or "") for said in walk.conversation[: cut.messages] if said.get("role") == "user"
    )
    calls: list[dict[str, Any]] = []
    owed: list[Wanted] = []
    shown: list[tuple[str, Any]] = []
    for number, (tool, args, result, wanted) in enumerate(later):
        name = f"c{number + 1}"
        # An argument that says nothing is left out: the tools take "" for none, and no record states it.
        given = {arg: _sourced(value, known, words, shown) for arg, value in stated(args).items()}
        before = [c["id"] for c in calls if c["tool"] == tool and c["args"].get("confirm") is False]
        calls.append({"id": name, "tool": tool, "args": given, **({"after": before} if before else {})})
        if wanted:
            fixed = {arg: value for arg, value in args.items() if _is_stated(value, known, words)}
            owed.append(Wanted(tool=tool, args=fixed))
        if result is not None:
            shown.append((name, result))
    done = [walk.calls[at] for at in walk.standing(cut.upto)]
    return Gold(
        proposal={"calls": calls, "answer": {"text": DONE}} if calls else {"calls": []},
        owed=tuple(owed),
        done=tuple(Wanted(tool=call.tool, args=call.args) for call in done),
        bindings=tuple(dict.fromkeys([
            *_customer(view, walk.task.customer),
            *((ref.kind, ref.id) for call in done for ref in targets_of(contract.tools[call.tool], call.args)),
        ])),
        repeats=tuple({"tool": call.tool, "args": stated(call.args)} for call in reversed(done)),
        others=_others(owed, contract, view),
    )  # fmt: skip


def _customer(view: View, name: str) -> list[tuple[str, str]]:
    """Return the customer, whom the task fixed, as the entity that receipts know under that id, if it is one."""
    known = view.kinds_of(name)
    return [(known[0].kind, name)] if len(known) == 1 else []


def _sourced(value: Any, known: Sequence[Any], words: str, shown: Sequence[tuple[str, Any]]) -> Any:
    """Return a value, or a reference to the call of the continuation that shows it where the prefix does not."""
    if isinstance(value, bool) or value in (None, "") or not isinstance(value, (str, int)):
        return value
    if _says(value, words) or any(same(found, value) for result in known for _, found in leaves(result)):
        return value
    for name, result in shown:
        for path, found in leaves(result):
            if same(found, value):
                return {FROM: name, AT: join(path)}
    return value


def _is_stated(value: Any, known: Sequence[Any], words: str) -> bool:
    """Whether what is owed can name a value: something of the prefix says it.

    What a later call has to show cannot be told at the frontier, and a default is nobody's wish.
    """
    if isinstance(value, bool) or value in (None, "", 0):
        return False
    return _says(value, words) or any(same(found, value) for result in known for _, found in leaves(result))


def _says(value: Any, words: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(str(value))}(?![\w-])", words) is not None


def _others(owed: Sequence[Wanted], contract: Contract, view: View) -> dict[str, str]:
    """Return for the entities that what is owed addresses another one of the same kind that the prefix knows.

    Kinds of one entity only, such as the customer, have none; then an id of the same shape in some result will do.
    """
    found: dict[str, str] = {}
    seen = sorted({v for r in view.receipts for _, v in leaves(r.value) if isinstance(v, str)})
    for one in owed:
        for ref in targets_of(contract.tools[one.tool], one.args):
            if ref.id not in map(str, one.args.values()):
                continue
            known = sorted(other.id for other in view.entities(ref.kind) if other.id != ref.id)
            alike = [v for v in seen if v != ref.id and re.fullmatch(_shape(ref.id), v)]
            wrong = next((v for v in (*known, *alike) if v not in found), None)
            if wrong is not None:
                found.setdefault(ref.id, wrong)
    return found


def _shape(name: str) -> str:
    """Return a pattern of ids made alike: of `BK-1001`, the same letters and any digits."""
    return re.sub(r"[0-9]+", "[0-9]+", re.escape(name))
