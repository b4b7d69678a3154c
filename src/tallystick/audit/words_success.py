"""Claims that one particular call succeeded, in any person and voice: "it has been cancelled", "refund complete".

`words` knows how agents speak of themselves. Here a sentence is tied to a call instead: its participle or noun must be
a form of a word of the tool's name or of an argument (`cancel_order`: cancelled, cancellation), so that "it is
cancelled" speaks of a failed cancellation and "it was delivered" does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from tallystick.audit.tools import words_of

_IRREGULAR: Final = {
    "paid": "pay", "sent": "send", "bought": "buy", "made": "make", "sold": "sell", "written": "write", "put": "put",
    "set": "set", "reset": "reset", "run": "run", "held": "hold", "withdrawn": "withdraw", "frozen": "freeze",
    "undone": "undo", "given": "give", "shut": "shut", "built": "build", "rebuilt": "build", "rebooked": "rebook",
    "taken": "take", "left": "leave", "split": "split", "overridden": "override", "resent": "resend",
}  # fmt: skip
_PARTICIPLE: Final = rf"(?P<did>[a-z][a-z-]{{2,18}}ed|{'|'.join(_IRREGULAR)})"
_ADVERBS: Final = r"(?:(?:now|just|also|already|all|successfully|fully|officially|therefore|been|being|safely) )*"
_BE: Final = r"(?:\b(?:is|are|was|were|be|been|got)|'s|'re)"
_NOUN: Final = r"(?P<noun>[a-z]{3,18}(?: [#\w-]{1,24}){0,3}?)"
"""The subject of a sentence; any of its words may be the one that ties it."""
_FINISHED: Final = (
    r"(?:complete|completed|confirmed|successful|done|finali[sz]ed|processed|gone through|in effect|in place"
    r"|taken care of|all set|live)"
)
_PATTERNS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_BE} {_ADVERBS}{_PARTICIPLE}\b",
        rf"\b(?:has|have|had|'ve|we|system|team|just) {_ADVERBS}{_PARTICIPLE}\b",
        rf"\bsuccessfully {_PARTICIPLE}\b",
        rf"(?:^|[:\u2713\u2705\u2714\u2192\u2013\u2014-] ?){_PARTICIPLE}\b",  # a label, `status: cancelled`
        rf"[a-z0-9)] {_PARTICIPLE}(?: successfully)?\s*(?:[.!]|$)",  # a headline, `order o-1 cancelled.`
        r"\b(?:was able|managed) to (?P<did>[a-z]{3,18})\b",
        rf"\b{_NOUN} (?:is|are|was|were|has|have|'s) {_ADVERBS}{_FINISHED}\b",
        rf"\b{_NOUN} (?:went through|succeeded|complete[!.]|confirmed[!.])",
        rf"\b{_NOUN} (?:is|are) on (?:its|their|the) way\b",
    )
)
_GENERIC: Final = re.compile(
    r"\b(?:you're|you are|it's|it is|that's|that is|everything is|everything's|this is) (?:now |already )?"
    r"(?:all )?(?:done|all set|set|taken care of|complete|completed|sorted)\b"
)
"""Says that all is well without saying what; it speaks of whatever was just tried."""
_CONDITIONAL: Final = re.compile(
    r"\b(?:if|once|when|whenever|unless|until|before|after|whether|would|could|should|can|may|might|must|will|to be"
    r"|want\w*|like|need\w*|ask\w*|request to|requested|that|which|who|previously|earlier|only)\b|'ll\b|'d\b"
)
_NEGATED: Final = re.compile(r"\b(?:not|never|no|nothing|none|neither|without|being|yet to)\b|n't\b")
_ADMITS: Final = re.compile(
    r"\b(?:can't|cannot|couldn't|could not|can not|unable|(?:not|wasn't|isn't) able|ineligible|not eligible"
    r"|not allowed|not possible|won't|rejec\w*|declin\w*|denied|denies|refus\w*|fail\w*|errors?|didn't|did not"
    r"|not available|unavailable|unfortunately|blocked|wasn't|weren't|hasn't|haven't|isn't|unsuccessful\w*"
    r"|does not allow|doesn't allow|problems?|trouble|issues? (?:with|while|when)|instead|not yet"
    r"|still (?:needs|open))\b"
)
_ENDINGS: Final = frozenset(
    {"", "al", "ation", "ations", "er", "ication", "ion", "ions", "ition", "l", "lation", "lations", "lment", "ment",
     "ments", "or", "s", "tion"}
)  # fmt: skip
"""What a noun adds to its verb's stem: cancel-lation, refund, pay-ment, remov-al."""
_CLAUSE_ENDS: Final = re.compile(r"[,;\u2014\u2013()]| (?:and|but|so|because|while|although) ")


