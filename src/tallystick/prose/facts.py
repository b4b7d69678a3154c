"""The record as facts: every value that a result (or the arguments of a call that went well) states, and for whom.

A fact belongs to the object it stands in. That object is known by its own ids and names, by those of objects nested one
to one in it, and, at a distance, by those of the objects around it and by the ids in the call's arguments. Objects
beside it are others: what stands for one item of a list never speaks for its neighbour.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, Literal

from tallystick.model.pointer import join
from tallystick.model.trace import Trace, TraceCall
from tallystick.prose.words import key_stems
from tallystick.view.outcome import markers

Came = Literal["ok", "preview", "failed"]
PREVIEWS: Final = frozenset({"preview", "quote", "quoted", "estimate", "draft", "dry_run", "simulated", "simulation"})
_REJECTED: Final = frozenset(
    {"rejected", "denied", "declined", "refused", "ineligible", "not_eligible", "invalid", "not_allowed", "forbidden",
     "blocked", "error", "failed", "failure", "not_found"}
)  # fmt: skip
_CONFIRMS: Final = frozenset({"confirm", "confirmed", "commit", "execute", "finalize"})
_REHEARSALS: Final = frozenset({"dry_run", "dryrun", "preview", "preview_only", "simulate", "validate_only"})
ID_KEY: Final = re.compile(r"(?:^|_)(?:id|ids|uuid|number|sku|ref|reference|code|key)$|(?-i:[a-z]Ids?)$", re.IGNORECASE)
NAME_KEY: Final = re.compile(r"(?:^|_)(?:name|title|label|subject)$|[a-z]Name$", re.IGNORECASE)
WHOSE: Final = re.compile(r"^(?:user|customer|member|account|owner|client|requester|tenant|org)", re.IGNORECASE)
_KINDLY: Final = frozenset({"option", "type", "kind", "topic", "category", "tier", "plan", "method", "name", "code"})
READS: Final = frozenset(
    {"browse", "calculate", "check", "compare", "count", "describe", "fetch", "find", "get", "inspect", "list", "load",
     "lookup", "match", "query", "quote", "read", "retrieve", "search", "select", "show", "status", "track", "validate",
     "verify", "view"}
)  # fmt: skip
MAX_FACTS: Final = 60_000
"""Facts beyond so many are left out; what is not there supports nothing."""


@dataclass(eq=False, slots=True)
class Thing:
    """An object in a result, or the arguments of a call.

    Attributes:
        primary: its own id (key name, value), or None.
        own: its ids and names, and those nested one to one in it.
        around: ids and names of what surrounds it, and of the call's arguments.
        refs: all ids in it.
        kind: name of the key of its id, or the place it stands in.
    """

    call: CallRecord
    path: tuple[str | int, ...]
    fields: Mapping[str, Any]
    primary: tuple[str, str] | None = None
    own: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()
    refs: frozenset[str] = frozenset()
    kind: str = ""


@dataclass(eq=False, slots=True)
class CallRecord:
    """One call and what came of it; `order` counts the calls of the record."""

    call: TraceCall
    order: int
    came: Came
    reads: bool


@dataclass(eq=False, slots=True)
class Fact:
    """One scalar that the record states.

    Attributes:
        key: name of the field; for items of a list, that of the list.
        stems: stems of the field's name and of the names around it.
        value: the JSON scalar.
        asked: it stands in the arguments.
    """

    thing: Thing
    pointer: tuple[str | int, ...]
    key: str
    value: Any
    asked: bool
    listed: bool = False

    @property
    def call(self) -> CallRecord:
        """The call it comes from."""
        return self.thing.call

    @property
    def stems(self) -> frozenset[str]:
        """Stems of the field's own name."""
        return key_stems(self.key)

    @property
    def place(self) -> frozenset[str]:
        """Stems of the names around the field, up to the tool's."""
        found = key_stems(self.call.call.tool)
        for token in self.pointer[1:-1]:
            if isinstance(token, str):
                found |= key_stems(token)
        return found

    @property
    def topic(self) -> frozenset[str]:
        """Stems of the short words in the arguments of the call: what was asked for."""
        args = self.call.call.args
        found: frozenset[str] = frozenset()
        for value in args.values() if isinstance(args, Mapping) else ():
            if isinstance(value, str) and len(value) <= 40 and not any(c.isdigit() for c in value):
                found |= key_stems(value)
        return found

    def where(self) -> str:
        """Return the JSON Pointer into `{name, arguments, result}`."""
        return join(self.pointer)


