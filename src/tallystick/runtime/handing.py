"""Handing over: artifacts between roles, agents and compactions, judged against the record and recorded there.

What is passed on carries the open blockers as a block beside its prose; what is taken is compared with the ledger,
whatever the sender or the text says. Neither ever lifts a blocker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.handoff import Carrier, Held, Transfer, carrier_of, form_of, held_by, transfer
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import Store
from tallystick.model import jsontext
from tallystick.model.events import Blob, Handed, Received, Transferred, blob
from tallystick.runtime.blocking import BlockerStanding, Down, blockers_of, handed_down, instant_in, take_over
from tallystick.runtime.drivers import Steps, Write
from tallystick.runtime.journal import RUNTIME, stamp
from tallystick.runtime.known import names_in, text_of, typed
from tallystick.runtime.principals import view_of
from tallystick.runtime.statements import Statements
from tallystick.view import View
from tallystick.view.state import when

if TYPE_CHECKING:
    from tallystick.runtime.calls import Calls
    from tallystick.runtime.run import Run

T = TypeVar("T")
_TEXTS = ("text", "markdown", "ticket-text")


@dataclass(frozen=True, kw_only=True, slots=True)
class Hop:
    """One recorded hop of an artifact: who passed it to whom, and what had been lost when it was looked at.

    Attributes:
        number: its place in the chain, from 1.
        side: `sent` or `received`.
        losses: (blocker, field, how) each, as the artifact came.
        carrier: digest of the block that belonged to it; delivered: digest of what went on.
        seq, event: the event that records it.
    """

    number: int
    side: str
    sender: str
    to: str
    state: str
    verdict: str
    losses: tuple[tuple[str, str, str], ...]
    carrier: str
    delivered: str
    seq: int
    event: str


class Handing(Statements):
    """The part of a `Run` that passes artifacts on and takes them."""

    _calls: Calls
    if TYPE_CHECKING:  # a `Handing` is always a `Run`, which has both

        @property
        def view(self) -> View: ...  # noqa: D102 - documented where it is

        async def _adrive(self, steps: Steps[T]) -> T: ...

    def hand_off(
        self,
        to: str,
        artifact: Any,
        *,
        sender: str = "agent",
        form: str | None = None,
        residual: Iterable[str] | None = None,
        repair: bool = True,
        role: str = "system",
        discard_foreign: bool = False,
    ) -> Transfer:
        """Pass an artifact on: judge it against the record, put the block in where something is lost, and record it.

        Pass on `Transfer.artifact`, and only where `Transfer.accepted`.

        Args:
            to: who gets it: a role, an agent, a run.
            artifact: a text, a list of messages (mappings with `role` and `content`), or a ticket (a mapping, or its
                JSON text).
            sender: who passes it on.
            form: text, markdown, messages, ticket or ticket-text. Where None, by the artifact: a text that is one JSON
                object is a ticket's, any other plain text; Markdown has to be named.
            residual: ids of the obligations the sender says are left, where it says so beside the artifact.
            repair: False rejects where something is lost.
            role: role of the message that carries the block, among messages.
            discard_foreign: as for `receive`.

        Raises:
            InputError: an artifact of no known form, or the run has ended. LedgerError: it cannot be recorded.
        """
        self._checked(to, sender, role)
        asked = _Asked(to, sender, form, None if residual is None else _ids(residual), repair, role, discard_foreign)
        with self._journal.lock:
            self._open()
            return self._pass(Handed, artifact, asked)

    def receive(
        self,
        artifact: Any,
        *,
        sender: str = "agent",
        to: str = "agent",
        form: str | None = None,
        repair: bool = True,
        role: str = "system",
        source: Run | View | str | None = None,
        discard_foreign: bool = False,
    ) -> Transfer:
        """Take an artifact: compare its block with the ledger, repair what is missing, and record what was lost.

        One with a block of a run that is neither this one nor `source` is rejected (`handoff.foreign`): taken as words,
        its blockers would bind nobody. Where all of them were taken over before, nothing is lost, and it is repaired.

        Args:
            artifact: as for `hand_off`.
            sender: who passed it on.
            to: who takes it.
            form: as for `hand_off`.
            repair: False rejects where something was lost.
            role: as for `hand_off`.
            source: the run it comes from, where that is another one: the run, its view, or its id in this run's ledger.
                The artifact is compared with that run's record, and what is open there is raised here first, whatever
                of it the artifact still says and whether it is taken or not.
            discard_foreign: say that the blockers of other runs it speaks of bind nothing here. It is recorded, and
                holds in this run for these very blocks; of pieces that cannot be read, for those of the same run.

        Raises:
            InputError: an artifact of no known form, no such source, or the run has ended. LedgerError: it cannot be
                recorded.
        """
        self._checked(to, sender, role)
        asked = _Asked(to, sender, form, None, repair, role, discard_foreign)
        other = self._source(source)
        if other is None:
            with self._journal.lock:
                self._open()
                found = self._pass(Received, artifact, asked)
                self._took(found)
                return found
        with self._journal.lock:
            self._open()
            held, now = held_by(self._journal.view), self._journal.clock()

        def look(view: View) -> tuple[Transfer, tuple[Down, ...], str]:
            judged = self._judged(view, view.contract, artifact, asked, now, held)
            return judged, handed_down(view, self._contract.sha256, now), view.run

        # Never under both locks: two runs may take from each other at once.
        found, down, name = look(other) if isinstance(other, View) else other.still(look)
        with self._journal.lock:
            self._open()
            body = self._body(Received, artifact, found, asked, now, name)
            body = msgspec.structs.replace(body, bound=[list(one.there) for one in down])
            take_over(self._journal, down)  # before the artifact is taken: no kill can come between it and what binds
            self._journal.append(body, RUNTIME, durable=True, at=stamp(self._journal.clock()))
            self._took(found)
            return found

    def compact(
        self,
        artifact: Any,
        *,
        form: str | None = None,
        to: str = "compaction",
        role: str = "system",
        discard_foreign: bool = False,
    ) -> Transfer:
        """Pass what is left of a conversation across a compaction: a summary, or the messages that stay.

        As `hand_off`; call it where a context is summarised or cut, and go on with `Transfer.artifact`.
        """
        return self.hand_off(to, artifact, sender="agent", form=form, role=role, discard_foreign=discard_foreign)

    async def ahand_off(self, to: str, artifact: Any, **options: Any) -> Transfer:
        """As `hand_off`, without blocking the event loop."""
        return await self._adrive(_one(partial(self.hand_off, to, artifact, **options)))

    async def areceive(self, artifact: Any, **options: Any) -> Transfer:
        """As `receive`, without blocking the event loop."""
        return await self._adrive(_one(partial(self.receive, artifact, **options)))

    def carrier(self) -> Carrier:
        """Return what an artifact has to carry now."""
        with self._journal.lock:
            return carrier_of(self._journal.view, self._contract, self._journal.clock())

    def blockers(self) -> tuple[BlockerStanding, ...]:
        """Return every blocker of this run and where it stands; what was posted is taken in first."""
        with self._journal.lock:
            if self._calls.closed() is None:
                self._calls.catch_up()
            return blockers_of(self._journal.view, self._contract, self._journal.clock())

    def still(self, look: Callable[[View], T]) -> T:
        """Return what `look` sees in the record while nothing is added. For the runtime: one run takes from another."""
        with self._journal.lock:
            return look(self._journal.view)

    def provenance(self) -> tuple[Hop, ...]:
        """Return the recorded hops, oldest first: which of them found what lost."""
        with self._journal.lock:
            return hops(self._journal.view)

    # ------------------------------------------------------------------ inside

    def _checked(self, to: str, sender: str, role: str) -> None:
        text_of("to", to, "hand_off")
        typed("sender", sender, str)
        text_of("role", role, "hand_off")

    def _open(self) -> None:
        if self._calls.closed() is not None:
            raise InputError("the run has ended, or its record cannot be continued", where=f"run `{self._journal.run}`")
        self._calls.catch_up()

    def _source(self, source: object) -> Run | View | None:
        """Return the other run an artifact comes from; None where it is this one."""
        if isinstance(source, str):
            return None if source == self._journal.run else view_of(self._journal.store, source)
        if source is None or isinstance(source, (Handing, View)):
            here = source is None or (source.view if isinstance(source, Handing) else source).run == self._journal.run
            return None if here else source  # type: ignore[return-value]  # a `Handing` is always a `Run`
        raise InputError(f"a {type(source).__name__} is no run", where="receive: source", fix="the run it is from")

    def _pass(self, kind: type[Handed | Received], artifact: Any, asked: _Asked) -> Transfer:
        now = self._journal.clock()
        found = self._judged(self._journal.view, self._contract, artifact, asked, now, None)
        self._journal.append(
            self._body(kind, artifact, found, asked, now, ""), RUNTIME, durable=True, at=stamp(now)
        )  # fmt: skip
        return found

    def _judged(
        self, view: View, contract: Contract, artifact: Any, asked: _Asked, now: datetime, held: Held | None
    ) -> Transfer:
        return transfer(
            view, contract, artifact, now=now, form=asked.form, to=asked.to, residual=asked.residual,
            repair=asked.repair, role=asked.role, discard_foreign=asked.discard, held=held,
        )  # fmt: skip

    def _took(self, found: Transfer) -> None:
        if found.accepted:
            self._calls.received = (found.artifact, found.form)

    def _body(
        self,
        kind: type[Handed | Received],
        artifact: Any,
        found: Transfer,
        asked: _Asked,
        now: datetime,
        source: str,
    ) -> Handed | Received:
        past = self._journal.view.transfers
        return kind(
            to=asked.to, sender=asked.sender, form=found.form, artifact=artifact_blob(artifact, found.form),
            delivered_sha256=artifact_blob(found.artifact, found.form).sha256 if found.accepted else "",
            state=found.state, verdict=found.verdict, repair=asked.repair, decision=found.decision.text(),
            carrier_sha256=found.carrier.digest(), losses=[loss.row() for loss in found.losses],
            residual=list(asked.residual) if asked.residual is not None else None, hop=len(past) + 1,
            prev=past[-1][1] if past else "", role=asked.role, source=source, now=stamp(now),
            discarded=_discarded(found) if asked.discard else UNSET,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a caller says of a hop."""

    to: str
    sender: str
    form: str | None
    residual: tuple[str, ...] | None
    repair: bool
    role: str
    discard: bool


