"""Signals: what the clauses say for and against the stop, gathered over the whole text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tallystick.handoff.checker.reading import Read, Reading, _cues

_STRONG_GO: Final = re.compile(
    r"\b(?:go(?:ing|es)? ahead|proceed\w*|carr(?:y|ies) on|continue as|green light|full steam|crack on|press (?:on|ahead)|as planned|on schedule|"
    r"do it|ship it|run it|just go|all set|good to go|gets? going|ready to|we(?:'ll| will| can| may) (?:just |now |then )?(?:go|start|begin|do|send|run)|"
    r"adelante|proced\w+|se procede|lo hacemos|empezad|empezamos|legen (?:wir )?los|geht los|ziehen wir|durchziehen|los geht|freie bahn)\b|照常|照发|直接(?:发|做|开)|推进|开始",
    re.IGNORECASE,
)
_TASK_KEY: Final = re.compile(
    r"^(?:next|action|do|publish|run|execute|todo|to do|step|command|flag|job|deploy|output)\w*\b", re.IGNORECASE
)
_ONLY: Final = re.compile(
    r"\b(?:only|nobody else|no one else|alone|nothing (?:more|else)|that is all|that's all|nothing but|exclusively|sole(?:ly)?|or not at all|unless and until|not before|"
    r"solo|sólo|únic\w+|nadie más|nur|allein|sonst niemand|nichts anderes)\b|只有|仅|只能", re.IGNORECASE
)  # fmt: skip
_CONDITIONAL: Final = re.compile(
    r"\b(?:until|unless|once|when|if|only|can|may|must|could|before|till|who|not|n't|whether|nobody|has to|for|"
    r"hasta|mientras|cuando|si|puede|solo|no|bis|solange|wenn|erst|kann|nur|nicht|sobald)\b|n't|才|能|前|直到|除非|未|不|须|由|等",
    re.IGNORECASE,
)
_FIRM: Final = re.compile(
    r"\b(?:until|till|unless|not before|only (?:if|once|when|after|with|on|under|upon|then)|once|as long as|so long as|lifted when|pending|waiting (?:for|on)|awaiting|"
    r"waits? (?:for|on)|subject to|requires?|conditional on|depends on|needs|takes|without|provided|while|"
    r"hasta|mientras|solo (?:si|cuando|con|tras)|sólo (?:si|cuando|con|tras)|salvo|a menos que|sin|en cuanto|"
    r"bis|solange|erst (?:wenn|nach|mit|dann)|nur (?:mit|wenn|nach)|es sei denn|bevor|sobald|ohne)\b|之前|直到|除非|只有|才|待|必须|须|等",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(r"[?？]\s*$")


@dataclass(frozen=True, slots=True)
class Signal:
    """One saying for or against the stop: its kind, its words, its place."""

    kind: str
    said: str
    at: int
    actions: frozenset[int] = frozenset()


def signals(read: Read) -> tuple[Signal, ...]:
    """Return the signals of an artifact in its order."""
    return tuple(s for n in range(len(read.said)) for s in _sentence(read, n))


def stops(c: Reading) -> bool:
    """Whether a clause, taken by itself, denies a removed action."""
    if c.about == "way" and not c.has("stop"):
        return False
    if c.has("stop"):
        return True
    return c.about in {"stop", "both"} and c.has("negation") and not c.has("rejects")


def _sentence(read: Read, n: int) -> Iterator[Signal]:
    clauses = read.of(n)
    said = read.said[n].said
    whole = read.whole[n]
    asks = _QUESTION.search(said) is not None
    stopped = False
    under = _cues(" ".join(read.said[n].under).lower(), read.language) if read.said[n].under else {}
    denied = read.said[n].shape == "member" and bool({"stop", "negation"} & under.keys())
    firm = any(_FIRM.search(c.said) for c in clauses)
    gated = firm and any(c.prerequisite or c.named for c in clauses)
    acts = [c for c in clauses if c.about in {"stop", "both"}]
    for c in clauses:

        def s(kind: str, c: Reading = c) -> Signal:
            return Signal(kind, c.said, n, c.actions)

        pending = bool(c.prerequisite) and c.has("open", "negation")
        if (stops(c) or (denied and c.about == "stop")) and c.about != "way":
            stopped = True
            yield s("stop_act" if c.about != "none" else "stop_bare")
        elif c.about in {"stop", "both"} and not c.has("negation"):
            free = not c.has("gate") and not gated and not asks and not pending
            if stopped and not (c.has("go") and (c.shape == "prose" or c.joint)) and c.shape != "member":
                continue_ = False
            else:
                continue_ = True
            free = free and continue_
            if free and (c.verb or c.has("go", "usable")) and not c.has("past", "unadopted", "rejects"):
                yield s("go_act" if c.own else "go_carried")
            elif free and c.own and c.shape in {"item", "member", "row"} and not stopped:
                yield s("act_item")
        foreign = read.language != "en" and c.shape == "item" and c.has("go") and not c.has("usable")
        if c.about == "none" and (_STRONG_GO.search(c.said) or foreign) and not c.has("negation", "stop", "gate"):
            yield s("go_bare")
        if c.shape == "member" and _TASK_KEY.match(c.said) and c.about in {"stop", "both"} and not stops(c):
            yield s("go_act")
        if pending:
            yield s("q_open")
        elif c.prerequisite & read.anchors.kind or len(c.prerequisite) > 2:
            yield s("q_named")
        if c.prerequisite and c.has("closed") and not c.has("gate", "negation", "open", "soft"):
            yield s("q_closed")
        if c.named:
            yield s("a_told" if c.has("told") else "a_named")
            if c.has("decides") and not c.has("told"):
                yield s("a_decides")
        if c.about == "way":
            if c.has("unusable"):
                yield s("way_bad")
            elif c.has("usable") or c.own:
                yield s("way_ok")
        if c.has("released") and not _CONDITIONAL.search(said.lower().split(c.cues["released"])[0][-60:]):
            yield s("released")
        if c.has("override"):
            yield s("override")
        if c.has("later") and (c.prerequisite or c.about != "way"):
            yield s("later")
        if c.has("soft") and c.about != "way":
            yield s("soft")
        if c.has("rejects"):
            yield s("rejects")
        elif c.has("precedent"):
            yield s("precedent")
        if c.has("assent"):
            yield s("assent")
        if c.has("vague"):
            yield s("vague")
        if c.has("unadopted"):
            yield s("unadopted")
        if _ONLY.search(c.said):
            yield s("only")
    if gated and acts:
        yield Signal("gate_act", said, n)
    elif gated:
        yield Signal("gate", said, n)
    if "silence" in whole:
        yield Signal("silence", said, n)


SAYINGS: Final[Mapping[str, str]] = {
    "stop_act": "stops a removed action",
    "stop_bare": "says stop without naming the action",
    "stop_note": "stops a removed action, but only in a note",
    "gate_act": "makes an action conditional",
    "gate": "states a condition",
    "only": "leaves no other way",
    "rejects": "turns a precedent or another case down",
    "way_ok": "offers the fallback",
    "way_bad": "takes the fallback away or belittles it",
    "a_decides": "names the authority as the one who decides",
    "a_named": "names the authority",
    "a_told": "the authority is only informed",
    "q_open": "names the prerequisite as not obtained",
    "q_named": "names the prerequisite",
    "q_closed": "presents the prerequisite as met",
    "go_act": "sets a removed action in motion",
    "go_carried": "lets what was named before go ahead",
    "go_bare": "says to go ahead",
    "act_item": "lists a removed action without stopping it",
    "later": "moves the resolution to later or in parallel",
    "soft": "makes it a preference, a possibility or a remark",
    "silence": "lets a clock or silence release the stop",
    "released": "says the stop is lifted",
    "override": "goes on whatever the answer is",
    "precedent": "puts another case in its place",
    "assent": "puts agreement or low risk in its place",
    "vague": "speaks of it without saying what it is",
    "unadopted": "reports somebody's opinion",
}
"""What each kind of signal does, as findings say it."""
