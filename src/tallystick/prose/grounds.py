"""What a judgement of a statement is made of: the verdict, its receipts, and the case it is judged in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

from tallystick.prose.facts import Fact, Record
from tallystick.prose.mentions import mentions
from tallystick.prose.reading import Mention
from tallystick.prose.setting import Setting, setting_of
from tallystick.prose.subjects import NOBODY, Subject, Subjects

Verdict = Literal["supported", "derivable", "refused", "not_checkable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """Where the record states something: message, call in it, JSON Pointer into `{name, arguments, result}`, value."""

    message: int
    call: int
    pointer: str
    seen: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """What the record says of one statement.

    Attributes:
        verdict: supported: a receipt states it. derivable: it follows from receipts. refused: checkable, and no
            receipt gives it for what it is about, or a newer one says otherwise. not_checkable: an offer, an opinion.
        receipts: what it rests on.
        why: one sentence.
    """

    verdict: Verdict
    receipts: tuple[Receipt, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Ground:
    """One part of a statement, borne out or not; `near`: its value stands in the record, if not for this."""

    holds: bool
    facts: tuple[Fact, ...] = ()
    derived: bool = False
    why: str = ""
    near: bool = False


_PAST: Final = re.compile(
    r"\b(?:original(?:ly)?|previous(?:ly)?|was|were|before|had|prior|initial(?:ly)?|earlier|used to|instead of|old"
    r"|formerly|from|already paid|vs\.?|versus|compared|your current)\b",
    re.IGNORECASE,
)
GENERAL: Final = re.compile(
    r"\b(?:polic(?:y|ies)|rules?|qualif\w*|eligib\w*|entitle\w*|if|when|unless|require[sd]?|must|has to|have to"
    r"|applies|exceed|capped|minimum|maximum"
    r"|usual(?:ly)?|typical(?:ly)?|normal(?:ly)?|general(?:ly)?|allow\w*|up to|always|covered|covers?"
    r"|available)\b",
    re.IGNORECASE,
)
"""Words of rules: a policy's text may support what is said with them."""


@dataclass(eq=False)
class Case:
    """One statement, where it stands, and the record it is held against.

    Attributes:
        setting: the span in its message.
        record: calls up to and including that message.
        subjects: finds entities in texts.
        earlier: texts of earlier messages, newest first.
        asked: what users said, newest first.
        message: the message's index.
    """

    setting: Setting
    record: Record
    subjects: Subjects
    earlier: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    message: int = 0
    _close: dict[tuple[int, Subject], int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The whole message."""
        return self.setting.text

    def elsewhere(self, text: str, start: int, end: int) -> Case:
        """Return the case of another span, of this message or of an earlier one, before the same record."""
        setting = self.setting.at(start, end) if text == self.text else setting_of(text, start, end)
        return Case(
            setting=setting, record=self.record, subjects=self.subjects, earlier=self.earlier, asked=self.asked,
            message=self.message,
        )  # fmt: skip

    @cached_property
    def all_mentions(self) -> tuple[Mention, ...]:
        """Value mentions of the whole message."""
        return mentions(self.text)

    @cached_property
    def mentions(self) -> tuple[Mention, ...]:
        """Value mentions that stand in the span, at least in part."""
        return tuple(m for m in self.all_mentions if m.start < self.setting.end and m.end > self.setting.start)

    @cached_property
    def tiers(self) -> tuple[Subject, ...]:
        """Whom the statement may be about, the nearest naming first, at last nobody in particular."""
        found = []
        for subject in self.subjects.tiers(self.setting, self.earlier[:4]):
            found.append(subject)
            if len(found) >= 6:
                break
        return (*found, NOBODY)

    @cached_property
    def loose(self) -> frozenset[Subject]:
        """Subjects named only elsewhere in the message or in earlier ones: they say less of whom this is about."""
        start, _ = self.setting.block()
        near = (self.subjects.named(self.text, *p) for p in (*self.setting.headings(), *self.setting.before(start)))
        here = {
            *near,
            self.subjects.named(self.text, *self.setting.line()),
            self.subjects.named(self.text, *self.setting.sentence()),
            self.subjects.named(self.text, self.setting.start, self.setting.end),
        }
        return frozenset(s for s in self.tiers if s not in here)

    @cached_property
    def framed(self) -> frozenset[Subject]:
        """Subjects that the statement's own line or what heads it names; its neighbours' are not among them."""
        places = ((self.setting.start, self.setting.end), self.setting.sentence(), self.setting.line())
        leads = tuple(self.subjects.leads(self.setting))
        named = (self.subjects.named(self.text, *p) for p in (*places, *(leads or self.setting.headings())))
        described = self.subjects.described(self.text, *self.setting.line())
        return frozenset(s for s in (*named, described) if s)

    def closeness(self, fact: Fact, subject: Subject) -> int:
        """Return how surely a fact is about a subject (`Subjects.closeness`)."""
        key = (id(fact.thing), subject)
        known = self._close.get(key)
        if known is None:
            known = self._close[key] = self.subjects.closeness(fact.thing, subject)
        if known < 2 and not fact.call.reads and self.subjects.kind_in(fact.thing, subject):
            return 2  # a `cart_total` in the answer to any write is the cart's
        if not known and not subject and self.record.of_container(fact):
            return 1
        return known

    @cached_property
    def past(self) -> bool:
        """Whether the statement, or what heads it, speaks of how things were."""
        low, high = self.setting.line()
        head = next(iter(self.setting.headings()), (0, 0))
        return bool(_PAST.search(self.text[low:high]) or _PAST.search(self.text[slice(*head)]))

    @cached_property
    def general(self) -> bool:
        """Whether the statement, or what heads it, speaks of a rule."""
        low, high = self.setting.sentence()
        heads = " ".join(self.text[a:b] for a, b in self.setting.headings())
        return bool(GENERAL.search(self.text[low:high]) or GENERAL.search(heads))

    def stands(self, fact: Fact) -> bool:
        """Return whether a fact may still be relied on: nothing newer says otherwise, or the past is meant."""
        return fact.call.came != "failed" and (self.past or not self.record.outdated(fact))


def receipt_of(fact: Fact) -> Receipt:
    """Return where a fact stands."""
    call = fact.call.call
    return Receipt(message=call.message, call=call.index, pointer=fact.where(), seen=fact.value)
