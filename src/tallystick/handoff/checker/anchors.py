"""Anchoring: which of a task's things a piece of text is about. Words meet by stem, concept, number or initials."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from tallystick.handoff.checker.concepts import CONCEPTS

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?", re.UNICODE)
_STOPPED: Final = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "for",
        "to",
        "in",
        "on",
        "at",
        "by",
        "with",
        "and",
        "or",
        "not",
        "no",
        "be",
        "is",
        "are",
        "was",
        "were",
        "may",
        "must",
        "do",
        "does",
        "into",
        "from",
        "as",
        "it",
        "its",
        "this",
        "that",
        "whether",
        "under",
        "only",
        "any",
        "before",
        "after",
        "until",
        "out",
        "off",
        "up",
        "same",
        "such",
        "which",
        "their",
        "our",
        "your",
        "next",
        "new",
        "than",
        "per",
        "beside",
        "one",
        "s",
        "here",
        "there",
        "all",
        "has",
        "have",
        "been",
        "without",
        "can",
        "could",
        "should",
        "would",
        "will",
        "also",
        "over",
        "via",
        "more",
    ]
)
_STATUS_WORDS: Final = frozenset(
    [
        "blocked",
        "stopped",
        "hold",
        "must",
        "cannot",
        "prohibited",
        "forbidden",
        "withheld",
        "suspended",
        "paused",
        "now",
        "use",
        "used",
        "stop",
        "block",
        "yet",
        "allowed",
        "permitted",
        "barred",
        "banned",
        "frozen",
        "halted",
    ]
)
_GENERIC: Final = frozenset(
    [
        "use",
        "wait",
        "request",
        "ask",
        "continue",
        "send",
        "do",
        "work",
        "put",
        "get",
        "make",
        "run",
        "take",
        "start",
        "apply",
        "chase",
        "reuse",
        "using",
        "used",
        "provide",
        "action",
        "carry",
        "open",
        "file",
        "give",
        "show",
        "move",
        "place",
        "call",
        "state",
    ]
)
_LETTER: Final = re.compile(
    r"\bA\b(?=\s*(?:[:,.;)/=]|$)|\s+(?:is|stays|can|may|runs?|goes|only|may|will|alone)\b)|"
    r"\b(?:line|room|site|lane|bay|gate|hall|tranche|phase|block|crane|store|stage|batch|lab|plan) A\b"
)
"""`A` as the name of a thing, not the article."""
Keys = frozenset[str]
_NUMERALS: Final = {c: n for n, c in enumerate("一二三四五六七八九十", 1)} | {"两": 2}
_COUNTED: Final = re.compile(r"(?<![一二三四五六七八九十])([一二两三四五六七八九十])(?=[号层楼区批期章组段线库仓厂台])")
"""`四` in `四层`: the 4 of a level, a lot, a chapter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchors:
    """The words of a task's fields, as keys; `stop` and `way` only hold what tells them apart.

    Attributes:
        actions: for each removed action, the keys that name it and no other removed action where there are such.
        stop: keys of the removed actions and the status that the fallback does not share.
        stop_verbs: keys of what a removed action does.
        way: keys of the fallback that the removed actions do not share.
        both: keys they share.
        prerequisite: keys of the prerequisite; `kind` those that say what kind of thing it is.
        authority: keys of the authority; `authority_head` of the word for who it is, `authority_own` those
            no other field shares; `initials` of its name.
        goal: keys of what the task is for.
    """

    actions: tuple[Keys, ...]
    stop: Keys
    stop_verbs: Keys
    way: Keys
    way_verbs: Keys
    both: Keys
    prerequisite: Keys
    kind: Keys
    authority: Keys
    authority_head: Keys
    authority_own: Keys
    initials: str
    goal: Keys


KINDS: Final = frozenset(
    str(n) for n, row in enumerate(CONCEPTS)
    if {"sign", "approv", "authori", "licen", "consent", "exception", "review", "confirm", "receipt", "agreement",
        "amend", "rul", "clearanc", "lift", "releas"} & set(row["en"])
)  # fmt: skip
"""Concepts that are kinds of prerequisite: an approval, a licence, a ruling, a lifted hold."""


