"""The receiving side: is what came along what the ledger says? Prose is not asked.

Precedence (ours): one complete block that matches the ledger decides; a partial or edited block is lost blocker status,
whatever the words around it say; only an artifact without any block is left to be judged by its prose.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from tallystick.handoff.carrier import BOUND, FIELDS, Blocker, Carrier, Resolved, blocker_lines, render, text_lines
from tallystick.handoff.forms import Block, Form, blocks, traces_in
from tallystick.handoff.loose import Trace
from tallystick.view import ConditionRecord, View
from tallystick.view.fold_shown import EVIDENCE

State = Literal["complete", "partial", "edited", "foreign", "stale", "absent"]
"""complete: says what the ledger says · partial: pieces of a rendering are gone · edited: it says something else ·
foreign: of another run · stale: true once, and the record has moved on · absent: there is none."""
_WORST: Final = ("complete", "stale", "partial", "foreign", "edited")
How = Literal["missing", "changed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """One field of one open blocker that did not arrive.

    Attributes:
        blocker: its id.
        field: `status`, `prerequisite`, `authority`, `fallback`; or what it removes, for what, until when.
        how: missing, or changed.
        found: what arrived in its place, in words; "" for nothing.
    """

    blocker: str
    field: str
    how: How
    found: str = ""

    def row(self) -> list[str]:
        """Return it as an event keeps it."""
        return [self.blocker, self.field, self.how]


@dataclass(frozen=True, slots=True)
class Foreign:
    """What an artifact has of another run, whose blockers would bind nobody where it is taken.

    Attributes:
        run: the run it names.
        carrier: digest of the data it states, "" where it states none that can be read.
        blockers: ids of the blockers it states.
    """

    run: str
    carrier: str
    blockers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What a run knows of other runs: whose blockers it raised again, and what its host said binds nothing here.

    Attributes:
        run: the run; contract: SHA-256 of its contract.
        related: the runs whose blockers it took over.
        taken: [run, event] of each blocker that binds here too; a condition of the contract has its id beside it.
        discarded: [run, digest of the carrier] of each block its host discarded.
    """

    run: str
    contract: str
    related: frozenset[str]
    taken: frozenset[tuple[str, ...]]
    discarded: frozenset[tuple[str, str]]

    def has(self, said: Trace) -> bool:
        """Return whether nothing is lost here where this piece of another run's block is taken out."""
        carrier = said.carrier
        if said.run == self.run or (said.run, carrier.digest() if carrier is not None else "") in self.discarded:
            return True
        # What cannot be read of a run whose blockers were taken over is one more summary of it.
        return said.run in self.related and (carrier is None or all(self._took(said.run, b) for b in carrier.blockers))

    def _took(self, run: str, blocker: Blocker) -> bool:
        if blocker.standing and blocker.event == self.contract:
            return True  # the same contract: its gates hold it here too
        return origin_of(run, blocker) in self.taken


def origin_of(run: str, blocker: Blocker) -> tuple[str, ...]:
    """Return what a blocker taken over from a run keeps of where it is from."""
    return (run, blocker.event, blocker.id, *blocker.entity) if blocker.standing else (run, blocker.event)


