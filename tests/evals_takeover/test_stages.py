"""Four stages from the same frontiers: what each lets through, and what `full` never does."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from tallystick.evals.takeover import measures
from tallystick.evals.takeover.episode import reached, right
from tallystick.evals.takeover.invoice import InvoiceDesk
from tallystick.evals.takeover.report import report
from tallystick.evals.takeover.rows import STAGES, Row
from tallystick.evals.takeover.run import Plan, Ran, run
from tallystick.evals.takeover.successors import MODES, mistaken
from tallystick.evals.takeover.tables import tables, text

DESK = InvoiceDesk()


@cache
def _ran(*successors: str) -> Ran:
    """Mistakes one by one are never mended; the mixture mends half of the time."""
    if successors == ("mixture",):
        return run(Plan(episodes=14, seed="tests", successors=successors), DESK)
    return run(Plan(episodes=8, seed="tests", successors=successors, stages=("direct", "full"), mend=0.0), DESK)


def _rows(ran: Ran, stage: str) -> Sequence[Row]:
    return [r for r in ran.rows if r.stage == stage]


def test_full_never_writes_under_a_rejected_proposal_nor_twice_nor_claims_what_is_not_so() -> None:
    """Over every scripted mistake, mended or not."""
    for ran in (_ran(*MODES), _ran("mixture")):
        found = measures.measured(_rows(ran, "full"))
        assert found["engaged"] > 0
        assert found["writes_under_rejected"] == 0
        assert found["duplicate_effects"] == 0
        assert found["false_complete"] == 0


def test_direct_lets_every_mistake_through_and_believes_it() -> None:
    """Without it the other figures would say nothing."""
    rows = [r for r in _rows(_ran(*MODES), "direct") if r.engaged and r.mode != "perfect"]
    assert all(r.complete and not r.correct for r in rows)
    assert {r.mode for r in rows} == {*MODES} - {"perfect"}
    assert sum(r.duplicates for r in rows) > 0
    assert sum(r.rejected_writes for r in rows) > 0


def test_a_perfect_successor_is_never_refused_and_ends_certified_where_nothing_fails() -> None:
    """No needless refusal, no rejection."""
    rows = [r for r in _rows(_ran(*MODES), "full") if r.engaged and r.successor == "perfect"]
    assert rows
    assert not any(r.needless or r.interventions for r in rows)
    assert all(r.correct and r.complete for r in rows if not r.failures)


@pytest.mark.parametrize(
    ("mode", "code"),
    [("omitting", "coverage"), ("false_claim", "coverage"), ("repeating", "effect"), ("wrong_entity", "effect")],
)
def test_each_mistake_is_rejected_before_the_first_write_with_a_code_of_its_kind(mode: str, code: str) -> None:
    """Nobody mends, so the tenure ends in bottom, and nothing was written."""
    rows = [r for r in _rows(_ran(*MODES), "full") if r.engaged and r.mode == mode]
    assert rows
    for row in rows:
        assert row.writes == 0
        assert not row.complete
        assert all(i.before and i.again for i in row.interventions)
        codes = {c.removeprefix("residual.") for i in row.interventions for c in i.codes}
        assert codes & {code, "duplicate", "grounding"}, (row.frontier, codes)


def test_all_stages_start_from_the_same_frontier_with_the_same_mistake() -> None:
    """Matched: the mode and whether anybody takes over depend on the frontier alone."""
    by: dict[tuple[str, str], set[tuple[bool, str]]] = {}
    for row in _ran("mixture").rows:
        by.setdefault((row.frontier, row.successor), set()).add((row.engaged, row.mode))
    assert all(len(found) == 1 for found in by.values())


def test_an_unengaged_episode_keeps_its_prefix_outcome_in_every_stage() -> None:
    """Nobody took over, so nobody did anything."""
    rows = [r for r in _ran("mixture").rows if not r.engaged]
    frontiers = {f.id: f for f in DESK.frontiers(14, "tests")}
    assert rows
    for row in rows:
        assert row.writes == 0
        assert row.correct == reached(frontiers[row.frontier], None).correct
        assert row.why.startswith("residual.")


def test_a_right_proposal_is_known_to_be_right_and_a_wrong_one_is_not() -> None:
    """The measure of needless refusals: a dry run past all gates."""
    frontier = next(f for f in DESK.frontiers(40, "tests") if f.kind == "paid" and not f.faults.nested_error)
    assert right(frontier, frontier.gold.proposal)
    assert not right(frontier, mistaken("repeating", frontier.gold))
    assert not right(frontier, mistaken("wrong_order", frontier.gold))


def test_two_runs_of_one_plan_are_the_same() -> None:
    """Whatever the clock says."""
    again = run(Plan(episodes=5, seed="tests", successors=("mixture",)), DESK)
    first = run(Plan(episodes=5, seed="tests", successors=("mixture",)), DESK)

    def told(ran: Ran) -> list[tuple[object, ...]]:
        return [(r.frontier, r.stage, r.mode, r.correct, r.reason, r.writes, r.interventions) for r in ran.rows]

    assert told(first) == told(again)


def test_the_report_has_the_figures_by_stage_and_the_text_says_who_played() -> None:
    """The interface of `--json`, and the label of scripts."""
    told = report(_ran("mixture"))
    keys = {
        "episodes", "engaged", "correct", "partial_after_live_failure", "writes_under_rejected", "duplicate_effects",
        "false_complete", "needless_refusal", "rejections", "tokens",
    }  # fmt: skip
    for stage in STAGES:
        assert set(told[stage]) == keys
    assert told["surfaces"]["invoice"] == "run"
    assert told["surfaces"]["toolsandbox"].startswith("not shipped")
    shown = text(told)
    assert "successors are scripts" in shown
    assert "published: full" in shown
    assert all(len(row) == len(t.head) for t in tables(told) for row in t.rows)


def test_contracts_of_the_desk_find_all_that_gold_says_is_fixed_and_owed() -> None:
    """The template of the contract says what is owed, so recall is a fact of grounding here."""
    audit = report(_ran("mixture"))["successors"]["mixture"]["audit"]
    for name in ("bindings_grounded", "bindings_recall", "effects_precision", "effects_recall", "obligation_recall"):
        assert audit[name]["hits"] == audit[name]["of"] > 0, name
    assert audit["ungrounded_live_writes"]["with_ungrounded"] == 0
    assert audit["rechecked_alike"] == audit["rechecked"]