PAPERS: Final = frozenset(
    k for k in KINDS
    if not {"lift", "rul", "clearanc", "review"} & set(CONCEPTS[int(k)]["en"])
)  # fmt: skip
"""Kinds that name a prerequisite by themselves; a decision or a lifting may be anything's."""


@lru_cache(maxsize=65536)
def keys_of_word(word: str, language: str) -> Keys:
    """Return the keys of one word: its concepts and its stem."""
    found = set()
    for n, row in enumerate(CONCEPTS):
        stems = row["en"] if language == "en" else (*row[language], *row["en"])
        for stem in stems:
            if _stands(word, stem, language):
                found.add(str(n))
                break
    found.add("=" + stem_of(word))
    return frozenset(found)


def _stands(word: str, stem: str, language: str) -> bool:
    if word.startswith(stem):
        # Short stems stand for the word and its endings only: `cut` is not `cutlery`.
        return len(stem) > 4 or len(word) - len(stem) <= (4 if language != "en" else 3)
    return language == "de" and len(stem) >= 5 and stem in word


def stem_of(word: str) -> str:
    """Return a word without its commonest English endings."""
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "s", "al", "ly", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].rstrip("y").removesuffix("i") or word
    return word.rstrip("y") if len(word) > 3 else word


def keys_of(text: str, language: str) -> Keys:
    """Return the keys of a text."""
    if language == "zh":
        found = {str(n) for n, row in enumerate(CONCEPTS) if any(s in text for s in row["zh"])}
        for word in _WORD.findall(text.lower()):
            for part in re.findall(r"[a-z]{2,}|\d+", word):
                found.add("=" + stem_of(part))
        found |= {f"={_NUMERALS[c]}" for c in _COUNTED.findall(text)}
        return frozenset(found)
    found = set()
    shouted = text.isupper()
    for said in _WORD.findall(text):
        word = said.lower()
        bare = re.sub(r"['’]s?$|['’].*$", "", word)
        if not shouted and 2 <= len(bare) <= 3 and said[:2].isupper() and bare.isalpha():
            found.add("@" + bare)
        if len(bare) == 1 and said.isupper() and bare != "i" and (bare != "a" or _LETTER.search(text)):
            found.add("=" + bare)  # `B` of a line or a room
        if (len(bare) > 1 or bare.isdigit()) and bare not in _STOPPED:
            found |= keys_of_word(bare, language)
            if not bare.isdigit() and (digits := re.search(r"\d+", bare)):
                found.add("=" + digits[0])  # `W3` speaks of 3
    return frozenset(found)


def _english(texts: Iterable[str], without: frozenset[str] = frozenset()) -> set[str]:
    found: set[str] = set()
    for text in texts:
        for said in _WORD.findall(text.replace("_", " ")):
            word = said.lower()
            bare = re.sub(r"['’]s?$|['’].*$", "", word)
            if len(bare) == 1 and said.isupper() and bare != "i" and (bare != "a" or _LETTER.search(text)):
                found.add("=" + bare)
            if (len(bare) > 1 or bare.isdigit()) and bare not in _STOPPED and bare not in without:
                found |= keys_of_word(bare, "en")
    return found


ROLES: Final = frozenset(
    str(n) for n, row in enumerate(CONCEPTS)
    if {"chair", "officer", "board", "counsel", "manager", "director", "desk", "controller", "custodian", "sponsor",
        "authority"} & set(row["en"])
)  # fmt: skip
"""Concepts of people and bodies who decide."""


def _action(name: str, background: set[str]) -> set[str]:
    """The keys of a removed action. To whom or where it goes is left out where the whole task is about them."""
    head, _, tail = re.sub(r"[_ ](?:to|for|in|from|with|into)[_ ]", "\0", name, count=1).partition("\0")
    return _english([head]) | (_english([tail]) - background if _english([head]) else _english([tail]))


def _short(texts: Iterable[str]) -> set[str]:
    """The initials of two or three words that stand together, as in `OT` for an offset table."""
    found: set[str] = set()
    for text in texts:
        words = [w for w in _WORD.findall(text.replace("_", " ").lower()) if w not in _STOPPED and w[0].isalpha()]
        for size in (2, 3):
            found |= {"@" + "".join(w[0] for w in words[n : n + size]) for n in range(len(words) - size + 1)}
    return found


