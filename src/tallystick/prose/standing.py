"""Whether a text states a value at a place, or only speaks of it: wishes it, tries it, doubts it, takes it back.

Words alone are looked at, those before the value in its clause and those that go on about it after. Where one of them
makes the sentence anything but a plain statement, the value is not read; the agent is told, and can say it plainly. A
word by which the contract calls the slot (`estimated_total`, `amount_due`) is a name there and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

Named = Callable[[str], bool]
"""Whether a word is one of the slot's own names."""
_NEGATED: Final = r"(?:not|never|cannot|nowhere|n['\u2019]t)"
_AUX: Final = (
    r"(?:is|are|was|were|be|been|being|has|have|had|does|do|did|will|would|can|could|shall|should|gets?|got|remains?"
    r"|stays?|is still|still)"
)
_UNMADE: Final = (
    r"on hold|held|cancell?ed|reverted|undone|rolled back|withdrawn|blocked|stopped|lost|stuck|incorrect|wrong|false"
    r"|untrue|mistaken|fake|fictitious|hypothetical"
)
_UNDONE_YET: Final = (
    r"pending|outstanding|due|owed|scheduled|planned|requested|queued|awaited|postponed|processing|being processed"
    r"|to be \w+|under review|missing|incomplete"
)
_BROKEN: Final = r"(?:failed|rejected|declined|refused|reversed|bounced|a (?:lie|joke|typo|mistake))"
_UNREAL: Final = re.compile(
    r"\b(?:I|we)(?: (?:will|shall|may|might|can|want|wish|hope|think|believe|guess|suspect|assume|suppose|imagine|doubt"
    r"|expect)|['\u2019]ll)\b"
    r"|\b(?:going|about|want(?:s|ed)?|wish(?:es|ed)?|hop(?:e|es|ed|ing)|plan(?:s|ned|ning)?|intend(?:s|ed|ing)?"
    r"|tr(?:y|ies|ied|ying)|attempt(?:s|ed|ing)?|need(?:s|ed)?|ha(?:ve|s|d)|yet|ready|supposed|meant|due"
    r"|ask(?:s|ed)?(?: (?:me|us|him|her|them))?|request(?:s|ed)?(?: (?:me|us|him|her|them))?|told me|agreed?|promised?"
    r"|offer(?:s|ed)?|fail(?:s|ed)?|refused?|declined?|forgot|unable|impossible)"
    r" to (?!confirm|let|say|report|inform|tell)"
    r"|\b(?:you|they|he|she) (?:asked for|requested|wanted|demanded|expected|hoped for)\b"
    r"|\b(?:I|we)(?:['\u2019]ve| have| had)?"
    r" (?:requested|asked for|proposed|suggested|offered|promised|attempted|tried)\b"
    r"|\b(?:perhaps|maybe|possibly|probably|presumably|supposedly|allegedly|hopefully|conceivably|reportedly|pretend"
    r"|imagine|ignore|disregard|forget|false|untrue|wrong|incorrect|mistaken|lied|lying|unless|until|used to"
    r"|please(?! (?:note|be |find|see|allow|know|expect))"
    r"|formerly|previously|previous|former|original|initial|old|outdated|none of|other than|differs from|short of"
    r"|unlike|examples?|claimed|unsure|unclear|uncertain|un(?:confirmed|verified))\b",
    re.IGNORECASE,
)
_CONDITIONAL: Final = re.compile(
    r"\W*(?:provided|providing|subject to|pending|in case|as long as|on condition|assuming|imagine|pretend|suppose"
    r"|for example|for instance|example|to (?!confirm|summari|sum|recap|be clear|answer|let)|shall|want me|let me"
    r"|would you|do you)",
    re.IGNORECASE,
)
_LATER: Final = re.compile(r"\W*(?:once|when|after|as soon as|upon|until|before|if)\b", re.IGNORECASE)
_WILL: Final = re.compile(r"\b(?:will|would|can|could|may|might)\b|['\u2019]ll\b", re.IGNORECASE)
_CONTINUED: Final = re.compile(
    rf"(?:(?:[,;:(\u2014\u2013-]|\b(?:and|but|though|yet)\b)[^.!?\n,;()]{{0,20}}?)?\W*\b(?:{_AUX}\b[^.!?\n,;()]{{0,24}}?)?"
    rf"\b(?:{_NEGATED}|no|false|none)\b",
    re.IGNORECASE,
)
_OWN: Final = re.compile(
    rf"\b(?:{_NEGATED})(?![\w-])|n['\u2019]t\b|['\u2019]d\b|\b(?:would|could|might|may|if|unless|whether)\b",
    re.IGNORECASE,
)
_LEFT_OUT: Final = re.compile(
    r"\b(?:all|any(?:thing|one)?|every(?:thing|one)?|none|nothing) but[\s*_]*$"
    r"|\b(?:e\.g\.|for (?:example|instance)),?[\s*_]*$",
    re.IGNORECASE,
)
_STATE: Final = re.compile(
    rf"\b{_AUX} (?:\w+ly |still |now |already |currently |been |a |an |the )*(?P<word>{_UNMADE}|{_UNDONE_YET})\b"
    r"|\b(?:awaits?|awaiting|needs|requires|errored|timed out|fell through|bounced|went (?:wrong|missing)|yet to"
    r"|was a (?:typo|mistake|joke)|is a (?:lie|typo|mistake|joke)|instead|wrongly|falsely|used to|before, )\b",
    re.IGNORECASE,
)
_NEXT: Final = re.compile(
    rf"[\s.!*]*(?:(?:but|however|sadly|unfortunately|alas|and),? )?(?:it|this|that|which)(?:"
    rf"(?:(?: |['\u2019]){_AUX})? ?(?:{_NEGATED})\b|n['\u2019]t\b"
    rf"| (?:{_AUX} (?:\w+ )?)?(?:{_UNMADE}|{_BROKEN})\b)"
    r"|[\s.!*]*(?:just kidding|not really|not true|or not)\b",
    re.IGNORECASE,
)
_CROSS: Final = re.compile("[\u274c\u2717\u2718\u2716]")
_UNCHECKED: Final = re.compile(r"\s*(?:[-*+]\s+)?\[ ?\](?=\s)")
_ROUGH_BEFORE: Final = re.compile(
    r"\b(?P<word>estimate[sd]?|approx(?:imate(?:ly)?)?|capped at|limited to|limit|max(?:imum)?|min(?:imum)?"
    r"|at (?:least|most|best|worst))\b[^!?\n;]{0,24}$"
    r"|(?:\b(?:approx|ca|circa|est)\b[.):\s*_]*|\u00b1\s?)$",
    re.IGNORECASE,
)
_TIMES_BEFORE: Final = re.compile(
    r"(?:\b(?:twice|thrice|double|triple|quadruple|times|half|halves|thirds?|quarters?|fifths?|tenths?|parts?|fraction"
    r"|portion|some|most|another|multiples?|percent|less|minus|plus)|[0-9]\s?(?:[x\u00d7*%]|/\s?[0-9]+))"
    r"[\s*_]*(?:of\b)?[\s*_]*(?:the\b|a\b)?[\s*_]*$",
    re.IGNORECASE,
)
_ROUGH_AFTER: Final = re.compile(
    r"[\s*_]*[(,]?[\s*_]*(?:or (?:so|more|less|thereabouts)|and (?:another|more|change|counting)"
    r"|(?:plus|minus|less)(?!\W*[0-9])|at (?:least|most|best|worst)|tops|max(?:imum)?|min(?:imum)?|(?:\w+ )?times"
    r"|once more|again|more|short|monthly|weekly|daily|yearly|annually|quarterly|hourly|est(?:imate|imated)?"
    r"|approx(?:imate|imately)?|roughly|rounded|ish|worth of"
    r"|in (?:\w+ )?(?:coupons?|points|vouchers?|credits?|miles|gift cards?)(?: instead)?)\b",
    re.IGNORECASE,
)
_UNSEEN: Final = "\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
_GLUED_AFTER: Final = re.compile(rf"[\w%{_UNSEEN}]|/\s?[^\W\d]|[-\u2010-\u2015]ish\b")
_GLUED_BEFORE: Final = re.compile(rf"[\w$\u20ac\u00a3\u00a5\u00b1^{_UNSEEN}]$")


