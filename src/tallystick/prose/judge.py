"""The verifier of statements in prose: one span of one message, judged from the calls up to and including it.

A statement is taken apart: its values (amounts, dates, counts, identifiers), its words for states and choices, what it
says was done. Each part must be borne out, for the entity spoken of, in the field spoken of, by the newest receipt; one
that is not refuses the whole. Words that nothing in the record explains are tolerated only beside others that it does.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from tallystick.model.trace import Trace
from tallystick.prose import amounts, bounds, compare, deeds, derive, matching, qualities, totals
from tallystick.prose.facts import Record, record_of
from tallystick.prose.grounds import Case, Ground, Judged, Receipt, receipt_of
from tallystick.prose.likeness import Words, polarity
from tallystick.prose.reading import Mention
from tallystick.prose.setting import setting_of
from tallystick.prose.statuses import STRICT
from tallystick.prose.subjects import Subjects
from tallystick.prose.words import stemmed, stems_of

_OFFER: Final = re.compile(
    r"(?<!before )(?<!until )(?<!unless )\b(?:I|we)"
    r"(?: can|['\u2019]ll| will| could| would|['\u2019]d|['\u2019]m (?:happy|glad|able))\b"
    r"(?! not\b| confirm\b(?! (?:this|the|your))"
    r"| confirm\b(?=[^.?!]* (?:is|are|was|were|has|have|had|remains?)\b)| see\b| tell you| verify that)"
    r"|\b(?:happy to|glad to|let me know|feel free|would you like|do you want"
    r"|want me to)\b"
    r"|\b(?:if you(?:['\u2019]d)? (?:want|like|prefer|need))\b"
    r"|\b(?:I|we)['\u2019]?(?:ll)? (?:help|recommend|suggest|think|believe|understand|appreciate)\b"
    r"|^(?:can|could|help|check whether|review)\b",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"\b(?:would|wouldn['\u2019]t|if you|once you|then your|once (?:the|it|that))\b", re.IGNORECASE
)
_CLOSING: Final = re.compile(
    r"\b(?:you['\u2019]?re|you are|everything(?:['\u2019]s| is)|that['\u2019]s) (?:now )?"
    r"(?:all )?(?:set|good|welcome|done)\b"
    r"|\b(?:both|all) (?:statements|points) (?:are|is)\b|\bsorry\b|\bgood news\b|\bgreat choice\b",
    re.IGNORECASE,
)
_ALL: Final = re.compile(
    r"\b(?:all (?:of (?:them|these|that)|two|three|four|five|six|[0-9]+|correct|set)|everything"
    r"|both (?:are|of)|breakdown|that['\u2019]s (?:correct|right))\b",
    re.IGNORECASE,
)
_KEPT: Final = re.compile(
    r"\b(?:preserv|kept|keep|same|unchanged|retain|stay|remain|still|carr(?:y|ied) over)\w*\b", re.IGNORECASE
)
_BECAUSE: Final = re.compile(
    r"\b(?:because|since|due to|as a result of)\b(?P<reason>[^,]*), (?P<rest>.+)", re.IGNORECASE
)
_VAGUE: Final = re.compile(
    r"\b(?:a few|several|a couple(?: of)?|some) (?:\w+ )?(?:days?|hours?|weeks?|months?|minutes?)\b", re.IGNORECASE
)
_ABBREVIATIONS: Final = frozenset(
    {"ETA", "FAQ", "USD", "EUR", "GBP", "ID", "OK", "TV", "USB", "SSD", "RAM", "LED", "VIP", "PDF", "URL", "API"}
)
_EXISTS: Final = re.compile(r"\b(?:exists?|on file|in our catalog\w*|in the catalog\w*)\b", re.IGNORECASE)
_RULING: Final = stemmed(
    {"apply", "applies", "qualify", "work", "combine", "stack", "count", "cover", "include", "match", "discount",
     "meet", "affect", "change", "fit", "add", "use"}
)  # fmt: skip
"""Stems of what rules and codes do or do not do."""
_THERE: Final = stemmed({"exist", "exists", "found", "product", "item", "order", "booking", "match", "option"})
"""Stems of words that say no more of a thing than that it is on record."""
_NUMERIC: Final = frozenset(
    {
        "money",
        "number",
        "percent",
        "date",
        "month_day",
        "time",
        "datetime",
        "instant",
        "duration",
        "quantity",
        "id",
        "code",
    }
)


class Verifier:
    """Judges statements of one conversation. Records are built once a message.

    Args:
        trace: the conversation.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._records: dict[int, tuple[Record, Subjects]] = {}

    def judge(self, message: int, start: int, span: str) -> Judged:
        """Return what the record up to a message says of a span of its text.

        Args:
            message: the message's index.
            start: offset of the span.
            span: its words, as they stand there.

        Raises:
            ValueError: the span does not stand there.
        """
        said = next((m for m in self.trace.messages if m.index == message), None)
        if said is None or said.text[start : start + len(span)] != span:
            raise ValueError(f"message {message} does not say that at {start}")
        made = self._made(message)
        earlier = [m for m in self.trace.messages if m.index < message and m.text and m.role != "system"]
        case = Case(
            setting=setting_of(said.text, start, start + len(span)),
            record=made[0],
            subjects=made[1],
            earlier=tuple(m.text for m in reversed(earlier)),
            asked=tuple(m.text for m in reversed(earlier) if m.role == "user"),
            message=message,
        )
        return judge(case)

    def record(self, message: int) -> Record:
        """Return what was on record when a message was written."""
        return self._made(message)[0]

    def _made(self, message: int) -> tuple[Record, Subjects]:
        calls = sum(len(m.calls) for m in self.trace.messages if m.index <= message)
        made = self._records.get(calls)
        if made is None:
            record = record_of(self.trace, message)
            made = self._records[calls] = (record, Subjects(record))
        return made


