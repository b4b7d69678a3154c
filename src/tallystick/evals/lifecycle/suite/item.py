"""An item: the stimulus a model is given, and beside it the answer key. Nothing of the key is in the stimulus's digest.

The stimulus is put together from named parts, so that it can be told which parts an arm changes; the key comes from
the oracle alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tallystick.evals.lifecycle.oracle import oracle
from tallystick.evals.lifecycle.row import Encoding
from tallystick.evals.lifecycle.suite import protocol
from tallystick.evals.lifecycle.suite.protocol import CONSTANTS, Duty
from tallystick.evals.lifecycle.suite.scenario import Language, Scenario
from tallystick.evals.lifecycle.suite.trace import history, state_of, tools, trace
from tallystick.gates.stage import Stage
from tallystick.model.canonical import canonical, digest

Part = Literal["protocol", "hint", "reminder", "tools", "result", "thinking"]
PARTS: Final[tuple[Part, ...]] = ("protocol", "hint", "reminder", "tools", "result", "thinking")
"""What an arm may change. Role, history and everything else is the scenario's, and the same in every arm."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arm:
    """A treatment: what is asked, what is shown, and in which parts that differs from its base.

    Attributes:
        name: of the arm.
        duty: what the system prompt demands.
        hint: the true stage is stated as the last message.
        reminder: the duty is repeated as the last message.
        withdrawn: the last step's tool is not declared.
        added: fields added to the last tool result.
        thinking: on, off, or "" where the deployment's own setting is left alone.
        declares: the parts in which it may differ from the study's first arm.
        factors: levels of what is varied.
    """

    name: str
    duty: Duty = "stage"
    hint: bool = False
    reminder: bool = False
    withdrawn: bool = False
    added: Mapping[str, str] = field(default_factory=dict)
    thinking: Literal["", "on", "off"] = ""
    declares: tuple[Part, ...] = ()
    factors: Mapping[str, str] = field(default_factory=dict)


BASELINE: Final = Arm(name="baseline")


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """The answer key, from trusted state alone.

    Attributes:
        due: D, whether a report is due.
        stage: Z*, the true stage.
        mode: what the turn must be; where no report is due, `speak` or `act` all the same.
        expected: L*, what a right report says; None where none is due.
    """

    due: bool
    stage: Stage
    mode: Literal["speak", "act"]
    expected: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One frozen stimulus and its key.

    Attributes:
        id: study, scenario, checkpoint, encoding and arm, joined by slashes.
        messages: in OpenAI's form.
        tools: declared tools: name, description, parameters.
        parts: the stimulus by parts, each as JSON; `PARTS`, and `base` for what no arm may change.
    """

    id: str
    study: str
    scenario: str
    checkpoint: str
    language: Language
    encoding: Encoding
    arm: Arm
    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...]
    parts: Mapping[str, Any]
    key: Key

    @property
    def stimulus(self) -> dict[str, Any]:
        """What is put before a model, and nothing else."""
        found: dict[str, Any] = {"messages": list(self.messages), "tools": list(self.tools)}
        if self.arm.thinking:
            found["thinking"] = self.arm.thinking
        return found

    @property
    def digest(self) -> str:
        """SHA-256 of the stimulus in canonical JSON."""
        return digest(canonical(self.stimulus))

    @property
    def key_digest(self) -> str:
        """SHA-256 of the answer key in canonical JSON."""
        key = self.key
        return digest(canonical([key.due, key.stage.value, key.mode, key.expected]))


def item(
    study: str, scenario: Scenario, checkpoint: str, language: Language, encoding: Encoding, arm: Arm = BASELINE
) -> Item:
    """Render one item."""
    events = trace(scenario, checkpoint)
    key = key_of(scenario, checkpoint, arm.duty, language)
    parts: dict[str, Any] = {
        "base": [protocol.head(scenario, language), history(scenario, language, events)],
        "protocol": protocol.duty_text(arm.duty, language, encoding),
        "hint": protocol.hint(key.stage.value if key.mode == "speak" else protocol.ACTING, language)
        if arm.hint
        else "",
        "reminder": protocol.reminder(arm.duty, language) if arm.reminder else "",
        "tools": tools(scenario, language, withdrawn=arm.withdrawn),
        "result": dict(arm.added),
        "thinking": arm.thinking,
    }
    # Which marker reported completion before this checkpoint follows from what the arm asks for.
    reported = "" if arm.duty in ("none", "O1", "O2") else protocol.marker(_value(arm.duty, Stage.COMPLETED), encoding)
    seen = history(scenario, language, events, completed=reported, added=arm.added)
    system = "\n".join(text for text in (parts["base"][0], parts["protocol"]) if text)
    after = [{"role": "system", "content": parts[p]} for p in ("hint", "reminder") if parts[p]]
    return Item(
        id="/".join((study, scenario.id, checkpoint, encoding, arm.name)),
        study=study,
        scenario=scenario.id,
        checkpoint=checkpoint,
        language=language,
        encoding=encoding,
        arm=arm,
        messages=({"role": "system", "content": system}, *seen, *after),
        tools=tuple(parts["tools"]),
        parts=parts,
        key=key,
    )


def key_of(scenario: Scenario, checkpoint: str, duty: Duty = "stage", language: Language = "zh") -> Key:
    """Return the answer key of a checkpoint under a duty, from the oracle."""
    state = state_of(scenario, trace(scenario, checkpoint))
    gold = oracle(state)
    # O1 is owed at the final reply only; a duty of none is owed nowhere.
    due = gold.due and duty != "none" and (duty != "O1" or gold.stage is Stage.COMPLETED)
    expected = _expected(duty, gold.stage, language) if due else None
    return Key(due=due, stage=gold.stage, mode=state.next, expected=expected)


def _expected(duty: Duty, stage: Stage, language: Language) -> str:
    if duty == "O1":
        return protocol.SIGIL
    if duty == "O2":
        return protocol.sentence(language, finished=stage is Stage.COMPLETED)
    return _value(duty, stage)


def _value(duty: Duty, stage: Stage) -> str:
    return CONSTANTS.get(duty, stage.value)
