"""The one table between our reason codes and the cases' reason kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tallystick.model.decision import Decision, Reason, Verdict

OK: Final = "ok"

VERDICTS: Final[Mapping[str, frozenset[Verdict]]] = {
    "allow": frozenset({Verdict.ADMIT}),
    "block": frozenset({Verdict.REFUSE, Verdict.HOLD}),
    "replay": frozenset({Verdict.RETURN_RECORDED}),
    "reconcile": frozenset({Verdict.RECONCILE}),
    "accept": frozenset({Verdict.ACCEPT}),
    "reject": frozenset({Verdict.REJECT}),
    "hold": frozenset({Verdict.HOLD}),
    "import_ok": frozenset({Verdict.OK}),
    "import_quarantine": frozenset({Verdict.QUARANTINE}),
}
"""What a case's verdict word is met by."""

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "already_satisfied": ("effect.duplicate", "effect.as_asked"),
    "ambiguous_pairing": ("pairing.ambiguous",),
    "approval_consumed": ("approval.consumed",),
    "approval_denied": ("approval.denied",),
    "approval_expired": ("approval.expired",),
    "approval_missing": ("approval.missing",),
    "approval_not_from_principal": ("approval.untrusted", "confirmation.missing"),
    "approval_other_args": ("approval.other_args",),
    "args_incomplete": ("args.incomplete",),
    "args_unparseable": ("args.unparseable",),
    "blocker_missing_from_packet": ("condition.not_carried",),
    "blocker_open": ("condition.open",),
    "constraint_active": ("condition.open",),
    "constraint_out_of_scope": ("condition.out_of_scope",),
    "contradicted_by_earlier_receipt": ("claim.contradicted_earlier",),
    "contradicted_by_readback": ("claim.contradicted_readback",),
    "duplicate_effect": ("effect.duplicate",),
    "effect_class_changed": ("schema.effect_changed",),
    "effect_in_flight": ("effect.in_flight",),
    "entity_kind_mismatch": ("evidence.other_kind",),
    "entity_unresolved": ("evidence.ambiguous_entity",),
    "evidence_conflict": ("evidence.conflict",),
    "evidence_other_entity": ("evidence.other_entity",),
    "evidence_partial": ("evidence.partial",),
    "evidence_superseded_by_write": ("evidence.stale",),
    "idempotency_key_conflict": ("idempotency.conflict",),
    "late_result_contradicts": ("claim.contradicted_late",),
    "nested_error": ("result.nested_error",),
    "no_evidence": ("claim.uncited",),
    "no_evidence_for_entity": ("evidence.unknown_entity", "evidence.missing"),
    "no_positive_evidence": ("result.no_positive_evidence",),
    "not_terminal": ("result.pending",),
    "obligation_open": ("obligation.open",),
    "outcome_unknown": ("effect.in_doubt", "doubt.open"),
    "partial_batch": ("effect.partial_batch",),
    "partial_effect": ("result.partial",),
    "progress_observed": ("read.progress",),
    "recovered_with_damage": ("line.torn", "line.glued", "line.unreadable"),
    "residual_mismatch": ("residual.mismatch",),
    "result_echo_differs_from_args": ("result.echo",),
    "run_closed": ("run.closed",),
    "safe_retry_same_key": ("effect.retry_same_key",),
    "schema_mismatch": ("schema.mismatch",),
    "simulated_effect": ("result.simulated",),
    "single_effect": ("evidence.repeated",),
    "tool_error": ("result.error_flag", "result.transport_error"),
    "turn_truncated": ("turn.truncated",),
    "unit_mismatch": ("claim.unit", "evidence.violated@unit."),
    "unpaired_result": ("receipt.orphan", "result.orphan"),
    "value_mismatch": ("claim.mismatch",),
    "value_mutated": ("args.mutated",),
    "value_not_derivable": ("claim.not_derivable", "evidence.violated@stated."),
    "value_not_in_receipt": ("claim.value_absent", "claim.other_field"),
}
"""Reason kind → codes that mean it; `code@prefix` asks in addition that `where` starts with the prefix."""


def means(kind: str, reason: Reason) -> bool:
    """Return whether a reason means a kind."""
    for entry in KINDS.get(kind, ()):
        code, _, prefix = entry.partition("@")
        if reason.code == code and reason.where.startswith(prefix):
            return True
    return False


def agrees(decision: Decision, verdict: str, kind: str) -> bool:
    """Return whether a decision is what a case expects: the exact verdict, and a reason that means the kind.

    Every reason a gate gives is sufficient by itself, so any of them may be the expected one. `ok` is a positive
    verdict that needs no reason.
    """
    if decision.verdict not in VERDICTS.get(verdict, frozenset()):
        return False
    if kind == OK:
        return decision.positive and not decision.reasons
    return any(means(kind, reason) for reason in decision.reasons)


def kinds_of(decision: Decision) -> tuple[str, ...]:
    """Return the kinds a decision's reasons mean, in order; `ok` where it is positive without a reason."""
    if decision.positive and not decision.reasons:
        return (OK,)
    return tuple(dict.fromkeys(k for r in decision.reasons for k in KINDS if means(k, r)))
