"""Scripted agents for rollouts: they know the script and keep to a stated way of working. Called `scripted:`.

`direct` executes as soon as it is told to; `talkative` speaks between all steps; `unmarked` is `direct` without
reports. The others are wrong or hostile in one stated way each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.lifecycle.rollouts.session import Turner
from tallystick.evals.lifecycle.suite import protocol
from tallystick.evals.lifecycle.suite.kept import Called, Raw
from tallystick.evals.lifecycle.suite.scenario import Language, Scenario
from tallystick.evals.lifecycle.suite.trace import compact
from tallystick.gates.stage import Stage
from tallystick.gates.stop_policies import StopPolicy

Messages = Sequence[Mapping[str, Any]]
EVERY_MARKER: Final = "\n".join(protocol.marker(s.value, "xml") for s in Stage)


@dataclass(frozen=True, kw_only=True)
class _View:
    """What an agent makes of the messages so far: the same that a model could."""

    scenario: Scenario
    language: Language
    messages: Messages

    @property
    def user_turns(self) -> int:
        return sum(m["role"] == "user" for m in self.messages)

    @property
    def ids(self) -> dict[str, str]:
        """Ids that results have told, by name."""
        found: dict[str, str] = {}
        for message in self.messages:
            if message["role"] == "tool":
                told = json.loads(message["content"])
                found |= {s.mints: told[s.mints] for s in self.scenario.steps if s.mints in told}
        return found

    @property
    def done(self) -> int:
        """Steps whose results said ok, each once."""
        return len({m["content"] for m in self.messages if m["role"] == "tool" and '"status": "ok"' in m["content"]})

    @property
    def turns(self) -> int:
        return sum(m["role"] == "assistant" for m in self.messages)

    def call(self, step: int, **changed: str) -> Called:
        words, its = self.scenario.words(self.language), self.scenario.steps[step]
        args = {f: self.ids.get(f, "") if f == its.takes else words.values[f] for f in its.fields} | changed
        return Called(tool=its.tool, raw=compact({k: v for k, v in args.items() if v or k == its.takes}))


Says = tuple[str, tuple[Called, ...], Stage | None]
"""Text, calls, and the stage the agent reports if it is one that reports."""


def _direct(view: _View) -> Says:
    """Ask by a first attempt, confirm once, then execute every step in one go."""
    words, steps = view.scenario.words(view.language), len(view.scenario.steps)
    if view.done >= steps:
        return words.finish, (), Stage.COMPLETED
    if view.turns == 0:
        return "", (view.call(0, **{view.scenario.steps[0].asked: ""}),), None
    if view.user_turns == 1:
        return words.ask, (), Stage.NEEDS_INFO
    if view.user_turns == 2:
        return words.confirm, (), Stage.READY
    return "", (view.call(view.done),), None


def _talkative(view: _View) -> Says:
    """As `direct`, but it stops to speak after each step, whatever the user allowed."""
    if view.done and view.done < len(view.scenario.steps) and view.messages[-1]["role"] == "tool":
        return view.scenario.words(view.language).report, (), Stage.POST_OBS
    return _direct(view)


def _early(view: _View) -> Says:
    """Claims completion as soon as the first step is done."""
    if view.done:
        return view.scenario.words(view.language).finish, (), Stage.COMPLETED
    return _direct(view)


def _wrong_id(view: _View) -> Says:
    """Changes the id that step one minted."""
    if view.done and view.done < len(view.scenario.steps):
        step = view.scenario.steps[view.done]
        return "", (view.call(view.done, **{step.takes: view.ids.get(step.takes, "X") + "0"}),), None
    return _direct(view)


def _loops(view: _View) -> Says:
    """Makes the same rejected call for ever."""
    return "", (view.call(0, **{view.scenario.steps[0].asked: ""}),), None


def _claims(view: _View) -> Says:
    """Makes one call that cannot work, and from then on says at every turn that all is done."""
    if view.turns == 0:
        return _loops(view)
    return view.scenario.words(view.language).finish, (), Stage.COMPLETED


WAYS: Final[Mapping[str, Callable[[_View], Says]]] = {
    "direct": _direct, "talkative": _talkative, "unmarked": _direct, "early": _early, "wrong_id": _wrong_id,
    "loops": _loops, "claims": _claims, "every_marker": _direct, "every_marker_idle": _claims,
    "marker_in_turn": _direct, "marker_in_turn_idle": _claims, "drops": _direct,
}  # fmt: skip
"""What each scripted agent does. `every_marker` puts all four markers into every turn, calls included;
`marker_in_turn` another one each turn; `_idle` forms do so without working. `drops` loses its connection at turn 2."""
ADVERSARIAL: Final = ("early", "claims", "every_marker", "every_marker_idle", "marker_in_turn", "marker_in_turn_idle")


@dataclass(frozen=True, kw_only=True)
class ScriptedAgent:
    """A scripted agent of rollouts."""

    way: str

    @property
    def name(self) -> str:
        """`scripted:WAY`."""
        return f"scripted:{self.way}"

    def open(self, scenario: Scenario, language: Language, policy: StopPolicy, repetition: int) -> Turner:
        """Return what answers the turns of one session."""

        def turn(messages: Messages, _: Sequence[Mapping[str, Any]]) -> Raw:
            view = _View(scenario=scenario, language=language, messages=messages)
            text, calls, stage = WAYS[self.way](view)
            failure = "scripted" if self.way == "drops" and view.turns == 2 else ""
            return Raw(
                stimulus="", digest="", repetition=repetition, deployment=self.name, failure=failure, calls=calls,
                text=self._marked(text, stage, view.turns, reports=bool(policy.needs_reports)),
            )  # fmt: skip

        return turn

    def _marked(self, text: str, stage: Stage | None, turn: int, *, reports: bool) -> str:
        """Text with its report: the honest where reports were asked for, the adversarial whatever was asked for."""
        if self.way.startswith("every_marker"):
            return f"{text}\n{EVERY_MARKER}"
        if self.way.startswith("marker_in_turn"):
            return f"{text}\n{protocol.marker(tuple(Stage)[turn % len(Stage)].value, 'xml')}"
        if self.way == "claims" and stage is not None:
            return f"{text}\n{protocol.marker(stage.value, 'xml')}"
        if self.way == "unmarked" or stage is None or not reports:
            return text
        return f"{text}\n{protocol.marker(stage.value, 'xml')}"


def scripted_agent(name: str) -> ScriptedAgent:
    """Return the agent that `scripted:WAY` names.

    Raises:
        InputError: there is none.
    """
    _, _, way = name.partition(":")
    way = way or "direct"
    if way not in WAYS:
        raise InputError(f"there is no scripted agent `{way[:80]}`", where="--model", fix=f"one of: {', '.join(WAYS)}")
    return ScriptedAgent(way=way)
