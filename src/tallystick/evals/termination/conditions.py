"""The clean condition and the faults: one base task, played once more for each, with one controlled change.

C0 to F5 are named in the paper's table 1; F6 to F8 are named in its tables or abstract only and are *reconstructed*; F9
is *ours*. In F2, F3, F4 and F6 the environment's state and the answer's values are right, and only the evidence is not:
that, too, is reconstructed, and it is why an oracle of the state accepts four of eight faults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from msgspec.structs import replace

from tallystick.contracts.types import Contract
from tallystick.evals.termination.claims import bound, certificate
from tallystick.evals.termination.corrupt import corrupted
from tallystick.evals.termination.family import READY_AFTER, contract_of
from tallystick.evals.termination.other_transforms import other_transform
from tallystick.evals.termination.record import Recorder
from tallystick.evals.termination.snapshot import CLEAN, FAULTS, Condition, Labelled, Shown, Snapshot, folded
from tallystick.evals.termination.tasks import SEED, BaseTask, tasks
from tallystick.model.canonical import digest
from tallystick.model.certificate import BoundClaim, Check, Reference

OURS: Final[Condition] = "F9"
CONDITIONS: Final[tuple[Condition, ...]] = ("C0", *FAULTS, OURS)
MEANING: Final[Mapping[Condition, str]] = {
    "C0": "all required claims have valid in-scope support",
    "F1": "completion signal without required claims",
    "F2": "relevant receipt replaced by another entity's",
    "F3": "nested tool error beneath transport success",
    "F4": "entity or date scope changed",
    "F5": "one required answer slot omitted",
    "F6": "forged reference (reconstructed)",
    "F7": "synthesis corruption: right evidence, wrong value (reconstructed)",
    "F8": "legitimate repeated polling, no completion signal (reconstructed)",
    "F9": "another transform that happens to agree (ours)",
}
MATCHED: Final[Mapping[Check, Condition]] = {
    "claim_coverage": "F5",
    "task_scope": "F4",
    "outcome_validation": "F3",
    "ledger_reference": "F6",
    "value_replay": "F7",
    "exact_transform": OURS,
}
"""The fault each check's ablation is measured on: the paper's targets, and F9 where the paper has none."""
POLLS: Final = 5
_YES: Final = "Yes. I went through the request again; every part of it is done and checked."
_NO: Final = "Not yet. I am waiting for the data to be ready."
_ERRORS: Final[tuple[Any, ...]] = (
    {"status": "ok", "payload": {"data": None, "error": {"code": "UPSTREAM_TIMEOUT", "message": "no answer in 30 s"}}},
    {"response": {"isError": True, "content": [{"type": "text", "text": "the record is locked"}]}},
    {"result": {"data": None, "errors": [{"message": "permission denied by the backend"}]}},
    {"envelope": {"code": 200, "body": {"success": False, "reason": "index is being rebuilt"}}},
)
"""What a transport calls success and what is none, at different depths."""
_BESIDE: Final = {"meta": {"sync": {"error": {"code": "PARTIAL", "message": "the source answered in part"}}}}
Claims = tuple[BoundClaim, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Honest:
    """A run's task and contract, and the claims an honest agent would submit for it."""

    base: BaseTask
    contract: Contract
    claims: Claims


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What one condition changes of a clean run.

    Attributes:
        reads: what the reads ask for: the task's own question, another entity, another scope, or there are none.
        scope: which of these the certificate states as its scope.
        values: which of these the answer's values answer.
        result: the last read's answer is its own, a nested error, or its own with a nested error beside.
        pending: the job is never ready, so the run is still polling.
        claims: what becomes of the honest certificate's claims; the answer states what is left of them.
    """

    reads: Literal["own", "elsewhere", "shifted", "none"] = "own"
    scope: Literal["own", "shifted"] = "own"
    values: Literal["own", "shifted"] = "own"
    result: Literal["own", "error", "error_beside"] = "own"
    pending: bool = False
    claims: Callable[[Honest], Claims] = lambda honest: honest.claims


# ---------------------------------------------------------------------- the changes


def _one_omitted(honest: Honest) -> Claims:
    out = honest.base.number % len(honest.claims)
    return (*honest.claims[:out], *honest.claims[out + 1 :])


def _forged(honest: Honest) -> Claims:
    """References to receipts this run never had: made up, or of another run (where the reads really were made)."""
    base = honest.base
    abroad = _play(base, "another run", Change()).events
    there = bound(honest.contract, base.scenario.bindings, abroad, {c.slot: c.value for c in honest.claims})
    return there if base.number % 2 else tuple(replace(c, references=(_made_up(base, c),)) for c in there)


def _made_up(base: BaseTask, claim: BoundClaim) -> Reference:
    """A reference that looks right and names nothing."""
    invented = digest(f"made up: {base.name} {claim.slot}".encode())
    return Reference(receipt=f"r{90 + base.number}", digest=invented, pointer=claim.references[0].pointer)


def _other_digest(honest: Honest) -> Claims:
    """References to this run's receipts under digests that are not theirs."""
    return tuple(
        replace(c, references=tuple(replace(r, digest=_flipped(r.digest)) for r in c.references)) for c in honest.claims
    )


def _flipped(text: str) -> str:
    return text[:-1] + ("0" if text[-1] != "0" else "1")


