"""Testing the tests: faults planted in the gate or the view, each of which the twin must notice within a few worlds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tallystick.gates import act, approval, conditions, duplicates, evidence, scope
from tallystick.model.values import same
from tallystick.view import View, fold_authority, fold_calls
from tallystick.view.view import _FOLDS
from tests.gates.test_act_twin import gate, twin
from tests.gates.worlds import world

WORLDS = 6_000
Plant = Callable[[pytest.MonkeyPatch], None]


def _fold(patch: pytest.MonkeyPatch, name: str, changed: Any) -> None:
    """Put `changed` in the place of a fold: it gets the original and the fold's arguments."""
    kind = next(k for k in _FOLDS if k.__name__ == name)
    whole = _FOLDS[kind]
    patch.setitem(_FOLDS, kind, lambda *args: changed(whole, *args))  # type: ignore[arg-type]  # a dict after all


def _forget_writes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(View, "last_write", lambda self, ref: 0)


def _take_any_entity(patch: pytest.MonkeyPatch) -> None:
    def facts(self: View, ref: Any) -> Any:
        return self.index.facts.get(ref) or next(iter(self.index.facts.values()), {})

    patch.setattr(View, "facts", facts)


def _never_expire(patch: pytest.MonkeyPatch) -> None:
    def approve(whole: Any, state: Any, body: Any, sealed: Any) -> None:
        whole(state, body, sealed)
        state.approvals[-1].expires = None

    _fold(patch, "Approval", approve)


def _unknown_is_done(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fold_calls, "STATUS", {**fold_calls.STATUS, "unknown": "done"})


def _approvals_last_for_ever(patch: pytest.MonkeyPatch) -> None:
    def used(whole: Any, state: Any, body: Any, sealed: Any) -> None:
        whole(state, body, sealed)
        for record in state.approvals:
            record.used_by = None

    _fold(patch, "Intent", used)


def _trust_every_signature(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fold_authority, "signature_problem", lambda *args: "")


def _hear_agents(patch: pytest.MonkeyPatch) -> None:
    whole = View.apply

    def apply(self: View, sealed: Any) -> None:
        event = sealed.event
        if event.actor.role == "agent":
            sealed = replace_actor(sealed)
        whole(self, sealed)

    patch.setattr(View, "apply", apply)


def replace_actor(sealed: Any) -> Any:
    """The same event as if the host had made it."""
    event = msgspec.structs.replace(sealed.event, actor=msgspec.structs.replace(sealed.event.actor, role="host"))
    return msgspec.structs.replace(sealed, event=event)


def _believe_replicas(patch: pytest.MonkeyPatch) -> None:
    def believe(whole: Any, state: Any, body: Any, sealed: Any) -> None:
        whole(state, msgspec.structs.replace(body, source="live"), sealed)

    _fold(patch, "Receipt", believe)


def _take_cached_for_new(patch: pytest.MonkeyPatch) -> None:
    def renew(whole: Any, state: Any, body: Any, sealed: Any) -> None:
        whole(state, msgspec.structs.replace(body, cached_from=None), sealed)

    _fold(patch, "Receipt", renew)


def _skip_crashes(patch: pytest.MonkeyPatch) -> None:
    _fold(patch, "Tenure", lambda *args: None)


def _ignore_wishes(patch: pytest.MonkeyPatch) -> None:
    _fold(patch, "Wish", lambda *args: None)


def _no_doubt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(duplicates, "_DOUBTFUL", ())


def _anyone_lifts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(approval, "_role_fits", lambda *args: True)


def _conditions_never_scoped(patch: pytest.MonkeyPatch) -> None:
    def on(self: View, tool: str, args: Any) -> list[Any]:
        return [c for c in self.index.conditions_by_tool.get(tool, ()) if c.open]

    patch.setattr(View, "conditions_on", on)


def _first_item_only(patch: pytest.MonkeyPatch) -> None:
    whole = scope.scopes_of
    patch.setattr(act, "scopes_of", lambda *args: iter([next(whole(*args))]))


def _age_is_no_matter(patch: pytest.MonkeyPatch) -> None:
    whole = act.may_act

    def always_now(view: Any, contract: Any, call: Any) -> Any:
        return whole(view, contract, replace(call, now=datetime(2026, 11, 30, 9, tzinfo=UTC)))

    patch.setattr("tests.gates.test_act_twin.may_act", always_now)


def _lag_is_no_matter(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fold_calls, "write_time", lambda state, ref: None)


def _exclusions_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(View, "exclusive", lambda self, name, value: ())


def _mutated_arguments_pass(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(act, "same", lambda left, right: True)


def _previews_of_anything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(evidence, "_same_or_missing", lambda left, right: True)


def _keys_never_conflict(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(View, "key_user", lambda self, tool, key: None)


def _retry_other_arguments(patch: pytest.MonkeyPatch) -> None:
    assert duplicates.same is same
    patch.setattr(duplicates, "same", lambda left, right: True)


def _unknown_conditions_pass(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(conditions, "_unknown", lambda scope, rule, alias: ([], []))


PLANTS: tuple[Plant, ...] = (
    _forget_writes, _take_any_entity, _never_expire, _unknown_is_done, _approvals_last_for_ever,
    _trust_every_signature, _hear_agents, _believe_replicas, _take_cached_for_new, _skip_crashes, _ignore_wishes,
    _no_doubt, _anyone_lifts, _conditions_never_scoped, _first_item_only, _age_is_no_matter, _lag_is_no_matter,
    _exclusions_open, _mutated_arguments_pass, _previews_of_anything, _keys_never_conflict, _retry_other_arguments,
    _unknown_conditions_pass,
)  # fmt: skip


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__.strip("_"))
def test_the_twin_notices_a_planted_fault(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert any(gate(case) != twin(case) for case in map(world, range(WORLDS)))
