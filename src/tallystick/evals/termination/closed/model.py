"""A model in the loop: it goes on from a checkpoint with the tools and a finish tool, and is told only verdicts.

Its history is the checkpoint's own: the calls made so far and what came back. A turn of a trajectory is what it does
until it says that it is done: some requests to the endpoint, bounded. A reply without a call is asked once to call a
tool; a second one ends the turn without a word of being done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tallystick.contracts.answer_schema import schema_of
from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.evals.evidence.client import InfrastructureError
from tallystick.evals.evidence.harness.chat import ChatModel, Turn
from tallystick.evals.termination.closed.policies import Judge, Verdict
from tallystick.evals.termination.closed.scene import Done, Leaves, Move, Scene, Working
from tallystick.evals.termination.critic import Critic
from tallystick.evals.termination.snapshot import Shown, Snapshot
from tallystick.model import jsontext
from tallystick.models.endpoint import ContextFullError
from tallystick.runtime.finish_tool import NAME, finish_schema, said_in

STEPS: Final = 4
"""Requests to the model in one turn."""
MAX_TOKENS: Final = 256
"""Longest reply of a model, in tokens."""
SYSTEM: Final = (
    "You carry out a task with the tools you are given and with nothing else. When you are finished, call `finish` with"
    " a sentence for the requester and, in `claims`, every value that is asked for, as the tools gave it. If you are"
    " told CONTINUE, you are not finished: do what is missing, then call `finish` again."
)
NUDGE: Final = "Call a tool, or `finish` with the values that are asked for."


@dataclass(frozen=True, kw_only=True)
class ModelAgent:
    """A model as the agent.

    Attributes:
        chat: the model.
        called: what reports call it.
        steps: requests in one turn.
    """

    chat: ChatModel
    called: str
    steps: int = STEPS
    scripted: bool = False

    @property
    def name(self) -> str:
        """What it is called in records and reports."""
        return self.called

    def start(self, scene: Scene) -> ModelMind:
        """Return its state for one trajectory."""
        return ModelMind(self, scene)


class ModelMind:
    """A model in one trajectory."""

    def __init__(self, agent: ModelAgent, scene: Scene) -> None:
        self._agent = agent
        self._scene = scene
        self._tools = [*tool_schemas(scene.cluster.contract), _finish(scene)]
        self._messages = lead_in(scene)
        self._problem = ""  # why the last arguments of `finish` were none
        self._asked = ""  # id of the finish call that waits for its answer

    def move(self, told: str, deficits: int) -> Move:
        """Return the next move.

        Raises:
            InputError: the endpoint cannot be used.
        """
        del deficits  # it reads them in the answer
        if told:
            self._answer(told)
        silent = 0
        for _ in range(self._agent.steps):
            try:
                turn = self._agent.chat.turn(self._messages, self._tools)
            except ContextFullError:
                return Leaves()
            except InfrastructureError as bad:
                raise InputError(str(bad), where="--model", fix="see to it and run again with the same --out") from None
            self._messages.append(turn.message)
            if not turn.calls:
                silent += 1
                if silent > 1:
                    return Working()
                self._messages.append({"role": "user", "content": NUDGE})
                continue
            done = self._act(turn)
            if done is not None:
                return done
            if self._scene.run.status is not None:
                return Leaves()
        return Working()

    def _answer(self, told: str) -> None:
        if self._asked:
            self._messages.append({"role": "tool", "tool_call_id": self._asked, "content": told})
            self._asked = ""
        else:
            self._messages.append({"role": "user", "content": told})

    def _act(self, turn: Turn) -> Done | None:
        """Make a reply's calls in order; a finish call ends the turn, and calls after it are not made."""
        found: Done | None = None
        for call in turn.calls:
            if found is not None:
                self._tell(call.id, "not run: the task was said to be finished before it")
            elif call.args is None:
                self._tell(call.id, "the arguments are not a JSON object")
            elif call.name == NAME:
                found = self._done(call.args)
                if isinstance(found, Done):
                    self._asked = call.id
                else:
                    self._tell(call.id, self._problem)
            else:
                self._scene.call(call.name, call.args)
                self._tell(call.id, self._scene.told[-1][2])
        return found

    def _done(self, args: Mapping[str, Any]) -> Done | None:
        try:
            said = said_in(self._scene.cluster.contract, args)
        except InputError as bad:
            self._problem = str(bad)
            return None
        answer = {c.slot: c.value for c in said.claims or () if c.slot is not None}
        return Done(text=said.text, answer=answer)

    def _tell(self, call: str, text: str) -> None:
        self._messages.append({"role": "tool", "tool_call_id": call, "content": text})


def lead_in(scene: Scene) -> list[dict[str, Any]]:
    """Return the conversation up to the checkpoint: the request, and each call with what came back."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": scene.cluster.scenario.request},
    ]
    for number, (tool, args, text) in enumerate(scene.told):
        call = {"id": f"lead-{number}", "type": "function",
                "function": {"name": tool, "arguments": jsontext.dumps(args)}}  # fmt: skip
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    return messages


def tool_schemas(contract: Contract) -> list[dict[str, Any]]:
    """Return the contract's tools as a model is told them: names and typed arguments."""
    return [
        {
            "name": tool.name,
            "description": tool.description or tool.name.replace("_", " "),
            "parameters": {
                "type": "object",
                "properties": {name: schema_of(kind) for name, kind in tool.args.items()},
                "required": [name for name, kind in tool.args.items() if not kind.optional],
                "additionalProperties": False,
            },
        }
        for tool in contract.tools.values()
    ]


def _finish(scene: Scene) -> dict[str, Any]:
    made = finish_schema(scene.cluster.contract, scene.cluster.task, by_text=False)
    return {"name": made["name"], "description": made["description"], "parameters": made["inputSchema"]}


@dataclass(frozen=True, kw_only=True)
class ModelCritic:
    """The full-trace critic as a model: the static study's critic, asked at each turn."""

    critic: Critic
    name: str = "full_trace_critic"

    @property
    def called(self) -> str:
        """What reports call the model."""
        return self.critic.called

    def start(self, scene: Scene) -> Judge:
        """Return its state for one trajectory."""
        return _Asking(self.critic, scene)


class _Asking:
    def __init__(self, critic: Critic, scene: Scene) -> None:
        self._critic = critic
        self._scene = scene

    def judge(self, done: Done | None) -> Verdict:
        """Show the model the whole trace.

        Raises:
            InputError: the endpoint cannot be used.
        """
        scene = self._scene
        shown = Shown(
            completion=done is not None,
            text=done.words if done is not None else "",
            self_check="",
            answer=dict(done.answer) if done is not None else {},
            certificate=None,
            environment={},
        )
        trace = Snapshot(
            family=scene.cluster.family.NAME, task=scene.cluster.task, events=scene.events(), shown=shown
        )  # fmt: skip
        return Verdict(decision=self._critic.decide(trace))