def spoken_of(text: str, clause: tuple[int, int], sentence: tuple[int, int], at: int, end: int, named: Named) -> bool:
    """Return whether the text only speaks of what stands at `at`, without stating it.

    Args:
        text: the text.
        clause: bounds of the clause it stands in.
        sentence: bounds of its sentence.
        at: where it starts.
        end: where it ends.
        named: whether a word is one of the slot's own names.
    """
    low, high = sentence
    if _said(_UNREAL, text[clause[0] : at], named) or _LEFT_OUT.search(text[max(0, at - 30) : at]):
        return True
    if _CONDITIONAL.match(text, low, at) or (_LATER.match(text, low) and _WILL.search(text, low, high)):
        return True
    if _CROSS.search(text, low, high) or _UNCHECKED.match(text, low):
        return True
    if _OWN.search(text, end, clause[1]) or _CONTINUED.match(text, end, high) or _said(_STATE, text[end:high], named):
        return True
    return _NEXT.match(text, high) is not None


def rough(text: str, clause: tuple[int, int], at: int, end: int, named: Named) -> bool:
    """Return whether the amount at `at` is said roughly, as a bound, a part, a rate or a multiple, or is not all of it.

    Args:
        text: the text.
        clause: bounds of the clause it stands in.
        at: where it starts.
        end: where it ends.
        named: whether a word is one of the slot's own names.
    """
    before = text[clause[0] : at]
    if _GLUED_AFTER.match(text, end) or _GLUED_BEFORE.search(text[max(0, at - 1) : at]):
        return True
    line = text[max(0, at - 60) : at].rpartition("\n")[2]
    if _said(_ROUGH_BEFORE, line, named) or _TIMES_BEFORE.search(before):
        return True
    return _ROUGH_AFTER.match(text, end) is not None


def _said(pattern: re.Pattern[str], text: str, named: Named) -> bool:
    return any(not any(named(word) for word in _words(found)) for found in pattern.finditer(text))


def _words(found: re.Match[str]) -> Iterator[str]:
    said = found.groupdict().get("word") or found[0]
    yield from re.findall(r"[A-Za-z]+", said)
