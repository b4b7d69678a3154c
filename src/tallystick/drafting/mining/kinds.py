"""Kinds of entities, as results show them: which records have an id, and which arguments name such a thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from tallystick.audit.step import is_id_name
from tallystick.drafting.draft import noun_of
from tallystick.drafting.mining.corpus import Corpus, Sample, Usage
from tallystick.drafting.shape import id_base, own_id
from tallystick.drafting.sheet import field_name, is_identifier, is_sayable, kind_name, singular
from tallystick.drafting.spec import ToolSpec
from tallystick.model.pointer import join

MAX_NODES: Final = 20_000
"""Values of one result that are looked at."""
MAX_DEPTH: Final = 8
MOST: Final = Decimal("0.9")
"""Share of cases from which something counts as usual; rules are held to more than that."""
At = tuple[str, ...]


@dataclass(kw_only=True)
class FieldSeen:
    """A plain field of a record: how often it was there, and what it held."""

    there: int = 0
    nulls: int = 0
    names: set[str] = field(default_factory=set)

    def add(self, value: Any) -> None:
        """Count one value."""
        self.there += 1
        if value is None:
            self.nulls += 1
            return
        self.names.add(type_name(value))

    def type_text(self, name: str) -> str:
        """Return the contract type that all values fit."""
        if not self.names or len(self.names - {"integer", "decimal"}) > (0 if len(self.names) > 1 else 1):
            return "json"
        if self.names == {"integer"}:
            return "id" if is_id_name(name) else "integer"
        if self.names <= {"integer", "decimal"}:
            return "decimal"
        only = next(iter(self.names))
        return "id" if only == "string" and is_id_name(name) else only


def type_name(value: Any) -> str:
    """Return the contract type of one JSON scalar."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, (Decimal, float)):
        return "decimal"
    return "string" if isinstance(value, str) else "json"


@dataclass(kw_only=True)
class RecordSeen:
    """The records at one place of a tool's results."""

    at: At
    count: int = 0
    fields: dict[At, FieldSeen] = field(default_factory=dict)
    repeated: set[At] = field(default_factory=set)  # fields that repeat inside one list, so they are no id of an item


@dataclass(frozen=True, kw_only=True)
class KindAt:
    """At this place of a tool's results stand records of `kind`, with their id and plain fields (name → pointer)."""

    tool: str
    kind: str
    at: At
    id: At | None
    id_arg: str | None
    fields: Mapping[str, At]
    types: Mapping[str, str]
    cases: int


@dataclass(frozen=True, kw_only=True)
class Kinds:
    """What the trajectories say about entities.

    Attributes:
        places: where records stand, by tool.
        of_arg: (tool, argument) → the kind of entity that the argument names.
        linked: the same for arguments found by their values rather than by name, with (cases, of how many).
        ids: trajectory → kind → id → order of the call whose result showed it first.
    """

    places: Mapping[str, tuple[KindAt, ...]]
    of_arg: Mapping[tuple[str, str], str]
    linked: Mapping[tuple[str, str], tuple[int, int]]
    ids: Mapping[str, Mapping[str, Mapping[str, int]]]


def kinds_in(corpus: Corpus) -> Kinds:
    """Return the kinds of entities that results show and arguments name."""
    places = {name: tuple(_places(usage)) for name, usage in corpus.tools.items()}
    ids: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for name, usage in corpus.tools.items():
        for sample in usage.samples:
            if not sample.good:
                continue
            for place in places[name]:
                for value in _ids_at(place, sample):
                    known = ids[sample.trace][place.kind]
                    known[value] = min(known.get(value, sample.order), sample.order)
    kinds = {place.kind for listed in places.values() for place in listed}
    of_arg: dict[tuple[str, str], str] = {}
    linked: dict[tuple[str, str], tuple[int, int]] = {}
    for name, usage in corpus.tools.items():
        for arg in args_seen(usage):
            if not is_identifier(arg):
                continue
            named = kind_name(id_base(arg) or noun_of(usage.spec or ToolSpec(name=name))) if own_id([arg]) else None
            if named in kinds and named is not None:
                of_arg[name, arg] = named
                continue
            found = _by_value(usage, arg, kinds, ids)
            if found is not None:
                of_arg[name, arg] = found[0]
                linked[name, arg] = found[1:]
    return Kinds(places=places, of_arg=of_arg, linked=linked, ids=ids)


def args_seen(usage: Usage) -> list[str]:
    """Return the arguments of a tool, declared ones first."""
    declared = usage.spec.schema.get("properties") if usage.spec is not None else None
    seen = dict.fromkeys(declared if isinstance(declared, Mapping) else ())
    for sample in usage.samples:
        seen.update(dict.fromkeys(sample.args))
    return [name for name in seen if is_sayable(name)]


def _by_value(
    usage: Usage, arg: str, kinds: set[str], ids: Mapping[str, Mapping[str, Mapping[str, int]]]
) -> tuple[str, int, int] | None:
    """Return the kind whose ids, shown before, are what this argument holds."""
    cases = [(s, str(s.args[arg])) for s in usage.samples if s.good and _id_like(s.args.get(arg))]
    if len({text for _, text in cases}) < 2:
        return None
    best: tuple[str, int, int] | None = None
    for kind in sorted(kinds):
        hits = sum(ids.get(s.trace, {}).get(kind, {}).get(text, s.order) < s.order for s, text in cases)
        if hits >= MOST * len(cases) and (best is None or hits > best[1]):
            best = (kind, hits, len(cases))
    return best


