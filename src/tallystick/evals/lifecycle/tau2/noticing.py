"""Noticing what the benchmark's loop swallows.

`inspect_evals.tau2.common.agents.user_simulator_agent` wraps each turn of both models in `except Exception`, prints,
and goes on: the messages of that turn are lost while its effects on the environment stay, a limit that was reached is
passed over, and the model is then scored as if it had said nothing. Here every such exception is noted for the episode
it happened in, and the episode is ended: nothing after it says anything about a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.tau2.package import of

_NOTED: Final[ContextVar[list[str] | None]] = ContextVar("tau2_swallowed", default=None)
_LENGTH: Final = 300


@contextmanager
def noticing() -> Iterator[list[str]]:
    """Yield the exceptions of the episode that is played inside, as `agent: Kind: text`, in order.

    Raises:
        InputError: the installed package's loop is not the one this was made for.
    """
    _install()
    noted: list[str] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def _install() -> None:
    """Stand between the package's loop and its turns; once, and passing through wherever no episode is watched."""
    agents = of("common.agents")
    turn = getattr(agents, "generate_loop", None)
    if turn is None:
        raise InputError("`inspect-evals` has another loop than was known", where="tau2", fix="the pinned version")
    if getattr(turn, "notices", False):
        return

    async def generate_loop(role: str, model: Any, messages: Any, tools: Any, trajectory: Any) -> Any:
        noted = _NOTED.get()
        if noted and role == "user":
            return _over()
        try:
            return await turn(role, model, messages, tools, trajectory)
        except Exception as bad:
            if noted is not None:
                who = "user" if role == "user" else "agent"
                first = str(bad).strip().split("\n")[0]
                noted.append(f"{who}: {type(bad).__name__}: {first}"[:_LENGTH])
            raise

    generate_loop.notices = True  # type: ignore[attr-defined] # marks it as installed
    agents.generate_loop = generate_loop


def _over() -> Any:
    """The words by which the loop ends; they enter no trajectory."""
    from inspect_ai.model import ModelOutput  # noqa: PLC0415 - an extra

    return ModelOutput.from_content(model="tallystick", content="###STOP###")
