"""Reading JSON-RPC lines: strictly what a client sends, leniently what a server sends.

A client's line must mean the same to us as to whatever server reads it next, or a call could pass the gate unseen. So a
line that two parsers may read differently (a member twice, a member in other letter case, a bare carriage return that
some readers take for the end of the line) is refused and never forwarded. A server's line is only paired with its
request; its bytes go on as they came.
Sources: JSON-RPC 2.0 sections 4 and 5; MCP 2025-11-25 and 2026-07-28, "Base protocol".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.canonical import MAX_INTEGER

Id = str | int
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SERVER_GONE: Final = -32000
MAX_FRAME: Final = 64 * 1024 * 1024
"""Longest line read whole, in bytes."""

_MEMBERS: Final = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
_PARAMS: Final = frozenset({"name", "arguments", "_meta", "task", "taskId", "cursor", "inputResponses", "requestState"})
_FOLDED: Final = {names: frozenset(n.casefold() for n in names) for names in (_MEMBERS, _PARAMS)}


class GarbledError(Exception):
    """A client's line that is not one usable JSON-RPC message.

    Attributes:
        code: JSON-RPC error code. id: the request's id where it could be read, else None.
    """

    def __init__(self, code: int, message: str, id: Id | None = None) -> None:  # noqa: A002 - JSON-RPC's name
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientFrame:
    """One line of the client.

    Attributes:
        raw: its bytes, without the line's end.
        id: request id; None for a notification, and `is_response` tells an answer to a request of the server.
        params: exact JSON values; None where there are none or the method is only relayed.
    """

    raw: bytes
    id: Id | None = None
    method: str = ""
    params: Mapping[str, Any] | None = None
    is_response: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerFrame:
    """One line of the server as far as pairing needs it; `result`, `error` and `params` are raw JSON, b"" if absent."""

    id: Id | None = None
    method: str = ""
    params: bytes = b""
    result: bytes = b""
    error: bytes = b""

    @property
    def is_response(self) -> bool:
        """Whether it answers a request."""
        return not self.method and self.id is not None


# ------------------------------------------------------------------ the client's lines


def read_client(raw: bytes, strict: frozenset[str]) -> ClientFrame:
    """Return what a client's line says.

    Args:
        raw: the line, without its end.
        strict: methods whose parameters are read exactly; other methods are relayed without looking into them.

    Raises:
        GarbledError: it is not one JSON-RPC message, or different readers could take it for different ones.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as bad:
        raise GarbledError(PARSE_ERROR, f"not UTF-8 at byte {bad.start}") from None
    if "\r" in text:
        raise GarbledError(PARSE_ERROR, "a bare carriage return; some readers end a line there")
    exact = True
    try:
        value = jsontext.loads(text)
    except InputError as bad:
        exact, problem = False, bad.message
        value = _leniently(text)
    if isinstance(value, list):
        raise GarbledError(INVALID_REQUEST, "batches are not part of this protocol; send one message a line")
    if not isinstance(value, dict):
        raise GarbledError(INVALID_REQUEST, "a message is one JSON object")
    _no_lookalikes(value, _MEMBERS, None)
    id_ = _request_id(value)
    if value.get("jsonrpc") != "2.0":
        raise GarbledError(INVALID_REQUEST, 'the member `jsonrpc` must be "2.0"', id_)
    if "method" not in value:
        if ("result" in value) == ("error" in value) or "id" not in value:
            raise GarbledError(INVALID_REQUEST, "neither a request, nor a notification, nor an answer", id_)
        return ClientFrame(raw=raw, id=id_, is_response=True)
    method = value["method"]
    if not isinstance(method, str) or not method or "result" in value or "error" in value:
        raise GarbledError(INVALID_REQUEST, "a request has a method, and neither result nor error", id_)
    params = value.get("params")
    if params is not None and not isinstance(params, (dict, list)):
        raise GarbledError(INVALID_REQUEST, "`params` must be an object", id_)
    named = params if isinstance(params, dict) else None
    if method not in strict:
        return ClientFrame(raw=raw, id=id_, method=method, params=named if exact else None)
    if not exact:
        raise GarbledError(INVALID_PARAMS, f"the parameters of {method} cannot be read exactly: {problem}", id_)
    if params is not None and named is None:
        raise GarbledError(INVALID_PARAMS, f"the parameters of {method} must be one object", id_)
    if named:
        _no_lookalikes(named, _PARAMS, id_)
    return ClientFrame(raw=raw, id=id_, method=method, params=named)


def _leniently(text: str) -> Any:
    """Return a value that is good enough to see whom a line is for; numbers and text may be beyond exact reading."""
    try:
        return _LENIENT.decode(text)
    except (ValueError, RecursionError) as bad:
        said = "nested too deep" if isinstance(bad, RecursionError) else str(bad)
        raise GarbledError(PARSE_ERROR, f"not JSON: {said}") from None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member appears twice in one object")
    return found


