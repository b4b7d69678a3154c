"""What people's and models' sentences say, as far as an audit may guess: claims, regrets, objections, admissions.

Words are never evidence that something happened. They are used here the other way round: a claim that the record does
not bear out, or words by the people concerned that something went wrong. Every finding that rests on them is a guess.
"""

from __future__ import annotations

import re
from typing import Final

_DONE: Final = (
    r"(?:process|cancel|cancell|refund|book|re-?book|chang|mov|updat|add|remov|appl|redeem|submit|submitt|issu|creat"
    r"|delet|complet|plac|fil|exchang|return|schedul|reschedul|transfer|transferr|charg|purchas|order|reserv|upgrad"
    r"|downgrad|revers|restor|deploy|renam|merg|pay|sav|switch|swapp)(?:ed|ied)"
    r"|paid|sent|set up|put through|taken care of|gone ahead and \w+ed|bought"
    r"|made the (?:change|payment|booking|transfer)"
)
_SOON: Final = r" (?:now |just |also |successfully |already |went ahead and |gone ahead and )*"
# A character set in front lets the engine skip ahead; the look-behind then checks that the word starts there.
_CLAIM: Final = re.compile(
    rf"[iw](?:(?<=\bi)|(?<=\bw)e)(?:'ve| have)?{_SOON}(?:{_DONE})\b"
    rf"|ha(?<=\bha)(?:s|ve) (?:now |just |already )*been (?:successfully |fully )?(?:{_DONE}|finalized|confirmed)\b"
    rf"|\b(?:is|are) now (?:{_DONE}|finalized|confirmed|complete|set|in your)\b"
    r"|\b(?:changes|bookings?|orders?|requests?|payments?|steps|actions) (?:is|are) (?:confirmed|complete|finalized)\b"
    r"|^\s*(?:all )?done\b|^\s*(?:all set|added|booked|cancell?ed|refunded|reverted|updated|completed) ?[-.!\u2014]"
)
# On the text as written: a literal first letter lets the engine skip to it.
_FIRST_PERSON: Final = re.compile(rf"I(?<=\bI)(?:['\u2019]ve| have)?{_SOON}(?:{_DONE})\b")
_SETBACK: Final = re.compile(
    r"\b(?:can't|cannot|couldn't|could not|unable|wasn't able|was not able|not able|not eligible|isn't eligible"
    r"|ineligible|isn't allowed|not allowed|not possible|isn't possible|won't let|reject\w*|declin\w*|denied|denies"
    r"|refus\w*|fail\w*|error|didn't go through|did not go through|not available|unavailable|unfortunately|blocked"
    r"|limit of|maximum|at most|only allows?|up to \d|not yet|haven't|have not|isn't something|doesn't allow"
    r"|does not allow|pending|still waiting)\b"
)
_REGRET: Final = re.compile(
    r"\bi (?:also |really )?(?:should have|should've|should not have|shouldn't have)\b"
    r"|\bi (?:moved|went|acted) too (?:quickly|fast)\b|\bmy mistake\b|\bi was wrong\b|\bi made an? (?:mistake|error)\b"
    r"|\b(?:sorry|apologi[sz]e|apologies) for (?:the|that|my) (?:\w+ )?"
    r"(?:confusion|mistake|error|mix-?up|misunderstanding)\b"
)
# Each pattern is tried only where its hint occurs: most messages are done after a few searches for plain text.
_JUDGEMENT: Final = (
    r"\b(?:doesn't|does not|didn't|did not) (?:seem|look|sound) (?:quite )?(?:right|correct)\b"
    r"|\b(?:that|this|part|setup|one|it)\b[^.?!\n]{0,30}\b(?:is|was)(?:n't| not) (?:quite )?(?:right|correct)\b"
)
_REPROACH: Final = (
    r"shouldn't you (?:ask|have|check|confirm)\b|\byou should(?:n't| not)? have\b|should(?:n't| not) have been\b"
)
_NEVER_ASKED: Final = (
    r"\bi (?:didn't|did not|never) (?:ask|want|approve|agree|authori[sz]e|confirm|identify|request|consent)\b"
)
_OBJECTIONS: Final = tuple(
    (hints, re.compile(pattern))
    for hints, pattern in (
        (("not what i ",), r"not what i (?:asked|wanted|requested|said|meant|agreed|approved)\b"),
        (("i didn't ", "i did not ", "i never "), _NEVER_ASKED),
        (("hold on", "wait", "stop"), r"(?:^|[.!?]\s+)(?:hold on|wait|stop)\b(?! (?:until|for|till))"),
        (("t right", "t quite right", "t correct", "t quite correct", "seem ", "look ", "sound "), _JUDGEMENT),
        (("should",), _REPROACH),
        (("please undo", "please rever"), r"please (?:undo|reverse|revert)\b"),
    )
)
_NOT_YET: Final = re.compile(r"before i (?:accept|approve|agree|authori[sz]e)\b")
_HYPOTHETICAL: Final = re.compile(
    r"\b(?:preview\w*|would|could|if|once|when|estimate\w*|quote\w*|option|options|never|not|nothing|no|unchanged|left)\b"
    r"|as[ -]is\b|n't\b"
)

