"""The independent check of the suite: every case is solvable as it must be, and not otherwise.

Three judges that share no rule: paths are run over the real environment and scored; the act gate is asked under the
domain's contract, which knows nothing of the private specification; and no argument is used before something showed it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from tallystick.evals.evidence.case import SUBMIT, Case
from tallystick.evals.evidence.corrupt import corruptions
from tallystick.evals.evidence.paths import Step, act, alternative, lazy, reads, reference, strings, words
from tallystick.evals.evidence.room import Room
from tallystick.evals.evidence.score import Score, score
from tallystick.evals.evidence.scripted import follow

_SEED = b"check"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A case that is not as it must be."""

    case: str
    kind: str
    message: str


class Checked(msgspec.Struct, kw_only=True):
    """What was checked, in counts, and what was found."""

    cases: int = 0
    reference: int = 0
    alternative: int = 0
    other_orders: int = 0
    admitted: int = 0
    not_admitted: int = 0
    corrupted: Counter[str] = msgspec.field(default_factory=Counter)
    findings: list[Finding] = msgspec.field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        out: dict[str, Any] = msgspec.to_builtins(self)
        out["corrupted"] = dict(sorted(self.corrupted.items()))
        return out


def check(cases: Iterable[Case]) -> Checked:
    """Return what the check of `cases` found; `findings` is empty where all is well."""
    out = Checked()
    for case in cases:
        out.cases += 1
        if case.protocol == "Legacy":
            _static(case, out)
        else:
            _interactive(case, out)
    return out


def replay(case: Case, steps: list[Step], *, gated: bool = False) -> Score:
    """Return the score of a path."""
    room = Room(case, "scripted:path", gated=gated, seed=_SEED)
    follow(steps, room)
    return score(case, room.episode())


def _static(case: Case, out: Checked) -> None:
    room = Room(case, "scripted:path", seed=_SEED)
    room.call(SUBMIT, {"label": case.private.label})
    out.reference += score(case, room.episode()).exact
    for label in ("ALLOW", "BLOCK", "DEFER"):
        if label != case.private.label:
            other = Room(case, "scripted:path", seed=_SEED)
            other.call(SUBMIT, {"label": label})
            if score(case, other.episode()).exact:
                out.findings.append(Finding(case=case.id, kind="wrong label", message=f"`{label}` is accepted"))
            out.corrupted["wrong label"] += 1


def _interactive(case: Case, out: Checked) -> None:
    def found(kind: str, message: str) -> None:
        out.findings.append(Finding(case=case.id, kind=kind, message=message))

    path = reference(case)
    unseen = provenance(case, path)
    if unseen:
        found("provenance", f"`{unseen}` is used before anything showed it")
    main = replay(case, path)
    out.reference += main.exact
    if not main.exact:
        found("reference", ", ".join(main.reasons))
    other = alternative(case)
    if other is not None:
        told = replay(case, other)
        out.alternative += told.exact
        if not told.exact:
            found("alternative", ", ".join(told.reasons))
    told = replay(case, lazy(case))
    out.other_orders += told.exact
    if not told.exact:
        found("other order", ", ".join(told.reasons))
    _gate(case, path, out)
    for broken in corruptions(case):
        told = replay(case, broken.steps)
        out.corrupted[broken.kind] += 1
        if told.exact or not broken.reasons & set(told.reasons):
            found(broken.kind, f"{broken.detail}: {', '.join(told.reasons) or 'accepted'}")


def _gate(case: Case, path: list[Step], out: Checked) -> None:
    """The act gate admits the supported actions after the evidence, and never the action of a case without one."""
    candidate = case.private.candidate
    if candidate is None:
        told = replay(case, path, gated=True)
        out.admitted += told.exact
        if not told.exact or told.refused:
            out.findings.append(Finding(case=case.id, kind="gate", message=f"refused; {', '.join(told.reasons)}"))
        return
    told = replay(case, [*reads(case), act(candidate), path[-1]], gated=True)
    out.not_admitted += told.refused == 1 and told.exact
    if told.refused != 1 or not told.exact:
        out.findings.append(Finding(case=case.id, kind="gate", message="an action that is not right was admitted"))


def provenance(case: Case, steps: list[Step]) -> str:
    """Return the first value that a path uses before the task or a result showed it, or ""."""
    room = Room(case, "scripted:path", seed=_SEED)
    seen: set[Any] = set(words(case.public.text))
    for tool in case.public.tools:
        seen |= set(words(str(tool["description"])))
    results: dict[str, Any] = {}
    for step in steps:
        if step.tool == SUBMIT:
            continue
        for value in step.args.values():
            if value not in seen:
                return f"{step.tool} {value}"
        args = {**step.args, **{name: results[node][name] for name, node in step.cites.items()}}
        result = room.call(step.tool, args)
        if step.node:
            results[step.node] = result
        seen |= {*strings(result), *_numbers(result)}
    return ""


def _numbers(value: Any) -> set[int]:
    if isinstance(value, bool):
        return set()
    if isinstance(value, int):
        return {value}
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return {n for item in items for n in _numbers(item)}
