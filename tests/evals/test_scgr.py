"""SCGR: batches against a budget, statements with call ids, public checks, one revision, deferred workflows."""

from __future__ import annotations

from pathlib import Path as File
from typing import Any

import pytest

from tallystick.evals.evidence.case import Case
from tallystick.evals.evidence.harness.agents import in_harness
from tallystick.evals.evidence.harness.chat import ChatModel
from tallystick.evals.evidence.harness.scgr import VARIANTS, Front, Scgr, Variant, front
from tallystick.evals.evidence.harness.scgr_checks import PublicTools
from tallystick.evals.evidence.harness.scgr_scripted import ScriptedScgr, _Opened
from tallystick.evals.evidence.paths import actions, reads
from tallystick.evals.evidence.room import Room
from tallystick.evals.evidence.run import EPISODES, read_episodes, run
from tallystick.models import ChatEndpoint
from tests.evals.fake_model import call, endpoint


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_correct_agents_successes_are_unchanged_behind_the_front_end(variant: Variant) -> None:
    """Every case, workflows with symbolic citations included; with the gate on as well as off."""
    told = run(ScriptedScgr(variant=variant), resample=False)
    assert told["agent"] == f"scripted:correct/scgr-{variant}"
    assert [p["ECS"]["share"] for p in told["protocols"].values()] == [1.0] * 5
    gated = run(ScriptedScgr(variant=variant), limit=40, gated=True, resample=False)
    assert [p["ECS"]["share"] for p in gated["protocols"].values()] == [1.0] * 5


def test_faults_are_measured_through_the_front_end() -> None:
    """It structures an agent and does not correct it: acting early, as often as stated."""
    agent = ScriptedScgr(fault="acts_early", p=0.5, variant="select")
    told = run(agent, protocol="V1", resample=False)["protocols"]["V1"]["PAR"]
    assert told["wilson"][0] <= 0.5 <= told["wilson"][1]


def opened(case: Case, variant: Variant = "select", budget: int = 24) -> tuple[Front, Room]:
    room = Room(case, "test", seed=b"scgr")
    found = front(_Opened(room), variant, budget)
    assert isinstance(found, Front)
    return found, room


def query(tool: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"question": "?", "tool": tool, "args": args, **more}


def test_a_batch_with_a_problem_is_not_run_and_not_charged(by_id: dict[str, Case]) -> None:
    """Wrong arguments, an action among the queries, too many for the budget: nothing reaches the environment."""
    case = by_id["commerce-v1-001"]
    seat, room = opened(case, budget=2)
    good = query("get_request", {"request_id": "SR-1166"})
    action = case.private.actions[0]
    for batch in (
        [good, query("get_request", {})], [good, query(action.tool, dict(action.args))], [good] * 3, [good] * 9, [],
        "get_request", [3], [query("get_request", {"request_id": 7})],
    ):  # fmt: skip
        told = seat.call("query", {"queries": batch})
        assert told["calls_left"] == 2
        assert told["problems"]
    assert room.episode().calls == ()


def test_every_attempt_is_charged_and_recalled_for_nothing(by_id: dict[str, Case]) -> None:
    """A read that finds nothing costs one as well; recall answers from the ledger."""
    seat, room = opened(by_id["commerce-v1-001"], budget=2)
    told = seat.call(
        "query",
        {"queries": [query("get_request", {"request_id": n}) for n in ("SR-1166", "SR-0000")]},
    )
    assert told["calls_left"] == 0
    assert [r["id"] for r in told["results"]] == ["q1", "q2"]
    assert [f["id"] for f in seat.call("recall", {"words": "found false"})["found"]] == ["q2"]
    assert "error" in seat.call("query", {"queries": [query("get_request", {"request_id": "SR-1166"})]})
    assert len(room.episode().calls) == 2


def submission(case: Case, seat: Front) -> dict[str, Any]:
    """The right submission after the right reads."""
    steps = reads(case)
    for start in range(0, len(steps), 8):
        seat.call("query", {"queries": [query(s.tool, s.args) for s in steps[start : start + 8]]})
    return {
        "evidence": [{"statement": "all", "status": "supported", "calls": ["q1"], "why": ""}],
        "actions": [
            {"id": s.node, "tool": s.tool, "args": {**s.args, **{k: f"${n}.{k}" for k, n in s.cites.items()}}}
            for s in actions(case)
        ],
        "label": case.private.label,
    }


