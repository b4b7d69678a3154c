"""What is said without a number and follows from receipts: later, unchanged, not done, the cheapest, the maximum."""

from __future__ import annotations

import re
from collections import defaultdict
from decimal import Decimal
from typing import Final

from tallystick.prose.derive import moment_of
from tallystick.prose.facts import Fact
from tallystick.prose.grounds import Case, Ground
from tallystick.prose.likeness import alike, empty
from tallystick.prose.subjects import NOBODY
from tallystick.prose.words import GENERIC, key_stems, stem, stems_of

_COMPARE: Final = re.compile(
    r"\b(?P<low>cheaper|lower|less expensive|shorter|earlier|lighter|smaller)\b"
    r"|\b(?P<high>later|longer|higher|more expensive|pricier|heavier|larger)\b",
    re.IGNORECASE,
)


def comparison(case: Case) -> Ground | None:
    """Return whether a comparison without a number holds between things of one kind; None where none is made."""
    found = _COMPARE.search(case.setting.span)
    if found is None:
        return None
    word = (found["low"] or found["high"]).lower()
    in_time = word in ("later", "earlier")
    for subject in case.tiers[:3]:
        for fact in reversed(case.record.facts):
            if subject is NOBODY or case.closeness(fact, subject) < 2 or fact.call.came == "failed":
                continue
            for other in case.record.facts:
                if other.key != fact.key or other.thing is fact.thing:
                    continue
                if in_time and isinstance(fact.value, str) and isinstance(other.value, str):
                    a, b = moment_of(fact.value), moment_of(other.value)
                    if a is None or b is None or a == b:
                        continue
                    if (a > b) == (word == "later"):
                        return Ground(True, (fact, other), derived=True)
                elif (
                    in_time or not isinstance(fact.value, (int, Decimal)) or not isinstance(other.value, (int, Decimal))
                ):
                    continue
                elif fact.value != other.value and (fact.value < other.value) == bool(found["low"]):
                    return Ground(True, (fact, other), derived=True)
    return Ground(False, why="no receipt bears the comparison out")


_NOT_DONE: Final = re.compile(
    r"\b(?:no|without|not|never|nothing|neither|haven['\u2019]t|didn['\u2019]t|wasn['\u2019]t|weren['\u2019]t|hasn['\u2019]t)\b"
    r"(?P<what>[^.;]*?)"
    r"\b(?P<verb>used|applied|taken|made|redeemed|charged|cancell?ed|changed|booked|processed|issued|added|removed|sent"
    r"|updated|modified|finalized|touched|affected|refunded|returned|exchanged|changes)\b"
    r"|\bdid(?:n['\u2019]t|\W{1,4}not)\W{1,4}(?P<base>add|change|cancel|book|process|issue|remove|send|apply|redeem"
    r"|make|swap|touch|submit|place|update|modify|charge)\b",
    re.IGNORECASE,
)


_NOTHING: Final = re.compile(r"\bnothing\b|\bno (?:\w+ ){0,2}changes\b", re.IGNORECASE)
_SINCE: Final = re.compile(r"\b(?:since|additional|further|other|else|new|more|again)\b", re.IGNORECASE)


def not_done(case: Case) -> Ground | None:
    """Return whether what is said not to have been done was not: no call that went well is about it."""
    found = _NOT_DONE.search(case.setting.span)
    if found is None:
        return None
    topic = (stems_of(found["what"] or "") | {stem(found["verb"] or found["base"])}) - GENERIC
    everything = _NOTHING.search(found[0]) is not None
    since = _SINCE.search(case.setting.span) is not None
    for call in case.record.calls:
        if since and call.call.message < case.message:
            continue
        if not call.reads and call.came == "ok" and everything:
            return Ground(False, why=f"`{call.call.tool}` went well")
        if not call.reads and call.came == "ok" and any(alike(t, s) for t in topic for s in key_stems(call.call.tool)):
            about = [f for f in case.record.facts if f.call is call]
            if any(case.closeness(f, case.tiers[0]) for f in about):
                return Ground(False, why=f"`{call.call.tool}` went well")
    if not case.record.calls:
        return Ground(False, why="nothing is on record")
    return Ground(True, derived=True)


_ABSENT: Final = re.compile(
    r"\b(?:there(?:['\u2019]s| is| are| was| were)? (?:also |currently )?"
    r"(?:isn['\u2019]t|aren['\u2019]t|wasn['\u2019]t|no|not)"
    r"|(?:don['\u2019]t|do not|didn['\u2019]t|did not|can['\u2019]t|cannot|doesn['\u2019]t|does not)"
    r" (?:\w+ )?(?:see|find|have|show|list|include)"
    r"|(?:found|see|has|have|shows?|lists?|with) no)\b(?: an?\b| any\b| a separate\b)? *(?P<what>[^,.;:()]+)",
    re.IGNORECASE,
)
_NONE_THERE: Final = re.compile(
    r"\bno (?P<what>[a-z -]{3,50}?) (?:is|are|was|were) (?:currently )?(?:available|found|listed|active|on)\b",
    re.IGNORECASE,
)
_NP_END: Final = re.compile(
    r"\b(?:on|in|for|attached|under|to|available|that|which|from|at|with|left|of|here|and|or|is|are|currently|yet)\b"
)


