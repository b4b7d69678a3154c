"""One connection between a client and a server, without any I/O: lines in, lines out.

What is relayed is relayed byte for byte. Read are: a client's `tools/call` (gated), `tools/list` (compared, and our own
tools added), cancellations, and the task methods; of the server, what answers those. Fail closed: whatever goes wrong
in here before a call was forwarded means that it did not run, and the client is told so.
Sources: MCP 2025-11-25 and 2026-07-28 (tools, cancellation, progress, tasks, multi round-trip requests).
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from tallystick.errors import InputError, LedgerError
from tallystick.gateway.calls import GuardedCalls
from tallystick.gateway.flight import Flight, Later
from tallystick.gateway.frames import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MAX_FRAME,
    SERVER_GONE,
    ClientFrame,
    GarbledError,
    Id,
    ServerFrame,
    UsedIds,
    error_line,
    line_of,
    read_client,
    read_server,
)
from tallystick.gateway.legs import Asked
from tallystick.gateway.listing import Listing
from tallystick.gateway.own import Own, standing, standing_text
from tallystick.gateway.results import result_line
from tallystick.model import jsontext
from tallystick.runtime.outcome import Finish
from tallystick.runtime.run import Run

_LOG: Final = logging.getLogger(__name__)
STRICT: Final = frozenset(
    {"tools/call", "tools/list", "tasks/get", "tasks/result", "tasks/cancel", "notifications/cancelled"}
)
MODERN: Final = "io.modelcontextprotocol/protocolVersion"
"""Key in a request's `_meta` since 2026-07-28, where each request says its version."""
LISTING_SECONDS: Final = 15.0
"""How long calls wait for the server's list of tools before they are refused."""
MAX_PAGES: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Wires:
    """Where lines go; each has its end.

    Attributes:
        to_server: a line for the server.
        reply: an answer to the client's request of this id.
        to_client: a line of the server's own accord, and the client's request it belongs to where that is known.
        later: the transport's timer.
    """

    to_server: Callable[[bytes], None]
    reply: Callable[[Id | None, bytes], None]
    to_client: Callable[[bytes, Id | None], None]
    later: Later


