"""What the evaluator knows of a cut: the author's remaining writes, and a continuation whose values have sources.

An author's calls name values that nobody has read before: item ids, a payment method. The continuation keeps the
author's writes, in order, and reads what it takes from public reads before them; where a value cannot be had so either
(it is computed, or only the user's to say), it stays as the author wrote it, and is counted as without a source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal

from tallystick.evals.takeover.surface import Gold, Wanted
from tallystick.evals.takeover.tau2.contracts import Domain, contract_of
from tallystick.evals.takeover.tau2.cuts import Cut, is_write, outcomes, stand_in_words
from tallystick.evals.takeover.tau2.tools import answered, refused
from tallystick.evals.takeover.tau2.values import place_in, replaced, said
from tallystick.evals.tau2.tasks import tasks
from tallystick.evals.tau2.world import World, opened
from tallystick.model.pointer import leaves
from tallystick.model.residual import AT, FROM
from tallystick.view.keys import targets_of

Origin = Literal["receipt", "words", "schema", "read", "nowhere"]
"""Where a value of a remaining gold write can be had at the handoff, first that holds: a receipt of the prefix says
it · the user's stand-in words do · the tool's schema lists it · a public read could still be made that says it ·
nowhere: it is computed, or nobody said it in these words."""
ORIGINS: Final[tuple[Origin, ...]] = ("receipt", "words", "schema", "read", "nowhere")
_READS: Final = 24
"""Reads tried for one value, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaf:
    """A value of a remaining gold write: which argument of which tool, and where it can be had."""

    tool: str
    arg: str
    value: Any
    origin: Origin


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """The gold of a cut, and where its values come from.

    What is owed has the arguments whose values somebody had said by the handoff, and leaves the others open: an
    extractor that may use nothing but the record could not name them, and an upper bound of it must not.

    Attributes:
        writes: the remaining writes with all their arguments.
        whole: how many of them are owed with all their arguments; named: with the entity they are about.
    """

    gold: Gold
    leaves: tuple[Leaf, ...]
    writes: tuple[Wanted, ...]
    whole: int
    named: int


@cache
def known_of(cut: Cut) -> Known:
    """Return the gold of a cut. It is for the evaluator alone."""
    with opened(cut.task, shared=True) as world:
        evidence = [answered(world, tool, args) for tool, args in cut.prefix]
        writer = _Writer(cut, world, [e for e in evidence if not refused(e)])
        writer.write()
    accepted = outcomes(cut.task)
    contract = contract_of(cut.domain)
    writes = [(n, c) for n, c in enumerate(cut.task.gold) if is_write(cut.domain, c.tool)]
    done = [c for n, c in writes if n < cut.length and accepted[n]]
    chosen = [
        (ref.kind, ref.id) for n, c in writes if n < cut.length for ref in targets_of(contract.tools[c.tool], c.args)
    ]
    left = [c for n, c in writes if n >= cut.length and accepted[n]]
    owed = tuple(Wanted(tool=c.tool, args=writer.named(c.tool, c.args)) for c in left)
    gold = Gold(
        proposal={"calls": writer.calls, "answer": {"text": "Everything you asked for is done."}},
        owed=owed,
        done=tuple(Wanted(tool=c.tool, args=dict(c.args)) for c in done),
        bindings=tuple(dict.fromkeys(chosen)),
        repeats=tuple({"id": f"again-{n}", "tool": c.tool, "args": dict(c.args)} for n, c in enumerate(done)),
        others=writer.others(),
    )
    whole = sum(len(one.args) == len(c.args) for one, c in zip(owed, left, strict=True))
    named = sum(bool(targets_of(contract.tools[one.tool], one.args)) for one in owed)
    writes_left = tuple(Wanted(tool=c.tool, args=dict(c.args)) for c in left)
    return Known(gold=gold, leaves=tuple(writer.leaves), writes=writes_left, whole=whole, named=named)


