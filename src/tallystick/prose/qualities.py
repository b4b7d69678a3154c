"""What a statement says in words: states, choices, yes and no, and what was done."""

from __future__ import annotations

import re
from collections import defaultdict
from decimal import Decimal
from typing import Final

from tallystick.prose.choices import judge_choices
from tallystick.prose.deeds import judge_deeds
from tallystick.prose.facts import NAME_KEY, PREVIEWS, Fact
from tallystick.prose.grounds import GENERAL, Case
from tallystick.prose.likeness import Words, alike, denied_at, empty, none_of, polarity, stems_of_call
from tallystick.prose.matching import agrees, read
from tallystick.prose.reading import Mention
from tallystick.prose.statuses import STATUS, STRICT, SWITCHED, status_of
from tallystick.prose.subjects import NOBODY, Subject
from tallystick.prose.vocabulary import SPELLED
from tallystick.prose.words import GENERIC, STOP, key_stems, stem, stems_of, tokens_of, widened

_YES: Final = re.compile(r"[:=]\**\s*\**(?:yes|true|included|added|enabled|on)\b", re.IGNORECASE)
_NO: Final = re.compile(
    r"\b(?:set to|(?:is|still|as)(?= \W*(?:no|none|off)\W*$))\W{1,4}(?:no|none|false|off)\b"
    r"|[:=]\**\s*\**(?:no|none|false|not \w+|disabled|off|n/a)\b(?!\s+(?:additional|extra|separate|further|change)\b)",
    re.IGNORECASE,
)


class Vocabulary:
    """The short texts that stand as values in a record, by their stems."""

    def __init__(self, facts: list[Fact]) -> None:
        self.by_words: dict[tuple[str, ...], list[Fact]] = defaultdict(list)
        self.longest = 1
        for fact in facts:
            if not isinstance(fact.value, str) or not 1 < len(fact.value) <= 60 or fact.call.came == "failed":
                continue
            for text in {fact.value, SPELLED.get(fact.value, "")}:
                words = tuple(stem(w) for _, _, w in tokens_of(text.replace("_", " ")))
                if words and len(words) <= 5 and not (len(words) == 1 and words[0].isdigit()):
                    self.by_words[words].append(fact)
                    if words[-1] == "card" and len(words) == 2:
                        self.by_words["card",].append(fact)
                    self.longest = max(self.longest, len(words))


def vocabulary_of(case: Case) -> Vocabulary:
    """Return the vocabulary of a case's record, made once for each record."""
    made = case.record.vocabulary
    if not isinstance(made, Vocabulary):
        made = Vocabulary(case.record.facts)
        case.record.vocabulary = made
    return made


def weigh(case: Case) -> Words:
    """Return what the record makes of the words of a span."""
    span = case.setting.span
    base = case.setting.start
    named = [s for s in case.subjects.spots(case.text) if s.start < case.setting.end and s.end > base]
    values = [m for m in case.mentions if m.kind not in ("status", "boolean", "quoted")]
    tokens = [
        (at, stem(word), word)
        for at, end, word in tokens_of(_joined(span))
        if not any(m.start <= base + at < m.end for m in values)
    ]
    own = {s: n for n in named if n.rank >= 1 for s in range(n.start, n.end)}
    content = [
        s for at, s, w in tokens if w not in STOP and not w.isdigit() and "n't" not in w and base + at not in own
    ]
    words = Words(content, {}, [], [])
    _phrases(case, words, tokens, span, {at for n in named if n.rank >= 3 for at in range(n.start, n.end)})
    _states(case, words, span, {base + at for at, _, _ in tokens if base + at in own})
    _switches(case, words, tokens, span)
    judge_deeds(case, words, span)
    _membership(case, words, span)
    judge_choices(case, words, span)
    _texts(case, words)
    return words


def _joined(span: str) -> str:
    return re.sub(r"(?i)wi[-\u2010\u2011]fi", lambda m: "wifi" + " " * (len(m[0]) - 4), span)