class Session:
    """A client, a guard's run, and a server.

    Args:
        run: the run every `tools/call` is proposed to.
        wires: the transport.
        timeout: seconds a call may take before it is given up, and in doubt where it writes; None waits for ever.
        ids_once: an id may be used once in the session (stdio); else it may come again after its answer (HTTP).
    """

    def __init__(self, run: Run, wires: Wires, *, timeout: float | None = None, ids_once: bool = True) -> None:
        self.run = run
        self._wires = wires
        self._ids_once = ids_once
        self._used = UsedIds()
        self._open: dict[Id, str] = {}  # the client's requests without an answer, and their methods
        self._tokens: dict[Any, Id] = {}  # progress token → the client's request
        self._pages: dict[Id, bool] = {}  # the client's `tools/list` requests → whether it asks for a first page
        self._task_of: dict[Id, str] = {}  # the client's `tasks/…` requests → task id
        self._own_requests: dict[Id, Callable[[ServerFrame], None]] = {}
        self._waiting: list[tuple[Id, Callable[[str], None]]] = []  # requests that wait for a listing
        self._meta: Mapping[str, Any] = {}
        self._prefix = f"tallystick-{secrets.token_hex(4)}-"
        self._number = 0
        self._gone = ""
        self._own = Own(run, run.contract.tools)
        self._listing = Listing(run, self._own)
        self._calls = GuardedCalls(run, wires, self, timeout)

    # ------------------------------------------------------------------ the client's side

    def from_client(self, raw: bytes) -> None:
        """Take one line of the client, without its end."""
        try:
            self._from_client(raw)
        except Exception as bad:  # noqa: BLE001 - one line must not take the others with it
            _LOG.error("a line of the client could not be handled: %s", type(bad).__name__)

    def _from_client(self, raw: bytes) -> None:
        try:
            frame = read_client(raw, STRICT)
        except GarbledError as bad:
            # An id that is in use belongs to another request; answering under it would answer that one.
            id_ = None if bad.id in self._open else bad.id
            self._wires.reply(id_, error_line(id_, bad.code, bad.message))
            return
        self.take(frame)

    def take(self, frame: ClientFrame) -> None:
        """Take a client's line that was read already, with `STRICT`."""
        if frame.is_response:
            self._forward(frame)
        elif frame.id is None:
            self._notified(frame)
        elif self._claimed(frame.id, frame.method):
            self._requested(frame)

    def excess_from_client(self) -> None:
        """A line of the client was longer than is read; it was not forwarded."""
        self._wires.reply(None, error_line(None, INVALID_REQUEST, f"a line of more than {MAX_FRAME:,} bytes"))

    def _claimed(self, id_: Id, method: str) -> bool:
        if id_ in self._open:
            self._wires.reply(None, error_line(None, INVALID_REQUEST, f"the id {jsontext.dumps(id_)} is in use"))
            return False
        if self._ids_once:
            if id_ in self._used:
                self.answer(id_, error_line(id_, INVALID_REQUEST, "this id was used before in this session"))
                return False
            self._used.add(id_)
        self._open[id_] = method
        return True

    def _requested(self, frame: ClientFrame) -> None:
        id_ = frame.id
        assert id_ is not None
        if self._gone:
            self.answer(id_, error_line(id_, SERVER_GONE, self._gone))
            return
        try:
            self._take_meta(frame)
            if frame.method == "tools/call":
                self._call(frame)
                return
            if frame.method == "tools/list":
                self._list_for_client(id_, frame)
                return
            if frame.method.startswith("tasks/"):
                task = (frame.params or {}).get("taskId")
                if isinstance(task, str):
                    self._task_of[id_] = task
        except Exception as bad:  # noqa: BLE001 - our own exception: the call did not run, and the client is told so
            self.failed(id_, bad)
            return
        self._forward(frame)

    def failed(self, id_: Id, bad: Exception, *, sent: bool = False) -> None:
        """Answer a request with an exception of our own; `sent` says whether the server was asked."""
        said = "it is not known whether the call ran" if sent else "the call did not run"
        text = bad.message if isinstance(bad, (InputError, LedgerError)) else type(bad).__name__
        self.answer(id_, error_line(id_, INTERNAL_ERROR, f"the gateway failed ({text}); {said}"))

    def _take_meta(self, frame: ClientFrame) -> None:
        meta = (frame.params or {}).get("_meta")
        if not isinstance(meta, Mapping):
            return
        token = meta.get("progressToken")
        if isinstance(token, (str, int)) and frame.id is not None:
            self._tokens[token] = frame.id
        if MODERN in meta:
            self._meta = {k: v for k, v in meta.items() if k.startswith("io.modelcontextprotocol/")}

    def _notified(self, frame: ClientFrame) -> None:
        if frame.method in STRICT and frame.method != "notifications/cancelled":
            text = f"{frame.method} is a request and needs an id; it was not forwarded"
            self._wires.reply(None, error_line(None, INVALID_REQUEST, text))
            return
        if frame.method == "notifications/cancelled":
            id_ = (frame.params or {}).get("requestId")
            if isinstance(id_, (str, int)) and id_ in self._open:
                self.cancelled(id_, forward=frame.raw + b"\n")
                return
        self._forward(frame)

    def cancelled(self, id_: Id, *, forward: bytes | None = None) -> None:
        """The client no longer waits for a request. A cancel undoes nothing: a write that was sent is in doubt.

        Args:
            id_: the request.
            forward: the client's own notification as a line; made where the transport has none (HTTP).
        """
        if id_ not in self._open:
            return
        unsent = [entry for entry in self._waiting if entry[0] == id_]
        if unsent:
            self._waiting.remove(unsent[0])
            self._close(id_)
            return
        if self._open[id_] == "tools/call" and not self._calls.cancel(id_):
            self._close(id_)
            return  # the server never heard of it
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}
        self.to_server(forward or line_of(note))
        self._close(id_)

    # ------------------------------------------------------------------ tools/call

    def _call(self, frame: ClientFrame) -> None:
        id_, params = frame.id, frame.params or {}
        assert id_ is not None
        name, args = params.get("name"), params.get("arguments")
        problem = None
        if not isinstance(name, str):
            problem = "`name` must be a string"
        elif args is not None and not isinstance(args, dict):
            problem = "`arguments` must be one object"
        elif args and len({a.casefold() for a in args}) != len(args):
            problem = "two arguments differ only in letter case"
        if problem is not None or not isinstance(name, str):
            self.answer(id_, error_line(id_, INVALID_PARAMS, f"tools/call: {problem}"))
            return
        meta = params.get("_meta")
        modern = isinstance(meta, Mapping) and MODERN in meta
        if name == self._own.status:
            told = standing(self.run)
            line = result_line(id_, standing_text(told), told, is_error=False, structured=True, modern=modern)
            self.answer(id_, line)
        elif name == self._own.finish:
            self._finish(id_, args or {}, modern=modern)
        else:
            asked = Asked(frame=frame, tool=name, args=args or {}, args_text=_own_text(frame.raw, args), modern=modern)

            def listed(problem: str) -> None:
                if problem:
                    text = f"the tools could not be compared with the contract ({problem}); the call did not run"
                    self.answer(id_, error_line(id_, SERVER_GONE, text))
                else:
                    self._calls.propose(asked)

            self._when_listed(id_, listed)

    def _finish(self, id_: Id, args: Mapping[str, Any], *, modern: bool) -> None:
        def then(answer: Finish) -> None:
            line = result_line(
                id_, str(answer), answer.to_json(), is_error=not answer.accepted, structured=True, modern=modern
            )
            self.answer(id_, line)

        steps = self.run.finish_tool(name=self._own.finish).steps(args)
        Flight(steps, self._calls.ask_for_runtime, then, partial(self.failed, id_), self._wires.later).start()

    # ------------------------------------------------------------------ tools/list

    def _list_for_client(self, id_: Id, frame: ClientFrame) -> None:
        """Forward a client's `tools/list`. Its first page waits until all pages were seen once.

        Our own tools stand on the first page, because not every client reads another, and their names must not be
        those of tools on a later one.
        """
        first = not (frame.params or {}).get("cursor")

        def listed(_: str) -> None:
            self._pages[id_] = first
            self._forward(frame)

        if first:
            self._when_listed(id_, listed)
        else:
            listed("")

    def _when_listed(self, id_: Id, then: Callable[[str], None]) -> None:
        """Call `then` once the server's tools are known, with why they are not, or ""."""
        if not self._listing.stale:
            then("")
            return
        self._waiting.append((id_, then))
        if len(self._waiting) == 1:
            self._list()

    def _list(self) -> None:
        """Ask the server what its tools are, all pages."""
        pages, changes = 0, self._listing.changes
        stop: Callable[[], None] = lambda: None  # noqa: E731 - replaced below

        def page(frame: ServerFrame) -> None:
            nonlocal pages
            pages += 1
            try:
                # A server that answers with an error has no list to compare; its tools are still the contract's.
                cursor = self._listing.page(frame.result) if frame.result else None
            except (msgspec.DecodeError, InputError, LedgerError) as bad:
                done(f"its list of tools cannot be used: {bad}")
                return
            if cursor and pages < MAX_PAGES:
                self.ask("tools/list", {"cursor": cursor}, page)
            else:
                done("")

        def done(problem: str) -> None:
            stop()
            self._listing.stale = bool(problem) or changes != self._listing.changes
            waiting, self._waiting = self._waiting, []
            for id_, then in waiting:
                try:
                    then(problem)
                except Exception as bad:  # noqa: BLE001 - our own exception: the call did not run
                    self.failed(id_, bad)

        number = self.ask("tools/list", {}, page)

        def too_late() -> None:
            self._own_requests.pop(number, None)
            done(f"no answer to tools/list within {LISTING_SECONDS:.0f} s")

        stop = self._wires.later(LISTING_SECONDS, too_late)

    # ------------------------------------------------------------------ the server's side

    def from_server(self, raw: bytes) -> None:
        """Take one line of the server, without its end."""
        try:
            self._from_server(raw)
        except Exception as bad:  # noqa: BLE001 - one line must not take the others with it
            _LOG.error("a line of the server could not be handled: %s", type(bad).__name__)

    def _from_server(self, raw: bytes) -> None:
        line = raw + b"\n"
        frame = read_server(raw)
        if frame is None:
            self._wires.to_client(line, None)
            return
        if not frame.is_response:
            self._wires.to_client(line, self._about(frame))
            return
        id_ = frame.id
        assert id_ is not None
        if id_ in self._own_requests:
            self._own_requests.pop(id_)(frame)
        elif self._calls.answered(id_, frame, line):
            return
        elif id_ in self._pages:
            self.answer(id_, self._listed(frame, line, first=self._pages.pop(id_)))
        else:
            task = self._task_of.pop(id_, None)
            if task is not None:
                self._calls.task_told(task, self._open.get(id_, ""), frame)
            self.answer(id_, line)

    def excess_from_server(self, piece: bytes) -> None:
        """Part of a line longer than is read: relayed, and believed by nobody; the call it answers stays open."""
        self._wires.to_client(piece, None)

    def _about(self, frame: ServerFrame) -> Id | None:
        """Return the client's request a message of the server belongs to, and note what it says about our calls."""
        if frame.method == "notifications/tools/list_changed":
            self._listing.stale = True
            self._listing.changes += 1
        elif frame.method == "notifications/progress":
            try:
                token = jsontext.loads(frame.params).get("progressToken")
                id_ = self._tokens.get(token)
            except (InputError, AttributeError, TypeError):
                return None
            if id_ is not None:
                self._calls.progressed(id_)
            return id_
        elif frame.method == "notifications/tasks/status":
            self._calls.task_status(frame.params)
        return None

    def _listed(self, frame: ServerFrame, line: bytes, *, first: bool) -> bytes:
        if not frame.result:
            return line
        try:
            self._listing.page(frame.result)
            return self._listing.with_own(line) if first else line
        except (msgspec.DecodeError, InputError, LedgerError):
            self._listing.stale = True  # asked again before the next call
            return line

    # ------------------------------------------------------------------ the end

    def server_gone(self, why: str) -> None:
        """The server has ended: what it was asked and did not answer is in doubt, and the client is told."""
        if self._gone:
            return
        self._gone = why
        self._calls.server_gone(why)
        for id_, _ in self._waiting:
            self.answer(id_, error_line(id_, SERVER_GONE, f"{why}; the call did not run"))
        self._waiting.clear()
        self._own_requests.clear()
        for id_ in list(self._open):
            self.answer(id_, error_line(id_, SERVER_GONE, why))

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return self._calls.busy or "tools/call" in self._open.values()

    # ------------------------------------------------------------------ for the parts

    def ask(self, method: str, params: Mapping[str, Any], then: Callable[[ServerFrame], None] | None = None) -> Id:
        """Send a request of our own and return its id; without `then` somebody else takes the answer."""
        self._number += 1
        id_ = f"{self._prefix}{self._number}"
        told = {**params, "_meta": dict(self._meta)} if self._meta else dict(params)
        if then is not None:
            self._own_requests[id_] = then
        self.to_server(line_of({"jsonrpc": "2.0", "id": id_, "method": method, "params": told}))
        return id_

    def answer(self, id_: Id, line: bytes) -> None:
        """Answer a client's request."""
        self._close(id_)
        self._wires.reply(id_, line)

    def shows_structured(self, tool: str) -> bool:
        """Whether a result of our own for `tool` may have structured content: clients check it against its schema."""
        return tool not in self._listing.with_output_schema

    def to_server(self, line: bytes) -> None:
        """Send a line to the server."""
        self._wires.to_server(line)

    def _forward(self, frame: ClientFrame) -> None:
        self.to_server(frame.raw + b"\n")

    def _close(self, id_: Id) -> None:
        self._open.pop(id_, None)
        self._pages.pop(id_, None)
        if self._tokens:
            self._tokens = {t: i for t, i in self._tokens.items() if i != id_}


class _Params(msgspec.Struct):
    arguments: msgspec.Raw


class _Call(msgspec.Struct):
    params: _Params


_CALL: Final = msgspec.json.Decoder(_Call)


def _own_text(raw: bytes, args: Mapping[str, Any] | None) -> str | None:
    """Return the arguments as the client wrote them, where that is not how we would write them; else None."""
    if args is None:
        return None
    text = bytes(_CALL.decode(raw).params.arguments).decode("utf-8")
    return text if text != jsontext.dumps(args) else None
