"""What is asked of a model: the system prompt, the reporting protocol in both encodings, and its variants.

The words are in `wording.yaml`, which says whose they are. Source: unreliable-progress-bar, appendix E.
"""

from __future__ import annotations

import importlib.resources
from functools import cache
from typing import Final, Literal

import msgspec
import yaml

from tallystick.evals.lifecycle.row import Encoding
from tallystick.evals.lifecycle.suite.scenario import Language, Scenario
from tallystick.gates.stage import Stage

Duty = Literal["stage", "active", "inert", "none", "O1", "O2", "O3"]
"""What the system prompt demands. O3 is `stage` under the name it has among the matched obligations."""
CONSTANTS: Final = {"active": "active", "inert": "qzx"}
"""Frozen values of the constant arms: one that means something, one that means nothing."""
ACTING: Final = "action"
"""What the hint of the gold-injected arm says where the state requires a call."""
SIGIL: Final = "<sig>done</sig>"


class Wording(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The wording in one language, as `wording.yaml` has it."""

    head: str
    tool_and: str
    one_tool: str
    two_tools: str
    marker_and: str
    stage: str
    active: str
    inert: str
    O1: str
    O2: str
    unfinished: str
    finished: str
    reminder: str
    reminded: dict[str, str]
    hint: str
    missing: str
    question: str
    continued: str
    unmatched: str
    matched: str
    authorised: str


def text_of() -> str:
    """Return the data file of the wording."""
    return (importlib.resources.files(__package__) / "wording.yaml").read_text(encoding="utf-8")


@cache
def wording(language: Language) -> Wording:
    """Return the wording in one language."""
    return msgspec.convert(yaml.safe_load(text_of())[language], type=Wording)


def marker(value: str, encoding: Encoding) -> str:
    """Return a report as the protocol wants it, on a line of its own."""
    return f"<stage>{value}</stage>" if encoding == "xml" else f'"stage": "{value}"'


def sentence(language: Language, *, finished: bool) -> str:
    """Return the status sentence of O2."""
    return wording(language).finished if finished else wording(language).unfinished


def head(scenario: Scenario, language: Language) -> str:
    """Return the system prompt's first part: role, tools, clarify and confirm."""
    words, role = wording(language), scenario.words(language).role
    names = [s.tool for s in scenario.steps]
    listed = (words.two_tools if len(names) > 1 else words.one_tool).format(words.tool_and.join(names))
    if language == "en":
        role = f"{'an' if role[0].lower() in 'aeiou' else 'a'} {role}"
    return words.head.format(role=role, tools=listed)


def duty_text(duty: Duty, language: Language, encoding: Encoding) -> str:
    """Return the protocol paragraph of a duty, "" for none."""
    if duty == "none":
        return ""
    words = wording(language)
    form: str = getattr(words, "stage" if duty == "O3" else duty)
    return form.format(
        marker=marker(CONSTANTS.get(duty, ""), encoding),
        markers=words.marker_and.join(marker(s.value, encoding) for s in Stage),
        sigil=SIGIL,
        unfinished=words.unfinished,
        finished=words.finished,
    )


def reminder(duty: Duty, language: Language) -> str:
    """Return the trailing reminder."""
    words = wording(language)
    return words.reminder.format(what=words.reminded.get(duty, words.reminded["stage"]))


def hint(value: str, language: Language) -> str:
    """Return the hint of the gold-injected arm."""
    return wording(language).hint.format(value)