@lru_cache(maxsize=2048)
def stem_of(word: str) -> str:
    """Return what the forms of a verb share: `cancelled`, `cancel`, `cancelling` all give `cancel`."""
    word = _IRREGULAR.get(word, word)
    for ending in ("ied", "ies", "ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] != "s":
        word = word[:-1]
    return word.rstrip("ey") if len(word.rstrip("ey")) >= 3 else word


def _are_kin(one: str, other: str) -> bool:
    short, long = sorted((stem_of(one), stem_of(other)), key=len)
    return long.startswith(short) and len(short) >= 3 and long[len(short) :] in _ENDINGS


def words_about(tool: str, args: dict[str, Any]) -> frozenset[str]:
    """Return the words a sentence about a call may use: those of the tool's name and of one-word arguments."""
    values = (v.lower() for v in args.values() if type(v) is str and v.isalpha() and len(v) <= 20)
    return frozenset(w for w in (*words_of(tool), *values) if len(w) >= 3)


def success_in(text: str, about: frozenset[str], *, generic: bool) -> tuple[str, str] | None:
    """Return the sentence of a plain text that says a call about these words succeeded, and the word that ties it.

    Args:
        text: lower case, straight apostrophes, no emphasis marks (`words.plain`).
        about: what `words_about` gives for the call.
        generic: "you're all set" counts too, tied by nothing; the word is then "".
    """
    if _ADMITS.search(text):
        return None
    for sentence in _sentences(text):
        for pattern in _PATTERNS:
            for found in pattern.finditer(sentence):
                said = found[1].split()  # the participle, or the words of the subject
                ties = next((w for w in said if any(_are_kin(w, word) for word in about)), "")
                if ties and _is_asserted(sentence, found):
                    return sentence.strip()[:200], ties
        found_generic = _GENERIC.search(sentence) if generic else None
        if found_generic is not None and _is_asserted(sentence, found_generic):
            return sentence.strip()[:200], ""
    return None


def says_done(said: bytes, word: str) -> bool:
    """Return whether a result says, in one of the forms of `word`, that it is so: `"status":"cancelled"`."""
    stem = stem_of(word).encode("utf-8", "surrogatepass")
    low = said.lower()
    at = low.find(stem)
    while at != -1:
        end = at + len(stem)
        while end < len(low) and low[end : end + 1].isalpha():
            end += 1
        form = low[at:end].decode("utf-8", "replace")
        if (form in _IRREGULAR or form.endswith("ed")) and not low[max(0, at - 12) : at].rstrip().endswith(b" be"):
            return True
        at = low.find(stem, end)
    return False


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield from (s for s in re.split(r"(?<=[.!?]) ", line) if s and not s.rstrip().endswith("?"))


def _is_asserted(sentence: str, found: re.Match[str]) -> bool:
    """Return whether the words found are said to be so: no condition before them, no negation in their clause."""
    if _CONDITIONAL.search(sentence, 0, found.end()):
        return False
    start = max((m.end() for m in _CLAUSE_ENDS.finditer(sentence, 0, found.start())), default=0)
    after = _CLAUSE_ENDS.search(sentence, found.end())
    return _NEGATED.search(sentence, start, after.start() if after else len(sentence)) is None
