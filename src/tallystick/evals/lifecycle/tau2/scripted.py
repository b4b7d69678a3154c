"""Scripted agents and customers: they go the author's way through a task and report in a stated way.

They are told the key. They test the instrument and say nothing about any model.
"""

from __future__ import annotations

import json
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.lifecycle.tau2.checkpoints import customer_facing
from tallystick.evals.lifecycle.tau2.duty import ACCEPTED
from tallystick.evals.lifecycle.tau2.gold import stage
from tallystick.evals.tau2.replay import Step, replay
from tallystick.evals.tau2.tasks import Tau2Task
from tallystick.evals.tau2.world import call_of
from tallystick.gates.stage import Stage

PREFIX: Final = "scripted:"
WAYS: Final = {
    "truthful": "reports the true stage; POST_OBS where nothing recorded can tell it",
    "silent": "never reports",
    "stale": "reports READY until the task is complete",
    "premature": "reports COMPLETED always",
    "wrapped": "reports the true stage inside a JSON envelope",
    "garbled": "reports the true stage and says more after it",
    "breaks": "is truthful, and raises an exception in place of its second message",
}
PLAYED: Final[ContextVar[Tau2Task | None]] = ContextVar("tau2_task", default=None)
"""The task of the episode that is being played. A model's messages do not name it."""
_STOP: Final = "###STOP###"


def is_scripted(name: str) -> bool:
    """Whether a model's name is a scripted agent's."""
    return name.startswith(PREFIX)


def way_of(name: str) -> str:
    """Return the way of `scripted:WAY`.

    Raises:
        InputError: there is no such way.
    """
    way = name.removeprefix(PREFIX)
    if way not in WAYS:
        raise InputError(
            f"there is no scripted agent `{way[:80]}`", where="--model",
            fix=f"one of: {', '.join(PREFIX + w for w in WAYS)}",
        )  # fmt: skip
    return way


@lru_cache(maxsize=512)
def script(task: Tau2Task, way: str) -> tuple[Step, ...]:
    """Return what is said and called in a task: the author's calls in order, the customer's where they are theirs."""
    steps = [_says("user", "Hello, I need help."), _says("agent", "I will look into it."), _says("user", "Please do.")]
    for number, gold in enumerate(task.gold):
        call = Step(by=gold.by, calls=(call_of(gold, f"call_{number}"),))
        if gold.by == "agent":
            steps += [call, _says("agent", f"I have called {gold.tool}."), _says("user", "Go on.")]
        else:
            steps += [_says("agent", f"Please use {gold.tool}."), call, _says("user", "I did that.")]
    steps += [_says("agent", "That was the last step."), _says("user", "It works now, thanks.")]
    steps += [_says("agent", "Goodbye."), _says("user", _STOP)]
    true = replay(task, steps).states
    spoken = set(customer_facing(steps))
    return tuple(_reported(step, stage(task, true[n]), way) if n in spoken else step for n, step in enumerate(steps))


def outputs(way: str, by: str) -> Any:
    """Return what answers a mock model's requests for one side: its next message in the script of the played task."""
    from inspect_ai.model import ModelOutput, ModelUsage  # noqa: PLC0415 - an extra

    def answer(input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:  # noqa: A002 - the mock's own names
        del tools, tool_choice, config
        task = PLAYED.get()
        if task is None:
            raise InputError("a scripted agent plays only tasks of this suite", where="--model")
        own = [s for s in script(task, way) if s.by == by]
        said = sum(m.role == "assistant" for m in input)
        if way == "breaks" and by == "agent" and said == 1:
            raise RuntimeError("scripted: in place of a message")
        step = own[said]
        output = ModelOutput.from_message(_message(step))
        output.usage = ModelUsage(input_tokens=0, output_tokens=0, total_tokens=0)
        return output

    return answer


def _says(by: Any, text: str) -> Step:
    return Step(by=by, text=text)


def _reported(step: Step, true: Stage | None, way: str) -> Step:
    value = "POST_OBS" if true is None else ACCEPTED[true][-1]
    if way == "silent":
        return step
    if way == "stale" and true is not Stage.COMPLETED:
        value = "READY"
    if way == "premature":
        value = "COMPLETED"
    text = f"{step.text}\n<stage>{value}</stage>"
    if way == "wrapped":
        text = json.dumps({"message": text})
    if way == "garbled":
        text += "\nIs there anything else?"
    return Step(by=step.by, text=text)


def _message(step: Step) -> Any:
    from inspect_ai.model import ChatMessageAssistant  # noqa: PLC0415 - an extra
    from inspect_ai.tool import ToolCall  # noqa: PLC0415

    calls = [ToolCall(id=c.id, function=c.tool, arguments=json.loads(c.args)) for c in step.calls]
    return ChatMessageAssistant(content=step.text, tool_calls=calls or None)