def name_of(text: str) -> str:
    """Return a name as aliases hold it."""
    return "name:" + " ".join(text.lower().split())


@dataclass(eq=False)
class Record:
    """What was on record when a message was written: the calls up to and including that message.

    Attributes:
        facts: all of them, oldest first.
        things: all objects.
        calls: all calls.
    """

    facts: list[Fact] = field(default_factory=list)
    things: list[Thing] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    vocabulary: Any = None

    def add(self, call: TraceCall) -> None:
        """Take in one call."""
        made = CallRecord(call=call, order=len(self.calls), came=_came(call), reads=is_read(call.tool))
        self.calls.append(made)
        body = call.result.body if call.result is not None else None
        args = call.args if isinstance(call.args, Mapping) else {}
        ids = frozenset(_ids_in(args))
        own = ids
        if made.came == "ok" and not made.reads and isinstance(body, Mapping):
            made_now = frozenset(_ids_in(body)) - ids
            if not any(made_now & t.own for t in self.things):
                own |= made_now  # what was asked of a call that made a thing describes the thing
        asked = Thing(call=made, path=("arguments",), fields=args, own=own, refs=ids, kind="arguments")
        self.things.append(asked)
        if made.came != "failed":
            for key, value in args.items():
                if key in _CONFIRMS or key in _REHEARSALS:
                    continue
                self._scalars(asked, ("arguments", str(key)), str(key), value, asked=True)
        if isinstance(body, (Mapping, list)):
            self._walk(made, ("result",), body, ids, call.tool)

    def _walk(
        self, call: CallRecord, path: tuple[str | int, ...], value: Any, around: frozenset[str], under: str
    ) -> None:
        if isinstance(value, list):
            for at, item in enumerate(value):
                if isinstance(item, (Mapping, list)):
                    self._walk(call, (*path, at), item, around, under)
            return
        ids = _ids_in(value)
        primary = next(((k, v) for k, v in ids.items_by_key() if not WHOSE.match(k)), None) or next(
            ids.items_by_key(), None
        )
        own = {*(i for _, i in ids.keys), *_names_in(value), *_places_in(value)}
        for child in value.values():
            if isinstance(child, Mapping):
                own.update((*(i for _, i in _ids_in(child).keys), *_names_in(child)))
        if primary is None and path and isinstance(path[-1], int):
            own.update(name_of(v.replace("_", " ")) for k, v in value.items() if k in _KINDLY and isinstance(v, str))
        thing = Thing(
            call=call, path=path, fields=value, primary=primary, own=frozenset(own), around=around,
            refs=frozenset(ids), kind=primary[0] if primary else under,
        )  # fmt: skip
        self.things.append(thing)
        for key, item in value.items():
            name = str(key)
            if isinstance(item, (Mapping, list)) and not _is_plain_list(item):
                self._walk(call, (*path, name), item, around | thing.own, name)
            else:
                self._scalars(thing, (*path, name), name, item, asked=False)

    def _scalars(self, thing: Thing, pointer: tuple[str | int, ...], key: str, value: Any, *, asked: bool) -> None:
        if len(self.facts) >= MAX_FACTS:
            return
        if isinstance(value, list) and not value:
            self.facts.append(Fact(thing, pointer, key, None, asked))
        elif isinstance(value, list):
            for at, item in enumerate(value):
                if not isinstance(item, (Mapping, list)):
                    self.facts.append(Fact(thing, (*pointer, at), key, item, asked, listed=True))
        elif not isinstance(value, Mapping):
            self.facts.append(Fact(thing, pointer, key, value, asked))

    @cached_property
    def known(self) -> dict[str, list[Thing]]:
        """Alias -> the objects that own it."""
        found: dict[str, list[Thing]] = defaultdict(list)
        for thing in self.things:
            for alias in thing.own:
                found[alias].append(thing)
        return dict(found)

    @cached_property
    def people(self) -> frozenset[str]:
        """Ids of the persons that things belong to; being theirs does not tell one thing from another."""
        return frozenset(
            str(value)
            for thing in self.things
            for key, value in thing.fields.items()
            if ID_KEY.search(str(key)) and WHOSE.match(str(key)) and isinstance(value, (str, int))
        )

    @cached_property
    def kinds(self) -> dict[str, set[str]]:
        """Kind -> the ids of its kind seen."""
        found: dict[str, set[str]] = defaultdict(set)
        for thing in self.things:
            if thing.primary is not None:
                found[thing.kind].add(thing.primary[1])
        return dict(found)

    @cached_property
    def by_subject(self) -> dict[tuple[str, str], list[Fact]]:
        """(id of its object, field) -> facts, oldest first; previews and arguments aside."""
        found: dict[tuple[str, str], list[Fact]] = defaultdict(list)
        for fact in self.facts:
            primary = fact.thing.primary
            if primary is not None and fact.call.came == "ok" and not fact.asked and not fact.listed:
                found[primary[1], fact.key].append(fact)
        return dict(found)

    def newest(self, fact: Fact) -> Fact:
        """Return the newest fact about the same field of the same object."""
        primary = fact.thing.primary
        found = self.by_subject.get((primary[1], fact.key)) if primary is not None else None
        return found[-1] if found else fact

    @cached_property
    def _listings(self) -> dict[tuple[str, str, tuple[str, ...]], list[tuple[int, frozenset[str]]]]:
        """(tool, arguments, place of a list) -> what each good read of it listed: (order of the call, ids)."""
        listed: dict[tuple[str, str, tuple[str, ...]], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for thing in self.things:
            at = _listing_of(thing)
            if at is not None and thing.call.came == "ok" and thing.primary is not None:
                listed[at][thing.call.order].add(thing.primary[1])
        for call in self.calls:
            for key, orders in listed.items():
                if call.came == "ok" and call.reads and (call.call.tool, repr(call.call.args)) == key[:2]:
                    orders.setdefault(call.order, set())
        return {k: sorted((o, frozenset(i)) for o, i in orders.items()) for k, orders in listed.items()}

    def _gone(self, thing: Thing) -> bool:
        """Return whether a list an object stood in was read again without it."""
        at = _listing_of(thing)
        if at is None or thing.primary is None or at not in self._listings:
            return False
        order, ids = self._listings[at][-1]
        return order > thing.call.order and thing.primary[1] not in ids

    @cached_property
    def _written(self) -> dict[frozenset[str], list[Fact]]:
        """Stems of a field's name -> what writes that went well answered under it."""
        found: dict[frozenset[str], list[Fact]] = defaultdict(list)
        for fact in self.facts:
            if not fact.call.reads and fact.call.came == "ok" and not fact.asked and not fact.listed:
                found[fact.stems].append(fact)
        return dict(found)

    @cached_property
    def _lone_kinds(self) -> frozenset[str]:
        """Words for the kinds of which there is one thing."""
        return frozenset(w for kind, ids in self.kinds.items() if len(ids) == 1 for w in key_stems(kind)) - {"id"}

    def of_container(self, fact: Fact) -> bool:
        """Return whether a field is that of what its object is in: a `cart_total` beside a `cart_item_id`."""
        kind = fact.thing.kind
        return kind.startswith(fact.key.split("_")[0] + "_") and kind.count("_") >= 2 and fact.key != kind

    def _superseded(self, fact: Fact) -> bool:
        """Return whether a later write answered the field anew, of the only thing of its kind."""
        thing = fact.thing
        holder = fact.key.split("_")[0]
        held = (
            thing.kind.startswith(f"{holder}_") and thing.kind.count("_") >= 2
        )  # `cart_total` beside a `cart_item_id`
        if not fact.call.reads and not fact.asked and (held or fact.stems & self._lone_kinds - key_stems(thing.kind)):
            return any(
                later.call.order > fact.call.order and not _same(later.value, fact.value)
                for later in self._written.get(fact.stems, ())
            )
        if thing.primary is None or not fact.call.reads or fact.asked or len(self.kinds.get(thing.kind, ())) != 1:
            return False
        names = (fact.stems, *(fact.stems | {word} for word in key_stems(thing.kind)))
        return any(
            later.call.order > fact.call.order and later.thing.kind != thing.kind and not _same(later.value, fact.value)
            for name in names
            for later in self._written.get(name, ())
        )

    def outdated(self, fact: Fact) -> bool:
        """Return whether a later receipt says otherwise: of the same field of the same object, or leaves it out."""
        if self._gone(fact.thing) or self._superseded(fact):
            return True
        newest = self.newest(fact)
        return newest.call.order > fact.call.order and newest.value is not None and not _same(newest.value, fact.value)

    def linked(self, alias: str) -> frozenset[str]:
        """Return the ids that the objects with an alias refer to."""
        return frozenset(ref for thing in self.known.get(alias, ()) for ref in thing.refs - self.people)

    def worked_on(self, alias: str) -> frozenset[str]:
        """Return the ids of the objects within one with an alias that calls other than reads were about."""
        return self._worked_on.get(alias, frozenset())

    @cached_property
    def _worked_on(self) -> dict[str, frozenset[str]]:
        done = {t.primary[1] for t in self.things if t.primary is not None and not t.call.reads}
        found: dict[str, set[str]] = defaultdict(set)
        for thing in self.things:
            if thing.call.reads and thing.primary is not None and thing.primary[1] in done:
                for alias in thing.around:
                    found[alias].add(thing.primary[1])
        return {alias: frozenset(ids) for alias, ids in found.items()}

    def is_only(self, thing: Thing) -> bool:
        """Return whether an object is the only one of its kind on record, or is about nothing in particular."""
        if thing.primary is None:
            return thing.around <= self.people and all(a.startswith("name:") or a in self.people for a in thing.own)
        return len(self.kinds.get(thing.kind, ())) <= 1


def record_of(trace: Trace, upto: int) -> Record:
    """Return the record up to and including the calls of message `upto`."""
    record = Record()
    for message in trace.messages:
        if message.index > upto:
            break
        for call in message.calls:
            record.add(call)
    return record


def is_read(tool: str) -> bool:
    """Return whether a tool only reads, by the verb its name begins or ends with."""
    words = [w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", tool)]
    return bool(words) and (words[0] in READS or (words[-1] in READS and len(words) > 1 and words[0] not in _VERBS))


_VERBS: Final = frozenset({"add", "cancel", "create", "delete", "process", "remove", "set", "submit", "update"})


def _came(call: TraceCall) -> Came:
    if call.result is None or call.result.flag == "error":
        return "failed"
    body = call.result.body
    if isinstance(body, Mapping):
        for kind, path, _ in markers(body):
            if kind == "error" and len(path) == 1:
                return "failed"
            if kind == "dry_run":
                return "preview"
        status = body.get("status")
        if isinstance(status, str) and not is_read(call.tool):
            if status.lower() in _REJECTED:
                return "failed"
            if status.lower() in PREVIEWS:
                return "preview"
    if isinstance(call.args, Mapping):
        for key, value in call.args.items():
            if (value is False and key in _CONFIRMS) or (value is True and key in _REHEARSALS):
                return "preview"
    return "ok"


class _Ids(set[str]):
    """The ids in an object, with the keys they stand under."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[tuple[str, str]] = []

    def items_by_key(self) -> Iterator[tuple[str, str]]:
        """Yield (key, id) of the ids that stand alone under a key."""
        yield from self.keys


def _ids_in(value: Any) -> _Ids:
    found = _Ids()
    if not isinstance(value, Mapping):
        return found
    for key, item in value.items():
        if not isinstance(key, str) or not ID_KEY.search(key):
            continue
        if isinstance(item, str) and _is_id(item):
            found.add(item)
            found.keys.append((key, item))
        elif (
            isinstance(item, int)
            and not isinstance(item, bool)
            and re.search(r"(?:^|_)id$|(?-i:[a-z]I[dD])$", key, re.IGNORECASE)
        ):
            found.add(str(item))
            found.keys.append((key, str(item)))
        elif isinstance(item, list):
            found.update(i for i in item if isinstance(i, str) and _is_id(i))
    return found


def _is_id(text: str) -> bool:
    return 0 < len(text) <= 80 and " " not in text and (any(c.isdigit() for c in text) or "_" in text or "-" in text)


def _names_in(value: Mapping[str, Any]) -> Iterable[str]:
    return [
        name_of(item)
        for key, item in value.items()
        if isinstance(key, str) and NAME_KEY.search(key) and isinstance(item, str) and 2 < len(item) <= 120
    ]


def _places_in(value: Mapping[str, Any]) -> Iterable[str]:
    return [
        f"place:{item}"
        for item in value.values()
        if isinstance(item, str) and len(item) == 3 and item.isalpha() and item.isupper()
    ]


def _listing_of(thing: Thing) -> tuple[str, str, tuple[str, ...]] | None:
    if not thing.call.reads or not any(isinstance(t, int) for t in thing.path):
        return None
    place = tuple(t for t in thing.path if isinstance(t, str))
    return thing.call.call.tool, repr(thing.call.call.args), place


def _is_plain_list(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(i, (Mapping, list)) for i in value)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, Decimal)) and isinstance(right, (int, Decimal)):
        return Decimal(left) == Decimal(right)
    return bool(left == right)
