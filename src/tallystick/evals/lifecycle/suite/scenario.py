"""Scenarios: scripted storylines, from data files. Chinese is primary, English a rendering of it.

The source gives the counts (six scheduling, six customer support, six single-step helpdesk) and one system prompt;
every other text is ours, the language of the helpdesk scenarios included.
"""

from __future__ import annotations

import importlib.resources
import re
from functools import cache
from typing import Any, Final, Literal

import msgspec
import yaml

from tallystick.errors import InputError

Language = Literal["zh", "en"]
LANGUAGES: Final[tuple[Language, ...]] = ("zh", "en")
Domain = Literal["scheduling", "support", "helpdesk"]
DOMAINS: Final[tuple[Domain, ...]] = ("scheduling", "support", "helpdesk")


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One consequential step.

    Attributes:
        tool: the tool that takes it.
        fields: the tool's declared arguments, in order.
        asked: the one the user has to supply, "" where none is missing.
        takes: the argument that must repeat the id the step before minted, verbatim.
        mints: the name of the id the step makes, "" for none.
        minted: that id in scripted histories; the environment mints its own.
    """

    tool: str
    fields: tuple[str, ...]
    asked: str = ""
    takes: str = ""
    mints: str = ""
    minted: str = ""


class ToolText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool and its arguments are called in one language."""

    about: str
    fields: dict[str, str]


class Concepts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens of the frozen lexical task proxy: the asked field, the first step, the second."""

    field: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...] = ()


class Words(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scenario in one language.

    Attributes:
        role: who the assistant is.
        accepts: regular expression, matched anywhere and ignoring case, of what counts as having supplied the asked
            field.
        tools: texts of the tools.
        values: what scripted calls put into the fields.
        notes: what the steps' results say.
        request, answer, go, go_on, thanks: the user's turns.
        ask, confirm, report, finish: the assistant's turns, fixed script.
        concepts: tokens of the task proxy.
    """

    role: str
    accepts: str
    tools: dict[str, ToolText]
    values: dict[str, str]
    notes: tuple[str, ...]
    request: str
    ask: str
    answer: str
    confirm: str
    go: str
    finish: str
    thanks: str
    report: str = ""
    go_on: str = ""
    concepts: Concepts

    def accepted(self, value: str) -> bool:
        """Return whether `value` says what the user had to supply."""
        return re.search(self.accepts, value, re.IGNORECASE) is not None


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One scripted storyline.

    Attributes:
        id: its name, the cluster of all statistics.
        domain: scheduling, support or helpdesk.
        steps: two, in helpdesk one.
        session: opaque ids that the environment knows and no agent can; no tool asks for them.
        zh, en: its words.
    """

    id: str
    domain: Domain
    steps: tuple[Step, ...]
    zh: Words
    en: Words
    session: dict[str, str] = {}

    def words(self, language: Language) -> Words:
        """Return the scenario's words in one language."""
        return self.zh if language == "zh" else self.en


def scenarios(*domains: Domain) -> tuple[Scenario, ...]:
    """Return the scenarios of some domains, by default of the two-step ones."""
    return tuple(s for domain in domains or ("scheduling", "support") for s in _read(domain))


def scenario(name: str) -> Scenario:
    """Return one scenario.

    Raises:
        InputError: there is none of that name.
    """
    found = next((s for s in scenarios(*DOMAINS) if s.id == name), None)
    if found is None:
        raise InputError(f"there is no scenario `{name[:80]}`", fix="see `tallystick eval lifecycle --list`")
    return found


def text_of(domain: Domain) -> str:
    """Return the data file of a domain."""
    place = importlib.resources.files(__package__) / "scenarios" / f"{domain}.yaml"
    return place.read_text(encoding="utf-8")


@cache
def _read(domain: Domain) -> tuple[Scenario, ...]:
    return parse(text_of(domain))


def parse(text: str) -> tuple[Scenario, ...]:
    """Return the scenarios that a data file holds.

    Raises:
        InputError: a scenario lacks a part, or its parts do not fit together.
    """
    raw: Any = yaml.safe_load(text)
    try:
        found = msgspec.convert(raw, type=tuple[Scenario, ...])
    except msgspec.ValidationError as bad:
        raise InputError(f"not scenarios: {bad}") from None
    for one in found:
        for language in LANGUAGES:
            _check(one, one.words(language))
    return found


def _check(one: Scenario, words: Words) -> None:
    fields = {f for s in one.steps for f in s.fields}
    made = {s.takes for s in one.steps if s.takes}
    asked = [s.asked for s in one.steps if s.asked]
    whole = (
        len(asked) == 1
        and fields - made == set(words.values)
        and {s.tool: set(s.fields) for s in one.steps} == {t: set(w.fields) for t, w in words.tools.items()}
        and len(words.notes) == len(one.steps)
        and words.accepted(words.values[asked[0]])
        and words.accepted(words.answer)
        and (len(one.steps) == 1) == (not words.report)
    )
    if not whole:
        raise InputError("the parts of the scenario do not fit together", where=one.id)