def _constant(name: str) -> None:
    raise ValueError(f"`{name}` is not JSON")


# Numbers beyond what is read exactly stay text here; an id in such a form is refused below like any other wrong type.
_LENIENT: Final = json.JSONDecoder(
    object_pairs_hook=_pairs,
    parse_float=lambda text: ("number", text),
    parse_int=lambda text: int(text) if len(text) < 18 else ("number", text),
    parse_constant=_constant,
)


def _no_lookalikes(value: Mapping[str, Any], known: frozenset[str], id_: Id | None) -> None:
    """Refuse members that a reader which ignores letter case would take for a known one."""
    for name in value:
        if name not in known and name.casefold() in _FOLDED[known]:
            raise GarbledError(INVALID_REQUEST, f"the member `{name[:40]}` can be mistaken for another", id_)


def _request_id(value: Mapping[str, Any]) -> Id | None:
    if "id" not in value:
        return None
    id_ = value["id"]
    if isinstance(id_, str):
        return id_
    # Beyond 2^53 two ids may become one in a reader that keeps numbers as doubles, and their answers change places.
    if isinstance(id_, int) and not isinstance(id_, bool) and -MAX_INTEGER <= id_ <= MAX_INTEGER:
        return id_
    raise GarbledError(INVALID_REQUEST, "an id is a string, or an integer within 2^53")


# ------------------------------------------------------------------ the server's lines


class _Line(msgspec.Struct):
    id: str | int | None = None
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


_LINE: Final = msgspec.json.Decoder(_Line)


def read_server(raw: bytes) -> ServerFrame | None:
    """Return what a server's line says, or None where it cannot be paired with anything."""
    try:
        line = _LINE.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return ServerFrame(
        id=line.id, method=line.method, params=bytes(line.params), result=bytes(line.result), error=bytes(line.error)
    )


# ------------------------------------------------------------------ lines of our own


def error_line(id_: Id | None, code: int, message: str) -> bytes:
    """Return a JSON-RPC error as a line."""
    return line_of({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}})


def line_of(message: Mapping[str, Any]) -> bytes:
    """Return a message of exact JSON values as a line, with its end."""
    return jsontext.dumps(message).encode("utf-8") + b"\n"


class UsedIds:
    """The ids a client has used: counted up, as most clients do, they take no room."""

    def __init__(self) -> None:
        self._low = self._high = 0  # every integer in [low, high) was used
        self._others: set[Id] = set()

    def __contains__(self, id_: Id) -> bool:
        return id_ in self._others or (isinstance(id_, int) and self._low <= id_ < self._high)

    def add(self, id_: Id) -> None:
        """Remember `id_`."""
        if isinstance(id_, str):
            self._others.add(id_)
        elif self._low == self._high:
            self._low, self._high = id_, id_ + 1
        elif id_ == self._high:
            self._high += 1
            while self._high in self._others:
                self._others.discard(self._high)
                self._high += 1
        else:
            self._others.add(id_)


class Lines:
    r"""Cuts a stream of bytes into lines.

    Args:
        line: called with each line, without its end (`\n` or `\r\n`). Empty lines are passed over.
        excess: called for a line longer than `limit`: with its pieces as they come, and "end" when it is over.
        limit: longest line kept, in bytes.
    """

    def __init__(
        self,
        line: Callable[[bytes], None],
        excess: Callable[[bytes, Literal["start", "more", "end"]], None],
        limit: int = MAX_FRAME,
    ) -> None:
        self._line = line
        self._excess = excess
        self._limit = limit
        self._kept = bytearray()
        self._over = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        at = 0
        while True:
            end = data.find(b"\n", at)
            if end < 0:
                break
            piece, at = data[at:end], end + 1
            if self._over:
                self._over = False
                self._excess(piece + b"\n", "end")
                continue
            if self._kept:
                piece = bytes(self._kept) + piece
                self._kept.clear()
            if len(piece) > self._limit:
                self._excess(piece + b"\n", "start")
                self._excess(b"", "end")
                continue
            piece = piece[:-1] if piece.endswith(b"\r") else piece
            if piece.strip():
                self._line(piece)
        rest = data[at:] if at else data
        if not rest:
            return
        if self._over:
            self._excess(rest, "more")
            return
        self._kept += rest
        if len(self._kept) > self._limit:
            self._over = True
            kept = bytes(self._kept)
            self._kept.clear()
            self._excess(kept, "start")

    def close(self) -> None:
        """The stream has ended: a line without an end is a line all the same."""
        if self._kept and not self._over:
            self.feed(b"\n")
