"""The validating environment: a typed store per scenario, and tools that are dispatched for real.

Step one needs every declared field, non-empty, the one the user had to supply matched against the scenario's pattern.
Step two needs the id that step one minted, verbatim. Opaque ids no agent can know come from the session's context.
Success is read from the store, never from what anybody says. Source: unreliable-progress-bar, appendix X.
*Ours*: arguments a tool does not declare are rejected; a step repeated is answered with what it already recorded.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from tallystick.evals.lifecycle.oracle import State, oracle
from tallystick.evals.lifecycle.suite.protocol import wording
from tallystick.evals.lifecycle.suite.scenario import Language, Scenario, Step
from tallystick.gates.stage import Stage


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """A step as the store records it.

    Attributes:
        tool: that took it.
        args: its arguments.
        minted: the id it made, "" for none.
        context: ids resolved from the session, not from the agent.
    """

    tool: str
    args: dict[str, str]
    minted: str = ""
    context: dict[str, str] = {}


class Environment:
    """One session's world.

    Attributes:
        store: the steps that took effect, in order. Only `call` adds to it.
        tool_event: a tool has returned.
        supplied: the user has said what was missing; the host sets it when that turn is delivered.
    """

    def __init__(self, scenario: Scenario, language: Language, session: str) -> None:
        self._scenario = scenario
        self._language = language
        self._session = session
        self.store: list[Taken] = []
        self.tool_event = False
        self.supplied = False

    @property
    def finished(self) -> bool:
        """Whether both steps executed validly."""
        return len(self.store) == len(self._scenario.steps)

    def stage(self) -> Stage:
        """Return the stage that the record implies, by the oracle of the suite."""
        left = self._scenario.steps[len(self.store) :]
        asked = tuple(s.asked for s in left if s.asked and not self.supplied)
        return oracle(
            State(tool_event=self.tool_event, next="speak", missing=asked, effects=len(self.store), remaining=len(left))
        ).stage

    def call(self, tool: str, raw: str) -> dict[str, Any]:
        """Dispatch a call and return its result."""
        self.tool_event = True
        number = next((n for n, s in enumerate(self._scenario.steps) if s.tool == tool), None)
        if number is None:
            return _rejected("unknown_tool", tool=tool[:80])
        step = self._scenario.steps[number]
        args = _arguments(raw)
        if args is None:
            return _rejected("arguments_not_an_object")
        odd = sorted(set(args) - set(step.fields))
        if odd:
            return _rejected("unexpected", unexpected=[name[:80] for name in odd])
        if number < len(self.store):
            return self._done(number, again=True)
        if number > len(self.store):
            return _rejected("step_before_missing", unknown=[step.takes])
        problem = self._problem(step, args)
        if problem is not None:
            return problem
        self.store.append(Taken(tool=tool, args=args, minted=self._mint(step), context=dict(self._scenario.session)))
        return self._done(number)

    def _problem(self, step: Step, args: dict[str, str]) -> dict[str, Any] | None:
        if step.takes:
            # The id must be the one that was minted, verbatim; what else step two declares may be left to defaults.
            wrong = args.get(step.takes, "") != self.store[-1].minted
            return _rejected("unknown_id", unknown=[step.takes]) if wrong else None
        words = self._scenario.words(self._language)
        missing = [f for f in step.fields if not args.get(f, "").strip()]
        if missing:
            label = words.tools[step.tool].fields[missing[0]]
            return {**_rejected("missing", missing=missing), "note": wording(self._language).missing.format(label)}
        if step.asked and not words.accepted(args[step.asked]):
            return _rejected("invalid", invalid=[step.asked])
        return None

    def _done(self, number: int, *, again: bool = False) -> dict[str, Any]:
        step, taken = self._scenario.steps[number], self.store[number]
        minted = {step.mints: taken.minted} if step.mints else {}
        told = {"status": "ok", **minted, "note": self._scenario.words(self._language).notes[number]}
        return {**told, "already": True} if again else told

    def _mint(self, step: Step) -> str:
        """Return an id that is this session's own, so that the one in the scripted histories is no use here."""
        if not step.mints:
            return ""
        drawn = hashlib.sha256(f"{self._session}/{step.tool}".encode()).hexdigest()
        return f"{step.minted.split('-')[0]}-{int(drawn[:8], 16) % 900_000 + 100_000}"


def _arguments(raw: str) -> dict[str, str] | None:
    """Return arguments as text by name; whole numbers are taken as they are written. None where they are no object."""
    try:
        found = json.loads(raw or "{}", parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return {name: value if isinstance(value, str) else "" for name, value in found.items()}


def _rejected(why: str, **told: Any) -> dict[str, Any]:
    return {"status": "rejected", "reason": why, **told}
