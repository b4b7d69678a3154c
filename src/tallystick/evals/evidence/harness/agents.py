"""From what a user names to an agent of `run`: scripted, or a model in one of the harnesses, with or without SCGR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.evidence.harness.chat import ChatModel
from tallystick.evals.evidence.harness.loop import MAX_TURNS, ToolLoop
from tallystick.evals.evidence.harness.opened import OpenCase
from tallystick.evals.evidence.scripted import FAULTS, Fault, Scripted

HARNESSES: Final = ("loop", "inspect", "pydantic-ai")
_SCRIPTED: Final = "scripted"


def is_scripted(name: str) -> bool:
    """Return whether `--model NAME` asks for a scripted agent: `scripted:FAULT` or `scripted:FAULT:P`."""
    return name == _SCRIPTED or name.startswith(f"{_SCRIPTED}:")


def scripted(name: str) -> Scripted:
    """Return the scripted agent that `scripted:FAULT[:P]` names; without P it commits its fault wherever it applies.

    Raises:
        InputError: there is no such fault, or P is not a probability.
    """
    _, _, rest = name.partition(":")
    wanted, _, chance = rest.partition(":")
    found: Fault | None = next((f for f in FAULTS if f == wanted.replace("-", "_")), None)
    if wanted in ("", "correct"):
        found = "none"
    if found is None:
        raise InputError(
            f"there is no scripted fault `{wanted}`", where="--model",
            fix=f"one of correct, {', '.join(f for f in FAULTS if f != 'none')}, then perhaps `:` and a probability",
        )  # fmt: skip
    try:
        p = float(chance) if chance else 1.0
    except ValueError:
        p = -1.0
    if not 0 <= p <= 1:
        raise InputError(f"`{chance}` is not a probability", where="--model", fix="a number from 0 to 1, such as 0.3")
    return Scripted() if found == "none" else Scripted(fault=found, p=p)


def in_harness(
    model: ChatModel | str,
    harness: str = "loop",
    *,
    max_turns: int = MAX_TURNS,
    max_tokens: int | None = None,
    temperature: float = 0.0,
) -> Callable[[OpenCase], Any]:
    """Return an agent: the model in a harness.

    Args:
        model: one of ours; or, for a framework's harness, the name the framework knows a model by.
        harness: one of `HARNESSES`.
        max_turns: most requests to the model in one case.
        max_tokens: longest reply of a model that is named.
        temperature: of a model that is named.

    Raises:
        InputError: there is no such harness, what it needs is not installed, or it cannot use a model by name.
    """
    if harness == "loop":
        if isinstance(model, str):
            raise InputError(
                f"the model `{model}` needs an endpoint", where="--model",
                fix="name one with --base-url, or use `local` or `scripted:FAULT`",
            )  # fmt: skip
        return ToolLoop(model=model, max_turns=max_turns)
    if harness == "inspect":
        from tallystick.evals.evidence.harness import inspect_react  # noqa: PLC0415 - an extra

        if isinstance(model, str):
            own = inspect_react.named(model, temperature=temperature, max_tokens=max_tokens)
            return inspect_react.InspectReact(model=own, max_turns=max_turns)
        return inspect_react.InspectReact(model=model, max_turns=max_turns)
    if harness == "pydantic-ai":
        from tallystick.evals.evidence.harness import pydantic_loop  # noqa: PLC0415 - an extra

        known = pydantic_loop.named(model) if isinstance(model, str) else model
        return pydantic_loop.PydanticLoop(
            model=known, max_turns=max_turns, max_tokens=max_tokens, temperature=temperature
        )
    raise InputError(f"there is no harness `{harness}`", where="--harness", fix=f"one of {', '.join(HARNESSES)}")