def _near(case: Case, facts: list[Fact]) -> tuple[list[Fact], bool]:
    """Return which of these facts are about whom the statement is about, and whether that is decided.

    Decided where the subject named nearest has such a field at all.
    """
    keys = {f.key for f in facts}
    nearest = case.tiers[0]
    sure = nearest in case.framed
    if sure and not any(a.startswith("place:") for s in nearest for a in s):  # noqa: SIM102 - two thoughts
        # What is on record only for others of a kind of which there are several is a look-alike.
        if not any(case.closeness(f, nearest) for f in facts):
            return [], any(case.closeness(f, nearest) >= 2 for f in case.record.facts)
    for subject in case.tiers:
        least = 2 if subject is not NOBODY else 1
        if any(f.key in keys and case.closeness(f, subject) >= least for f in case.record.facts):
            return [f for f in facts if case.closeness(f, subject) >= least and case.stands(f)], True
        near = [f for f in facts if case.closeness(f, subject) and case.stands(f)]
        if near and subject is not NOBODY:
            return near, False
    return [f for f in facts if case.closeness(f, NOBODY) and case.stands(f)], False


def _phrases(case: Case, words: Words, tokens: list[tuple[int, str, str]], span: str, own: set[int]) -> None:
    known = vocabulary_of(case)
    stems = [s for _, s, _ in tokens]
    at = 0
    while at < len(stems):
        size = next(
            (
                n
                for n in range(min(known.longest, len(stems) - at), 0, -1)
                if tuple(stems[at : at + n]) in known.by_words
            ),
            0,
        )
        if not size or (size == 1 and tokens[at][2] in STOP):
            at += 1
            continue
        facts = known.by_words[tuple(stems[at : at + size])]
        if size == 1 and STATUS.fullmatch(tokens[at][2]):
            at += 1
            continue
        if all(case.setting.start + t[0] in own for t in tokens[at : at + size]) and all(
            NAME_KEY.search(f.key) for f in known.by_words[tuple(stems[at : at + size])]
        ):
            at += size
            continue
        near, decided = _near(case, facts)
        denied = polarity(span, tokens[at][0])
        keep = [f for f in near if f.call.came == "ok"] or near
        phrase = " ".join(w for _, _, w in tokens[at : at + size])
        label = all(any(s in f.stems for f in case.record.facts[-4000:]) for s in stems[at : at + size])
        if keep and not denied:
            words.grounded.update(dict.fromkeys(stems[at : at + size], "value"))
            words.strong.append(keep[-1])
        elif (
            keep
            and denied_at(span, tokens[at][0])
            and not label
            and not any(NAME_KEY.search(f.key) or f.key in ("brand", "category") for f in keep)
        ):
            words.failed.append(f"the record does say `{phrase}`")
        elif keep and denied:
            for s in stems[at : at + size]:
                words.grounded.setdefault(s, "denied")  # of what is denied further on, the record knows
        elif (
            decided
            and not keep
            and not denied
            and not label
            and phrase not in PREVIEWS
            and not span[tokens[at + size - 1][0] + len(tokens[at + size - 1][2]) :].lstrip("* ").startswith(":")
            and any(f.thing.primary for f in facts)
        ):
            words.failed.append(f"`{phrase}` is on record, but not for this")
        elif decided and not keep and denied and len(facts) > 0:
            words.grounded.update(dict.fromkeys(stems[at : at + size], "absent"))
            words.derived = True
        at += size