def _id_like(value: Any) -> bool:
    return (isinstance(value, str) and value != "") or (isinstance(value, int) and not isinstance(value, bool))


def _ids_at(place: KindAt, sample: Sample) -> Iterator[str]:
    if place.id_arg is not None:
        value = sample.args.get(place.id_arg)
        if _id_like(value):
            yield str(value)
        return
    for at, record in records_of(sample.value):
        if at == place.at and place.id is not None:
            value = record.get(place.id[0])
            if _id_like(value):
                yield str(value)


def records_of(value: Any) -> Iterator[tuple[At, Mapping[str, Any]]]:
    """Yield (place, record) for every object in a result; items of a list share a place with `*`."""
    queue: list[tuple[At, Any]] = [((), value)]
    seen = 0
    while queue and seen < MAX_NODES:
        at, here = queue.pop(0)
        seen += 1
        if len(at) > MAX_DEPTH:
            continue
        if isinstance(here, Mapping):
            yield at, here
            queue.extend(((*at, k), v) for k, v in here.items() if isinstance(v, (Mapping, list)) and k != "*")
        elif isinstance(here, list):
            queue.extend(((*at, "*"), v) for v in here if isinstance(v, (Mapping, list)))


def _records(usage: Usage) -> dict[At, RecordSeen]:
    found: dict[At, RecordSeen] = {}
    for sample in usage.samples:
        if not sample.good:
            continue
        once: dict[tuple[At, At], set[str]] = defaultdict(set)
        for at, record in records_of(sample.value):
            seen = found.setdefault(at, RecordSeen(at=at))
            seen.count += 1
            for path, value in _plain(record):
                seen.fields.setdefault(path, FieldSeen()).add(value)
                text = str(value)
                if at and at[-1] == "*" and text in once[at, path]:
                    seen.repeated.add(path)
                once[at, path].add(text)
    return found


def _plain(record: Mapping[str, Any]) -> Iterator[tuple[At, Any]]:
    """Yield the plain fields of a record, those of an inner object without an id of its own included."""
    for name, value in record.items():
        if name == "*" or not name.isprintable():
            continue
        if not isinstance(value, (Mapping, list)):
            yield (name,), value
        elif isinstance(value, Mapping) and own_id([k for k in value if isinstance(k, str)]) is None:
            for inner, deep in value.items():
                if not isinstance(deep, (Mapping, list)) and inner != "*" and inner.isprintable():
                    yield (name, inner), deep


def _places(usage: Usage) -> Iterator[KindAt]:
    noun = noun_of(usage.spec or ToolSpec(name=usage.name))
    for at, seen in _records(usage).items():
        usual = {p: f for p, f in seen.fields.items() if f.there >= MOST * seen.count}
        names = [p[0] for p, f in usual.items() if len(p) == 1 and f.nulls == 0 and p not in seen.repeated and
                 f.names <= {"string", "integer"}]  # fmt: skip
        own = own_id(names)
        if own is None:
            if not at:
                yield from _by_argument(usage, usual, seen.count)
            continue
        if not at and _about_a_pair(usage, own):
            continue
        container = next((t for t in reversed(at) if t != "*"), None)
        kind = kind_name(id_base(own) or (singular(container) if container is not None else noun))
        if kind is None or (usage.writes and usage.switch is not None):
            continue
        fields = {p: f for p, f in usual.items() if p != (own,)}
        if usage.writes:
            fields = {}  # a write's answer shows the thing it made; what else it says is about the call
        yield _kind_at(usage, kind, at, (own,), None, fields, seen.count)


def _by_argument(usage: Usage, usual: Mapping[At, FieldSeen], count: int) -> Iterator[KindAt]:
    """A read with one argument, an id, whose answer does not repeat it, speaks of what that argument names."""
    args = args_seen(usage)
    if usage.writes or len(args) != 1 or own_id(args) is None or not is_identifier(args[0]):
        return
    kind = kind_name(id_base(args[0]) or noun_of(usage.spec or ToolSpec(name=usage.name)))
    if kind is not None and usual:
        yield _kind_at(usage, kind, (), None, args[0], usual, count)


def _about_a_pair(usage: Usage, own: str) -> bool:
    """Whether the answer of a read speaks of two things at once (is this case right for that phone?)."""
    others = [a for a in args_seen(usage) if a != own and own_id([a]) is None]
    if usage.writes or own not in args_seen(usage):
        return False
    for arg in others:
        given = [s for s in usage.samples if s.good and isinstance(s.args.get(arg), str) and s.args[arg]]
        told = [s for s in given if isinstance(s.value, Mapping) and s.args[arg] in s.value.values()]
        if given and 2 * len(told) > len(given):
            return True
    return False


def _kind_at(
    usage: Usage, kind: str, at: At, id_: At | None, id_arg: str | None, fields: Mapping[At, FieldSeen], count: int
) -> KindAt:
    named: dict[str, At] = {}
    types: dict[str, str] = {}
    for path, seen in fields.items():
        name = field_name("_".join(path))
        text = seen.type_text(path[-1])
        if name is None or name in named or not join(path).isprintable():
            continue
        named[name], types[name] = path, text
    return KindAt(tool=usage.name, kind=kind, at=at, id=id_, id_arg=id_arg, fields=named, types=types, cases=count)
