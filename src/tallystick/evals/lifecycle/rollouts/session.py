"""One session: an agent, a scripted user and a stop policy over the environment, until something ends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

import msgspec

from tallystick.evals.lifecycle.rollouts.environment import Environment, Taken
from tallystick.evals.lifecycle.suite import protocol
from tallystick.evals.lifecycle.suite.asking import CONTEXT_FULL
from tallystick.evals.lifecycle.suite.kept import Raw
from tallystick.evals.lifecycle.suite.scenario import Language, Scenario
from tallystick.evals.lifecycle.suite.trace import compact, tools
from tallystick.gates.stage import Stage
from tallystick.gates.stop_policies import Moment, Ruling, RuntimeOwned, StopPolicy
from tallystick.progress import parse_report

Outcome = Literal["task_ok", "dead_end", "premature_stop", "stall", "turn_cap", "transport"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("task_ok", "dead_end", "premature_stop", "stall", "turn_cap", "transport")
TURN_CAP: Final = 12
"""Agent turns in one session; *ours*."""
End = Literal["stop", "dead_end", "give_up", "user_silent", "turn_cap", "transport"]


class Turned(msgspec.Struct, frozen=True, kw_only=True):
    """One agent turn: what the policy saw of it, and what it ruled."""

    called: bool
    tool_event: bool
    reported: bool
    value: str | None
    stage: Stage
    user_has_more: bool
    re_prompted: int
    ruling: str

    def moment(self) -> Moment:
        """Return what the policy saw."""
        told = msgspec.structs.asdict(self)
        told.pop("ruling")
        return Moment(**told)


class Dispatched(msgspec.Struct, frozen=True, kw_only=True):
    """One call as it reached the environment, and the raw result."""

    tool: str
    raw: str
    result: str


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One session as it is kept.

    Attributes:
        scenario, language, policy, repetition, deployment: which session it is.
        end: what ended it.
        outcome: exactly one of `OUTCOMES`; finished state comes before whatever ended the session.
        turns: agent turns.
        calls: what was dispatched, in order.
        store: the environment's record at the end.
        supplied: the user had said what was missing.
        texts: raw assistant texts.
        failure: why no reply came, where that ended it.
    """

    scenario: str
    language: Language
    policy: str
    repetition: int
    deployment: str
    end: End
    outcome: Outcome
    turns: tuple[Turned, ...]
    calls: tuple[Dispatched, ...]
    store: tuple[Taken, ...]
    supplied: bool
    texts: tuple[str, ...]
    failure: str = ""


class Agent(Protocol):
    """Whoever is rolled out."""

    @property
    def name(self) -> str:
        """What it is called; scripted ones say so."""

    def open(self, scenario: Scenario, language: Language, policy: StopPolicy, repetition: int) -> Turner:
        """Return what answers the turns of one session."""


Turner = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], Raw]
"""From messages and declared tools to a reply."""


def system_prompt(scenario: Scenario, language: Language, policy: StopPolicy) -> str:
    """Return the system prompt. Only a policy that reads reports tells the agent to make them."""
    parts = [protocol.head(scenario, language)]
    if policy.needs_reports:
        parts.append(protocol.duty_text("stage", language, "xml"))
    return "\n".join(parts)


def user_turns(scenario: Scenario, language: Language) -> tuple[str, ...]:
    """Return what the user has to add, in order: what was missing, then go ahead, with defaults for the rest."""
    words = scenario.words(language)
    return words.answer, f"{words.go}{'' if language == 'zh' else ' '}{protocol.wording(language).authorised}"


def play(
    scenario: Scenario,
    language: Language,
    policy: StopPolicy,
    agent: Agent,
    repetition: int = 0,
    *,
    turn_cap: int = TURN_CAP,
) -> Session:
    """Play one session to its end."""
    world = Environment(scenario, language, f"{agent.name}/{policy.name}/{scenario.id}/{repetition}")
    ask = agent.open(scenario, language, policy, repetition)
    more = list(user_turns(scenario, language))
    declared = tools(scenario, language)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": system_prompt(scenario, language, policy)},
        {"role": "user", "content": scenario.words(language).request},
    ]
    turns: list[Turned] = []
    calls: list[Dispatched] = []
    texts: list[str] = []
    re_prompted, failure = 0, ""
    end: End = "turn_cap"
    for _ in range(turn_cap):
        reply = ask(messages, declared)
        if reply.failure:
            # A conversation grown too long is a bound like the turn cap, and nobody's connection.
            end, failure = "turn_cap" if reply.failure == CONTEXT_FULL else "transport", reply.failure
            break
        texts.append(reply.text)
        messages.append(_assistant(reply, len(calls)))
        for number, call in enumerate(reply.calls, len(calls)):
            result = compact(world.call(call.tool, call.raw))
            calls.append(Dispatched(tool=call.tool, raw=call.raw, result=result))
            messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": result})
        re_prompted = 0 if reply.calls else re_prompted
        report = parse_report(reply.text, "xml")
        moment = Moment(
            called=bool(reply.calls), tool_event=world.tool_event, reported=report.present, value=report.value,
            stage=world.stage(), user_has_more=bool(more), re_prompted=re_prompted,
        )  # fmt: skip
        ruling = policy.decide(moment)
        turns.append(_turned(moment, ruling))
        if ruling in _ENDS:
            end = _ENDS[ruling]
            break
        if ruling == "re_prompt":
            re_prompted += 1
            messages.append({"role": "user", "content": _continue(policy, language)})
        elif ruling == "hand_over":
            if not more:
                end = "user_silent"
                break
            messages.append({"role": "user", "content": more.pop(0)})
            world.supplied = True  # the first thing the user adds is what was missing
    return Session(
        scenario=scenario.id,
        language=language,
        policy=policy.name,
        repetition=repetition,
        deployment=agent.name,
        end=end,
        outcome="task_ok" if world.finished else _UNFINISHED[end],
        turns=tuple(turns),
        calls=tuple(calls),
        store=tuple(world.store),
        supplied=world.supplied,
        texts=tuple(texts),
        failure=failure,
    )


_ENDS: Final[Mapping[Ruling, End]] = {"stop": "stop", "dead_end": "dead_end", "give_up": "give_up"}
_UNFINISHED: Final[Mapping[End, Outcome]] = {
    "stop": "premature_stop", "dead_end": "dead_end", "give_up": "stall", "user_silent": "stall",
    "turn_cap": "turn_cap", "transport": "transport",
}  # fmt: skip
"""What a session that did not finish its task is, by what ended it."""


def _turned(moment: Moment, ruling: str) -> Turned:
    return Turned(
        called=moment.called, tool_event=moment.tool_event, reported=moment.reported, value=moment.value,
        stage=moment.stage, user_has_more=moment.user_has_more, re_prompted=moment.re_prompted, ruling=ruling,
    )  # fmt: skip


def _assistant(reply: Raw, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": c.tool, "arguments": _echo(c.raw)}}
            for n, c in enumerate(reply.calls, number)
        ]
    elif not reply.text:
        message["content"] = ""
    return message


def _echo(raw: str) -> str:
    """Arguments as they go back in the history: some servers fail on a history with broken ones."""
    try:
        return raw if isinstance(msgspec.json.decode(raw), dict) else "{}"
    except msgspec.DecodeError:
        return "{}"


def _continue(policy: StopPolicy, language: Language) -> str:
    words = protocol.wording(language)
    return words.matched if isinstance(policy, RuntimeOwned) and policy.matched else words.unmatched
