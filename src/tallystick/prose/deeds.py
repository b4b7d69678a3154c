"""What a statement says was done: a call that went well must have done it; a preview or an attempt did not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tallystick.prose.facts import CallRecord, Fact
from tallystick.prose.grounds import Case
from tallystick.prose.likeness import Words, alike, polarity, stems_of_call
from tallystick.prose.statuses import STRICT
from tallystick.prose.subjects import NOBODY
from tallystick.prose.words import key_stems, stem, stemmed, tokens_of, widened

_DONE: Final = re.compile(
    r"\b(?:I|we)(?:['\u2019]ve| have)?(?: (?:now|just|also|already|successfully|gone ahead and|went ahead and))* "
    r"(?P<a>[a-z-]+(?:ed|t|id|ought)|made|set|put|sent|paid|re-ran|ran)\b"
    r"|\b(?:has|have|is|are|was|were)(?: now| just| also| already| successfully)* (?:been )?"
    r"(?:now |also |fully |successfully )*"
    r"(?P<b>[a-z]+ed|set|sent|paid)\b"
    r"|\b(?P<c>cancell?ed|refunded|removed|added|issued|processed|completed|updated|booked|applied|submitted|created"
    r"|returned|exchanged|replaced|redeemed|credited|charged|moved|rebooked|changed|reworked)\b",
    re.IGNORECASE,
)
_LOOKED: Final = frozenset(
    {"check", "double-check", "look", "review", "verif", "search", "found", "pull", "confirm", "ran", "re-ran", "seen",
     "read", "compar", "preview", "quot", "calculat", "recheck", "re-check", "estimat", "inspect", "evaluat"}
)  # fmt: skip
_SPECIFIC: Final = stemmed(STRICT) - stemmed({"confirmed", "completed", "active"})
"""Deeds that only a call which did just that can have done."""
_KEPT: Final = stemmed(
    {"kept", "preserved", "retained", "left", "stayed", "wanted", "needed", "asked", "noticed", "made"}
)


_OPPOSITES: Final = {
    "remov": stemmed({"add", "added"}), "add": stemmed({"remove", "removed", "delete"}),
    **dict.fromkeys(stemmed({"denied", "declined", "rejected"}), stemmed({"process", "approved", "refund"})),
}  # fmt: skip
"""Deeds, and those that are their opposites."""
_NO_DEED: Final = frozenset({"did", "not", "just", "want", "must", "might", "get", "got", "doubt", "trust", "expect"})
"""What the pattern takes for a participle and is none."""


def judge_deeds(case: Case, words: Words, span: str) -> None:
    """Judge what is said to have been done: a call that went well must have done it; a preview or attempt did not."""
    for found in _DONE.finditer(span):
        verb = stem(found["a"] or found["b"] or found["c"])
        if found["c"] and re.search(r"\b(?:the|a|an|your|any|new)\s*\W*$", span[: found.start("c")], re.IGNORECASE):
            continue  # `the cancelled one`
        if polarity(span, found.start("a") if found["a"] else found.start("b") if found["b"] else found.start("c")):
            continue
        mine = bool(found["a"]) or (found["c"] is not None and not span[: found.start()].strip(" *-"))
        before = span[max(0, found.start() - 20) : found.start()].lower()
        if (
            verb in _NO_DEED
            or verb in _KEPT
            or re.search(r"\b(?:to|must|can|will|would|should|may|could|be|getting)\W*$", before)
        ):
            continue
        if verb in _LOOKED or any(verb.startswith(v) for v in _LOOKED):
            reads = [c for c in case.record.calls if (c.reads and c.came == "ok") or c.came == "preview"]
            if mine and not reads:
                words.failed.append("nothing was read")
            elif mine:
                words.grounded[verb] = "read"
                for _, _, word in tokens_of(found[0]):
                    words.grounded.setdefault(stem(word), "read")
                _name_tools(words, reads, case)
            continue
        writes = [c for c in case.record.calls if not c.reads]
        named = any(alike(verb, s) for w in writes for s in key_stems(w.call.tool))
        fit = [
            c
            for c in writes
            if any(alike(verb, s) for s in stems_of_call(c)) or (mine and verb not in _SPECIFIC and not named)
        ]
        opposite = _OPPOSITES.get(verb)
        if opposite is not None and not any(verb in stems_of_call(c) for c in writes):
            against = [c for c in writes if c.came == "ok" and opposite & stems_of_call(c)]
            if against and any(
                f.call is c and case.closeness(f, case.tiers[0]) for c in against for f in case.record.facts
            ):
                words.failed.append("the opposite was done")
                continue
        done = [c for c in fit if c.came == "ok" or _took_effect(case, c)]
        if done:
            about = {id(c) for c in done}
            close = False
            for subject in case.tiers:
                if any(id(f.call) in about and case.closeness(f, subject) for f in case.record.facts):
                    close = True
                    break
                if subject is not NOBODY and any(
                    id(f.call) in {id(w) for w in fit} and case.closeness(f, subject) >= 2 for f in case.record.facts
                ):
                    break
            if close:
                words.grounded[verb] = "done"
                _name_tools(words, done, case)
                fact = next((f for f in reversed(case.record.facts) if id(f.call) in about and f.key == "status"), None)
                fact = fact or next((f for f in reversed(case.record.facts) if id(f.call) in about), None)
                if fact is not None and (mine or verb in words.content):
                    words.strong.append(fact)
                continue
            words.failed.append("what was done was done to something else")
        elif fit and not words.grounded.get(verb):
            words.failed.append("it was previewed or tried, not done")
        elif mine and not words.grounded.get(verb):
            words.failed.append("no call did this")


def speaks_of_own(span: str) -> bool:
    """Return whether a span says that the speaker did something."""
    found = _DONE.search(span)
    return found is not None and bool(found["a"])


def _took_effect(case: Case, call: CallRecord) -> bool:
    """Return whether a call that answered with an error changed things all the same, as a later read shows."""
    args = call.call.args
    if not isinstance(args, Mapping) or call.came != "failed":
        return False
    for key, value in args.items():
        states = [
            f for f in case.record.facts
            if f.key == key and not f.asked and f.call.reads and f.call.came == "ok"
            and any(str(v) in f.thing.own for k, v in args.items() if k != key)
        ]  # fmt: skip
        after = [f for f in states if f.call.order > call.order]
        before = [f for f in states if f.call.order < call.order]
        if after and before and after[-1].value == value and before[-1].value != value:
            return True
    return False


def tried(case: Case) -> Fact | None:
    """Return a fact of the attempt that a span reports: `I tried to apply it`, `I wasn't able to`; None for none."""
    if _TRIED.search(case.setting.span) is None:
        return None
    for call in reversed(case.record.calls):
        if not call.reads and call.came != "ok":
            asked = next((t for t in case.record.things if t.call is call and t.kind == "arguments"), None)
            if asked is not None:
                key = next(iter(asked.fields), "")
                return Fact(asked, ("arguments", str(key)), str(key), asked.fields.get(key), asked=True)
    return None


_TRIED: Final = re.compile(
    r"\b(?:tried|attempted) to\b|\b(?:wasn['\u2019]t|was not) able to\b|\bcould(?:n['\u2019]t| not)\b", re.IGNORECASE
)


def _name_tools(words: Words, calls: list[Any], case: Case) -> None:
    stems = frozenset(s for c in calls for s in key_stems(c.call.tool))
    for s in words.content:
        if s in stems or s in widened(stems):
            words.grounded.setdefault(s, "tool")
    if any(words.grounded.get(s) == "tool" for s in words.content) or any(v == "read" for v in words.grounded.values()):
        ids = {id(c) for c in calls}
        fact = next((f for f in reversed(case.record.facts) if id(f.call) in ids), None)
        if fact is not None:
            words.strong.append(fact)
