"""The claim and stop gates agree with a naive twin that scans the whole history."""

from __future__ import annotations

from collections import Counter

import pytest

from tallystick.gates import claim, claim_evidence, stop
from tallystick.gates.certify import outcome, replay, scope, transform
from tallystick.gates.claim import may_claim
from tallystick.gates.stop import may_stop
from tallystick.model.decision import Verdict
from tests.gates import claim_twin
from tests.gates.claim_worlds import CONTRACT, ClaimWorld, world

WORLDS = 50_000
SHARDS = 5


def twin_agrees(one: ClaimWorld) -> bool:
    decision = may_stop(one.view(), CONTRACT, one.stop)
    expected = claim_twin.stop(one.events, CONTRACT, one.stop)
    return set(decision.codes) == expected and (decision.verdict is Verdict.ACCEPT) == (not expected)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_the_stop_gate_agrees_with_its_twin_in_verdict_and_codes(shard: int) -> None:
    verdicts: Counter[str] = Counter()
    for seed in range(shard, WORLDS, SHARDS):
        one = world(seed)
        decision = may_stop(one.view(), CONTRACT, one.stop)
        expected = claim_twin.stop(one.events, CONTRACT, one.stop)
        assert set(decision.codes) == expected, f"seed {seed}"
        assert (decision.verdict is Verdict.ACCEPT) == (not expected), f"seed {seed}"
        verdicts[decision.verdict] += 1
    # The worlds are no walkover: both answers occur often enough to tell a gate from a constant.
    assert verdicts[Verdict.ACCEPT] > 300
    assert verdicts[Verdict.REJECT] > 3_000


def test_the_claim_gate_agrees_with_its_twin_claim_by_claim() -> None:
    accepted: Counter[bool] = Counter()
    for seed in range(10_000):
        one = world(seed)
        view = one.view()
        calls, orphans = claim_twin.history(one.events, CONTRACT)
        for said in one.stop.claims:
            decision = may_claim(view, CONTRACT, said)
            if said.slot is not None:
                expected = claim_twin.slot(calls, orphans, said)
            else:
                expected = claim_twin.free(calls, orphans, said)
            assert set(decision.codes) == expected, f"seed {seed}: {said}"
            accepted[decision.verdict is Verdict.ACCEPT and said.slot is None] += 1
    assert accepted[True] > 100


MUTANTS = {
    "a later write voids nothing": (claim_evidence, "superseded", lambda *_: None),
    "a later write voids no slot's evidence": (scope, "superseded", lambda *_: None),
    "every answer went well": (outcome, "went", lambda *_: iter(())),
    "every listing is complete": (scope, "whole_answer", lambda _, receipts: (list(receipts)[-1:], ())),
    "any receipt will do": (transform, "demanded", lambda *_: ()),
    "nothing later speaks against a claim": (claim, "against", lambda *_: iter(())),
    "doubt is no matter": (stop, "unsettled", lambda *_: iter(())),
    "every value is the derived one": (replay, "equal", lambda *_: True),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_twin_notices_a_planted_mutant(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, broken = MUTANTS[mutant]
    assert all(twin_agrees(world(seed)) for seed in range(200))
    monkeypatch.setattr(module, name, broken)
    assert not all(twin_agrees(world(seed)) for seed in range(2_000))
