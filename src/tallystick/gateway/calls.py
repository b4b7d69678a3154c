"""The guarded path of a `tools/call`: proposed to the run, forwarded if admitted, answered after the receipt."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tallystick.gateway.flight import Flight, Remote
from tallystick.gateway.frames import SERVER_GONE, Id, ServerFrame, error_line, line_of
from tallystick.gateway.legs import Asked, Leg, Legs
from tallystick.gateway.results import answer_of, recorded_line, result_line
from tallystick.model import jsontext
from tallystick.runtime.execution import Execution
from tallystick.runtime.outcome import Outcome
from tallystick.runtime.results import ToolResult
from tallystick.runtime.run import Run
from tallystick.view import effect_of

if TYPE_CHECKING:
    from tallystick.gateway.session import Session, Wires

_OVER: Final = frozenset({"failed", "cancelled"})


class CancelledByClientError(Exception):
    """The client no longer waits for a call that was sent."""


class ServerGoneError(Exception):
    """The server ended, or the session did, before a call was answered."""


class _TaskTold(msgspec.Struct):
    id: str = msgspec.field(default="", name="taskId")
    status: str = ""
    result: msgspec.Raw = msgspec.Raw(b"")
    content: msgspec.Raw = msgspec.Raw(b"")


_TASK: Final = msgspec.json.Decoder(_TaskTold)


class GuardedCalls:
    """The `tools/call` requests of one session, and the reads the runtime makes to settle doubt."""

    def __init__(self, run: Run, wires: Wires, session: Session, timeout: float | None) -> None:
        self._run = run
        self._wires = wires
        self._session = session
        self._timeout = timeout
        self._legs = Legs()
        self._asked: dict[Id, Asked] = {}  # the client's calls without an answer
        # Stands for the client's own request, as opposed to a read of the runtime's by the same name.
        self._mine = {name: Remote(name) for name in run.contract.tools}
        for name in run.contract.tools:
            run.register(name, Remote(name))  # the runtime's status queries

    @property
    def busy(self) -> bool:
        """Whether a call waits for the server."""
        return bool(self._legs.by_id)

    # ------------------------------------------------------------------ towards the server

    def propose(self, asked: Asked) -> None:
        """Put a client's call before the gate, or take it as the rest of one that the server asked input for."""
        id_ = asked.frame.id
        assert id_ is not None
        leg = self._legs.continued(asked)
        if leg is not None:
            leg.asked, leg.reply_to = asked.frame, id_
            asked.leg = leg
            self._asked[id_] = asked
            self._send(id_, leg, asked.frame.raw + b"\n")
            return
        self._asked[id_] = asked
        mine = self._mine.get(asked.tool) or Remote(asked.tool)
        steps = self._run.steps(
            asked.tool,
            None if asked.args_text is not None else asked.args,
            mine,
            args_text=asked.args_text,
            native_id=id_ if isinstance(id_, str) else str(id_),
        )
        asked.flight = Flight(
            steps,
            partial(self._ask, asked, mine),
            partial(self._came_of, asked),
            partial(self._broke, asked),
            self._wires.later,
        )
        asked.flight.start()

    def _ask(self, asked: Asked, mine: Remote, flight: Flight[Any], execution: Execution) -> None:
        if execution.fn is not mine:
            self.ask_for_runtime(flight, execution)
            return
        id_ = asked.frame.id
        assert id_ is not None
        leg = Leg(flight=flight, tool=asked.tool, args=asked.args, asked=asked.frame, reply_to=id_)
        asked.leg = leg
        line = asked.frame.raw + b"\n"
        if dict(execution.args) != dict(asked.args):
            line = _with_arguments(asked, execution)  # the runtime added an idempotency key
        self._send(id_, leg, line)

    def ask_for_runtime(self, flight: Flight[Any], execution: Execution) -> None:
        """Ask the server for a read the runtime wants: a status query that may settle a doubt."""
        tool = execution.fn.tool if isinstance(execution.fn, Remote) else ""
        args = dict(execution.args)
        leg = Leg(flight=flight, tool=tool, args=args)
        id_ = self._session.ask("tools/call", {"name": tool, "arguments": args})
        self._legs.by_id[id_] = leg
        self._start_clock(id_, leg)

    def _send(self, id_: Id, leg: Leg, line: bytes) -> None:
        self._legs.by_id[id_] = leg
        self._start_clock(id_, leg)
        self._session.to_server(line)

    def _start_clock(self, id_: Id, leg: Leg) -> None:
        if self._timeout is not None:
            leg.stop_clock = self._wires.later(self._timeout, lambda: self._too_late(id_))

    # ------------------------------------------------------------------ back

    def answered(self, id_: Id, frame: ServerFrame, line: bytes) -> bool:
        """Take an answer of the server; return whether it was one for a guarded call."""
        late = self._legs.late.pop(id_, None)
        if late is not None:
            late(answer_of(frame.result, frame.error).result)
            return True  # the client was answered, or wants no answer
        leg = self._legs.by_id.pop(id_, None)
        if leg is None:
            return False
        self._stop_clock(leg)
        answer = answer_of(frame.result, frame.error)
        if leg.asked is not None and self._legs.waiting(leg, answer):
            self._asked.pop(id_, None)
            leg.reply_to = None
            self._session.answer(id_, line)
            return True
        leg.answer = line
        if leg.reply_to is not None and self._only_reads(leg):
            # Nothing is in doubt about a read, so its reader need not wait for the receipt. It is written before any
            # other line is looked at; a write's is written before anybody learns of the effect.
            self._session.answer(leg.reply_to, line)
        leg.flight.landed(answer.result)
        return True

    def _only_reads(self, leg: Leg) -> bool:
        tool = self._run.contract.tools.get(leg.tool)
        return tool is not None and effect_of(tool, leg.args) == "read"

    def _came_of(self, asked: Asked, outcome: Outcome) -> None:
        """Answer the client, now that the record is written."""
        leg = asked.leg
        id_ = leg.reply_to if leg is not None else asked.frame.id
        if id_ is None:
            return  # answered before: it was given a question or a task handle
        self._asked.pop(id_, None)
        if leg is not None and leg.answer:
            if not self._only_reads(leg):
                self._session.answer(id_, leg.answer)
            return
        if asked.cancelled:
            return
        structured = self._session.shows_structured(asked.tool)
        if outcome.recorded and outcome.receipt_id is not None:
            receipt = self._run.view.receipt(outcome.receipt_id)
            if receipt is not None:
                self._session.answer(id_, recorded_line(id_, outcome, receipt, modern=asked.modern))
                return
        if isinstance(outcome.error, ServerGoneError):
            said = f"{outcome.error}; it is not known whether {asked.tool} ran"
            self._session.answer(id_, error_line(id_, SERVER_GONE, said))
            return
        # Handed back without a receipt of its own: it took effect, and the tool's answer was lost. Nothing here can be
        # what the tool's output schema promises, and clients check every result against it that is no error.
        text = str(outcome.result) if outcome.recorded else outcome.text()
        structured = structured and not outcome.recorded
        line = result_line(id_, text, outcome.to_json(), is_error=True, structured=structured, modern=asked.modern)
        self._session.answer(id_, line)

    def _broke(self, asked: Asked, bad: Exception) -> None:
        """An exception of our own: unsent, the call did not run; answered, the client gets what came back."""
        leg = asked.leg
        id_ = leg.reply_to if leg is not None else asked.frame.id
        if id_ is None or self._asked.pop(id_, None) is None or asked.cancelled:
            return
        if leg is None or not leg.answer:
            self._session.failed(id_, bad, sent=leg is not None)
        elif not self._only_reads(leg):
            self._session.answer(id_, leg.answer)

    # ------------------------------------------------------------------ waits that are given up

    def _too_late(self, id_: Id) -> None:
        leg = self._legs.by_id.pop(id_, None)
        if leg is None:
            return
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}
        self._session.to_server(line_of(note))
        self._lose(id_, leg, TimeoutError(f"no answer within {self._timeout:g} s"))

    def cancel(self, id_: Id) -> bool:
        """The client no longer waits for this call; return whether the server was asked."""
        asked = self._asked.pop(id_, None)
        if asked is None:
            return False
        asked.cancelled = True
        leg = self._legs.by_id.pop(id_, None)
        if leg is None:
            if asked.flight is not None:
                asked.flight.drop()
            return False
        self._stop_clock(leg)
        leg.reply_to = None
        self._lose(id_, leg, CancelledByClientError("the client cancelled the call after it was sent"))
        return True

    def _lose(self, id_: Id, leg: Leg, error: Exception) -> None:
        self._legs.late[id_] = leg.flight.lost(error)

    def server_gone(self, why: str) -> None:
        """Conclude every open call: nobody will answer any more."""
        late, self._legs.late = self._legs.late, {}
        for tell in late.values():
            tell(ServerGoneError(why))
        legs = self._legs.open()
        self._legs = Legs()
        for leg in legs:
            self._stop_clock(leg)
            leg.flight.lost(ServerGoneError(why))(ServerGoneError(why))

    def progressed(self, id_: Id) -> None:
        """The server says it is at work on a request: its clock starts anew."""
        leg = self._legs.by_id.get(id_)
        if leg is not None and leg.stop_clock is not None:
            leg.stop_clock()
            self._start_clock(id_, leg)

    @staticmethod
    def _stop_clock(leg: Leg) -> None:
        if leg.stop_clock is not None:
            leg.stop_clock()
            leg.stop_clock = None

    # ------------------------------------------------------------------ tasks (2025-11-25, and the extension since)

    def task_told(self, task: str, method: str, frame: ServerFrame) -> None:
        """Take what the server answered to the client about a task: its result, or that there will be none."""
        leg = self._legs.tasks.get(task)
        if leg is None or not frame.result:
            return
        if method == "tasks/result":
            del self._legs.tasks[task]
            leg.flight.landed(answer_of(frame.result, b"").result)
        else:
            self.task_status(frame.result, task)

    def task_status(self, raw: bytes, task: str = "") -> None:
        """Take a status the server gives of a task."""
        try:
            told = _TASK.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            return
        leg = self._legs.tasks.get(told.id or task)
        if leg is None:
            return
        if told.status == "completed" and bytes(told.result):
            del self._legs.tasks[told.id or task]
            leg.flight.landed(answer_of(bytes(told.result), b"").result)
        elif told.status in _OVER:
            del self._legs.tasks[told.id or task]
            leg.flight.landed(ToolResult(value=raw, flag="error"))


def _with_arguments(asked: Asked, execution: Execution) -> bytes:
    message = jsontext.loads(asked.frame.raw)
    message["params"]["arguments"] = dict(execution.args)
    return line_of(message)