def _states(case: Case, words: Words, span: str, own: set[int]) -> None:
    """Judge words for the state of things (`statuses`): each must be borne out for whom the statement is about."""
    for mention in case.mentions:
        if mention.kind != "status" or mention.start in own or mention.start < case.setting.start:
            continue
        stems = stems_of(mention.text) or {stem(mention.text)}
        status = str(mention.readings[0].value)
        if re.search(r"\b(?:I|we)(?:['\u2019]ve| have)? (?:\w+ )?$", case.text[: mention.start]):
            continue  # a deed, judged as one
        if re.search(r"\b(?:to|must|can|should|may|might|would|could) be\W*$", case.text[: mention.start]):
            continue  # not said to be so
        if status == "processing" and re.match(r"\W{1,3}(?:a|an|the|your|it|that|this)\b", case.text[mention.end :]):
            continue  # what is being done, no state
        if status in ("approved", "completed", "confirmed", "updated", "pending") and re.match(
            r"\W{1,3}(?:amount|total|refund|credit|price|booking|itinerary|details?|package|cart)\b",
            case.text[mention.end : mention.end + 14],
            re.IGNORECASE,
        ):
            continue  # `the approved amount` says what the amount is
        denied = polarity(span, mention.start - case.setting.start)
        switch = _switched(case, status)
        if switch is not None:
            if (switch.value is SWITCHED[status][1]) != denied:
                words.grounded.update(dict.fromkeys(stems, "state"))
                words.strong.append(switch)
            else:
                words.failed.append(f"`{switch.key}` says otherwise")
            continue
        if all(words.grounded.get(s) for s in stems):
            continue
        nought = _nought(case) if status in ("waived", "free") and not denied else None
        if nought is not None:
            words.grounded.update(dict.fromkeys(stems, "state"))
            words.strong.append(nought)
            continue
        wanted = next(iter(sorted(stems)))
        found = None
        for subject in case.tiers[:4] or (NOBODY,):
            least = 2 if subject is not NOBODY else 1
            for fact in reversed(case.record.facts):
                if case.closeness(fact, subject) < least or not case.stands(fact) or fact.asked:
                    continue
                value = fact.value
                if (
                    isinstance(value, str)
                    and len(value.replace("_", " ").split()) <= 3
                    and "or" not in re.split(r"[\W_]+", value)
                    and any(alike(wanted, s) for s in key_stems(value.replace(" ", "_")))
                ):
                    found = fact
                    break
                if value is True and any(alike(wanted, s) for s in fact.stems):
                    found = fact
                    break
            if found:
                states = [f for f in case.record.facts if f.key == "status" and _is_state(case, f, subject)]
                if (
                    found.key != "status"
                    and case.closeness(found, subject) == 2
                    and states
                    and not any(alike(wanted, s) for s in key_stems(str(states[-1].value)))
                ):
                    found = None  # its own state goes before that of its parts
                break
            if (
                status in _EXCLUSIVE
                and subject in case.framed
                and any(
                    _is_state(case, f, subject) and status_of(str(f.value)) in _EXCLUSIVE for f in case.record.facts
                )
            ):
                break  # it has a state, and it is another
        if found is None and denied:
            other = next(
                (f for s in case.tiers[:3] for f in reversed(case.record.facts) if _is_state(case, f, s)), None
            )
            if other is not None:  # what it is in shows that it is not in that
                words.grounded.update(dict.fromkeys(stems, "state"))
                words.strong.append(other)
                words.derived = True
            continue
        if found is None and status == "confirmed" and not denied:
            found = next(  # what was changed as asked is confirmed
                (
                    f for s in case.tiers[:3] for f in reversed(case.record.facts)
                    if not f.call.reads and _is_state(case, f, s) and f.value in _ACCEPTED
                ),
                None,
            )  # fmt: skip
        if found is None and status == "expired":
            found = _ended(case, wanted)
        if found is None:
            said = _hedged(case, mention) and _in_text(case, wanted)
            if status in STRICT and not denied and not said and not _deed_of(case, wanted):
                words.failed.append(f"no receipt says `{mention.text}` of this")
            continue
        if denied:
            if _is_state(case, found, case.tiers[0]) and found.call.reads:
                words.failed.append(f"`{found.key}` says otherwise")
            continue
        words.grounded.update(dict.fromkeys(stems, "state"))
        words.strong.append(found)


def _ended(case: Case, wanted: str) -> Fact | None:
    """Return what shows that something is over: a text that says so of it, or the end that its own clause dates."""
    low, high = case.setting.clause(case.setting.start, case.setting.end)
    dates = [m for m in case.all_mentions if low <= m.start and m.end <= high and m.kind in ("date", "month_day")]
    for subject in case.tiers[:3]:
        for fact in reversed(case.record.facts):
            if not isinstance(fact.value, str) or not case.closeness(fact, subject) or not case.stands(fact):
                continue
            if " " in fact.value and fact.call.came != "failed" and wanted in stems_of(fact.value) and not fact.listed:
                if fact.thing.primary is not None:
                    return fact
            elif dates and fact.stems & _END and any(agrees(d, m) for d in dates for m in read(fact.value)):
                return fact
    return None