def held_by(view: View) -> Held:
    """Return what a record knows of other runs."""
    taken = frozenset(
        tuple(one)
        for one in (
            *(r.body.origin or () for several in view.index.conditions_by_id.values() for r in several),
            *(bound for _, _, body in view.transfers for bound in body.bound or ()),
        )
        if one
    )
    parent = view.started.parent if view.started is not None else None
    sources = {body.source for _, _, body in view.transfers if body.source}
    return Held(
        run=view.run,
        contract=view.contract.sha256,
        related=frozenset({*(origin[0] for origin in taken), *sources, *([parent] if parent else [])}),
        taken=taken,
        discarded=frozenset((run, said) for _, _, body in view.transfers for run, said in body.discarded or ()),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """What a receiver finds.

    Attributes:
        state: the worst of the blocks it has.
        losses: field by field, for every open blocker.
        carried: ids of the open blockers that arrived whole.
        left: obligations it says are left, where a block could be read; None otherwise.
        foreign: what it has of other runs that whoever takes it does not hold.
    """

    state: State
    losses: tuple[Loss, ...]
    carried: tuple[str, ...]
    left: tuple[str, ...] | None = None
    foreign: tuple[Foreign, ...] = ()

    @property
    def preserved(self) -> bool | None:
        """P where the block decides it: True for a complete one, False for any other, None where there is none."""
        return preserved(self.state, self.losses)


def preserved(state: State, losses: tuple[Loss, ...]) -> bool | None:
    """Return P as the block decides it: a stale one that lost no open blocker still binds."""
    return None if state == "absent" else state == "complete" or (state == "stale" and not losses)


def compare(
    artifact: Any, form: Form, expected: Carrier, view: View | None = None, held: Held | None = None
) -> Compared:
    """Return how the blocks of an artifact stand against `expected`, the carrier of the record as it is now.

    With the record's `view`, what a block says of an earlier point is held to the record too: its head, what was open
    then, and the events it says ended a blocker.

    Args:
        artifact: as for `transfer`.
        form: its form.
        expected: the carrier of the record.
        view: the record.
        held: what whoever takes it knows of other runs (`held_by`); by default, what `view` knows.
    """
    found = blocks(artifact, form)
    loose = traces_in(artifact, form)
    told = {block.carrier.run for block in found if block.whole and block.carrier is not None}
    # Of a run whose whole block is there, the pieces say nothing more.
    pieces = [said for said in loose if said.carrier is not None or said.run not in told]
    strange = [said for said in (*(s for b in found for s in b.said), *pieces) if not said.of(expected.run)]
    knows = held if held is not None else held_by(view) if view is not None and strange else None
    foreign = _foreign(said for said in strange if knows is None or not knows.has(said))
    if not found:
        losses = tuple(Loss(blocker=b.id, field=f, how="missing") for b in expected.blockers for f in FIELDS)
        # Marks of a block that prove nothing are what is left of one: not the same as never having had one.
        torn = any(said.of(expected.run) for said in loose)
        return Compared(
            state="edited" if torn else "foreign" if foreign else "absent", losses=losses, carried=(), foreign=foreign
        )
    judged = [(_state(block, expected, view), block) for block in found]
    state, block = max(judged, key=lambda one: _WORST.index(one[0]))
    if foreign and _WORST.index(state) < _WORST.index("foreign"):
        state = "foreign"
    losses = _losses(block, state, expected)
    lost = {loss.blocker for loss in losses}
    whole = block.whole and state not in ("foreign", "edited", "partial")
    return Compared(
        state=state,
        losses=losses,
        # A partial or edited block is lost blocker status: what is left of it carries nothing.
        carried=tuple(b.id for b in expected.blockers if b.id not in lost) if whole else (),
        left=tuple(block.carrier.left) if whole and block.carrier is not None else None,
        foreign=foreign,
    )


def _foreign(strange: Iterable[Trace]) -> tuple[Foreign, ...]:
    found: dict[tuple[str, str], Foreign] = {}
    for said in strange:
        name = said.carrier.digest() if said.carrier is not None else ""
        names = tuple(b.id for b in said.carrier.blockers) if said.carrier is not None else ()
        found.setdefault((said.run, name), Foreign(said.run, name, names))
    return tuple(found.values())


def _state(block: Block, expected: Carrier, view: View | None) -> State:
    carrier = block.carrier
    if carrier is None:
        if any(not said.of(expected.run) for said in block.said):
            return "foreign"
        return "partial" if _known(block.lines, expected) else "edited"
    if carrier.run != expected.run:
        return "foreign"
    if not block.whole:
        # A line that says something else, rather than lines that are gone.
        return "partial" if set(block.lines) <= set(render(carrier)) else "edited"
    if view is not None and not _of_record(carrier, view):
        return "edited"
    return _against(carrier, expected)


def _known(lines: tuple[str, ...], expected: Carrier) -> bool:
    """Whether the lines of a block without typed data are lines of this very record, so that only some are gone."""
    heads = tuple(line.partition("|")[0] for line in text_lines(expected))
    same = set(text_lines(expected))
    return all(line in same for line in lines if "|" in line and line.partition("|")[0] in heads)


def _of_record(carrier: Carrier, view: View) -> bool:
    """Whether a block could have been made by this record at the point it names."""
    if view.digest_at(carrier.seq) != carrier.head:
        return False  # it speaks of a point the record does not have
    contracts = {view.contract.sha256, view.started.contract_sha256 if view.started is not None else ""}
    if any(b.standing and b.event not in contracts for b in carrier.blockers):
        return False  # a condition of a contract that this run never had
    said = {b.event for b in carrier.blockers} | {r.event for r in carrier.resolved}
    if any(r.seq <= carrier.seq and r.digest not in said for r in view.raised):
        return False  # it says nothing of a blocker that was raised before it
    raised = {r.digest: r for r in view.raised}
    return all(r.event in raised and _ended(r, raised[r.event], carrier.seq, view) for r in carrier.resolved)


def _ended(said: Resolved, record: ConditionRecord, upto: int, view: View) -> bool:
    """Whether a blocker had ended, up to an event, in the way a block says.

    The record keeps the last end only. An earlier one that was undone since can only have been a receipt's.
    """
    if not view.has_event(said.lifted, upto):
        return False
    if said.lifted == record.lifted_digest:
        return (said.id, said.how, said.by) == (record.body.id, record.lifted_how, record.lifted_by)
    return bool(record.body.until) and said.how == EVIDENCE


def _against(carrier: Carrier, expected: Carrier) -> State:
    if carrier.seq > expected.seq or (carrier.seq == expected.seq and carrier.head != expected.head):
        return "edited"  # it speaks of a point the record does not have
    now = {b.event + b.id: b for b in expected.blockers}
    over = {r.event + r.id for r in expected.resolved}
    for blocker in carrier.blockers:
        key = blocker.event + blocker.id
        mine = now.pop(key, None)
        if mine is None and key not in over and not blocker.standing:
            return "edited"  # no such event raised it
        if mine is not None and mine != blocker:
            return "edited"
    return "stale" if now or carrier.left != expected.left or _moved(carrier, expected) else "complete"


def _moved(carrier: Carrier, expected: Carrier) -> bool:
    return [(r.id, r.lifted) for r in carrier.resolved] != [(r.id, r.lifted) for r in expected.resolved] or len(
        carrier.blockers
    ) != len(expected.blockers)


def _losses(block: Block, state: State, expected: Carrier) -> tuple[Loss, ...]:
    found: list[Loss] = []
    carrier = block.carrier if state != "foreign" else None
    # Where the lines are not what the typed data says, both are held to the record, and the worse counts.
    for blocker in expected.blockers:
        typed = _same(carrier, blocker) if carrier is not None else None
        wanted = blocker_lines(blocker)
        for name in FIELDS:
            line = wanted[name]
            if state == "foreign":
                found.append(Loss(blocker=blocker.id, field=name, how="missing"))
            elif typed is not None and getattr(typed, name) != getattr(blocker, name):
                found.append(Loss(blocker=blocker.id, field=name, how="changed", found=getattr(typed, name)))
            elif block.lines and line not in block.lines:
                label = line.partition(": ")[0] + ": "
                other = next((one for one in block.lines if one.startswith(label)), None)
                how: How = "changed" if other is not None else "missing"
                said = other[len(label) :] if other is not None else ""
                found.append(Loss(blocker=blocker.id, field=name, how=how, found=said))
            elif typed is None and not block.lines:
                found.append(Loss(blocker=blocker.id, field=name, how="missing"))
        found.extend(_bound(blocker, typed, block, wanted))
    return tuple(found)


def _same(carrier: Carrier, blocker: Blocker) -> Blocker | None:
    """Return what a carrier says of a blocker; of several raised under one id, what it says of that very one."""
    return next((b for b in carrier.blockers if (b.id, b.event) == (blocker.id, blocker.event)), None) or (
        carrier.blocker(blocker.id)
    )


def _bound(blocker: Blocker, typed: Blocker | None, block: Block, wanted: dict[str, str]) -> list[Loss]:
    if typed is not None:
        return [
            Loss(blocker=blocker.id, field=name, how="changed", found=str(getattr(typed, name)))
            for name in BOUND
            if getattr(typed, name) != getattr(blocker, name)
        ]
    if block.lines and wanted["removes"] in block.lines:
        return []
    return [Loss(blocker=blocker.id, field="removes", how="missing")]
