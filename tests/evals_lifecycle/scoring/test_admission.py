"""Who counts, who does not, and why; failures on denominators of their own."""

from __future__ import annotations

from typing import Any

from tallystick.evals.lifecycle.admission import Check, admit, unfit
from tallystick.evals.lifecycle.row import Reply, Row
from tests.evals_lifecycle.scoring.made import row


def check(deployment: str, answered: int = 20, asked: str = "m-1", served: tuple[str, ...] = ("m-1",)) -> Check:
    return Check(deployment=deployment, probes=20, answered=answered, needed=18, asked=asked, served=served)


def lane(deployment: str, valid: int, lost: int = 0) -> list[Row]:
    said: list[dict[str, Any]] = [*[{}] * valid, *[{"reply": Reply(valid=False)}] * lost]
    return [row(deployment=deployment, repetition=n, **more) for n, more in enumerate(said)]


def test_every_planned_deployment_is_admitted_or_excluded_with_a_reason() -> None:
    """Identity, transport, the lane, no precheck, no data, not planned: each named; nobody twice, nobody lost."""
    planned = ["good", "other", "down", "thin", "unchecked", "empty", "scripted:x"]
    checks = [
        check("good", served=("m-1-2026-11-01",)), check("other", served=("m-2",)), check("down", answered=3),
        check("thin"), check("empty"), check("down", answered=17),
    ]  # fmt: skip
    rows = [
        *lane("good", 10, 1), *lane("other", 10), *lane("thin", 9, 1), *lane("unchecked", 10), *lane("empty", 0, 4),
        *lane("scripted:x", 5), *lane("stranger", 2),
    ]  # fmt: skip
    told, counted = admit(planned, checks, rows, expected={"thin": 10, "good": 10}, exempt=["scripted:x"])
    assert told.admitted == ("good", "scripted:x")
    reasons = {e.deployment: e.reason for e in told.excluded}
    assert list(reasons) == ["other", "down", "thin", "unchecked", "empty", "stranger"]
    assert reasons["other"] == "identity: asked for `m-1`, served by `m-2`"
    assert reasons["down"] == "transport: 17 of 20 probes answered, 18 needed"
    assert reasons["thin"] == "lane: 90.0% of 10 replies came, 95% needed"
    assert (reasons["unchecked"], reasons["empty"], reasons["stranger"]) == ("no precheck", "no data", "not planned")
    assert {r.deployment for r in counted} == {"good", "scripted:x"}
    assert len(counted) == 16


def test_failures_keep_their_own_denominators() -> None:
    """Transport over replies asked for, identity over prechecks made; excluded deployments included."""
    told, _ = admit(["a", "b"], [check("a"), check("b", served=("x",)), check("b", served=("x",))], lane("a", 6, 2))
    assert (told.transport["a"].failed, told.transport["a"].of) == (2, 8)
    assert told.transport["b"].of == 0
    assert told.transport["b"].wilson is None
    assert told.identity == {"a": (0, 1), "b": (2, 2)}


def test_a_name_that_only_begins_alike_is_another() -> None:
    """A dated form of the name asked for passes; a sibling model does not; a silent endpoint is let pass."""
    assert not unfit(check("d", served=("m-1", "m-1-20261101")))
    assert "identity" in unfit(check("d", served=("m-10",)))
    assert not unfit(check("d", served=()))


def test_the_last_precheck_decides() -> None:
    """A deployment that came up later is admitted."""
    told, _ = admit(["a"], [check("a", answered=2), check("a")], lane("a", 1))
    assert told.admitted == ("a",)
