"""The evaluator on recorded trajectories: any importer's trace, with a contract, or with a case where there is one.

With a contract alone the measures that need a private specification (ECS, BSR, Part, no action) are not defined, and
are None. What is defined is judged call by call, from the record as it stood before each, by the act gate's own rules:
which requirements were met, which evidence was missing, stale or about another entity, whether arguments carried what
receipts said, whether the result came out well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

from tallystick.audit.contract import moments
from tallystick.contracts.types import Contract, Requirement
from tallystick.evals.common.intervals import Interval, wilson
from tallystick.evals.evidence.case import SUBMIT, Case
from tallystick.evals.evidence.episode import Call, Episode
from tallystick.evals.evidence.score import Score, score
from tallystick.gates.act import may_act
from tallystick.model.decision import Decision
from tallystick.model.trace import Trace

Standing = Literal["established", "missing", "stale", "other_entity", "violated", "mismatch"]
_STANDING: Final[dict[str, Standing]] = {
    "evidence.missing": "missing",
    "evidence.stale": "stale",
    "evidence.other_entity": "other_entity",
    "evidence.other_kind": "other_entity",
    "evidence.unknown_entity": "other_entity",
    "evidence.ambiguous_entity": "other_entity",
    "evidence.violated": "violated",
    "evidence.invalid": "missing",
    "argument.mismatch": "mismatch",
    "preview.mismatch": "mismatch",
    "preview.missing": "missing",
    "confirmation.missing": "missing",
    "approval.missing": "missing",
}
"""Reason code → where a requirement stood. A code that is not here counts as missing: unknown is never established."""
_UNMET: Final = frozenset({"missing", "stale", "other_entity"})


class RecordedAction(msgspec.Struct, frozen=True, kw_only=True):
    """One consequential call of a trace, judged before its receipt.

    Attributes:
        call: the trace's minted call id.
        evidence: requirement id → where it stood.
        arguments_bound: no argument contradicts the contract or a receipt it must repeat.
        dependencies_met: every predecessor's result it must carry was there.
        result_correct: it took effect as the contract declares; None where nothing came back.
        repeated: this very effect was already recorded.
        codes: the gate's reason codes; empty for a call that it would have admitted. A tool the contract does not
            mention has `tool.unmentioned` here and no evidence: nothing says what it needs, so it adds to no measure.
    """

    call: str
    tool: str
    evidence: dict[str, Standing]
    arguments_bound: bool
    dependencies_met: bool
    result_correct: bool | None
    repeated: bool
    codes: tuple[str, ...] = ()

    @property
    def early(self) -> bool:
        """Whether some required evidence was not established."""
        return bool(_UNMET & set(self.evidence.values()))


class RecordedScore(msgspec.Struct, frozen=True, kw_only=True):
    """A trace, judged under a contract. ECS, BSR, Part and no action need a case: None here."""

    trace: str
    actions: tuple[RecordedAction, ...]
    acted_early: bool
    gap: bool
    wrong_target: bool
    wrong_argument: bool
    repeated: bool
    complete_calls: int
    correct_calls: int
    exact: None = None
    stopped_early: None = None
    partial: None = None
    no_action: None = None


def score_trace(trace: Trace, contract: Contract) -> RecordedScore:
    """Return a recorded trajectory judged under `contract`, call by call."""
    actions = []
    for moment in moments(trace, contract):
        decision = may_act(moment.view, contract, moment.proposal)
        tool = contract.tools.get(moment.call.tool)
        actions.append((moment, decision, tool.requires if tool is not None else ()))
    judged = []
    for moment, decision, requires in actions:
        record = moment.view.calls.get(moment.call.id)
        outcome = record.outcome if record is not None and moment.call.result is not None else None
        judged.append(
            RecordedAction(
                call=moment.call.id,
                tool=moment.call.tool,
                evidence=_standing(decision, requires),
                arguments_bound=not any(
                    c.startswith("args.") or c in ("argument.mismatch", "preview.mismatch") for c in decision.codes
                ),
                dependencies_met=_dependencies(decision, requires),
                result_correct=None if outcome is None else outcome in ("ok", "partial"),
                repeated="effect.duplicate" in decision.codes,
                codes=() if decision.positive else decision.codes,
            )
        )
    ready = [
        a for a in judged if "tool.unmentioned" not in a.codes and not a.early and a.dependencies_met and not a.repeated
    ]
    return RecordedScore(
        trace=trace.id,
        actions=tuple(judged),
        acted_early=any(a.early for a in judged),
        gap=any(a.early or not a.dependencies_met for a in judged),
        wrong_target=any("other_entity" in a.evidence.values() for a in judged),
        wrong_argument=any(not a.arguments_bound for a in judged),
        repeated=any(a.repeated for a in judged),
        complete_calls=len(ready),
        correct_calls=sum(a.arguments_bound and not a.codes and a.result_correct is True for a in ready),
    )


def _standing(decision: Decision, requires: tuple[Requirement, ...]) -> dict[str, Standing]:
    found: dict[str, Standing] = {r.id: "established" for r in requires}
    if "gate.error" in decision.codes:
        return dict.fromkeys(found, "missing")
    for reason in decision.reasons if not decision.positive else ():
        if reason.where in found:
            found[reason.where] = _STANDING.get(reason.code, "missing")
    return found


def _dependencies(decision: Decision, requires: tuple[Requirement, ...]) -> bool:
    carried = {r.id for r in requires if _carries(r)}
    return not any(r.where in carried for r in decision.reasons) or decision.positive


def _carries(rule: Requirement) -> bool:
    return rule.kind == "argument" or any(_carries(option) for option in rule.options)


# ---------------------------------------------------------------------- with a case


def episode_of(trace: Trace, case: Case) -> Episode:
    """Return a trace of a run over `case` as an episode: its calls with their results, and the label it submitted.

    Transitions are not in a conversation, so a receipt that says `done` stands for those its action must cause.
    """
    calls = []
    label = ""
    specs = {a.tool: a for a in case.private.actions}
    for made in trace.calls:
        args: dict[str, Any] = made.args if isinstance(made.args, dict) else {}
        if made.tool == SUBMIT:
            label = label or str(args.get("label", ""))
            continue
        result = None
        if made.result is not None:
            result = made.result.structured if made.result.structured is not None else made.result.body
        done = isinstance(result, dict) and result.get("status") == "done"
        spec = specs.get(made.tool)
        calls.append(
            Call(tool=made.tool, args=args, result=result, changes=spec.changes if spec is not None and done else ())
        )
    return Episode(
        case=case.id,
        agent=f"trace:{trace.format}",
        calls=tuple(calls),
        label=label,
        end="submitted" if label else "stopped",
    )


def score_case(trace: Trace, case: Case) -> Score:
    """Return a recorded trajectory of a run over `case`, judged against it."""
    return score(case, episode_of(trace, case))


def measures(scores: Iterable[RecordedScore]) -> dict[str, dict[str, Any]]:
    """Return the measures that are defined without cases, as {name: {hits, of, share, wilson}}."""
    rows = [s for s in scores if s.actions]
    counts: dict[str, list[tuple[int, int]]] = {
        "PAR": [(int(s.acted_early), 1) for s in rows],
        "Gap": [(int(s.gap), 1) for s in rows],
        "CAS": [(s.correct_calls, s.complete_calls) for s in rows],
        "wrong_target": [(int(s.wrong_target), 1) for s in rows],
        "wrong_argument": [(int(s.wrong_argument), 1) for s in rows],
        "repeated": [(int(s.repeated), 1) for s in rows],
    }
    out = {}
    for name, found in counts.items():
        hits, of = sum(h for h, _ in found), sum(n for _, n in found)
        interval: Interval | None = wilson(hits, of)
        out[name] = {"hits": hits, "of": of, "share": hits / of if of else None, "wilson": interval}
    return out