_END: Final = frozenset(stem(w) for w in ("end", "expiry", "expires", "expiration", "deadline", "until"))


_ACCEPTED: Final = frozenset({"updated", "changed", "applied", "added", "completed", "success"})
_EXCLUSIVE: Final = frozenset({"confirmed", "pending", "cancelled", "delivered", "shipped", "processing"})
"""States of which a thing is in one at a time."""


def _is_state(case: Case, fact: Fact, subject: Subject) -> bool:
    """Return whether a fact gives the state of a thing itself."""
    return (
        isinstance(fact.value, str)
        and "status" in fact.stems
        and not fact.asked
        and fact.call.came == "ok"
        and case.closeness(fact, subject) >= 3
        and not case.record.outdated(fact)
    )


def _nought(case: Case) -> Fact | None:
    """Return the fee of zero that a statement about a waived or free thing names, of whom it is about."""
    said = stems_of(case.text[slice(*case.setting.clause(case.setting.start, case.setting.end))])
    for subject in case.tiers[:4]:
        for fact in reversed(case.record.facts):
            if (
                isinstance(fact.value, (int, Decimal)) and not isinstance(fact.value, bool) and not fact.asked
                and fact.stems & said & _FEES and case.closeness(fact, subject) >= 2 and case.stands(fact)
            ):  # fmt: skip
                return fact if fact.value == 0 else None
    return None


_FEES: Final = frozenset(stem(w) for w in ("fee", "charge", "surcharge", "shipping", "cost", "penalty"))


def _switched(case: Case, status: str) -> Fact | None:
    """Return the true or false on record for a state, of whom the statement is about."""
    if status not in SWITCHED:
        return None
    name = stem(SWITCHED[status][0])
    said = stems_of(case.text[slice(*case.setting.line())]) | {name, "in", "be", "is"}
    for subject in case.tiers:
        least = 2 if subject is not NOBODY else 1
        for fact in reversed(case.record.facts):
            if (
                isinstance(fact.value, bool)
                and name in fact.stems
                and fact.stems <= said
                and not fact.asked
                and case.closeness(fact, subject) >= least
                and case.stands(fact)
            ):
                return fact
    return None


def _hedged(case: Case, mention: Mention) -> bool:
    """Return whether a state is not said to hold: in a rule, under a condition, as what something would be."""
    low, high = case.setting.clause(mention.start, mention.end)
    return GENERAL.search(case.text[low:high]) is not None or _UNREAL.search(case.text[low:high]) is not None


def _in_text(case: Case, wanted: str) -> bool:
    """Return whether the sentences on record that have most of a statement's other words have one for a state too."""
    others = stems_of(case.text[slice(*case.setting.sentence())]) - {wanted}
    best, holds = 1, False
    for fact in case.record.facts:
        if isinstance(fact.value, str) and " " in fact.value:
            said = stems_of(fact.value) | fact.stems
            share = len(others & said)
            if share >= best:
                holds = (holds and share == best) or any(alike(wanted, s) for s in said)
                best = share
    return holds


def _deed_of(case: Case, wanted: str) -> bool:
    """Return whether a call that went well did what a participle says, to whom the statement is about."""
    for call in case.record.calls:
        if (call.came == "ok" and not call.reads and any(alike(wanted, s) for s in stems_of_call(call))) and any(
            f.call is call and case.closeness(f, case.tiers[0]) for f in case.record.facts
        ):
            return True
    return False


_UNREAL: Final = re.compile(
    r"\b(?:would|could|can|will|to be|may|might|if|once|when|until|before)\b|['\u2019]ll\b", re.IGNORECASE
)