def judge(case: Case, *, depth: int = 0) -> Judged:
    """Return what the record says of the statement of a case."""
    span = case.setting.span
    values = [m for m in case.mentions if m.kind in _NUMERIC and not _is_plain_word(case, m)]
    trailing = _OFFER.search(span)
    if trailing is not None and depth == 0 and len(span[: trailing.start()].split()) >= 4:
        # `the kettle is in stock if you want it` states what comes before the offer.
        return judge(case.elsewhere(case.text, case.setting.start, case.setting.start + trailing.start()), depth=1)
    offer = _is_offer(case, plain=not values)
    if offer and not values:
        return Judged(verdict="not_checkable", why="an offer, a plan or a condition")
    lines = case.setting.following_list() if _ALL.search(span) and depth == 0 else []
    counted = [m for m in values if m.kind == "number"]
    if lines and all(len(lines) in m.numbers for m in counted):
        return _each(case, lines)
    kept = case.setting.following_list() if _KEPT.search(span) and depth == 0 and not values else []
    if not case.text[case.setting.end : case.setting.line()[1]].rstrip(" *_").endswith(":"):
        kept = []
    if kept:
        # `Your preferences are kept:` claims each line; read again or not, none may have changed.
        as_before = compare.unchanged(case)
        if as_before is None or as_before.holds or as_before.near:
            return _each(case, kept)
    if _CLOSING.search(span) and not values:
        return Judged(verdict="not_checkable", why="a closing phrase or an opinion")
    grounds: list[Ground] = []
    asked = False
    attempt = deeds.tried(case)
    if attempt is not None:
        grounds.append(Ground(True, (attempt,)))
    words = qualities.weigh(case)
    if not values and attempt is None and _UNABLE.search(_lead(case) + span) and "text" not in words.grounded.values():
        return Judged(verdict="not_checkable", why="what the speaker can or cannot do")
    if words.failed and not offer and attempt is None:
        return Judged(verdict="refused", why=words.failed[0])
    for mention in values:
        if _asked_for(case, mention):
            bound = bounds.compared(case, mention)
            if bound is not None and not bound.holds:
                return Judged(verdict="refused", why=bound.why)
            if bound is not None:
                grounds.append(bound)
            asked = True
            continue
        ground = amounts.ground(case, mention)
        if not ground.holds and qualities.denied_value(case, mention):
            ground = Ground(not ground.near, derived=True, why="the record does state it")
        elif not ground.holds:
            for follow in (derive.number, totals.worked_out, totals.restated):
                derived = follow(case, mention)
                if derived.holds:
                    ground = derived
                    break
        if not ground.holds:
            return Judged(verdict="refused", why=ground.why)
        grounds.insert(len(grounds) if mention.kind in ("id", "code") else 0, ground)  # receipts of values come first
    if _VAGUE.search(span):
        return Judged(verdict="refused", why="no receipt gives a time so vague")
    for day in derive.has_weekday(span):
        ground = derive.weekday(case, day)
        if not ground.holds:
            return Judged(verdict="refused", why=ground.why)
        grounds.append(ground)
    reason = _BECAUSE.search(span)
    if reason is not None and reason["rest"] and not _is_reason(case, reason["reason"], reason["rest"]):
        return Judged(verdict="refused", why="no receipt gives that as the reason for it")
    for rule in (compare.not_done, compare.absent, compare.extreme, compare.unchanged, compare.comparison):
        if rule is compare.not_done and words.strong:
            continue
        outcome = rule(case)
        if outcome is None:
            continue
        if outcome.holds:
            grounds.append(outcome)
        elif rule not in (compare.comparison, compare.unchanged, compare.absent) or not (grounds or words.strong):
            return Judged(verdict="refused", why=outcome.why)
    if offer and (not grounds or _offered_before(case, values)):
        return Judged(verdict="not_checkable", receipts=_receipts(grounds), why="an offer, a plan or a condition")
    facts = [f for g in grounds for f in g.facts]
    if not grounds and not words.strong and _denial(case, words):
        return Judged(verdict="derivable", why="what it denies stands nowhere in the record")
    if not grounds:
        known = [w for w in words.content if w in words.grounded]
        share = len(known) / len(words.content) if words.content else 1.0
        deed = "done" in words.grounded.values() and share >= 0.25 and deeds.speaks_of_own(span)
        if not words.strong or (share < 0.5 and not deed):
            named = [s for s in case.subjects.spots(span) if s.rank >= 3 or (s.rank == 1 and _EXISTS.search(span))]
            if named and (share == 1.0 or set(words.content) <= _THERE):
                return Judged(verdict="supported", why="it names what is on record")
            return Judged(verdict="refused", why="no receipt says so")
    follows = asked or words.derived or any(g.derived for g in grounds)
    receipts = tuple(dict.fromkeys(receipt_of(f) for f in (*facts, *words.strong[:3])))
    return Judged(verdict="derivable" if follows else "supported", receipts=receipts, why="borne out")


