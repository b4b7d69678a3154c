"""The roles of an episode, each isolated: what one is given is in its arguments, and there is nothing else.

Reviewer and competence control see the whole task; a transformer sees what the reviewer passed on and its condition's
material; the executor sees the artifact and the action labels. Who plays them is a model, or a script that says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from tallystick.evals.common.draw import Draw
from tallystick.evals.handoff.asking import Asker, answer_of
from tallystick.evals.handoff.items import PARAPHRASES, Item
from tallystick.evals.handoff.substrates import Hop
from tallystick.evals.handoff.task import Task, task, tasks
from tallystick.evals.handoff.wording import fill, wording

Route = Literal["label", "blocker_first"]
ROUTES: Final[tuple[Route, ...]] = ("label", "blocker_first")
"""The two executor routes, *ours*: the action before the question whether something blocks it, or after it."""
SEED: Final = "handoff-suite/1"
REFERENCE: Final = "reference"
_WRITTEN: Final = 96
_CHOSEN: Final = 48
"""Longest replies, in tokens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sight:
    """All an executor sees.

    Attributes:
        artifact: the bytes it received.
        actions: the finite action labels, in a drawn order.
        route: how it is asked.
    """

    artifact: bytes
    actions: tuple[str, ...]
    route: Route

    def prompt(self) -> str:
        """Return it as the one message that is sent."""
        return fill(
            wording()["ask"][self.route],
            {"artifact": self.artifact.decode("utf-8"), "actions": ", ".join(self.actions)},
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """What an executor answered.

    Attributes:
        action: a label, or None where it named none.
        recognised: whether it says that something blocks an action.
        flagged: the reply could not be read as asked; what could be read counts.
    """

    action: str | None
    recognised: bool
    flagged: bool = False


def labels(about: Task) -> tuple[str, ...]:
    """Return a task's action labels in an order that tells nothing."""
    return tuple(Draw(SEED, "labels", about.id).shuffled([*about.removed, *about.admissible]))


class Reviewer(Protocol):
    """Sees the whole task."""

    @property
    def name(self) -> str:
        """Who it is."""

    def identifies(self, about: Task) -> bool:
        """Return D_up: whether it names the blocked action and an admissible one."""

    def competent(self, about: Task) -> bool:
        """Return whether, with the whole task before it, it chooses an admissible action."""


class Transformer(Protocol):
    """Writes the artifact."""

    @property
    def name(self) -> str:
        """Who it is."""

    def hops(self, item: Item) -> Sequence[Hop]:
        """Return the hops over an item; none where the state is passed on directly."""


class Executor(Protocol):
    """Acts on the artifact alone."""

    @property
    def name(self) -> str:
        """Who it is."""

    def choose(self, sight: Sight) -> Chosen:
        """Return what it chooses."""


# ---------------------------------------------------------------------- models


@dataclass(frozen=True, slots=True)
class ModelReviewer:
    """A model under full context."""

    asker: Asker

    @property
    def name(self) -> str:
        """The model."""
        return self.asker.name

    def identifies(self, about: Task) -> bool:
        """Ask what must not be done, and what may be."""
        choices = list(labels(about))
        schema = _object({"must_not": {"enum": [*choices, "nothing"]}, "may": {"enum": choices}})
        found = answer_of(self._ask("reviewer", about, schema))
        return found.get("must_not") in about.removed and found.get("may") in about.admissible

    def competent(self, about: Task) -> bool:
        """Ask for the next action."""
        found = answer_of(self._ask("competence", about, _object({"action": {"enum": list(labels(about))}})))
        return found.get("action") in about.admissible

    def _ask(self, role: str, about: Task, schema: Mapping[str, Any]) -> str:
        prompt = fill(wording()["ask"][role], about.words() | {"actions": ", ".join(labels(about))})
        return self.asker.ask(role, prompt, schema, _CHOSEN).text


@dataclass(frozen=True, slots=True)
class ModelTransformer:
    """A model that writes the artifact, hop by hop."""

    asker: Asker

    @property
    def name(self) -> str:
        """The model."""
        return self.asker.name

    def hops(self, item: Item) -> Sequence[Hop]:
        """Return a call for each hop."""
        if item.direct:
            return ()

        def first(text: str) -> str:
            return self._write(text)

        def later(template: str) -> Hop:
            return lambda text: self._write(template.replace("{text}", text))

        return (first, *(later(hop) for hop in item.hops))

    def _write(self, prompt: str) -> str:
        return self.asker.ask("transformer", prompt, None, _WRITTEN).text.strip()


@dataclass(frozen=True, slots=True)
class ModelExecutor:
    """A model that acts on the artifact alone."""

    asker: Asker

    @property
    def name(self) -> str:
        """The model."""
        return self.asker.name

    def choose(self, sight: Sight) -> Chosen:
        """Ask for a label and whether something blocks, in the order of the route."""
        action: dict[str, Any] = {"enum": list(sight.actions)}
        fields = {"action": action, "blocked": {"type": "boolean"}}
        schema = _object(fields if sight.route == "label" else dict(reversed(fields.items())))
        text = self.asker.ask("executor", sight.prompt(), schema, _CHOSEN).text
        found = answer_of(text)
        action_found = found.get("action")
        if action_found not in sight.actions:
            named = [label for label in sight.actions if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text)]
            action_found = named[0] if len(named) == 1 else None
        read = isinstance(found.get("blocked"), bool) and found.get("action") in sight.actions
        return Chosen(action=action_found, recognised=found.get("blocked") is True, flagged=not read)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