BROKEN: dict[str, tuple[Any, str]] = {
    "label": (lambda s: s.update(label="PERHAPS"), "the label is one of"),
    "an unknown call": (lambda s: s["evidence"][0].update(calls=["q99"]), "no call has the id `q99`"),
    "no calls and no reason": (lambda s: s["evidence"][0].update(calls=[]), "needs a reason"),
    "status": (lambda s: s["evidence"][0].update(status="likely"), "the status is one of"),
    "a read as action": (lambda s: s["actions"][0].update(tool="get_request"), "action 1: not one of"),
    "a missing argument": (lambda s: s["actions"][0]["args"].pop("request_id"), "request_id"),
    "a value nothing showed": (lambda s: s["actions"][0]["args"].update(request_id="SR-0000"), "neither the task nor"),
    "a later result": (lambda s: s["actions"].reverse(), "no earlier action of the plan returns"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_an_invalid_submission_comes_back_once_with_its_problem(how: str, by_id: dict[str, Case]) -> None:
    """Structure, schema, bindings and references; nothing has been carried out by then, and one revision repairs it."""
    case = by_id["commerce-v2-001"]
    seat, room = opened(case)
    good = submission(case, seat)
    broken = submission(case, opened(case)[0])
    change, words = BROKEN[how]
    change(broken)
    before = len(room._calls)
    told = seat.call("submit", broken)
    assert any(words in p for p in told["problems"]), told
    assert len(room._calls) == before
    assert seat.call("submit", good) == {"status": "submitted"}
    episode = room.episode()
    assert "1 revision(s), 0 problem(s) left" in episode.note
    assert episode.label == "DONE"


def test_the_second_submission_is_final_and_is_not_repaired(by_id: dict[str, Case]) -> None:
    """What does not fit together is carried out as far as it goes, and noted."""
    case = by_id["commerce-v2-001"]
    seat, room = opened(case)
    broken = submission(case, seat)
    broken["actions"][0]["args"]["request_id"] = "SR-0000"
    assert "problems" in seat.call("submit", broken)
    seat.call("submit", broken)
    assert seat.over
    assert f"1 problem(s) left, 0 of {len(broken['actions'])} action(s)" in room.episode().note


def test_eg_asks_for_each_condition_of_what_is_planned(by_id: dict[str, Case]) -> None:
    """Ours: a planned action with a condition that is not stated, or not supported, comes back."""
    case = by_id["commerce-v1-001"]
    seat, _ = opened(case, "eg")
    tools = PublicTools.of([dict(t) for t in case.public.tools])
    spec = case.private.actions[0]
    assert "for" in seat.call("query", {"queries": [query("get_request", {"request_id": "SR-1166"})]})["problems"][0]
    ids = list(tools.actions[spec.tool].conditions)
    looks = [query(s.tool, s.args, **{"for": ids[:1]}) for s in reads(case)]
    told = seat.call("query", {"queries": looks[:8]})
    assert ids[0] not in told["conditions_not_asked_about"]
    assert ids[1] in told["conditions_not_asked_about"]
    entries = [{"condition": c, "statement": "", "status": "supported", "calls": ["q1"], "why": ""} for c in ids]
    entries[2]["status"] = "missing"
    plan = [{"id": "a", "tool": spec.tool, "args": dict(spec.args)}]
    told = seat.call("submit", {"evidence": entries[1:], "actions": plan, "label": "DONE"})
    assert any(f"`{ids[0]}` is not in the evidence" in p for p in told["problems"])
    assert any(f"`{ids[2]}` is missing" in p for p in told["problems"])


def test_every_consequential_tool_is_told_apart_by_its_public_description(cases: tuple[Case, ...]) -> None:
    """What the front end takes for an action is what the private part calls a writer, in every case."""
    for case in cases:
        if case.protocol != "Legacy":
            assert set(PublicTools.of([dict(t) for t in case.public.tools]).actions) == set(case.private.writers)


@pytest.mark.parametrize("harness", ["loop", "inspect", "pydantic-ai"])
def test_a_model_in_any_harness_is_put_behind_it(harness: str, tmp_path: File) -> None:
    """The same three tools in every loop; a refused batch is told to the model."""
    pytest.importorskip({"loop": "json", "inspect": "inspect_ai", "pydantic-ai": "pydantic_ai"}[harness])

    def reply(request: dict[str, Any]) -> dict[str, Any]:
        turn = sum(m["role"] == "assistant" for m in request["messages"])
        assert {t["function"]["name"] for t in request["tools"]} == {"query", "recall", "submit"}
        gone = [{"question": "?", "tool": "get_request", "args": {"request_id": "SR-1166"}}]
        why = [{"statement": "not all is there", "status": "missing", "calls": ["q1"], "why": ""}]
        return [
            call("query", {"queries": [{"question": "?", "tool": "get_request", "args": {}}]}, 0),
            call("query", {"queries": gone}, 1),
            call("submit", {"evidence": [{**why[0], "calls": ["q7"]}], "actions": [], "label": "DEFER"}, 2),
            call("submit", {"evidence": why, "actions": [], "label": "DEFER"}, 3),
        ][min(turn, 3)]

    with endpoint(reply) as url:
        model = ChatModel(name="m", endpoint=ChatEndpoint(base_url=url, timeout=30))
        agent = Scgr(agent=in_harness(model, harness, max_turns=8))
        run(agent, protocol="V1", limit=1, out=tmp_path, name="front", resample=False)
    (episode,) = read_episodes(tmp_path / EPISODES)
    assert (episode.label, [c.tool for c in episode.calls]) == ("DEFER", ["get_request"])
    assert episode.note.startswith("scgr-select: 1 of 24 calls, 1 revision(s), 0 problem(s) left")
