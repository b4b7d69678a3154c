"""The evaluator on recorded trajectories of an importer's format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tallystick.contracts import load
from tallystick.evals.common.draw import Draw
from tallystick.evals.evidence import recorded
from tallystick.evals.evidence.case import ACTING, Case
from tallystick.evals.evidence.contract import contract
from tallystick.evals.evidence.paths import Step, reference
from tallystick.evals.evidence.room import Room
from tallystick.evals.evidence.score import score
from tallystick.evals.evidence.scripted import applies, faulty, follow
from tallystick.model.trace import Trace
from tallystick.traces import parse, read_file


def chat(case: Case, steps: list[Step]) -> tuple[Trace, Room]:
    """A path as an OpenAI chat, with the room it was played in."""
    room = Room(case, "scripted:path", seed=b"recorded")
    follow(steps, room)
    messages: list[dict[str, Any]] = [{"role": "user", "content": case.public.text}]
    episode = room.episode()
    calls = [(c.tool, c.args, c.result) for c in episode.calls]
    for i, (tool, args, result) in enumerate([*calls, ("submit", {"label": episode.label}, {"status": "submitted"})]):
        call = {"id": f"call_{i}", "type": "function", "function": {"name": tool, "arguments": json.dumps(args)}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": json.dumps(result)})
    (trace,) = parse(json.dumps(messages).encode(), name=case.id)
    return trace, room


@pytest.fixture(scope="module")
def some(cases: tuple[Case, ...]) -> list[Case]:
    return [c for c in cases if c.protocol in ACTING][::7]


def test_a_recorded_reference_path_scores_as_the_live_one(some: list[Case]) -> None:
    """With its case, a trace gets the very score its episode got; with the contract alone, no fault is found."""
    for case in some:
        trace, room = chat(case, reference(case))
        live, told = score(case, room.episode()), recorded.score_case(trace, case)
        assert told.exact
        assert (told.actions, told.reasons) == (live.actions, live.reasons)
        judged = recorded.score_trace(trace, contract(case.domain))
        assert not any((judged.acted_early, judged.gap, judged.wrong_target, judged.wrong_argument))
        assert judged.correct_calls == judged.complete_calls == len(case.private.actions)
        assert judged.exact is judged.stopped_early is judged.partial is judged.no_action is None


def test_faults_in_recorded_paths_are_found_by_contract_alone(some: list[Case]) -> None:
    """Acting early shows as missing evidence; a wrong entity is never judged complete and correct."""
    for case in some:
        trace, _ = chat(case, faulty(case, "acts_early", Draw("recorded", case.id)))
        judged = recorded.score_trace(trace, contract(case.domain))
        assert judged.acted_early
        assert judged.gap
        if applies("wrong_entity", case):
            trace, room = chat(case, faulty(case, "wrong_entity", Draw("recorded", case.id)))
            wrong = recorded.score_trace(trace, contract(case.domain))
            assert any(a.codes for a in wrong.actions)
            assert recorded.score_case(trace, case).wrong_target == score(case, room.episode()).wrong_target is True


def test_measures_state_their_denominators(some: list[Case]) -> None:
    """Counts, shares and Wilson intervals over traces with a consequential call."""
    judged = [recorded.score_trace(chat(c, reference(c))[0], contract(c.domain)) for c in some[:10]]
    told = recorded.measures(judged)
    assert told["PAR"]["hits"] == 0
    assert told["PAR"]["of"] == 10
    assert told["CAS"]["share"] == 1.0
    assert recorded.measures([])["PAR"]["share"] is None


@pytest.mark.shared
def test_real_conversations_are_scored_under_a_contract(shared: Path, root: Path) -> None:
    """Customer-support traces with the example contract: every consequential call is judged, none crashes."""
    rules = load(root / "examples" / "state-bench" / "customer_support.yaml")
    folder = shared / "data" / "state-bench" / "trajectories" / "customer_support"
    files = sorted(folder.iterdir())[:20]
    judged = [recorded.score_trace(t, rules) for f in files for t in read_file(f)]
    assert len(judged) == 20
    assert sum(len(s.actions) for s in judged) > 10
    assert all(a.evidence for s in judged for a in s.actions)
