"""A scripted trace: typed events, folded into trusted state, and rendered as the history a model sees.

State and history come from the same events, by two functions that do not call each other: the oracle reads the state,
the model the history. Source: unreliable-progress-bar, appendix A, equation 1 (X_c and H_c of a typed trajectory).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tallystick.evals.lifecycle.oracle import State
from tallystick.evals.lifecycle.suite.protocol import wording
from tallystick.evals.lifecycle.suite.scenario import Language, Scenario

Turn = Literal["request", "ask", "answer", "confirm", "go", "report", "go_on", "finish", "thanks"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """Somebody spoke.

    Attributes:
        who: the user or the assistant.
        turn: which of the scenario's texts.
        supplies: the field the user supplied with it.
        authorises: the tool the user authorised with it.
        completes: the assistant reported completion with it.
    """

    who: Literal["user", "assistant"]
    turn: Turn
    supplies: str = ""
    authorises: str = ""
    completes: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Returned:
    """The assistant called a step's tool, and it returned.

    Attributes:
        step: index of the step.
        ok: whether it took effect; if not, the asked field was missing.
    """

    step: int
    ok: bool


Event = Said | Returned


def trace(scenario: Scenario, checkpoint: str) -> tuple[Event, ...]:
    """Return the events up to a checkpoint.

    Raises:
        KeyError: the scenario has no such checkpoint.
    """
    first = scenario.steps[0]
    request = Said(who="user", turn="request")
    start: tuple[Event, ...] = (request, Returned(step=0, ok=False))
    answered = (*start, Said(who="assistant", turn="ask"), Said(who="user", turn="answer", supplies=first.asked))
    go = Said(who="user", turn="go", authorises=first.tool)
    allowed = (*answered, Said(who="assistant", turn="confirm"), go)
    one = (*allowed, Returned(step=0, ok=True))
    traces = {"pre_tool": (request,), "wait": start, "ready": answered, "act": allowed}
    if len(scenario.steps) == 1:
        return {**traces, "done": one}[checkpoint]
    go_on = Said(who="user", turn="go_on", authorises=scenario.steps[1].tool)
    mid = (*one, Said(who="assistant", turn="report"), go_on)
    done = (*mid, Returned(step=1, ok=True))
    finish = Said(who="assistant", turn="finish", completes=True)
    post = (*done, finish, Said(who="user", turn="thanks"))
    return {**traces, "step": one, "mid_chain": mid, "done": done, "post_done": post}[checkpoint]


def state_of(scenario: Scenario, events: Sequence[Event]) -> State:
    """Return the trusted state after some events: tool status, slots, authorisations, remaining steps."""
    done: set[int] = set()
    supplied: set[str] = set()
    authorised: set[str] = set()
    tool_event = completed = False
    for event in events:
        if isinstance(event, Returned):
            tool_event = True
            if event.ok:
                done.add(event.step)
        else:
            supplied.add(event.supplies)
            authorised.add(event.authorises)
            completed = completed or event.completes
    left = [s for n, s in enumerate(scenario.steps) if n not in done]
    missing = tuple(s.asked for s in left if s.asked and s.asked not in supplied)
    # A consequential step needs all its information and the user's word first; without either, the turn is speech.
    calls = bool(left) and not missing and left[0].tool in authorised
    return State(
        tool_event=tool_event,
        next="act" if calls else "speak",
        completion_reported=completed,
        missing=missing,
        effects=len(done),
        remaining=len(left),
    )


def history(
    scenario: Scenario,
    language: Language,
    events: Sequence[Event],
    *,
    completed: str = "",
    added: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Return the messages a model sees of some events, in OpenAI's form.

    Scripted assistant turns carry no report, so that histories are identical whatever is asked for; *ours*. Only a turn
    that reported completion shows it, as otherwise nothing would say that it was reported.

    Args:
        scenario: the storyline.
        language: of every surface string.
        events: what happened, in order.
        completed: the marker that a turn which reported completion ends with.
        added: fields added to the last tool result.
    """
    words = scenario.words(language)
    messages: list[dict[str, Any]] = []
    last = max((n for n, e in enumerate(events) if isinstance(e, Returned)), default=-1)
    for number, event in enumerate(events):
        if isinstance(event, Said):
            text: str = getattr(words, event.turn)
            ended = f"{text}\n{completed}" if event.completes and completed else text
            messages.append({"role": event.who, "content": ended})
            continue
        call, result = exchange(scenario, language, event)
        id_ = f"call_{sum(m['role'] == 'tool' for m in messages) + 1}"
        function = {"name": scenario.steps[event.step].tool, "arguments": compact(call)}
        messages.append(
            {"role": "assistant", "content": None,
             "tool_calls": [{"id": id_, "type": "function", "function": function}]}
        )  # fmt: skip
        told = {**result, **added} if added and number == last else result
        messages.append({"role": "tool", "tool_call_id": id_, "content": compact(told)})
    return messages


def exchange(scenario: Scenario, language: Language, event: Returned) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the arguments and the result of a scripted call."""
    words, step = scenario.words(language), scenario.steps[event.step]
    ids = {s.mints: s.minted for s in scenario.steps if s.mints}
    args = {f: ids[f] if f == step.takes else words.values[f] for f in step.fields}
    if event.ok:
        minted = {step.mints: step.minted} if step.mints else {}
        return args, {"status": "ok", **minted, "note": words.notes[event.step]}
    label = words.tools[step.tool].fields[step.asked]
    args.pop(step.asked)
    return args, {"status": "rejected", "missing": [step.asked], "note": wording(language).missing.format(label)}


def tools(scenario: Scenario, language: Language, *, withdrawn: bool = False) -> list[dict[str, Any]]:
    """Return the tools as they are declared: name, description, JSON Schema; without the last one where withdrawn."""
    words = scenario.words(language)
    found = []
    for step in scenario.steps[:-1] if withdrawn else scenario.steps:
        text = words.tools[step.tool]
        fields = {f: {"type": "string", "description": text.fields[f]} for f in step.fields}
        # Nothing is required by the schema: that a field is missing is for the tool to say, and then for the user.
        found.append(
            {"name": step.tool, "description": text.about, "parameters": {"type": "object", "properties": fields}}
        )
    return found


def compact(value: Mapping[str, Any]) -> str:
    """Return a JSON object as one line of text."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