def absent(case: Case) -> Ground | None:
    """Return whether what is said not to be there is nowhere on record; None where nothing of the kind is said.

    A field or value that has all the words of it and is neither zero nor empty is there.
    """
    span = case.setting.span.replace("*", "")
    found = _ABSENT.search(span) or _NONE_THERE.search(span)
    if found is None or not case.record.calls:
        return None
    what = _NP_END.split(found["what"])[0]
    wanted = stems_of(what) - {stem(w) for w in ("separate", "additional", "specific", "visible", "future", "valid")}
    if not wanted:
        return None
    for fact in case.record.facts:
        if fact.call.came == "failed" or fact.asked or empty(fact.value):
            continue
        said = fact.stems | (
            stems_of(fact.value) if isinstance(fact.value, str) and len(fact.value) < 60 else frozenset()
        )
        if wanted <= said and any(case.closeness(fact, s) for s in case.tiers[:3]):
            return Ground(False, why=f"`{fact.key}` says otherwise")
    return Ground(True, derived=True)


_SAME: Final = re.compile(
    r"\b(?:unchanged|same|as[ -]is|as before|kept|keep(?:s|ing)?|preserved?|retain\w*"
    r"|not (?:been )?(?:changed|touched|affected)"
    r"|stay(?:s|ing|ed)?|remains?|untouched|still|no changes?|intact|left (?:alone|as))\b",
    re.IGNORECASE,
)


def unchanged(case: Case) -> Ground | None:
    """Return whether what is said to be as before is so; None where nothing of the kind is said."""
    if not _SAME.search(case.setting.span):
        return None
    for subject in case.tiers[:3]:
        if subject is NOBODY:
            break
        about = [
            f for f in case.record.facts if case.closeness(f, subject) >= 3 and f.call.came == "ok" and not f.asked
        ]
        if not about:
            continue
        history: dict[str, list[Fact]] = defaultdict(list)
        for fact in about:
            if fact.call.reads and not fact.listed:
                history[fact.key].append(fact)
        written = {
            id(f.call)
            for f in case.record.facts
            if not f.call.reads and f.call.came == "ok" and case.closeness(f, subject) >= 3
        }
        if not written:
            return Ground(True, tuple(about[:1]), derived=True)
        both = {k: (v[0], v[-1]) for k, v in history.items() if v[0].call is not v[-1].call}
        if not both:
            args = [
                f
                for f in case.record.facts
                if f.asked and not f.call.reads and f.call.came != "failed" and case.closeness(f, subject) >= 3
            ]
            kept = [f for f in args if f.key in history and f.value == history[f.key][-1].value]
            if kept and len(kept) * 2 >= len([f for f in args if f.key in history]):
                return Ground(True, tuple(kept[:3]), derived=True)
            return Ground(False, why="it was not read again after the change", near=True)
        words = stems_of(case.setting.span)
        named = {k: v for k, v in both.items() if (key := v[0].stems - GENERIC) and key & words}
        changed = [k for k, (a, b) in (named or both).items() if a.value != b.value]
        if named and changed:
            return Ground(False, why=f"`{changed[0]}` did change")
        if len(changed) * 2 <= len(both):
            some = next(iter((named or both).values()))
            return Ground(True, some, derived=True)
        return Ground(False, why="most of it did change")
    return None


_EXTREME: Final = re.compile(
    r"\b(?:max(?:imum)?|minimum|at the cap|than (?:necessary|needed)"
    r"|as (?:much|many|little|few) as (?:possible|allowed)"
    r"|best|cheapest|lowest|highest|fastest|quickest|earliest|latest|most|least|shortest|longest|biggest|only one)\b",
    re.IGNORECASE,
)


def extreme(case: Case) -> Ground | None:
    """Return whether a superlative is borne out: a field or text of the record names the bound, or a list shows it."""
    found = _EXTREME.search(case.setting.span)
    if found is None:
        return None
    word = found[0].lower()
    bound = (
        {"max", "maximum", "limit", "cap"}
        if word.startswith(("max", "at the cap", "as", "than"))
        else {"min", "minimum"}
    )
    topic = stems_of(case.setting.span) - {stem(word)}
    if word.startswith(("max", "min", "at the", "than", "as ")):
        for fact in case.record.facts:
            words = fact.stems | (stems_of(fact.value) if isinstance(fact.value, str) else frozenset())
            if words & bound and topic & (words | fact.place) and fact.call.came == "ok":
                return Ground(True, (fact,), derived=True)
        return Ground(False, why=f"no receipt gives the bound that `{word}` speaks of")
    if word in ("most", "least", "best", "only one", "latest"):
        return None
    wanted = {
        "cheapest": ("price", "cost", "fare", "total"),
        "lowest": ("price", "cost", "fare"),
        "highest": ("rat", "price"),
    }.get(word, ("duration", "depart", "eta", "day", "arriv"))
    largest = word in ("highest", "longest", "biggest")
    compared = False
    for subject in case.tiers[:4]:
        for fact in reversed(case.record.facts):
            if case.closeness(fact, subject) < 2 or not fact.stems & set(wanted) or isinstance(fact.value, bool):
                continue
            row = [
                f
                for f in case.record.facts
                if f.call is fact.call and f.key == fact.key and type(f.value) is type(fact.value)
            ]
            if len(row) >= 2 and isinstance(fact.value, (int, Decimal, str)):
                compared = True
                best = max(f.value for f in row) if largest else min(f.value for f in row)
                if best == fact.value:
                    return Ground(True, (fact,), derived=True)
    if not compared and case.mentions:
        return None  # its values are judged on their own
    return Ground(False, why=f"no receipt shows which is the {word}")