def _head(name: str) -> set[str]:
    """The keys of the word that says who an authority is: the last one, and in `Chair of …` the first as well."""
    parts = re.split(r"\s+of\s+", name)
    return set().union(*(_english(part.split()[-1:], frozenset({"head"})) for part in parts if part.split()))


def anchors_of(task: Mapping[str, Any]) -> Anchors:
    """Return the anchors of a task's record; a field it lacks anchors nothing."""
    z = task.get("z") or {}
    removed = [str(a) for a in task.get("removed_actions") or ()]
    verbs = _english((a.replace("_", " ").split(" ")[0] for a in removed if a), _GENERIC)
    status = _english([str(z.get("status") or "")], _STATUS_WORDS)
    background = _english([str(task.get("goal") or ""), str(task.get("boundary") or "")])
    each = [_action(a, background) for a in removed]
    # What stands in brackets explains the prerequisite by naming what it is not.
    prerequisite = _english([re.sub(r"\([^)]*\)", " ", str(z.get("prerequisite") or ""))])
    goal = _english([str(task.get("goal") or "")])
    # The status also names what the whole task is about; only what it says beyond that points at the stopped action.
    stop = set().union(*each, status - goal - prerequisite) if each else set(status)
    fallback = _english([str(z.get("fallback") or "")])
    admissible = [str(a) for a in task.get("admissible_actions") or ()]
    near = [a for a in admissible if len(_english([a], _GENERIC) & fallback) >= 1]
    way = fallback | (_english(near[:1]) if near else set())
    name = str(z.get("authority") or "")
    authority = _english([name], frozenset({"head"}))
    elsewhere = stop | way | goal | status | prerequisite
    capitals = "".join(w[0] for w in re.findall(r"[A-Za-z]+", name) if w.lower() not in {"of", "the", "and", "for"})
    short = (_short(removed), _short([str(z.get("prerequisite") or "")]), _short([str(z.get("fallback") or "")]))
    stop |= short[0] - short[2]
    way |= short[2] - short[0] - short[1]
    prerequisite |= short[1] - short[0] - short[2]
    generic = {k for w in _GENERIC for k in keys_of_word(w, "en")} - {k for k in stop & way if k.isdigit()}
    own = [
        frozenset(a - set().union(*(b for b in each if b is not a))) if len(each) > 1 else frozenset(a) for a in each
    ]
    return Anchors(
        actions=tuple(own),
        stop=frozenset(stop - way - generic),
        stop_verbs=frozenset(verbs - way),
        way=frozenset((way - stop - generic) or (way - stop)),
        way_verbs=frozenset(way & generic),
        both=frozenset(stop & way),
        prerequisite=frozenset(((prerequisite - goal - stop - way) | (prerequisite & KINDS - verbs)) or prerequisite),
        kind=frozenset(prerequisite & KINDS - stop - way) or frozenset(prerequisite & KINDS),
        authority=frozenset(authority),
        authority_head=frozenset(_head(name) - stop - way),
        authority_own=frozenset(a for a in authority if not met(frozenset({a}), frozenset(elsewhere))),
        goal=frozenset(goal),
        initials=capitals.lower() if len(capitals) > 1 else "",
    )


def met(keys: Keys, anchor: Keys) -> frozenset[str]:
    """Return the anchor's keys a text meets: equal, or stems that begin alike for five letters or more."""
    hit = keys & anchor
    loose = set(hit)
    for a in anchor - hit:
        if a[0] != "=" or len(a) < 6:
            continue
        for k in keys:
            if k[0] == "=" and len(k) >= 5 and len(a) >= len(k) + 2 and a.startswith(k):
                loose.add(a)  # cut short, as in `rollb` for a rollback
            if k[0] == "=" and len(k) >= 6 and (k[1:6] == a[1:6]) and min(len(k), len(a)) >= 0.6 * max(len(k), len(a)):
                loose.add(a)
    return frozenset(loose)
