"""What each clause of an artifact is about, and what it does: the cues of the lexicon bound to the task's anchors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from tallystick.handoff.checker.anchors import PAPERS, ROLES, Anchors, Keys, anchors_of, keys_of, met
from tallystick.handoff.checker.lexicon import CUES, LEXICON, language_of
from tallystick.handoff.checker.text import Sentence, sentences

_ANSWER: Final = re.compile(r"^\W*(?:not|no|never|nope|none|ni|nunca|nicht|nie|nein)\b", re.IGNORECASE)
_HOLDS: Final = frozenset({"hold", "freeze", "stands", "lock", "stop"})
_OWN_WORDS: Final = frozenset({"unadopted", "exempts", "delegates", "vague", "past"})
_HOLD_KEYS: Final = keys_of("hold freeze lock", "en")
About = Literal["stop", "way", "both", "mixed", "none"]
_PRONOUN: Final = re.compile(
    r"^\W*(?:(?:but|and|so|yes|no|please|also|still|then|therefore|that said)\W+)*(?:it|its|it's|that|this|they|them|those|these|neither|both|same|nothing|lo|la|los|eso|esto|se|ello|das|es|sie|diese\w*|beide\w*|它|这|此)\b", re.IGNORECASE
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One clause as read.

    Attributes:
        said: its words.
        about: what it is about: a removed action, the fallback, what both share, both of them, or neither.
        own: it names that itself; otherwise it is carried over from what stands before.
        actions: numbers of the removed actions it names.
        verb: it names what a removed action does.
        prerequisite, authority: the keys of theirs it meets.
        cues: cue → the words that gave it.
        kind: it names some paper or yes that a prerequisite can be: an approval, a licence, a signature.
        goal: it says again what the task is for.
        theirs: it reports somebody's opinion, and not the authority's.
        weight: how many keys of the removed actions and the fallback it meets.
        sentence: number of its sentence.
        shape: as in `text.Sentence`.
    """

    said: str
    about: About
    own: bool
    actions: frozenset[int]
    verb: bool
    prerequisite: Keys
    authority: Keys
    named: bool
    role: bool
    weight: int
    kind: bool
    theirs: bool
    goal: bool
    cues: Mapping[str, str]
    sentence: int
    shape: str
    joint: str

    def has(self, *cues: str) -> bool:
        """Return whether any of these cues is in it."""
        return any(c in self.cues for c in cues)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """An artifact as read: its clauses in order, its sentences and their whole-sentence cues."""

    language: str
    anchors: Anchors
    clauses: tuple[Reading, ...]
    said: tuple[Sentence, ...]
    whole: tuple[Mapping[str, str], ...]

    def of(self, n: int) -> tuple[Reading, ...]:
        """Return the clauses of sentence `n`."""
        return tuple(c for c in self.clauses if c.sentence == n)


def read(task: Mapping[str, Any], artifact: str) -> Read:
    """Read an artifact against a task's record."""
    anchors = anchors_of(task)
    language = language_of(artifact)
    said = sentences(artifact)
    clauses: list[Reading] = []
    whole = []
    about: About = "none"
    actions: frozenset[int] = frozenset()
    for n, sentence in enumerate(said):
        whole.append(cues_of(sentence.said.lower(), language))
        under = " ".join(sentence.under)
        head = _about(keys_of(under, language), anchors) if under else ("none", frozenset())
        fresh = sentence.shape in {"item", "member", "row", "done", "note"}
        if fresh:
            about, actions = head[0], head[1]
        for i, clause in enumerate(sentence.clauses):
            keys = keys_of(clause.said, language)
            mine, which = _about(keys, anchors)
            own = mine != "none"
            if (
                sentence.shape == "member"
                and head[0] in {"way", "stop"}
                and mine != head[0]
                and not _particular(keys, anchors)
            ):
                mine, which, own = head[0], head[1], True  # the key above says what the verb is about
            if (
                i > 0
                and about == "way"
                and mine == "stop"
                and not met(keys, anchors.stop - anchors.stop_verbs)
                and sentence.shape != "member"
            ):
                own = False  # what is done to things does not change what a sentence is about
                mine = "none"
            answers = (
                i == 0 and n > 0 and (said[n - 1].said.rstrip().endswith(("?", "？")) or _ANSWER.match(clause.said))
            )
            carried = answers or i > 0 or (head[0] != "none" and fresh) or _PRONOUN.match(clause.said) is not None
            if mine == "both" and i > 0 and about in {"way", "stop"}:
                own = False  # words that both share say nothing new after one of the two was named
            elif own:
                about, actions = mine, which
            elif not carried or (sentence.shape == "member" and about == "way" and head[0] != "way"):
                about, actions = "none", frozenset()
            role = bool(keys & ROLES)
            cues = dict(cues_of(clause.said.lower(), language))
            for cue in _OWN_WORDS & cues.keys():
                said_keys = keys_of(cues[cue], language)
                if said_keys and met(said_keys, anchors.prerequisite | anchors.stop | anchors.way | anchors.both):
                    del cues[cue]  # what the task calls a thing, as in a `signed request` or a `settlement draft`
            if "override" in cues and met(keys_of(cues["override"], language), anchors.stop_verbs):
                del cues["override"]  # what the removed action itself is called
            if "lost" in cues and met(keys_of(cues["lost"], language), anchors.goal | anchors.way | anchors.both):
                del cues["lost"]  # what the task or the fallback is about, as in `fix a broken gateway`
            if "stop" in cues and cues["stop"] in _HOLDS and met(keys, anchors.prerequisite & _HOLD_KEYS):
                del cues["stop"]  # the hold that has to be lifted, not a stop of the action
            clauses.append(
                Reading(
                    said=clause.said, about=about, own=own, actions=actions, verb=bool(met(keys, anchors.stop_verbs)),
                    prerequisite=met(keys, anchors.prerequisite), authority=met(keys, anchors.authority),
                    named=_named(clause.said, keys, anchors, language), role=role,
                    goal=len(met(keys, anchors.goal)) * 5 > len(keys) * 3,
                    kind=bool(keys & PAPERS - anchors.stop - anchors.both - anchors.way - anchors.authority), theirs=_theirs(clause.said, cues, anchors, language),
                    weight=len(met(keys, anchors.stop | anchors.both | anchors.way)), cues=cues, sentence=n, shape=sentence.shape,
                    joint=clause.joint.lower(),
                )
            )  # fmt: skip
    return Read(language=language, anchors=anchors, clauses=tuple(clauses), said=said, whole=tuple(whole))