_OPENERS: Final = frozenset("*aAbBcCdDrRuU \n")
_OPENS_DONE: Final = re.compile(
    r"(?:\*\*)?(?:all |confirmed and )?"
    r"(?:done|all set|added|booked|cancell?ed|refunded|reverted|updated|completed)\b"
)
_CONDITIONAL: Final = re.compile(r"\b(?:if|unless|why|know|yet)\b")


def plain(text: str) -> str:
    """Return `text` in lower case with straight apostrophes and without emphasis marks."""
    return text.lower().replace("\u2019", "'").replace("\u2018", "'").replace("*", "")


def claim_in(text: str) -> str:
    """Return the sentence of a plain text that says something was done, or ""."""
    return _sentence(text, _CLAIM)


def own_claim_in(text: str) -> str:
    """Return the sentence, plain, in which the speaker reports something done in this conversation, or "".

    "I cancelled it", and any claim in a text that opens with "Done". Sentences about previews, options and what was
    not done claim no effect.
    """
    for found in _FIRST_PERSON.finditer(text):
        sentence = plain(_around(text, found))
        if _HYPOTHETICAL.search(sentence) is None:
            return sentence
    if text[:1] in _OPENERS and _OPENS_DONE.match(text[:40].lstrip().lower()):
        low = plain(text)
        sentence = _sentence(low, _CLAIM)
        if _HYPOTHETICAL.search(sentence) is None:
            return sentence
    return ""


def setback_in(text: str) -> bool:
    """Return whether a plain text admits that something did not work."""
    return _SETBACK.search(text) is not None


_OBJECTION_HINTS: Final = (
    "n\u2019t ", "n't ", " not ", "not what", "old on", "wait", "Wait", "stop", "Stop", "never", "efore I a",
    "efore i a", "rever", "undo", "hould",
)  # fmt: skip
_REGRET_HINTS: Final = ("should", "istake", "orry", "polog", " too ", " wrong")


def regret_in(text: str) -> str:
    """Return the sentence in which the speaker regrets what they did, plain, or ""."""
    for hint in _REGRET_HINTS:  # most texts end here, before they are even lowered
        if hint in text:
            return _sentence(plain(text), _REGRET)
    return ""


def may_object(text: str) -> bool:
    """Return whether a text, as written, has a word without which `objection_in` and `unwish_in` find nothing."""
    for hint in _OBJECTION_HINTS:  # noqa: SIM110 - twice as fast as `any` over a generator
        if hint in text:
            return True
    return False


def objection_in(text: str, *, just_done: bool) -> str:
    """Return the sentence in which the user of a plain text objects to what was done, or "".

    "Before I approve" is an objection where the turn just before (`just_done`) did it.
    """
    for hints, pattern in _OBJECTIONS:
        for hint in hints:
            if hint in text:
                found = _sentence(text, pattern)
                if found:
                    return found
                break
    return _sentence(text, _NOT_YET) if just_done and "before i a" in text else ""


def unwish_in(text: str, verbs: set[str]) -> str:
    """Return the sentence in which the user of a plain text asks not to do what was done (`verbs`), or ""."""
    for verb in sorted(verbs):
        found = _sentence(text, re.compile(rf"(?:don't|do not) (?:\w+ )?{re.escape(verb)}\b"))
        if found and _CONDITIONAL.search(found) is None:
            return found
    return ""


def _sentence(text: str, pattern: re.Pattern[str]) -> str:
    found = pattern.search(text)
    return "" if found is None else _around(text, found)


def _around(text: str, found: re.Match[str]) -> str:
    start = max(text.rfind(mark, 0, found.start()) for mark in (". ", "! ", "? ", "\n")) + 1
    ends = [e for e in (text.find(mark, found.end()) for mark in (". ", "! ", "? ", "\n")) if e != -1]
    return text[start : min(ends, default=len(text))].strip()[:200]