@dataclass
class _Writer:
    """Writes the continuation, call by call, in a scratch world that is in the reached state.

    Attributes:
        evidence: what the prefix's calls returned.
        calls: the continuation so far.
        came: (call, what it returned) of those that were not refused.
        read: what was read already, by tool and arguments.
        last: entity → id of the last write on it.
        own: ids of the author's own reads, which stay.
    """

    cut: Cut
    world: World
    evidence: list[Any]
    calls: list[dict[str, Any]] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    came: list[tuple[dict[str, Any], Any]] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    last: dict[tuple[str, str], str] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)

    def write(self) -> None:
        """Write it: the author's reads and writes, and before each write the reads that its values need."""
        for call in self.cut.rest:
            if is_write(self.cut.domain, call.tool):
                self._written(call.tool, dict(call.args))
            else:
                self.own.add(self._look(call.tool, dict(call.args)))
        self._prune()

    def _written(self, tool: str, args: dict[str, Any]) -> None:
        targets = targets_of(contract_of(self.cut.domain).tools[tool], args)
        bound: Any = args
        for path, value in leaves(args):
            origin, source = self._origin(tool, path, value, args)
            self.leaves.append(Leaf(tool=tool, arg=str(path[0]), value=value, origin=origin))
            # What the call is about stays as it is: which entity is owed is known before anything is read.
            if source is not None and all(ref.id != value for ref in targets):
                bound = replaced(bound, path, source)
        made: dict[str, Any] = {"id": f"write-{len(self.calls) + 1}", "tool": tool, "args": bound}
        after = [self.last[ref] for ref in targets if ref in self.last]
        if after:
            made["after"] = after
        self.last.update({(ref.kind, ref.id): made["id"] for ref in targets})
        self._made(made, args)

    def _made(self, made: dict[str, Any], args: Mapping[str, Any]) -> None:
        self.calls.append(made)
        result = answered(self.world, made["tool"], args)
        if not refused(result):
            self.came.append(({**made, "args": args}, result))

    def _origin(
        self, tool: str, path: tuple[str | int, ...], value: Any, args: Mapping[str, Any]
    ) -> tuple[Origin, Any]:
        if self._handed_over(value):
            return ("receipt" if self._seen(value) else "words"), None
        if value in self._listed(tool, path):
            return "schema", None
        found = self._source(value) or self._read_for(value, args)
        return ("nowhere", None) if found is None else ("read", found)

    def _seen(self, value: Any) -> bool:
        return any(place_in(e, value) is not None for e in self.evidence)

    def _handed_over(self, value: Any) -> bool:
        return self._seen(value) or said(stand_in_words(self.cut.task), value)

    def _listed(self, tool: str, path: tuple[str | int, ...]) -> Sequence[Any]:
        properties = (contract_of(self.cut.domain).tools[tool].args_schema or {}).get("properties", {})
        listed: Sequence[Any] = properties.get(path[0], {}).get("enum", ()) if len(path) == 1 else ()
        return listed

    def _source(self, value: Any) -> dict[str, Any] | None:
        """Return where a call of the continuation says a value; one that was told it says nothing by repeating it."""
        for call, result in self.came:
            at = place_in(result, value)
            if at is not None and place_in(call["args"], value) is None:
                return {FROM: call["id"], AT: at}
        return None

    def named(self, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a write that could be named at the handoff: each value is said by then, or listed."""

        def known(name: str, value: Any) -> bool:
            return all(
                leaf != "" and (self._handed_over(leaf) or leaf in self._listed(tool, (name, *at)))
                for at, leaf in leaves(value)
            )

        return {name: value for name, value in args.items() if known(name, value)}

    # ------------------------------------------------------------ reads

    def _read_for(self, value: Any, args: Mapping[str, Any]) -> dict[str, Any] | None:
        """Try public reads until one says the value, nearest first; what nobody refers to in the end goes again."""
        for _ in range(_READS):
            tried = next(self._reads(args), None)
            if tried is None:
                return None
            self._look(*tried)
            found = self._source(value)
            if found is not None:
                return found
        return None

    def _look(self, tool: str, args: dict[str, Any]) -> str:
        self.read.add(_named(tool, args))
        bound: Any = args
        for path, value in leaves(args):
            source = None if self._handed_over(value) else self._source(value)
            bound = replaced(bound, path, source) if source is not None else bound
        made = {"id": f"read-{len(self.read)}", "tool": tool, "args": bound}
        self._made(made, args)
        return str(made["id"])

    def _reads(self, args: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the reads not made yet that what is known, and the write to be made, suggest; nearest first."""
        seen = [*self.evidence, *(result for _, result in self.came)]
        wanted = _retail_reads if self.cut.domain == "retail" else _airline_reads
        for tool, asked in wanted(self.cut, seen, args):
            if _named(tool, asked) not in self.read:
                yield tool, asked

    def _prune(self) -> None:
        """Leave out reads that nothing refers to, but for the author's own."""
        while True:
            used = {name for call in self.calls for name in referred(call["args"])}
            kept = [c for c in self.calls if not c["id"].startswith("read") or c["id"] in used | self.own]
            if len(kept) == len(self.calls):
                return
            self.calls = kept

    def others(self) -> dict[str, str]:
        """Return for each entity of the remaining writes another one of its kind: of the same customer, if there is."""
        writes = [c for c in self.cut.task.gold if is_write(self.cut.domain, c.tool)]
        contract = contract_of(self.cut.domain)
        mine = {ref.id for c in writes for ref in targets_of(contract.tools[c.tool], c.args)}
        found: dict[str, str] = {}
        for call in self.cut.rest:
            for ref in targets_of(contract.tools[call.tool], call.args) if is_write(self.cut.domain, call.tool) else ():
                other = next(self._likes(ref.kind, mine), None)
                if other is not None:
                    found[ref.id] = other
        return found

    def _likes(self, kind: str, mine: set[str]) -> Iterator[str]:
        """Yield entities of a kind that no write of the author's is about."""
        if kind == "user":
            yield from (name for name in _customers(self.cut.domain) if name not in mine)
            return
        for user in _users([*self.evidence, *(result for _, result in self.came)], self.cut):
            details = answered(self.world, "get_user_details", {"user_id": user})
            listed = details.get(f"{kind}s", ()) if isinstance(details, Mapping) else ()
            yield from (name for name in listed if name not in mine)


def referred(value: Any) -> Iterator[str]:
    """Yield the ids that a value refers to."""
    if isinstance(value, Mapping):
        if FROM in value:
            yield str(value[FROM])
        else:
            for item in value.values():
                yield from referred(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from referred(item)


def _named(tool: str, args: Mapping[str, Any]) -> str:
    return f"{tool}{sorted(args.items())}"


@cache
def _customers(domain: Domain) -> tuple[str, ...]:
    """Return the customers that any author's call names, in order of their names."""
    return tuple(sorted({str(c.args["user_id"]) for task in tasks(domain) for c in task.gold if "user_id" in c.args}))


def _users(seen: Sequence[Any], cut: Cut) -> Iterator[str]:
    """Yield the customers that the record names: a lookup's answer, a field of a record, or an argument."""
    found = [args["user_id"] for _, args in cut.prefix if "user_id" in args]
    found += [r["user_id"] for r in seen if isinstance(r, Mapping) and "user_id" in r]
    found += [r for r in seen if isinstance(r, str) and r in _customers(cut.domain)]
    yield from dict.fromkeys(str(name) for name in found)


def _retail_reads(cut: Cut, seen: Sequence[Any], args: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    records = [r for r in seen if isinstance(r, Mapping)]
    for user in _users(seen, cut):
        yield "get_user_details", {"user_id": user}
    if "order_id" in args:
        yield "get_order_details", {"order_id": str(args["order_id"])}
    named = set(args.get("item_ids", ()))
    items = [i for r in records if r.get("order_id") == args.get("order_id") for i in r.get("items", ())]
    for item in sorted(items, key=lambda i: i["item_id"] not in named):  # those the call names come first
        yield "get_product_details", {"product_id": str(item["product_id"])}
    for record in records:
        for order in record.get("orders", ()):
            yield "get_order_details", {"order_id": str(order)}


def _airline_reads(cut: Cut, seen: Sequence[Any], args: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for user in _users(seen, cut):
        yield "get_user_details", {"user_id": user}
    if "reservation_id" in args:
        yield "get_reservation_details", {"reservation_id": str(args["reservation_id"])}
    trips = [(str(args["origin"]), str(args["destination"]))] if "origin" in args else []
    for record in (r for r in seen if isinstance(r, Mapping) and "flights" in r):
        trips.append((str(record["origin"]), str(record["destination"])))
        trips += [(str(f["origin"]), str(f["destination"])) for f in record["flights"]]
    dates = [str(flight["date"]) for flight in args.get("flights", ())]
    for one, other in dict.fromkeys(trips):
        for origin, destination in ((one, other), (other, one)):
            for date in dict.fromkeys(dates):
                for tool in ("search_direct_flight", "search_onestop_flight"):
                    yield tool, {"origin": origin, "destination": destination, "date": date}