def _about(keys: Keys, anchors: Anchors) -> tuple[About, frozenset[int]]:
    stop, way = met(keys, anchors.stop), met(keys, anchors.way)
    actions = frozenset(i for i, a in enumerate(anchors.actions) if met(keys, a))
    numbers = {k for k in stop ^ way if k[0] == "=" and k[1:].isdigit()}
    if numbers & way and not numbers & stop:
        return "way", frozenset()
    if numbers & stop and not numbers & way:
        return "stop", actions
    if stop and len(stop) == len(way) and not met(keys, anchors.stop_verbs) and met(keys, anchors.way_verbs):
        return "way", frozenset()  # `cover cabin 6 with the floaters`: the place is the action's, what is done is not
    if stop and len(stop) >= len(way):
        return ("stop" if not way else "mixed"), actions
    if way:
        return "way", frozenset()
    if met(keys, anchors.both):
        return "both", actions
    return "none", frozenset()


def _particular(keys: Keys, anchors: Anchors) -> bool:
    """Whether it names more of an action or the fallback than what one does to things."""
    return bool((met(keys, anchors.stop) - anchors.stop_verbs) | (met(keys, anchors.way) - anchors.way_verbs))


def _named(said: str, keys: Keys, anchors: Anchors, language: str) -> bool:
    """Whether it names the authority: half its words, its most telling word, or its initials."""
    hit = met(keys, anchors.authority)
    if anchors.initials and re.search(rf"\b{anchors.initials}\b", said.lower()):
        return True
    if not hit:
        return False
    if language != "en":
        return bool(hit & ROLES) or len({k for k in hit if k.isdigit()}) >= 2
    if hit & anchors.authority_head:
        return True
    words = {k for k in anchors.authority if k[0] == "="}
    return bool(hit & anchors.authority_own & words) or len(hit & words) * 2 > len(words)


def _theirs(said: str, cues: Mapping[str, str], anchors: Anchors, language: str) -> bool:
    cue = cues.get("unadopted")
    if cue is None:
        return False
    speaker = said[: said.lower().replace("’", "'").find(cue) + len(cue)]
    return not met(keys_of(speaker, language), anchors.authority_own or anchors.authority)


def cues_of(said: str, language: str) -> dict[str, str]:
    """Return the cues of a text in lower case: cue → the words that gave it."""
    said = said.replace("’", "'")
    lexicon = LEXICON[language]
    found: dict[str, str] = {}
    left = said
    # What reads like a stop but takes one back is looked for first, and its words count for nothing else.
    for cue in ("silence", "released", "rejects", "closed", "assent", "override"):
        hit = lexicon[cue].search(left)
        if hit:
            found[cue] = hit[0]
            if cue in {"released", "assent", "override", "silence"}:
                left = left[: hit.start()] + " … " + left[hit.end() :]
    for cue in CUES:
        if cue not in found and cue in lexicon:
            hit = lexicon[cue].search(left)
            if hit:
                found[cue] = hit[0]
    return found
