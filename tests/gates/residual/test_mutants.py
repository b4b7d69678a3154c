"""Planted mutants: with any one condition of admission gone, the random worlds tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tallystick.gates.residual import admit, construct, coverage
from tallystick.model.residual import Residual
from tests.gates.residual.naive_takeover import judge
from tests.gates.residual.proposals import proposal_of
from tests.gates.residual.worlds import NOW, world_of


def nothing(*_: Any) -> Iterator[Any]:
    return iter(())


def forgetful(real: Callable[..., Any], field: str) -> Callable[..., Any]:
    """Judge as if the contract had nothing of a field."""

    def judged(*given: Any) -> Any:
        changed = [_without(g, field) if isinstance(g, Residual) else g for g in given]
        return real(*changed)

    return judged


def _without(residual: Residual, field: str) -> Residual:
    return Residual(**{**{f: getattr(residual, f) for f in residual.__struct_fields__}, field: []})


CONDITIONS = ("grounding", "effects", "duplicates", "executable", "claims", "_covered")
MUTANTS: dict[str, tuple[Any, str, Any]] = {
    **{
        name: (admit, name, nothing)
        for name in ("grounding", "effects", "duplicates", "executable", "claims", "_covered")
    },
    "effects forget K": (admit, "effects", forgetful(admit.effects, "kept")),
    "effects forget B": (admit, "effects", forgetful(admit.effects, "bindings")),
    "duplicates forget K": (admit, "duplicates", forgetful(admit.duplicates, "kept")),
    "grounding forgets E": (admit, "grounding", lambda c, z, s, n: admit_grounding(c, _without(z, "entities"), s, n)),
    "coverage believes that every effect is owed": (coverage, "matches", lambda _o, _e: True),
}
admit_grounding = admit.grounding


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_mutant_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, mutant = MUTANTS[name]
    monkeypatch.setattr(owner, attribute, mutant)
    for seed in range(4_000):
        world = world_of(seed)
        residual, _ = construct(world.view, world.contract, tenure="t", allow=world.allow)
        if residual is None:
            continue
        raw, replica = proposal_of(world, residual)
        decision, _ = admit.may_take_over(world.view, world.contract, residual, raw, replica, NOW)
        mine = str(decision.verdict), {code.removeprefix("residual.") for code in decision.codes}
        if mine != judge(world.view, world.contract, residual, raw, replica, NOW):
            return
    pytest.fail("no world tells the mutant from the gate")
