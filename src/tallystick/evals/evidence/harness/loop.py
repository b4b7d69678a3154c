"""Our own tool loop: ask the model, make its calls in order, tell it the results, until it submits or stops."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, Final

from tallystick.evals.evidence.harness.chat import ChatModel, ToolCall
from tallystick.evals.evidence.harness.opened import CASE_SECONDS, MAX_NUDGES, NUDGE, SYSTEM, OpenCase, prompt
from tallystick.models.endpoint import ContextFullError

MAX_TURNS: Final = 60
"""Requests to the model in one case, unless another limit is given."""


@dataclass(frozen=True, kw_only=True)
class ToolLoop:
    """An agent: a model in a plain tool loop.

    Attributes:
        model: the model.
        max_turns: most requests to it in one case; the case is then left as it stands.
        seconds: after which no further request is made.
    """

    model: ChatModel
    max_turns: int = MAX_TURNS
    seconds: float = CASE_SECONDS

    def __call__(self, case: OpenCase) -> None:
        """Work on an open case.

        A model whose context is full has nothing more to say, so its case is left there.

        Raises:
            InfrastructureError: the endpoint cannot be used.
        """
        tools = case.task["tools"]
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": prompt(case.task)},
        ]
        silent = 0
        until = time.monotonic() + self.seconds
        for _ in range(self.max_turns):
            if time.monotonic() > until:
                return
            try:
                turn = self.model.turn(messages, tools)
            except ContextFullError:
                return
            messages.append(turn.message)
            silent = 0 if turn.calls else silent + 1
            if silent > MAX_NUDGES:
                return
            if not turn.calls:
                messages.append({"role": "user", "content": NUDGE})
            for call in turn.calls:
                result = made(case, call)
                if case.over:
                    return
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result, default=str)})


def made(case: OpenCase, call: ToolCall) -> Any:
    """Make a call of a model's and return what it is told."""
    if call.args is None:
        return {"error": "the arguments are not a JSON object"}
    return case.call(call.name, call.args)
