"""What a statement says in words: states, choices, yes and no, and what was done."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from tallystick.prose.choices import judge_choices
from tallystick.prose.deeds import judge_deeds
from tallystick.prose.facts import NAME_KEY, PREVIEWS, Fact
from tallystick.prose.grounds import Case
from tallystick.prose.likeness import Words, denied_at, empty, none_of, polarity
from tallystick.prose.matching import agrees, read
from tallystick.prose.reading import Mention
from tallystick.prose.states import UNREAL, judge_states
from tallystick.prose.statuses import STATUS
from tallystick.prose.subjects import NOBODY
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
    judge_states(case, words, span, {base + at for at, _, _ in tokens if base + at in own})
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
                and not UNREAL.search(span)
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