def _denial(case: Case, words: Words) -> bool:
    """Return whether a span denies what the record knows of and nowhere affirms."""
    span = case.setting.span
    if not polarity(span + " ", len(span)) or compare.extreme(case) is not None or not words.content:
        return False
    if any(m.kind == "status" and str(m.readings[0].value) in STRICT for m in case.mentions):
        return False
    named = any(s.rank >= 1 for s in case.subjects.spots(span))
    known = [w for w in words.content if w in words.grounded or (named and w in _RULING)]
    return len(known) * 2 >= len(words.content) and (named or len(known) >= 2)


def _offered_before(case: Case, values: list[Mention]) -> bool:
    """Return whether a span's offer comes before its values: `in stock for $249 if you'd like` states the price."""
    found = _OFFER.search(case.setting.span)
    return found is not None and not (values and case.setting.start + found.start() >= values[-1].end)


def _receipts(grounds: list[Ground]) -> tuple[Receipt, ...]:
    return tuple(dict.fromkeys(receipt_of(f) for g in grounds for f in g.facts))


def _is_plain_word(case: Case, mention: Mention) -> bool:
    """Return whether a number is no value here: the `one` of `one of them`, capitals that are no code of the record."""
    if mention.kind == "code":
        if case.text[mention.end : mention.end + 3].lstrip("*").startswith(":") or mention.text in _ABBREVIATIONS:
            return True
        known = mention.text.lower()
        return (
            not any(isinstance(f.value, str) and f.value.lower() == known for f in case.record.facts)
            and len(mention.text) != 3
        )
    if any(s.rank == 3 and s.start <= mention.start < s.end for s in case.subjects.spots(case.text)):
        return True  # part of a name
    line = case.setting.lines[case.setting.line_at(mention.start)]
    if (
        mention.kind == "number"
        and not case.text[line.start : mention.start].strip()
        and case.text[mention.end : mention.end + 1] in ".)"
    ):
        return True  # it numbers a list
    if mention.kind == "id" and "_" in mention.text:
        return any(f.key == mention.text for f in case.record.facts)
    if mention.kind == "number" and mention.text.isalpha():
        return mention.text.lower() in ("one", "once", "both", "twice") or (
            not mention.noun and mention.text.lower() != "zero" and not case.setting.following_list()
        )
    return False


