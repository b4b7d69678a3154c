"""What an adapter's author supplies: a way to run a scripted model in the framework, with the guard in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from tallystick.runtime.run import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One tool call a model makes.

    Attributes:
        id: the call id it carries; unique in a script.
        cut: the model's turn is cut off in the middle of these arguments.
    """

    id: str
    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    cut: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Final:
    """A model's last word, with the values it states for the contract's answer slots."""

    text: str
    claims: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One turn of a model: parallel calls, or the final text."""

    calls: tuple[Ask, ...] = ()
    final: Final | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """One thing a model was shown: what came back for a call (`id`), or why its final text was not accepted ("")."""

    id: str
    text: str


Model = Callable[[Sequence[Seen]], Turn | None]
"""Given everything it was shown so far, the model's next turn. None: it has nothing more to say, and just stops."""

Feature = Literal["parallel", "fragments", "cut", "holds_text", "stops"]
"""What a framework allows: parallel calls in a turn; arguments that stream in fragments; a turn cut by length that the
adapter can see; final text that can be held until the verdict; a model that stops without a last word."""


@dataclass(kw_only=True, slots=True)
class Transcript:
    """What happened.

    Attributes:
        seen: what the model was shown, in order.
        shown: texts that reached the user (or whoever consumes the framework's output or stream), in order.
        raised: what the framework's entry point raised, if it did.
        turns: turns the model took.
    """

    seen: list[Seen] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    raised: BaseException | None = None
    turns: int = 0


class Harness(Protocol):
    """An adapter under test."""

    @property
    def features(self) -> frozenset[Feature]:
        """What the framework allows; the suite skips, visibly, what it does not."""

    def drive(
        self,
        run: Run,
        tools: Mapping[str, Callable[..., Any]],
        model: Model,
        *,
        max_turns: int,
        fragments: bool = False,
    ) -> Transcript:
        """Run `model` in the framework's own loop with `tools` under `run`, to its end, as the adapter's docs say.

        Must not raise: what the framework raises goes into the transcript. Afterwards the adapter has ended the run as
        it does when the framework's loop ends.

        Args:
            run: the guard's run; the caller closes nothing.
            tools: plain callables by name. The harness wires them into the framework through the adapter.
            model: the scripted model.
            max_turns: the framework's own step limit.
            fragments: let arguments and text stream in small pieces, where the framework can.
        """


def scripted(*turns: Turn) -> Model:
    """Return a model that takes these turns whatever it is shown, and then stops."""
    left = list(turns)

    def model(_: Sequence[Seen]) -> Turn | None:
        return left.pop(0) if left else None

    return model
