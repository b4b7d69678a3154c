"""Signals: what the clauses say for and against the stop, gathered over the whole text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tallystick.handoff.checker.reading import Read, Reading, cues_of

_STRONG_GO: Final = re.compile(
    r"^\W*go\W*$|\b(?:go(?:ing|es)? ahead|proceed\w*|carr(?:y|ies) on|continue as|green light|full steam|crack on|press (?:on|ahead)|as planned|on schedule|"
    r"do it|ship it|run it|just go|all set|good to go|gets? going|ready to|we(?:'ll| will| can) (?:just |now |then )?(?:go|start|begin|send|run)|"
    r"adelante|proced\w+|se procede|lo hacemos|empezad|empezamos|legen (?:wir )?los|geht los|ziehen wir|durchziehen|los geht|freie bahn)\b|照常|照发|直接(?:发|做|开)|推进|开始",
    re.IGNORECASE,
)
_TASK_KEY: Final = re.compile(
    r"^(?:next|action|do|publish|run|execute|todo|to do|step|command|flag|job|deploy|output)\w*\b", re.IGNORECASE
)
_ONLY: Final = re.compile(
    r"\b(?:only|nobody else|no one else|alone|nothing (?:more|else)|that is all|that's all|nothing but|exclusively|sole(?:ly)?|or nothing|all there is|or not at all|unless and until|not before|"
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
_CONTRAST: Final = re.compile(
    r"\b(?:but|however|though|tho|although|yet|can|may|fine|ok|okay|allowed|free|exception|except|pero|aunque|sí|puede\w*|aber|doch|jedoch|darf|dürfen)\b|但|可以|可",
    re.IGNORECASE,
)
_LACK: Final = re.compile(
    r"\b(?:missing|lack\w*|outstanding|pending|unsigned|open|not (?:in|yet|there|given|granted|received|obtained|signed|issued)|falta\w*|pendiente|fehlt|aus|offen|still)\b|n't|尚|未|缺|没",
    re.IGNORECASE,
)
_MAY: Final = re.compile(
    r"\bya\W*$|\b(?:se (?:puede\w*|permite\w*|usan?|manda\w*|envía\w*)|pod(?:éis|emos|ían)|puede[ns]?|en su lugar|alternativa|adelante con|permitid[oa]s?|disponibles?|mientras tanto|entretanto|bastan?|solo|únicamente|sí|"
    r"zulässig|erlaubt|darf|dürfen|kann|können|stattdessen|zur verfügung|nutz\w+|verwend\w+|inzwischen|bis dahin|es gilt|bleibt nur|solange)\b|可以|可用|可先|照常(?=做|进行|施工|发)|改用|先用|先打|先给|允许|采用|请用|就用|用.{2,10}(?:代替|即可|吧)",
    re.IGNORECASE,
)
_DECIDES: Final = re.compile(
    r"\b(?:decid(?:e|en|irá)\b.{0,6}(?:el|la|los|las|:)|quien decide|decisión (?:corresponde|es|de)|(?:resuelve|decide|firma|autoriza|aprueba) (?:solo |únicamente )?(?:el|la|los|las)\b|(?:erteilt|genehmigt|unterschreibt|gibt|entscheidet) (?:\w+ ){0,3}?(?:allein|nur)\b|entscheid(?:et|en)\b.{0,12}(?:der|die|das|allein|:)|zuständig|entscheidung (?:trifft|liegt))|由.{1,14}(?:决定|批|审批|裁定|签)|(?:solange|bis|hasta que|mientras)\b.{3,60}\b(?:erteilt|freigibt|genehmigt|zustimmt|unterschreibt|autorice|apruebe|firme|dé|conceda)\b|(?:批准|决定|审批)权|.{2,10}(?:签|点头|同意|批准|说)了?(?:才|字才|之后才)|以.{2,12}为准|说了算|.{2,8}(?:还没|未|尚未)(?:批|签|同意|点头)",
    re.IGNORECASE,
)
_UNMET: Final = re.compile(
    r"\b(?:falta|faltan|pendiente de|hasta que|mientras no|sin|fehlt|solange|steht aus|aussteht|ohne|bis)\b.{12,}|.{12,}\b(?:fehlt|aussteht|steht aus|pendiente|falta)\b|(?:尚未|还没|缺少?|未取得|未获|没有).{3,}|.{4,}(?:尚未|还没有?|未批|未签)",
    re.IGNORECASE,
)
_OPEN_KEY: Final = re.compile(
    r"allow|permit|ok\b|avail|next|alternativ|fallback|instead|can\b|may\b|option|use\b|usable|do\b(?! not)|todo|action|step|plan|output|open items",
    re.IGNORECASE,
)
_QUALITY: Final = re.compile(
    r"\b(?:not|n't) (?:(?:a|an|any|in any|really|that|so|too|very|particularly|exactly|terribly|overly|much of|such) )*(?:\w+ly )?(?:a )?(?:sensitive|secret|confidential|critical|new|risky|dangerous|complicated|problem|issue|"
    r"concern|deal|science|needed|required|necessary|important|much|far|bad|unusual|uncommon|sure|certain|clear|long|worr\w+|big|serious|material|doubt\w*|imagine|see (?:why|what|a|any|how)|think|mind|"
    r"matter|hurt|harm|care|late|alone|forget|hesitate|wait\w*|bother|object\w*|real|strict\w*|visible|personal)\b|"
    r"\bno (?:\w+ )?(?:reason|doubt|harm|risk|objections?|problems?|issues?|worries|need|idea|news|difference|big deal|material|concerns?|complaints?|one (?:objected|minded|cares|will|would|saw|sees|sees)|logo|names?)\b|"
    r"\b(?:not|n't) (?:really|exactly|strictly|technically|quite) (?:an?|the)\b|\bnobody (?:died|dies|ever \w+|got hurt|has ever|objected|minds?|minded|cares?|will|would|saw|sees|noticed|complained)\b|\bnon-?blocking\b|\bwithout (?:issue|problem|trouble|a (?:word|hitch|problem|complaint)|incident)\w*",
    re.IGNORECASE,
)
"""Negations that deny a quality or an objection, which stops nothing."""
_GATING: Final = re.compile(
    r"\b(?:if|when|once|as soon as|the (?:minute|moment|day)|provided|after|upon|should|wenn|sobald|falls|cuando|si|en cuanto)\b|如果|一旦|等|后",
    re.IGNORECASE,
)
_LASTING: Final = re.compile(
    r"\b(?:auto[- ]?\w*|expir\w*|laps\w*|valid\w*|timeout|default)\W+(?:\w+ )?(?:none|never|no|not|nothing|off|deny|denied)\b|"
    r"\b(?:never|not|nor|n't|cannot|nothing) (?:\w+ ){0,3}?(?:by (?:it)?self|on its own|lapse\w*|expires?|automatic\w*|by default|run out|end)\b",
    re.IGNORECASE,
)
"""A clock that is said not to release."""
_OFF: Final = re.compile(
    r"(?<!kick)(?<!kicks)(?<!sign)(?<!signed)(?<!call)(?<!calls)(?<!set)(?<!take)\s(?:off|no|nein|nope|x|❌|✗)\W*$",
    re.IGNORECASE,
)
"""`river path OFF`: the word that ends a note says what becomes of the thing."""
_ALSO: Final = re.compile(
    r"^\W*(?:and )?(?:that|this|it|which) (?:also )?(?:includes?|covers?|means|goes for)\b|^\W*(?:includ(?:es|ing)|(?:the )?same (?:goes|is true|holds|applies) (?:for|of|to)|likewise|nor\b)|"
    r"^\W*(?:das gilt (?:auch )?für|ebenso)\b|^\W*(?:lo mismo (?:vale|con)|tampoco)\b",
    re.IGNORECASE,
)
"""Carries on to another action what was said of the one before."""
_DO_IT: Final = re.compile(
    r"^\W*(?:(?:so|just|then|please|pls|and|ok|okay|now)\W+)*(?:put|load|send|post|run|book|open|ship|give|cut|pour|print|sign|push|let|get|make|hand|start|use|fit|move|switch|turn|pay|place|file) "
    r"(?:it|them|him|her|this|both)\b(?! (?:off|back|away|aside|alone|down))",
    re.IGNORECASE,
)
"""An order whose thing was named before."""
_DECIDER: Final = re.compile(
    r"(?:authority|decides?|decision|decider|owner|approver|approval|who (?:decides|answers|signs)|sign-?off|resolver|needs|released? by|decided by|zuständig|entscheidung|entscheidet|decide|responsable|autoridad|决定人?|审批人?|负责人)\W*$",
    re.IGNORECASE,
)
"""A label after which the one who decides is named."""
_RULES: Final = re.compile(
    r"\b(?:who|whose|is|are|isn't|accepts?|calls?|does|doesn't|deals?|dealing|handl\w+|for the|goes? to|talk to|see the|ask(?: for| the)?|the (?:one|person|only)|question\w*)\b|'s\b|’s\b",
    re.IGNORECASE,
)
"""What is said of one who decides, or of where a question goes; somebody mentioned in passing has none of it."""
_LOOKS: Final = re.compile(
    r"^\W*(?:verify|check|confirm|ask|find out|chase|request|look|see (?:if|whether)|prüfen|nachfragen|pregunt\w+|comprob\w+)\b|^\W*(?:核实|确认|询问|催)",
    re.IGNORECASE,
)
"""An order to look or to ask sets nothing in motion."""
_FREE: Final = re.compile(
    r"\b(?:may|can|could|is fine|are fine|fine|okay|ok|allowed|permitted|free|available|(?:is|are) there(?= as well| too| already|\W*$)|at hand|on hand|open|yes|go(?:es)?|use|use[ds]?|instead|welcome|cleared|approved|ready|at any time|as planned|as usual|"
    r"puede\w*|podéis|permitid\w+|darf|dürfen|kann|können|erlaubt|frei|stattdessen)\b|可以|可用|改用|先用|照常",
    re.IGNORECASE,
)
"""Says of the fallback that it may be used."""
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
    near = _near(read)
    found = [s for n in range(len(read.said)) if n in near for s in _sentence(read, n)]
    stopped = {s.at for s in found if s.kind in _STOPS}
    freed = [s for s in found if s.kind in {"go_act", "go_bare"} and s.at not in stopped]
    if stopped and freed:
        found.append(Signal("go_despite", freed[0].said, freed[0].at, freed[0].actions))
    held = frozenset().union(*(s.actions for s in found if s.kind in _STOPS or s.kind == "stop_also"))
    apart = [s for s in freed if held and s.actions and not s.actions & held]
    if not any(s.kind in _HOLDING for s in found):
        found.append(Signal("no_stop", "", 0))
    if apart:
        found.append(Signal("go_part", apart[-1].said, apart[-1].at, apart[-1].actions))
    ways = [s.kind for s in found if s.kind in {"way_ok", "way_lost"}]
    if "way_lost" in ways and (ways[-1] == "way_lost" or ways.count("way_lost") >= ways.count("way_ok")):
        found.append(next(Signal("way_gone", s.said, s.at) for s in reversed(found) if s.kind == "way_lost"))
    return tuple(found)


_STOPS: Final = frozenset({"stop_act", "stop_bare", "stop_note", "stop_said"})
_HOLDING: Final = _STOPS | {"stop_carried", "stop_also", "gate_act", "gate", "rejects", "only", "released", "silence"}


_SHORT: Final = 9
_BRIEF: Final = 40
"""Characters of a clause that is hardly more than a name."""


def _near(read: Read) -> frozenset[int]:
    """Which sentences count: all of a short text; of a long one those about the task, and what stands next to them."""
    every = range(len(read.said))
    if len(read.said) <= _SHORT:
        return frozenset(every)
    at = {
        c.sentence for c in read.clauses
        if (c.own and c.weight > 1) or c.named or c.prerequisite & read.anchors.kind
    }  # fmt: skip
    return frozenset(n for n in every if at & {n - 1, n, n + 1})


_OR: Final = frozenset({"or", "nor", "ni", "o", "oder", "noch", "、"})
_ACTION: Final = frozenset({"stop", "both", "mixed"})


def stops(c: Reading) -> bool:
    """Whether a clause, taken by itself, denies a removed action."""
    if c.about == "way" and not c.has("stop"):
        return False
    if c.about in _ACTION and _OFF.search(c.said):
        return True
    if c.has("stop") and not (_QUALITY.search(c.said) and c.cues["stop"] in _QUALITY.search(c.said)[0]):  # type: ignore[index]
        return True
    return c.about in _ACTION and c.has("negation") and not c.has("rejects") and not _QUALITY.search(c.said)


def _stopped(clauses: Sequence[Reading], denied: bool, before: bool = False) -> list[bool]:
    """Which clauses of a sentence are under a stop: by themselves, joined to one that is, or after a sentence of one."""
    out: list[bool] = []
    for n, c in enumerate(clauses):
        under = (stops(c) or (denied and c.about == "stop")) and (c.about != "way" or c.has("stop"))
        after = clauses[n + 1] if n + 1 < len(clauses) else None
        if not under and c.about == "none" and c.has("negation") and after is not None:
            # `do not show or send the file`: the negation waits for what is denied.
            under = after.joint in _OR and after.about in _ACTION
        if not under and not n and c.about in _ACTION and before and _ALSO.search(c.said) and not c.has("usable"):
            under = True
        if not under and n and out[-1] and c.about in _ACTION and not c.has("released"):
            under = c.joint in _OR | {":", "："} or not (
                c.has("go", "assent", "override")
                or _CONTRAST.search(c.said)
                or _CONTRAST.search(c.joint)
                or c.joint == "so"
            )
        out.append(under)
    # `action: X; allowed: no`: in a ticket the members after a thing speak of it.
    if clauses and clauses[0].shape == "member":
        for n in range(len(clauses) - 1, 0, -1):
            if out[n] and not clauses[n].own and stops(clauses[n]):
                out[n - 1] = out[n - 1] or clauses[n - 1].about in _ACTION
    # `the action: blocked` stops what stands before the colon.
    for n in range(len(clauses) - 1):
        later = clauses[n + 1]
        if out[n + 1] and later.joint in {":", "：", "–", "-", "—", "→", "("} and not later.own:
            out[n] = True
    return out


def _sentence(read: Read, n: int) -> Iterator[Signal]:
    clauses = read.of(n)
    said = read.said[n].said
    whole = read.whole[n]
    foreign = read.language != "en"
    asks = _QUESTION.search(said) is not None
    under = cues_of(" ".join(read.said[n].under).lower(), read.language) if read.said[n].under else {}
    denied = read.said[n].shape == "member" and bool({"stop", "negation"} & under.keys())
    if read.said[n].beside and not _OPEN_KEY.search(" ".join(read.said[n].under[-1:])):
        # `kind: stop` beside a list says what becomes of the list, unless its own key says otherwise.
        near = cues_of(read.said[n].beside.lower(), read.language)
        denied = denied or ("stop" in near and "released" not in near)
    earlier = [c for b in range(max(0, n - 2), n) for c in read.of(b)]
    held = _stopped(clauses, denied, any(stops(c) or (c.prerequisite and c.has("gate")) for c in earlier))
    firm = any(_FIRM.search(c.said) for c in clauses)
    gated = firm and any(c.prerequisite or c.named for c in clauses)
    lacking = any(c.has("open") and not c.own and _LACK.search(c.said) for c in clauses)
    acts = [c for c in clauses if c.about in _ACTION]
    asked = any(c.prerequisite for c in clauses)
    reported = any(c.theirs for c in clauses[:2])
    for place, (c, stopped) in enumerate(zip(clauses, held, strict=True)):
        after = clauses[place + 1 : place + 2]

        def s(kind: str, c: Reading = c) -> Signal:
            return Signal(kind, c.said, n, c.actions)

        pending = bool(c.prerequisite) and (c.has("open", "negation", "later") or lacking)
        if stopped:
            if stops(c) or denied:
                bare = not c.has("stop") and (not c.own or (bool(c.prerequisite) and not c.verb))
                kind = "stop_carried" if bare else "stop_act" if c.about != "none" else "stop_bare"
                before = clauses[place - 1] if place else None
                wished = before is not None and c.joint in {":", "："} and before.has("soft") and not before.own
                yield s("stop_said" if reported or c.theirs or wished else "stop_note" if c.shape == "note" else kind)
            else:
                yield s("stop_also")
        elif (
            foreign
            and c.about in _ACTION
            and (not c.own or c.about != "stop")
            and _MAY.search(c.said)
            and not c.has("negation")
        ):
            yield s("way_ok")  # words both share, said to be allowed: across languages that is the way left open
        elif c.about in _ACTION and not c.has("negation"):
            met_first = any(
                _GATING.search(b.said)
                and (b.prerequisite or b.named)
                and not b.has("negation", "later", "silence", "trouble")
                for b in clauses[:place]
            )
            free = not c.has("gate") and not gated and not asks and not pending and not met_first
            pressed = not c.has("override") and any(b.has("override") for b in clauses[:place])
            free = free and not c.goal and not (c.named and c.has("decides")) and not _LOOKS.search(clauses[0].said)
            free = free and not (c.prerequisite and "=" in c.said)  # `waiver granted = order can be written`
            free = (free or (pressed and c.own)) and not c.has("past", "unadopted", "rejects")
            if free and (pressed or c.verb or c.has("go", "usable")):
                kind = "go_act" if c.own else "go_carried"
                yield s("go_mixed" if kind == "go_act" and (any(held) or c.about == "mixed") else kind)
            elif free and c.own and c.shape in {"item", "row"}:
                yield s("act_item")
        if c.about == "none" and not c.has("negation", "stop", "gate"):
            started = foreign and c.shape == "item" and c.has("go") and not c.has("usable")
            if foreign and _MAY.search(c.said):
                yield s("way_ok")
            elif _STRONG_GO.search(c.said) or started or _DO_IT.search(c.said):
                yield s("go_bare")
        if c.shape == "member" and _TASK_KEY.match(c.said) and c.about in _ACTION and not stopped:
            yield s("go_act")
        if pending or (foreign and not c.own and c.has("open") and _UNMET.search(c.said) and not c.has("vague")):
            yield s("q_open")
        elif c.kind and c.has("open", "negation"):
            yield s("kind_open")
        elif c.prerequisite & read.anchors.kind or len(c.prerequisite) > 2:
            yield s("q_named")
        if c.prerequisite and c.has("closed") and "=" not in c.said and not c.has("gate", "negation", "open", "soft"):
            yield s("q_closed")
        if c.named or (foreign and c.role and c.has("decides")):
            told = c.has("told") or any(b.has("told") and not b.own and b.joint in {"(", ":", "："} for b in after)
            labelled = bool(place) and _DECIDER.search(clauses[place - 1].said) is not None
            binding = labelled or gated or asked or c.has("decides", "gate", "open", "negation", "stop")
            binding = binding or len(c.said) < _BRIEF or _RULES.search(c.said) is not None
            yield s("a_told" if told else "a_named" if binding else "a_bare")
            if (c.has("decides") or labelled) and not told:
                yield s("a_decides")
        elif foreign and _DECIDES.search(c.said):
            yield s("a_named")
            yield s("a_decides")
        if c.about == "way":
            lost = c.has("lost") or any(b.has("lost") and b.about in {"way", "none"} and not b.own for b in after)
            if lost:
                yield s("way_lost")
            elif c.has("unusable") and (c.own or c.joint in {":", "：", "("} or not c.has("negation")):
                yield s("way_bad")
            elif reported and c.shape != "note":
                yield s("way_said")
            elif c.has("usable") or c.own:
                yield s("way_ok")
                if _FREE.search(c.said) and not c.has("negation", "later", "soft"):
                    yield s("way_free")
        if c.has("released") and not _CONDITIONAL.search(said.lower().split(c.cues["released"])[0][-60:]):
            yield s("released")
        if c.has("override") and not (c.about == "way" and c.has("usable")):
            yield s("override")
            if c.has("go") and not c.has("negation", "stop") and c.about == "none":
                yield s("go_bare")
        if c.has("later") and (c.prerequisite or c.about != "way"):
            yield s("later")
        theirs = c.theirs
        if c.has("soft") and c.about != "way" and not c.named:
            yield s("soft_said" if theirs else "soft")
        if c.has("rejects"):
            yield s("rejects")
        elif c.has("precedent") and not any(held):
            yield s("precedent")
        if c.has("assent"):
            yield s("assent_said" if theirs else "assent")
        if c.has("vague") and not theirs:
            yield s("vague")
        if c.has("unadopted"):
            yield s("unadopted")
        if _ONLY.search(c.said):
            yield s("only")
        if c.has("delegates") and not c.named and not theirs:
            yield s("delegates")
        if c.about in _ACTION and c.has("exempts") and not stopped:
            yield s("exempts")
        if c.prerequisite and c.has("later", "soft"):
            yield s("q_late")
        if c.named and c.has("gate"):
            yield s("a_gate")
        if c.named and c.has("open") and not c.has("decides"):
            yield s("a_open")
    if gated and not reported:
        yield Signal("gate_act" if acts else "gate", said, n)
    if "trouble" in whole:
        after_if = [c for c in clauses[1:] if c.about != "way" and not c.has("negation", "stop", "trouble")]
        if any(c.about in _ACTION or c.has("go", "usable", "delegates") for c in after_if):
            yield Signal("if_trouble", said, n)
    if "silence" in whole and not _LASTING.search(said):
        yield Signal("silence", said, n)


SAYINGS: Final[Mapping[str, str]] = {
    "stop_act": "stops a removed action",
    "stop_bare": "says stop without naming the action",
    "stop_note": "stops a removed action, but only in a note",
    "stop_carried": "denies what was named before",
    "stop_said": "reports a stop as somebody's view",
    "way_said": "reports the fallback as somebody's view",
    "stop_also": "carries a stop on to another action",
    "gate_act": "makes an action conditional",
    "gate": "states a condition",
    "only": "leaves no other way",
    "rejects": "turns a precedent or another case down",
    "delegates": "leaves it to whoever is there",
    "exempts": "lets a part of it through",
    "if_trouble": "goes on under pressure or for want of an answer",
    "q_late": "postpones or belittles the prerequisite",
    "a_gate": "makes it wait for the authority",
    "a_open": "says what the authority has yet to do",
    "way_gone": "leaves the fallback taken away",
    "way_lost": "takes the fallback away",
    "way_ok": "offers the fallback",
    "way_free": "says that the fallback may be used",
    "way_bad": "takes the fallback away or belittles it",
    "a_decides": "names the authority as the one who decides",
    "a_named": "names the authority",
    "a_told": "the authority is only informed",
    "q_open": "names the prerequisite as not obtained",
    "q_named": "names the prerequisite",
    "q_closed": "presents the prerequisite as met",
    "go_act": "sets a removed action in motion",
    "kind_open": "names an approval or the like as not obtained",
    "no_stop": "no clause stops or conditions anything",
    "go_part": "lets one removed action through beside another that it stops",
    "a_bare": "mentions the authority in passing",
    "go_despite": "sets in motion in one place what it stops in another",
    "soft_said": "reports that somebody would rather not be bound",
    "assent_said": "reports that somebody sees no risk",
    "go_mixed": "sets a removed action in motion beside a stop",
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