_WISH: Final = re.compile(
    r"\b(?:budget|deadline|requirement|criteri\w+|you (?:asked|wanted|said|mentioned|need|requested)"
    r"|your (?:rules?|limit|cap|max\w*|target)"
    r"|by|before|or less|at most|no more than|under|within)\b|\u2264|<",
    re.IGNORECASE,
)


def _asked_for(case: Case, mention: Mention) -> bool:
    """Return whether a value is only the bound a user set (`lands by 8 PM`), which no receipt need state."""
    if mention.kind not in ("time", "money", "duration", "quantity"):
        return False
    low, _ = case.setting.clause(mention.start, mention.end)
    if _WISH.search(case.text[low : mention.end + 10]) is None or mention.approximate == "least":
        return False
    if any(matching.states(mention, f) == "exact" for f in case.record.facts if not f.asked):
        return False
    return any(
        matching.agrees(mention, m) and (mention.kind == "money") == (m.kind == "money")
        for text in case.asked
        for m in matching.read(text)
    )


@lru_cache(maxsize=1024)
def _offers(text: str, plain: bool) -> bool:
    return bool(_OFFER.search(text) or (plain and _CONDITION.search(text)))


def _is_offer(case: Case, *, plain: bool) -> bool:
    """Return whether a span is an offer, a plan or conditional: by its own words, or those of its clause before it.

    `plain`: it states no value; one that does is judged by it, whatever it depends on.
    """
    low, high = case.setting.sentence()
    clause_low, _ = case.setting.clause(case.setting.start, case.setting.end)
    text = case.text
    if _offers(case.setting.span, plain) or text[low:high].rstrip(" *_\"')").endswith("?"):
        return True
    head = next(iter(case.setting.headings()), (0, 0))
    if plain and _OFFER.search(text[slice(*head)]):
        return True
    lead = text[max(low, clause_low) : case.setting.start]
    return bool(_OFFER.search(lead))


_UNABLE: Final = re.compile(
    r"\b(?:I|we) (?:can['\u2019]t|cannot|can not|couldn['\u2019]t"
    r"|(?:am|are|was)(?:n['\u2019]t| not) able|don['\u2019]t have)\b"
    r"|\bunable to\b|\bnot able to\b",
    re.IGNORECASE,
)


def _lead(case: Case) -> str:
    """Return the words of the sentence before a span, and of the line that heads it."""
    head = next(iter(case.setting.headings()), (0, 0))
    low = max(case.setting.sentence()[0], case.setting.clause(case.setting.start, case.setting.end)[0])
    return case.text[slice(*head)] + " " + case.text[low : case.setting.start].rpartition(": ")[2]


def _each(case: Case, lines: list[tuple[int, int]]) -> Judged:
    """Judge a statement about a list that follows: it holds where each line does."""
    receipts: list[Receipt] = []
    for begin, end in lines:
        start = end - len(case.text[begin:end].lstrip(" -*\u2022"))
        judged = judge(case.elsewhere(case.text, start, end), depth=1)
        if judged.verdict == "refused":
            return Judged(verdict="refused", why=f"not so for a line below it: {judged.why}")
        receipts.extend(judged.receipts[:1])
    return Judged(verdict="derivable", receipts=tuple(dict.fromkeys(receipts)), why="each line below it is borne out")


def _is_reason(case: Case, reason: str, rest: str) -> bool:
    """Return whether one text or object of the record has words of both a reason and what it is said to be for."""
    why, what = stems_of(reason), stems_of(rest)
    if not why or not what:
        return True
    for fact in case.record.facts:
        if isinstance(fact.value, str) and " " in fact.value and fact.call.came != "failed" and not fact.asked:
            said = stems_of(fact.value)
            if why & said and what & said:
                return True
    return False