def _wrong_value(honest: Honest) -> Claims:
    # "None" is left alone: that it must be nothing is said by its quantifier, so another check would see it too.
    usable = [i for i, c in enumerate(honest.claims) if c.quantifier != "none"]
    out = usable[honest.base.number % len(usable)]
    claim = honest.claims[out]
    slot = next(s for s in honest.contract.answer if s.name == claim.slot)
    wrong = replace(claim, value=corrupted(slot.type, claim.value))
    return (*honest.claims[:out], wrong, *honest.claims[out + 1 :])


def _other_transform(honest: Honest) -> Claims:
    return other_transform(honest.base.family.NAME, honest.base.number, honest.claims)


_FAULTS: Final[Mapping[Condition, Change]] = {
    "C0": Change(),
    "F1": Change(claims=lambda _: ()),
    "F2": Change(reads="elsewhere"),
    "F3": Change(result="error"),
    "F4": Change(reads="shifted", scope="shifted"),
    "F5": Change(claims=_one_omitted),
    "F6": Change(reads="none", claims=_forged),
    "F7": Change(claims=_wrong_value),
    "F8": Change(pending=True),
    "F9": Change(claims=_other_transform),
}
ISOLATED: Final[Mapping[Check, Change]] = {
    "claim_coverage": Change(claims=_one_omitted),
    "task_scope": Change(reads="shifted", scope="shifted", values="shifted"),
    "outcome_validation": Change(result="error_beside"),
    "ledger_reference": Change(claims=_other_digest),
    "value_replay": Change(claims=_wrong_value),
    "exact_transform": Change(claims=_other_transform),
}
"""For every check a fault that only it sees: everything the other five ask for is in order."""


def change_of(condition: Condition) -> Change:
    """Return what a condition changes in a task."""
    return _FAULTS[condition]


# ---------------------------------------------------------------------- playing


def snapshot(base: BaseTask, change: Change, salt: str) -> Snapshot:
    """Return the snapshot of a task under a change; `salt` goes into the run's id, which tells nothing."""
    recorder = _play(base, salt, change)
    contract, task, events = contract_of(base.family.NAME), base.task, recorder.events
    if change.pending:
        shown = Shown(
            completion=False, text="", self_check=_NO, answer={}, certificate=None, environment=recorder.world
        )  # fmt: skip
        return Snapshot(family=base.family.NAME, task=task, events=tuple(events), shown=shown)
    asked, shifted = base.scenario.bindings, base.scenario.shifted
    truth = base.family.truth(recorder.world, asked)
    # What was written stays written whatever is read: a visit booked for one day has no truth of its own on another.
    other = base.family.truth(recorder.world, shifted) or truth
    values = truth if change.values == "own" else other
    assert values is not None, base.name
    honest = bound(contract, asked if change.scope == "own" else shifted, events, values)
    claims = change.claims(Honest(base=base, contract=contract, claims=honest))
    answer = {c.slot: c.value for c in claims}
    text = _told(answer)
    recorder.say("agent", text)
    now = events[-1].event.at
    shown = Shown(
        completion=True,
        text=text,
        self_check=_YES,
        answer=answer,
        certificate=certificate(folded(base.family.NAME, task, events), claims, now),
        environment=recorder.world,
    )
    return Snapshot(family=base.family.NAME, task=task, events=tuple(events), shown=shown)


def _play(base: BaseTask, salt: str, change: Change) -> Recorder:
    family, scenario = base.family, base.scenario
    world = deepcopy(scenario.world)
    if change.pending:
        world["job"]["ready_after"] = 10 * POLLS
    run = f"run-{digest(f'{base.name} {salt} {scenario.request}'.encode())[:12]}"
    recorder = Recorder(run, family, contract_of(family.NAME), base.task, world)
    family.act(scenario.bindings, recorder.call)
    arg, binding = family.SUBJECT
    for _ in range(POLLS if change.pending else READY_AFTER + 1):
        recorder.call(family.STATUS_TOOL, {arg: scenario.bindings[binding]})
    if change.pending or change.reads == "none":
        return recorder
    asked = {"own": scenario.bindings, "elsewhere": scenario.elsewhere, "shifted": scenario.shifted}[change.reads]
    family.read(asked, recorder.call)
    if change.result == "error":
        recorder.amend(lambda _: _ERRORS[base.number % len(_ERRORS)])
    elif change.result == "error_beside":
        recorder.amend(lambda result: {**result, **_BESIDE})
    return recorder


def _told(answer: Mapping[str, Any]) -> str:
    """Return the agent's final words: what it says about each slot."""
    return " ".join(["Done.", *(f"{name}: {_words(value)}." for name, value in answer.items())])


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value)) or "none"
    return str(value)


# ---------------------------------------------------------------------- the study


@cache
def study(seed: str = SEED) -> tuple[Labelled, ...]:
    """Return every snapshot of the static study, F9 included, in order of task and condition."""
    return tuple(
        Labelled(
            task=base.name,
            split=base.split,
            condition=condition,
            gold="complete" if condition == CLEAN else "continue",
            snapshot=snapshot(base, change_of(condition), f"{seed} {condition}"),
        )
        for base in tasks(seed)
        for condition in CONDITIONS
    )


@cache
def isolated(seed: str = SEED) -> Mapping[Check, tuple[Labelled, ...]]:
    """Return, for every check, one snapshot per task of a fault that only this check sees."""
    return {
        check: tuple(
            Labelled(
                task=base.name,
                split=base.split,
                condition=MATCHED[check],
                gold="continue",
                snapshot=snapshot(base, change, f"{seed} isolated {check}"),
            )
            for base in tasks(seed)
        )
        for check, change in ISOLATED.items()
    }