def _discarded(found: Transfer) -> list[list[str]]:
    return [[one.run, one.carrier] for one in found.foreign]


def _ids(given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)):
        given = tuple(given)
        if not given:
            return ()
    return names_in("obligation", given, "hand_off: residual")


def _one(do: Callable[[], T]) -> Steps[T]:
    value: T = yield Write(do)
    return value


def artifact_blob(artifact: Any, form: str) -> Blob:
    """Return an artifact's bytes: a text's UTF-8, anything else as JSON.

    Raises:
        InputError: it holds a lone surrogate, or something that is not JSON.
    """
    text = artifact if form in _TEXTS else jsontext.dumps(jsontext.exact(_plain(artifact))[0])
    try:
        return blob(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise InputError("it holds a lone surrogate, which no text can", where="artifact", fix="valid text") from None


def _plain(artifact: Any) -> Any:
    if isinstance(artifact, (list, tuple)):
        return [dict(message) for message in artifact]
    return dict(artifact)


def artifact_in(body: Transferred) -> Any:
    """Return the artifact an event keeps.

    Raises:
        InputError: it is none of the form the event names.
    """
    text = body.artifact.raw.decode("utf-8", "replace")
    artifact = text if body.form in _TEXTS else jsontext.loads(text, where="artifact")
    form_of(artifact, body.form)
    return artifact


def again(view: View, contract: Contract, body: Transferred) -> Transferred | None:
    """Return what a recorded hop comes to when it is judged again over the record before it; None without its instant.

    Raises:
        InputError: the artifact it keeps is none.
    """
    now = when(body.now)
    if now is None:
        return None
    found = transfer(
        view, contract, artifact_in(body), now=now, form=body.form, to=body.to, residual=body.residual,
        repair=body.repair, role=body.role, discard_foreign=body.discarded is not UNSET,
    )  # fmt: skip
    past = view.transfers
    return msgspec.structs.replace(
        body,
        delivered_sha256=artifact_blob(found.artifact, found.form).sha256 if found.accepted else "",
        state=found.state,
        verdict=found.verdict,
        decision=found.decision.text(),
        carrier_sha256=found.carrier.digest(),
        losses=[loss.row() for loss in found.losses],
        hop=len(past) + 1,
        prev=past[-1][1] if past else "",
        discarded=_discarded(found) if body.discarded is not UNSET else UNSET,
    )


def hops(view: View) -> tuple[Hop, ...]:
    """Return the hops a record names, oldest first."""
    return tuple(
        Hop(
            number=body.hop, side="sent" if isinstance(body, Handed) else "received", sender=body.sender, to=body.to,
            state=body.state, verdict=body.verdict, losses=tuple((b, f, h) for b, f, h in body.losses),
            carrier=body.carrier_sha256, delivered=body.delivered_sha256, seq=seq, event=event,
        )
        for seq, event, body in view.transfers
    )  # fmt: skip


def receive(
    artifact: Any,
    source: Run | View | Store | str | Path,
    run: str | None = None,
    *,
    now: datetime,
    form: str | None = None,
    repair: bool = True,
    role: str = "system",
) -> Transfer:
    """Compare an artifact with the ledger it claims to come from, without writing anything.

    For a receiver that is no run of its own: another process, another role. What the ledger says counts.

    Args:
        artifact: as for `Run.hand_off`.
        source: the run, its view, the ledger, or the path of the ledger's file.
        run: the run's id, where `source` is a ledger; where it has only one run, that one.
        now: the present instant, with a time zone.
        form: as for `Run.hand_off`.
        repair: False rejects where something was lost.
        role: as for `Run.hand_off`.

    Raises:
        InputError: no such run, an artifact of no known form, or an instant without time zone. LedgerError: the ledger
            cannot be read.
    """
    instant_in("receive: now", now)
    if isinstance(source, (str, Path)):
        if not Path(source).exists():
            raise InputError("there is no such ledger", where=str(source), fix="check the path")
        store = SQLiteStore(source)
        try:
            return receive(artifact, store, run, now=now, form=form, repair=repair, role=role)
        finally:
            store.close()
    view = _view(source, run)
    return transfer(view, view.contract, artifact, now=now, form=form, repair=repair, role=role)


def _view(source: Run | View | Store, run: str | None) -> View:
    if isinstance(source, View):
        return source
    if isinstance(source, Handing):
        return source.view
    return view_of(source, run or _only(source))


def _only(store: Store) -> str:
    names = [row.run for row in store.runs()]
    if len(names) == 1:
        return str(names[0])
    raise InputError(f"the ledger has {len(names)} runs", where="run", fix="name the run")
