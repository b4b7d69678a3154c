"""What a statement says of the state of things: cancelled, delivered, in stock, waived, over."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from tallystick.prose.facts import Fact
from tallystick.prose.grounds import GENERAL, Case
from tallystick.prose.likeness import Words, alike, polarity, stems_of_call
from tallystick.prose.matching import agrees, read
from tallystick.prose.reading import Mention
from tallystick.prose.statuses import STRICT, SWITCHED, status_of
from tallystick.prose.subjects import NOBODY, Subject
from tallystick.prose.words import key_stems, stem, stems_of


def judge_states(case: Case, words: Words, span: str, own: set[int]) -> None:
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
    return GENERAL.search(case.text[low:high]) is not None or UNREAL.search(case.text[low:high]) is not None


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


UNREAL: Final = re.compile(
    r"\b(?:would|could|can|will|to be|may|might|if|once|when|until|before)\b|['\u2019]ll\b", re.IGNORECASE
)
