"""A recording by the agent's turns: what it called and said, what followed, and the stage after each.

One reader for runs of ours and for imported conversations, because both are events. A turn with calls ends when they
are answered; text is a turn of its own where no call of the agent stands beside it. What followed a turn is read from
the record: the user spoke, the agent was asked again, or nothing more came. An imported message has its calls before
its words, so there what comes after words belongs to another message; a host of ours may record either first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeGuard

from tallystick.gates.stage import Stage, Standing, stage_of
from tallystick.gates.stop_policies import Moment, Ruling
from tallystick.model import events as ev
from tallystick.progress import Encoding, Said, parse_report, stage_named
from tallystick.progress.agreement import reported
from tallystick.runtime.standing import Followed
from tallystick.view.state import when

Next = Literal["user", "agent", "end"]
_BY_REASON: Final[dict[str, Ruling]] = {
    "policy.stopped": "stop", "policy.no_report": "dead_end", "policy.user_silent": "hand_over",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedTurn:
    """One turn of the agent.

    Attributes:
        number: from 0.
        first, last: seqs of its first and last event, results included.
        called: whether it made a call.
        text: what it said.
        tool_event: whether a tool had answered by its end.
        standing: where the task stood after it.
        said: the report in it, beside the stage after it, or that one was due and absent; None where nobody looked for
            one and there is none.
        present: whether its text holds a report, well formed or not.
        value: what a well-formed report names, as the runtime spells stages.
        next: what came after it: the user spoke, the agent went on, or the recording ends.
    """

    number: int
    first: int
    last: int
    called: bool
    text: str
    tool_event: bool
    standing: Standing
    said: Said | None = None
    present: bool = False
    value: str | None = None
    next: Next = "end"


@dataclass(slots=True)
class _Open:
    first: int
    last: int
    turn: int | None = None
    called: bool = False
    text: str = ""
    spoke: bool = False
    waiting: set[str] = field(default_factory=set)
    reports: list[Said] = field(default_factory=list)


class Turns:
    """Splits a followed run into turns, event by event.

    Args:
        run: folds the events; fed by `take`.
        encoding: how reports are read out of texts that no event of the record already reads.
    """

    def __init__(self, run: Followed, encoding: Encoding = "xml") -> None:
        self.run = run
        self._encoding = encoding
        self._open: _Open | None = None
        self._held: list[Said] = []
        self._number = 0
        self._answered = False
        self._imported = False
        self._at: datetime | None = None

    def take(self, sealed: ev.Sealed) -> RecordedTurn | None:
        """Fold the next event; return the turn that it shows to be over."""
        over = self._before(sealed)
        self._at = when(sealed.event.at)
        said = self.run.take(sealed)
        self._add(sealed, said)
        return over

    def end(self) -> RecordedTurn | None:
        """Return the turn that was still open at the end of the recording."""
        return self._close("end")

    # ------------------------------------------------------------------ does this event end the open turn?

    def _before(self, sealed: ev.Sealed) -> RecordedTurn | None:
        body, now = sealed.event.body, self._open
        if isinstance(body, ev.Receipt):
            return None
        if now is None:
            return None
        if isinstance(body, ev.Said) and body.role == "user":
            return self._close("user")
        if isinstance(body, ev.Ended):
            return self._close("end")
        if isinstance(body, ev.StopAnswered) or (isinstance(body, ev.Said) and body.role == "system"):
            return self._close("agent") if now.spoke and not now.called else None
        if isinstance(body, ev.Intent | ev.Refusal):
            new = body.turn is not None and now.turn is not None and body.turn != now.turn
            done = now.called and (new or (body.turn is None and not now.waiting))
            alone = self._imported and now.spoke and not now.called
            return self._close("agent") if done or alone else None
        if _speaks(body):
            text = body.text
            beside = now.called and now.waiting
            again = now.spoke and not now.called and now.text == text and not self._imported
            return None if beside or again else self._close("agent")
        return None

    def _add(self, sealed: ev.Sealed, said: Said | None) -> None:
        body, seq = sealed.event.body, sealed.event.seq
        if isinstance(body, ev.Started):
            self._imported = body.format is not None
        elif isinstance(body, ev.Intent | ev.Refusal):
            now = self._opened(seq)
            now.called, now.last = True, seq
            now.turn = body.turn if body.turn is not None else now.turn
            if isinstance(body, ev.Intent):
                now.waiting.add(body.call)
        elif isinstance(body, ev.Receipt):
            self._answered = True
            if self._open is not None and body.call in self._open.waiting:
                self._open.waiting.discard(body.call or "")
                self._open.last = seq
        elif _speaks(body):
            now = self._opened(seq)
            now.text, now.spoke, now.last = body.text, True, seq
        elif isinstance(body, ev.Reported) and said is not None:
            if self._open is not None and self._open.spoke:
                self._open.reports.append(said)
                self._open.last = seq
            else:
                self._held.append(said)

    def _opened(self, seq: int) -> _Open:
        if self._open is None:
            self._open = _Open(first=seq, last=seq, reports=self._held)
            self._held = []
        return self._open

    def _close(self, next_: Next) -> RecordedTurn | None:
        now, self._open = self._open, None
        if now is None:
            return None
        view = self.run.view
        standing = stage_of(view, view.contract, self._at)
        report = parse_report(now.text, self._encoding)
        said = now.reports[-1] if now.reports else None
        if said is None and report.present:
            said = self.run.reports.take(reported(report, now.text), now.last, standing.stage)
        value = said.value if said is not None and said.value else report.value
        named = stage_named(value) if value is not None else None
        turn = RecordedTurn(
            number=self._number,
            first=now.first,
            last=now.last,
            called=now.called,
            text=now.text,
            tool_event=self._answered,
            standing=standing,
            said=said,
            present=report.present or (said is not None and said.agreement != "absent"),
            value=str(named) if named is not None else value,
            next=next_,
        )
        self._number += 1
        return turn


def _speaks(body: ev.AnyBody) -> TypeGuard[ev.Said | ev.StopDecided]:
    return isinstance(body, ev.StopDecided) or (isinstance(body, ev.Said) and body.role in ("assistant", "agent"))


def turns_of(run: Followed, events: Iterable[ev.Sealed], encoding: Encoding = "xml") -> Iterator[RecordedTurn]:
    """Yield the turns of a recording.

    Args:
        run: an empty view to fold it into.
        events: the recording.
        encoding: how reports are read out of its texts.
    """
    reader = Turns(run, encoding)
    for sealed in events:
        over = reader.take(sealed)
        if over is not None:
            yield over
    over = reader.end()
    if over is not None:
        yield over


def rulings(turns: Sequence[RecordedTurn], ended: ev.Ended | None) -> tuple[Ruling, ...]:
    """Return what followed each turn, in the words of stop policies. `ended` is the run's own end, where it has one."""
    found: list[Ruling] = []
    for turn in turns:
        if turn.called:
            found.append("go_on")
        elif turn.next == "user":
            found.append("hand_over")
        elif turn.next == "agent":
            found.append("re_prompt")
        elif ended is None:
            found.append("hand_over")  # nobody answered any more
        else:
            found.append("stop" if ended.status == "CERTIFIED" else _BY_REASON.get(ended.reason, "give_up"))
    return tuple(found)


def moments(turns: Sequence[RecordedTurn]) -> tuple[Moment, ...]:
    """Return what a stop policy may look at after each turn."""
    found: list[Moment] = []
    re_prompted = 0
    for at, turn in enumerate(turns):
        re_prompted = 0 if turn.called else re_prompted
        found.append(
            Moment(
                called=turn.called,
                tool_event=turn.tool_event,
                reported=turn.present,
                value=turn.value,
                stage=Stage(turn.standing.stage),
                user_has_more=any(t.next == "user" for t in turns[at:]),
                re_prompted=re_prompted,
            )
        )
        re_prompted += not turn.called and turn.next == "agent"
    return tuple(found)
