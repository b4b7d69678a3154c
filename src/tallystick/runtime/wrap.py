"""Wrapping plain callables, sync and async, so that calling one proposes the call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from tallystick.errors import InputError
from tallystick.runtime.outcome import Outcome, RefusedError, in_doubt_text

if TYPE_CHECKING:
    from tallystick.runtime.run import Run

OnRefusal = Literal["return", "raise"]


def wrap(run: Run, name: str, fn: Callable[..., Any], on_refusal: OnRefusal) -> Callable[..., Any]:
    """Return a callable with the signature of `fn` that proposes a call of `name` to `run`.

    Raises:
        InputError: `on_refusal` is neither `return` nor `raise`, or `fn` takes positional-only or `*args` parameters,
            which have no names to record arguments under.
    """
    if on_refusal not in ("return", "raise"):
        raise InputError(f"`{on_refusal}` is no way to refuse", where="on_refusal", fix="`return` or `raise`")
    signature = inspect.signature(fn)
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise InputError(f"`{name}` has the parameter `{parameter}`, which has no name in a call", fix="name it")

    def arguments(given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        bound = dict(signature.bind(*given, **named).arguments)
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                bound.update(bound.pop(parameter.name, {}))
        return bound

    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn)
        async def acalled(*given: Any, **named: Any) -> Any:
            return _answer(await run.acall(name, arguments(given, named), fn), on_refusal)

        return acalled

    @functools.wraps(fn)
    def called(*given: Any, **named: Any) -> Any:
        return _answer(run.call(name, arguments(given, named), fn), on_refusal)

    return called


def _answer(outcome: Outcome, on_refusal: OnRefusal) -> Any:
    if outcome.refused:
        if on_refusal == "raise":
            raise RefusedError(outcome.refusal())
        return outcome.refusal()
    if outcome.error is not None:
        if outcome.in_doubt:
            outcome.error.add_note(f"tallystick: {in_doubt_text(outcome.why_in_doubt)}")
        raise outcome.error
    return outcome.result
