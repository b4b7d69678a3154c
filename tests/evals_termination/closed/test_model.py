"""A model in the loop: what it is shown, what counts as saying that it is done, and that it goes on from deficits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tallystick.errors import InputError
from tallystick.evals.evidence.client import InfrastructureError
from tallystick.evals.evidence.harness.chat import ToolCall, Turn
from tallystick.evals.termination.closed import study
from tallystick.evals.termination.closed.clusters import clusters
from tallystick.evals.termination.closed.model import NUDGE, ModelAgent, ModelCritic
from tallystick.evals.termination.closed.play import Trajectory, play
from tallystick.evals.termination.closed.policies import CORE, Ect
from tallystick.evals.termination.snapshot import Decision, Snapshot
from tallystick.model import jsontext
from tallystick.models.endpoint import ContextFullError

LOOKUP = next(c for c in clusters() if c.name == "lookup-1")
ACCOUNT = LOOKUP.scenario.bindings["account"]
ROW = LOOKUP.scenario.world["accounts"][ACCOUNT]
READ = {"account_id": ACCOUNT, "on": LOOKUP.scenario.bindings["on"]}
RIGHT = {"balance": f"{ROW['balance']} EUR", "due": ROW["due"], "status": ROW["status"]}


def says(*calls: tuple[str, Any], text: str = "") -> Turn:
    made = tuple(
        ToolCall(id=f"c{n}", name=name, raw=jsontext.dumps(args), args=args if isinstance(args, dict) else None)
        for n, (name, args) in enumerate(calls)
    )
    return Turn(text=text, calls=made, message={"role": "assistant", "content": text})


class Puppet:
    """Stands in a model's place: replies in order, and remembers what it was shown."""

    def __init__(self, *replies: Turn | Exception) -> None:
        self.replies = list(replies)
        self.seen: list[list[Mapping[str, Any]]] = []
        self.tools: Sequence[Mapping[str, Any]] = ()

    def turn(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Turn:
        self.seen.append(list(messages))
        self.tools = tools
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


def played(puppet: Puppet, policy: Any = Ect(), checkpoint: Any = "incomplete") -> Trajectory:  # noqa: B008 - frozen
    return play(LOOKUP, checkpoint, 0, policy, ModelAgent(chat=puppet, called="puppet"))  # type: ignore[arg-type]


def test_it_goes_on_from_the_checkpoint_with_the_tools_and_a_finish_tool_of_the_contract() -> None:
    puppet = Puppet(says(("finish", {"text": "Done.", "claims": RIGHT})))
    found = played(puppet, checkpoint="complete")
    assert (found.end, found.supported, found.turns, found.calls) == ("complete", True, 1, 0)
    roles = [m["role"] for m in puppet.seen[0]]
    assert roles == ["system", "user", *["assistant", "tool"] * 4]  # three polls and the read
    assert puppet.seen[0][1]["content"] == LOOKUP.scenario.request
    assert [t["name"] for t in puppet.tools] == [*LOOKUP.contract.tools, "finish"]
    assert set(puppet.tools[-1]["parameters"]["properties"]["claims"]["properties"]) == set(RIGHT)


def test_told_continue_it_sees_the_decision_and_the_deficits_and_can_close_them() -> None:
    puppet = Puppet(
        says(("finish", {"text": "Done.", "claims": RIGHT})),
        says(("get_account", READ)),
        says(("finish", {"text": "Now.", "claims": RIGHT})),
    )
    found = played(puppet)
    assert (found.end, found.supported, found.recovered, found.turns, found.calls) == ("complete", True, True, 2, 1)
    answer = puppet.seen[1][-1]
    assert answer["role"] == "tool"
    lines = answer["content"].splitlines()
    assert lines[0].startswith("CONTINUE")
    assert all(line.startswith(("- ", "Take care")) for line in lines[1:])
    assert f"read get_account {jsontext.dumps(READ)}" in answer["content"]
    assert found.status == "CERTIFIED"


def test_a_policy_that_names_no_deficit_shows_the_decision_alone() -> None:
    puppet = Puppet(says(text="hm"), says(text="hm"), says(("finish", {"claims": RIGHT})))
    played(puppet, CORE)
    assert puppet.seen[1][-1] == {"role": "user", "content": NUDGE}
    assert len(puppet.seen) == 2  # its last calls are the same, so the core calls it stuck


def test_arguments_that_are_none_are_answered_and_are_no_stop() -> None:
    puppet = Puppet(
        says(("finish", {"claims": {"balance": 5.5}})),
        says(("finish", "not an object"), ("get_account", READ)),
        says(("finish", {"claims": RIGHT}), ("get_account", READ)),
    )
    found = played(puppet)
    assert "balance" in puppet.seen[1][-1]["content"]
    assert puppet.seen[2][-2]["content"] == "the arguments are not a JSON object"
    assert (found.end, found.turns, found.calls) == ("complete", 1, 1)  # the call after `finish` was not made


def test_a_model_whose_context_is_full_leaves_and_a_dead_endpoint_is_no_result() -> None:
    assert played(Puppet(ContextFullError("full"))).end == "left"
    with pytest.raises(InputError, match="gone"):
        played(Puppet(InfrastructureError("gone")))


def test_requests_in_one_turn_are_bounded() -> None:
    puppet = Puppet(*[says(("refresh_status", {"account_id": ACCOUNT})) for _ in range(40)])
    found = played(puppet)
    assert found.end in ("budget", "left")
    assert len(puppet.seen) == 4 * 4


class Judge:
    """Stands in a critic's place, and remembers what it was shown."""

    called = "puppet-critic"

    def __init__(self, decide: Callable[[Snapshot], Decision]) -> None:
        self.decide = decide


def test_the_full_trace_critic_reads_the_whole_trace_and_never_the_environment() -> None:
    seen: list[Snapshot] = []

    def decide(snapshot: Snapshot) -> Decision:
        seen.append(snapshot)
        return "complete"

    critic = ModelCritic(critic=Judge(decide))  # type: ignore[arg-type]
    played(Puppet(says(("finish", {"text": "Done.", "claims": RIGHT}))), critic)
    (shown,) = seen
    assert shown.shown.environment == {}
    assert shown.shown.certificate is None
    kinds = [e.event.kind for e in shown.events]
    assert kinds.count("receipt") == 3
    assert kinds[-1] == "message"
    assert ROW["due"] in shown.events[-1].raw.decode()


def test_a_study_of_a_model_says_so_and_has_no_controls_and_no_stated_behaviour() -> None:
    class Everywhere(Puppet):
        def turn(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Turn:
            return says(("finish", {"text": "Done."}))

    critic = ModelCritic(critic=Judge(lambda _: "continue"))  # type: ignore[arg-type]
    agent = ModelAgent(chat=Everywhere(), called="puppet")  # type: ignore[arg-type]
    told = study(agent, critic=critic, limit=1, repetitions=1, settings={"model": "puppet"})
    assert (told["agent"], told["scripted"], told["critic"], told["scripted_critic"]) == (
        "puppet", False, "puppet-critic", False,
    )  # fmt: skip
    assert (told["notes"], told["controls"], told["behaviour"]) == ([], None, None)
    assert told["policies"]["ect"]["U"] == 0
    assert told["policies"]["critic_core"]["U"] == 1
