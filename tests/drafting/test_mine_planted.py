"""What was planted in good trajectories is found, with the right counts, and nothing planted elsewhere."""

from __future__ import annotations

import pytest

from tallystick.audit import audit_trace
from tallystick.drafting import mine
from tallystick.drafting.mining.mine import Mined
from tallystick.drafting.specs import source_of
from tests.drafting.shop import WRITES, good, looked, refunded, replaced, rule, rules

SPECS = {s.name: s for s in source_of(WRITES, "shop", "shop").tools}


@pytest.fixture(scope="module")
def mined() -> Mined:
    """Mined from 24 trajectories without an exception."""
    return mine(good(), specs=SPECS, name="shop")


PLANTED = {
    "the target was read": {"known": "article"},
    "the policy was read": {"read": "get_policy", "with_": 'args.topic == "refund"'},
    "a preview came first": {"previewed": ["item_id"]},
    "the amount is the preview's": {"previewed": ["item_id"], "with_": "args.amount == preview.refund_amount"},
    "the item was delivered": {"fact": 'article.state == "delivered"'},
}


@pytest.mark.parametrize("said", PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_regularity_is_found_with_its_support(mined: Mined, said: dict[str, object]) -> None:
    """Each of the five rules came up in all twelve refunds and never failed."""
    found = rule(mined.report, "refund", **said)
    assert found["support"] == {"trajectories": 12, "calls": 12}
    assert found["counter_examples"] == {"trajectories": 0, "calls": 0}
    assert found["wilson_95"] == ["0.7575", "1.0000"]
    assert [c["trace"] for c in found["taught_by"]] == [f"t{n:03}" for n in range(12)]


def test_what_is_planted_is_in_force_once(mined: Mined) -> None:
    """The contract demands the five, the plain preview inside the one that also fixes the amount."""
    live = {text for text, r in rules(mined.report, "refund").items() if r["in_force"]}
    wanted = [
        {"known": "article"},
        {"read": "get_policy", "with_": 'args.topic == "refund"'},
        {"previewed": ["item_id"], "with_": "args.amount == preview.refund_amount"},
        {"fact": 'article.state == "delivered"'},
    ]
    assert all(rule(mined.report, "refund", **w)["in_force"] for w in wanted)
    assert not rule(mined.report, "refund", previewed=["item_id"])["in_force"]
    assert len(live) == len({r.id for r in mined.contract.tools["refund"].requires})


def test_a_rule_of_one_tool_is_no_rule_of_another(mined: Mined) -> None:
    """Replacements never read a policy, so they need none; the item was lost, not delivered."""
    replace = mined.contract.tools["replace"]
    assert not any(r.kind == "read" for r in replace.requires)
    assert [r.expr.source for r in replace.requires if r.kind == "fact" and r.expr] == ['article.state == "lost"']


def test_the_tools_themselves_are_understood(mined: Mined) -> None:
    """Effects, targets, yields and success predicates are those of the shop."""
    refund, order = mined.contract.tools["refund"], mined.contract.tools["get_order"]
    assert refund.target[0].kind == "article"
    assert refund.ok is not None
    for confirm, status, holds in ((True, "refunded", True), (False, "preview", True), (True, "preview", False)):
        assert refund.ok.evaluate({"args": {"confirm": confirm}, "result": {"status": status}}) is holds
    assert {(y.kind, y.at, y.id) for y in order.yields} == {
        ("order", (), ("order_id",)),
        ("article", ("items", "*"), ("item_id",)),
    }
    assert mined.contract.tools["get_policy"].effect == "read"


@pytest.mark.parametrize("skip", ["order", "policy", "preview", "amount", "delivered"])
def test_a_trajectory_that_breaks_one_planted_rule_is_flagged(mined: Mined, skip: str) -> None:
    """Whatever single thing an agent leaves out, the mined contract would have stopped it."""
    findings = audit_trace(refunded(90, skip), contract=mined.contract).findings
    assert [f.code for f in findings if f.code.startswith("act.")] != []


@pytest.mark.parametrize("make", [refunded, replaced, looked])
def test_a_fresh_trajectory_that_follows_the_rules_is_admitted(mined: Mined, make: object) -> None:
    """The rules are about kinds of things, not about the things that taught them."""
    assert callable(make)
    report = audit_trace(make(91), contract=mined.contract)
    assert [f.code for f in report.findings if f.code.startswith("act.")] == []


@pytest.mark.parametrize(
    ("skip", "said"),
    [
        ("policy", PLANTED["the policy was read"]),
        ("preview", PLANTED["a preview came first"]),
        ("amount", PLANTED["the amount is the preview's"]),
        ("delivered", PLANTED["the item was delivered"]),
        ("order", PLANTED["the target was read"]),
    ],
)
def test_a_planted_exception_is_counted_and_ends_the_rule(skip: str, said: dict[str, object]) -> None:
    """One good trajectory that does without is one counter-example, cited, and the rule is no longer in force."""
    mined = mine([*good(), refunded(70, skip)], specs=SPECS, name="shop")
    found = rule(mined.report, "refund", **said)
    assert found["counter_examples"]["trajectories"] == 1
    assert [c["trace"] for c in found["against"]] == ["t070"]
    assert found["support"]["trajectories"] == 12
    assert not found["in_force"]
    assert found["verdict"] == "good trajectories contradict it"
    assert found["id"] not in {r.id for r in mined.contract.tools["refund"].requires}


def test_too_few_trajectories_teach_nothing_special() -> None:
    """Four refunds are fewer than five: the policy is weighed and left out, and its count says why."""
    mined = mine(good(refunds=4), specs=SPECS, name="shop")
    found = rule(mined.report, "refund", read="get_policy", with_='args.topic == "refund"')
    assert (found["in_force"], found["verdict"]) == (False, "it came up in fewer than 5 trajectories")
    assert rule(mine(good(refunds=4), specs=SPECS, name="shop", min_support=4).report, "refund", read="get_policy",
                with_='args.topic == "refund"')["in_force"]  # fmt: skip


def test_what_is_so_everywhere_is_no_rule() -> None:
    """A field that never had another value says nothing about the write, however often it was seen."""
    mined = mine(good(), specs=SPECS, name="shop")
    assert not any("order." in text for text in rules(mined.report, "refund"))


def test_tools_that_never_meet_exclude_each_other_only_when_that_is_sure() -> None:
    """Twelve refunds and eight replacements are too few to forbid both on one item; forty and forty are enough."""
    few = mine(good(), specs=SPECS, name="shop")
    assert few.contract.exclusive == ()
    many = mine(good(refunds=40, replacements=40, looks=0), specs=SPECS, name="shop")
    assert [(e.tools, dict(e.per)["refund"].source) for e in many.contract.exclusive] == [
        (("refund", "replace"), "args.item_id")
    ]
    assert [x["support"]["trajectories"] for x in many.report["exclusions"]] == [80]


def test_without_schemas_the_same_rules_are_found() -> None:
    """Names and results alone teach the same; what writes is then a guess, and said to be one."""
    mined = mine(good(), name="shop")
    live = {r.kind for r in mined.contract.tools["refund"].requires}
    assert {"known", "read", "previewed", "fact"} <= live
    assert "# guess: its name says `get`" in mined.text
