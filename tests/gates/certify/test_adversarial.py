"""Twenty thousand certificates, honest, random and adversarial: none is accepted that a naive oracle would not believe.

And the other way round: what the oracle believes is accepted, and each refusal names the check that it is about.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tallystick.contracts.task import task_text
from tallystick.gates.certify import bind, verify, verify_certificate
from tallystick.model.canonical import digest
from tallystick.model.certificate import CHECKS, Certificate
from tallystick.model.proposal import Claim, Stop
from tallystick.view import View
from tests.gates.certify import oracle
from tests.gates.certify.forgeries import CHANGES, Change
from tests.gates.claim_worlds import CONTRACT, NOW, TASK, ClaimWorld, world

CERTIFICATES = 20_000
SHARDS = 4
PER_WORLD = 50
TASK_SHA = digest(task_text(TASK).encode())


def honest(view: View, one: ClaimWorld, rng: random.Random) -> Certificate:
    """Bind what the record gives, as far as a naive scan of it can tell."""
    calls, _ = oracle.claim_twin.history(one.events, CONTRACT)
    said: dict[str, Any] = {}
    for name, scan in (("amount", oracle.claim_twin.amount), ("open", oracle.claim_twin.open_sum),
                       ("status", oracle.claim_twin.status)):  # fmt: skip
        right, _, wrong = scan(calls)
        if not wrong:
            said[name] = right if name == "status" else f"{right} EUR"
        elif name == "amount" or rng.random() < 0.3:
            said[name] = hoped(name, calls, rng)
    claims = tuple(Claim(slot=n, field=n, value=v) for n, v in said.items())
    return bind(view, CONTRACT, Stop(now=NOW, claims=claims))


def hoped(name: str, calls: list[oracle.Asked], rng: random.Random) -> str:
    """Return what an agent would say that takes the newest answer for good, whatever is wrong with it."""
    tool = {"amount": "pay", "status": "get", "open": "list"}[name]
    answers = [a.value for c in calls if c.tool == tool for a in c.answers if isinstance(a.value, dict)]
    if not answers or name == "open":
        return rng.choice(("0 EUR", "5.00 EUR", "12.50 EUR"))
    return f"{answers[-1]['amount']} EUR" if name == "amount" else str(answers[-1].get("status"))


def started(view: View) -> View:
    """The worlds' first event names no contract or task; judge by the view's own."""
    view.started = None
    return view


def worlds(shard: int, certificates: int = CERTIFICATES // SHARDS) -> Any:
    """Yield (seed, world, view, honest certificate) of worlds in which something was paid or tried."""
    seed, made = shard, 0
    while made < certificates:
        one = world(seed)
        view = started(one.view())
        rng = random.Random(seed)
        whole = honest(view, one, rng)
        # Mostly records with an honest certificate: a change of one that was refused anyway shows little.
        if view.receipts and (oracle.believable(one.events, whole, TASK_SHA) or rng.random() < 0.05):
            yield seed, rng, one, view, whole
            made += PER_WORLD
        seed += SHARDS


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_certificate_is_accepted_that_a_naive_oracle_would_not_believe(shard: int) -> None:
    seen: Counter[str] = Counter()
    for seed, rng, one, view, whole in worlds(shard):
        for turn in range(PER_WORLD):
            made = whole
            changes: list[tuple[Change, frozenset[str]]] = []
            for _ in range(turn and rng.choice((1, 1, 1, 2, 3))):
                change, checks = rng.choice(CHANGES)
                if made.claims:
                    made = change(rng, view, made)
                    changes.append((change, checks))
            verified = verify_certificate(view, CONTRACT, made)
            believed = oracle.believable(one.events, made, TASK_SHA)
            names = [c.__name__ for c, _ in changes]
            assert verified.complete == believed, (seed, names, made, verified.deficits)
            assert all(d.check in CHECKS and d.code and d.message and d.closes for d in verified.deficits)
            assert all(d.code != "gate.error" for d in verified.deficits), (seed, names, verified.deficits)
            if len(changes) == 1 and not believed and oracle.believable(one.events, whole, TASK_SHA):
                assert changes[0][1] & {d.check for d in verified.deficits}, (seed, names, verified.deficits)
                seen[names[0]] += 1
            seen["believed" if believed else "refused"] += 1
    assert seen["believed"] > 100
    assert seen["refused"] > 3_000
    assert {c.__name__ for c, _ in CHANGES} <= seen.keys()


@pytest.mark.parametrize("check", CHECKS)
def test_the_oracle_notices_a_check_that_does_nothing(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted mutants: with any one check gone, some certificate passes that the oracle does not believe."""
    monkeypatch.setitem(verify._CHECKS, check, lambda _: iter(()))  # type: ignore[arg-type]  # one of the six
    for _, rng, one, view, whole in worlds(0):
        for turn in range(PER_WORLD):
            change, _ = rng.choice(CHANGES)
            made = change(rng, view, whole) if whole.claims and turn else whole
            if verify_certificate(view, CONTRACT, made).complete and not oracle.believable(one.events, made, TASK_SHA):
                return
    pytest.fail(f"nothing passed without {check}")