def _switches(case: Case, words: Words, tokens: list[tuple[int, str, str]], span: str) -> None:
    """Judge yes and no: a field that the words name, true, false, zero or empty as they say."""
    said = {s: at for at, s, _ in reversed(tokens)}
    if "nonstop" in said or ("non" in said and "stop" in said):
        _direct(case, words)
    if "empty" in said:
        _empty(case, words)
    no, yes = _NO.search(span), _YES.search(span)
    for subject in case.tiers:
        least = 2 if subject is not NOBODY else 1
        hits: dict[str, Fact] = {}
        for fact in case.record.facts:
            value = fact.value
            if isinstance(value, str) and value and not empty(value):
                continue
            key = fact.stems - GENERIC
            if not key or not key <= set(said) or case.closeness(fact, subject) < least or not case.stands(fact):
                continue
            hits[fact.key] = fact
        if not hits and no:
            heads = [
                f for f in case.record.facts
                if (name := [w for w in f.key.split("_") if stem(w) not in GENERIC]) and stem(name[-1]) in said
                and case.closeness(f, subject) >= least and case.stands(f) and not f.asked
            ]  # fmt: skip
            if heads and all(empty(f.value) for f in heads):
                words.grounded.update({s: "switch" for s in said if any(s in f.stems for f in heads)})
                words.strong.append(heads[-1])
                words.derived = True
                return
        if not hits:
            continue
        best = max(len(f.stems - GENERIC) for f in hits.values())
        for fact in hits.values():
            key = fact.stems - GENERIC
            if len(key) < best and len(key) == 1:
                continue
            if max(said[s] for s in key) - min(said[s] for s in key) > 30:
                continue
            denied = bool(no) or any(polarity(span, said[s]) for s in key)
            plain = isinstance(fact.value, bool) or denied
            if (
                not denied and len(key) >= 2 and fact.value == 0 and not isinstance(fact.value, bool)
                and re.search(r"\ban?\W{1,4}$", span[: min(said[s] for s in key)]) and not case.general
                and not _UNREAL.search(span)
            ):  # fmt: skip
                words.failed.append(f"`{fact.key}` is nil")
                continue
            if not plain and not yes:
                continue
            if denied == empty(fact.value):
                words.grounded.update(dict.fromkeys(key, "switch"))
                words.strong.append(fact)
                words.derived = words.derived or (denied and fact.value is None)
            elif (
                no
                or (
                    denied
                    and any(
                        (none_of(span, said[s]) and _ends_phrase(span, said[s], key)) or _bluntly(span, said[s], fact)
                        for s in key
                    )
                )
                or (isinstance(fact.value, bool) and (yes or (_bare(case, words, key) and _adjacent(tokens, key))))
            ):
                words.failed.append(f"the record says otherwise of `{fact.key}`")
        return


def _bluntly(span: str, at: int, fact: Fact) -> bool:
    """Return whether a yes or no field is denied in so many words, rather than something with its name in it."""
    return isinstance(fact.value, bool) and denied_at(span, at) and re.match(r"[A-Za-z]*-", span[at:]) is None


def _ends_phrase(span: str, at: int, key: frozenset[str]) -> bool:
    """Return whether a word is the last of its phrase, as `price` is not in `no price protection`."""
    after = [stem(w) for _, _, w in tokens_of(span[at : at + 40]) if w not in STOP][1:2]
    nxt = re.match(r"[A-Za-z-]+ ([A-Za-z]+)", span[at:])
    return nxt is None or nxt[1].lower() in STOP or not after or after[0] in key


def _adjacent(tokens: list[tuple[int, str, str]], key: frozenset[str]) -> bool:
    """Return whether the words of a field's name stand side by side in a span."""
    places = [at for at, (_, s, _) in enumerate(tokens) if s in key]
    return places[-1] - places[0] < len(places) if places else False


def _bare(case: Case, words: Words, key: frozenset[str]) -> bool:
    """Return whether a span says little more than the name of a field."""
    return len(words.content) <= len(key) + 1 and not any(m.kind == "money" for m in case.mentions)


def _empty(case: Case, words: Words) -> None:
    """Judge `the cart is empty`: the newest list of what is spoken of has nothing in it."""
    for thing in reversed(case.record.things):
        lists = {str(k): v for k, v in thing.fields.items() if isinstance(v, list)}
        about = key_stems(thing.kind) | key_stems(thing.call.call.tool)
        if thing.call.came == "ok" and lists and about & set(words.content):
            key, items = next(iter(lists.items()))
            fact = next((f for f in case.record.facts if f.thing is thing), None)
            if items:
                words.failed.append(f"`{key}` is not empty")
            elif fact is not None:
                words.grounded.update(dict.fromkeys([*about, "empty"], "switch"))
                words.strong.append(fact)
            return