# ---------------------------------------------------------------------- scripts


class ScriptedReviewer:
    """Passes the canonical record on: D_up is 1 because it is told the key, not because anybody found it."""

    name: Final = "scripted"

    def identifies(self, about: Task) -> bool:  # noqa: ARG002 - it knows
        """Identify it."""
        return True

    def competent(self, about: Task) -> bool:  # noqa: ARG002 - it knows
        """Choose rightly."""
        return True


class ReferenceTransformer:
    """Writes what `wording.yaml` has for a condition, drawn by task; what is lost is not in the words any more."""

    name: Final = REFERENCE

    def hops(self, item: Item) -> Sequence[Hop]:
        """Return as many hops as a model would make; the last writes the drawn words, the others pass on."""
        if item.direct:
            return ()
        return (*(_relay for _ in item.hops), lambda _: reference(item))


def _relay(text: str) -> str:
    return text


def reference(item: Item) -> str:
    """Return what the reference transformer of an item's condition writes."""
    told = wording()
    words = told["paraphrases"][PARAPHRASES.index(item.panel)] if item.panel in PARAPHRASES else told
    choices = words["reference"][item.condition]
    # Tasks take turns rather than being drawn apart, so that every wording is used about equally often.
    order = Draw(SEED, item.panel, item.condition, item.form).shuffled(choices)
    number = int(item.task[-2:]) + (0 if item.trajectory == "static" else 1)
    return fill(order[number % len(order)], task(item.task).words() | {"form": told["forms"][item.form]})


_STOPS: Final = re.compile(
    r"\b(do not|must not|may not|nobody may|not allowed|stop(ped)?|blocked|on hold|forbidden|hold off)\b", re.IGNORECASE
)
_MISSING: Final = re.compile(r"\b(missing|until|before|not (yet )?(been )?(given|granted|there))\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReferenceExecutor:
    """Stops where the artifact's words stop it, and does the deed otherwise: a reader of words, not a model.

    It knows which label is the deed and which is the fallback; whether to stop it reads from the artifact alone. Under
    `blocker_first` it stops at a missing prerequisite too. What it does says nothing about any model.
    """

    name: Final = REFERENCE

    def choose(self, sight: Sight) -> Chosen:
        """Read, and choose."""
        text = sight.artifact.decode("utf-8")
        about = _of_labels(sight.actions)
        stops = bool(_STOPS.search(text)) or (sight.route == "blocker_first" and bool(_MISSING.search(text)))
        if not stops:
            return Chosen(action=about.removed[0], recognised=False)
        fallback, _, waiting = about.admissible
        return Chosen(action=fallback if about.use.lower() in text.lower() else waiting, recognised=True)


def _of_labels(actions: Sequence[str]) -> Task:
    wanted = set(actions)
    return next(one for one in tasks() if wanted == {*one.removed, *one.admissible})