def _membership(case: Case, words: Words, span: str) -> None:
    """Judge what a list of ids says: `it is in your purchase history`, of a thing that the list names by its id."""
    said = widened(frozenset(words.content))
    named = any(s.rank >= 3 for s in case.subjects.spots(span))
    lists = {f.key for f in case.record.facts if f.listed and not f.asked and f.stems <= frozenset(words.content)}
    for fact in case.record.facts:
        if not fact.listed or fact.asked or fact.call.came != "ok" or not fact.stems & said:
            continue
        for subject in case.tiers[:1]:
            ids = {a for alternative in subject for a in alternative}
            if subject is NOBODY or not any(fact.value == a or fact.value in case.record.linked(a) for a in ids):
                continue
            if polarity(span, len(span)):
                words.failed.append(f"`{fact.key}` has it")
            else:
                words.grounded.update({w: "list" for w in words.content if w in fact.stems or w in widened(fact.stems)})
                words.strong.append(fact)
            return
    if lists and named and _IN_IT.search(span) and not polarity(span, len(span)):
        words.failed.append(f"`{min(lists)}` does not have it")


_IN_IT: Final = re.compile(r"\b(?:in|on|part of|among) (?:your|the|our)\b", re.IGNORECASE)


def _direct(case: Case, words: Words) -> None:
    """Judge `nonstop`: no stops."""
    for subject in case.tiers[:4]:
        for fact in reversed(case.record.facts):
            if "stop" in fact.stems and not isinstance(fact.value, (str, bool)) and case.closeness(fact, subject) >= 2:
                if fact.value == 0:
                    words.grounded["nonstop"] = words.grounded["stop"] = words.grounded["non"] = "value"
                    words.strong.append(fact)
                else:
                    words.failed.append("it has stops")
                return


def _texts(case: Case, words: Words) -> None:
    """Ground the remaining words in names of fields, and in sentences of the record that say mostly the same."""
    content = set(words.content)
    if not content:
        return
    best, said_by = 0.0, None
    named: set[str] = set()
    for fact in case.record.facts:
        if fact.call.came == "failed":
            continue
        wide = content & (fact.stems | fact.place)
        if wide and any(case.closeness(fact, s) for s in case.tiers[:2]):
            named |= wide
        if isinstance(fact.value, str) and len(fact.value) > 20 and " " in fact.value and not read_as_value(fact.value):
            about = widened(stems_of(fact.value)) | fact.stems | fact.place
            share = len(content & about) / len(content)
            close = any(case.closeness(fact, s) for s in case.tiers[:2]) or fact.thing.primary is None
            if close and share > best and len(content & about) >= 2:
                best, said_by = share, fact
    for s in named:
        words.grounded.setdefault(s, "field")
    if said_by is not None and best >= (0.4 if case.general else 0.6):
        about = widened(stems_of(str(said_by.value))) | said_by.stems | said_by.place
        for s in content & about:
            words.grounded.setdefault(s, "text")
        words.strong.append(said_by)


_THERE_IS_NO: Final = re.compile(
    r"\b(?:no|not an?|isn['\u2019]t an?|aren['\u2019]t any|without an?)\W{1,4}$", re.IGNORECASE
)


def denied_value(case: Case, mention: Mention) -> bool:
    """Return whether a value is said not to be: `there is no $500 threshold`."""
    before = case.text[max(0, mention.start - 16) : mention.start]
    if re.search(r"\bnot\W{1,4}$", before, re.IGNORECASE):
        return any(agrees(mention, m) for text in case.asked for m in read(text))  # `$849, not $749` as you thought
    return _THERE_IS_NO.search(before) is not None


def read_as_value(text: str) -> bool:
    """Return whether a text of the record is one value rather than a sentence."""
    found = read(text)
    return len(found) == 1 and len(found[0].text) >= len(text) - 2
