"""The gateway as a streamable HTTP server at `/mcp`, in front of a server it starts itself.

Sessions of the handshake era (`initialize`, `Mcp-Session-Id`) and the stateless requests of 2026-07-28 are both served,
each kind by a server process of its own; all of them act in the one run. A new `initialize` ends the session before it.
Sources: MCP 2025-11-25 and 2026-07-28, "Transports: Streamable HTTP".
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import ipaddress
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from tallystick.errors import InputError
from tallystick.gateway.exchange import Exchange, Link
from tallystick.gateway.frames import (
    INVALID_REQUEST,
    MAX_FRAME,
    ClientFrame,
    GarbledError,
    error_line,
    read_client,
    read_server,
)
from tallystick.gateway.session import MODERN, STRICT
from tallystick.model import jsontext
from tallystick.runtime.run import Run

if TYPE_CHECKING:
    import uvicorn

PATH: Final = "/mcp"
Receive = Callable[[], Any]
Send = Callable[[dict[str, Any]], Any]
Headers = dict[bytes, bytes]
_JSON: Final = (b"content-type", b"application/json")
_STREAM: Final = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
_STATUS_OF: Final = {-32700: 400, -32600: 400, -32602: 400, -32601: 404, -32020: 400, -32021: 400, -32022: 400}
"""HTTP status of a JSON-RPC error since 2026-07-28; before, it is 200 like any other answer."""


def check_address(host: str, token: str | None) -> None:
    """Refuse to listen where strangers may reach it, unless a token is demanded.

    Raises:
        InputError: the address is not loopback and there is no token.
    """
    if token is None and not _loopback(host):
        raise InputError(
            f"`{host}` can be reached from other machines, and no token is demanded",
            where="--host",
            fix="name an environment variable that holds one with --token-env, or listen on 127.0.0.1",
        )


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int, token: str | None) -> socket.socket:
    """Return a listening socket. Made before a run is started, so that a wrong address leaves nothing behind.

    Raises:
        InputError: the address cannot be used, strangers could reach it, or the extra `mcp` is not installed.
    """
    if importlib.util.find_spec("uvicorn") is None:
        raise InputError("`--http` needs a web server", fix="pip install 'tallystick[mcp]'")
    check_address(host, token)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, so that asyncio knows to send small answers at once (TCP_NODELAY).
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
        listener.listen(128)
    except (OSError, OverflowError) as bad:
        listener.close()
        why = (getattr(bad, "strerror", None) or str(bad)).lower()
        raise InputError(f"cannot listen on {host}:{port}: {why}", where="--port") from None
    return listener


def serve(
    run: Run,
    command: Sequence[str],
    listener: socket.socket,
    *,
    token: str | None,
    timeout: float | None,
    say: Callable[[str], None],
) -> str:
    """Serve until a signal ends it; return `signal`. `say` is told the address once it answers there."""
    import uvicorn  # noqa: PLC0415 - an extra

    app = App(run, command, token=token, timeout=timeout)
    config = uvicorn.Config(
        app, lifespan="off", log_level="warning", http="h11", ws="none", loop="asyncio", timeout_graceful_shutdown=2
    )
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    asyncio.run(_until_signal(_server(config), listener, app, lambda: say(f"http://{shown}:{port}{PATH}")))
    return "signal"


def _server(config: uvicorn.Config) -> uvicorn.Server:
    import uvicorn  # noqa: PLC0415 - an extra

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Leave signals alone: after one, the run must still be closed."""
            yield

    return Server(config)


async def _until_signal(server: uvicorn.Server, listener: socket.socket, app: App, ready: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()

    def end() -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, end)
    ready()
    try:
        await server.serve(sockets=[listener])
    finally:
        await app.close()


class App:
    """The ASGI application.

    Args:
        run: the run every call is proposed to.
        command: the server each link starts.
        token: what `Authorization: Bearer` must carry; None on loopback only.
        timeout: seconds a call may take.
    """

    def __init__(self, run: Run, command: Sequence[str], *, token: str | None, timeout: float | None) -> None:
        self._run = run
        self._command = tuple(command)
        self._token = token
        self._timeout = timeout
        self._links: dict[str, Link] = {}  # session id → link; "" is the one of stateless requests
        self._ending: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        if scope["type"] != "http":
            return
        headers: Headers = {name.lower(): value for name, value in scope["headers"]}
        refused = self._refused(scope["path"], headers)
        if refused is not None:
            await _plain(send, *refused)
        elif scope["method"] == "POST":
            await self._post(headers, receive, send)
        elif scope["method"] == "GET":
            await self._get(headers, receive, send)
        elif scope["method"] == "DELETE":
            await self._delete(headers, send)
        else:
            await _plain(send, 405, "POST, GET or DELETE", [(b"allow", b"GET, POST, DELETE")])

    async def close(self) -> None:
        """End every link."""
        for key in list(self._links):
            self._end(key)
        await asyncio.gather(*self._ending)

    def _refused(self, path: str, headers: Headers) -> tuple[int, str] | None:
        if self._token is not None:
            given = headers.get(b"authorization", b"")
            if not secrets.compare_digest(given, b"Bearer " + self._token.encode("utf-8")):
                return 401, "a bearer token is needed"
        else:
            # A page of any site can make a browser send requests to loopback (DNS rebinding), but it cannot choose
            # these two headers.
            host = headers.get(b"host", b"").decode("latin-1")
            origin = headers.get(b"origin")
            if not _loopback(_name_in(host)):
                return 421, "this server answers to loopback names only"
            if origin is not None and not _loopback(_name_in(origin.decode("latin-1").partition("://")[2])):
                return 403, "requests of other origins are refused"
        if path.rstrip("/") != PATH:
            return 404, f"there is only {PATH}"
        return None

    # ------------------------------------------------------------------ POST

    async def _post(self, headers: Headers, receive: Receive, send: Send) -> None:
        if not headers.get(b"content-type", b"").lower().startswith(b"application/json"):
            await _plain(send, 415, "send application/json")
            return
        body = await _body(receive)
        if body is None:
            await _rpc(send, 413, error_line(None, INVALID_REQUEST, f"a message of more than {MAX_FRAME:,} bytes"))
            return
        # A message is one line on the way to the server. Raw line ends can only be white space in JSON.
        raw = body.replace(b"\r", b" ").replace(b"\n", b" ")
        try:
            frame = read_client(raw, STRICT)
        except GarbledError as bad:
            await _rpc(send, 400, error_line(bad.id, bad.code, bad.message))
            return
        try:
            link, session = await self._link_for(frame, headers)
        except InputError as bad:
            await _rpc(send, 502, error_line(frame.id, -32000, bad.message))
            return
        if link is None:
            text = "this session has ended; initialize again" if session else "no session; initialize first"
            await _rpc(send, 404 if session else 400, error_line(frame.id, INVALID_REQUEST, text))
            return
        if frame.is_response or frame.id is None:
            link.session.take(frame)
            await _plain(send, 202, "")
            return
        if frame.id in link.exchanges:
            await _rpc(send, 400, error_line(None, INVALID_REQUEST, "this id is in use"))
            return
        started = [(b"mcp-session-id", session.encode("ascii"))] if frame.method == "initialize" else []
        streams = b"text/event-stream" in headers.get(b"accept", b"")
        exchange = Exchange(link, frame.id)
        link.session.take(frame)
        await self._answer(exchange, receive, send, started, streams=streams, stateless=not session)

    async def _link_for(self, frame: ClientFrame, headers: Headers) -> tuple[Link | None, str]:
        """Return the link a message belongs to and its session id; no link where the session is over or missing."""
        session = headers.get(b"mcp-session-id", b"").decode("latin-1")
        if frame.method == "initialize" and frame.id is not None:
            for key in [k for k in self._links if k]:
                self._end(key)
            session = secrets.token_hex(16)
            return self._start(session), session
        if session:
            return self._links.get(session), session
        meta = (frame.params or {}).get("_meta")
        modern = headers.get(b"mcp-protocol-version", b"") >= b"2026" or (isinstance(meta, dict) and MODERN in meta)
        if not modern:
            return None, ""
        return self._links.get("") or self._start(""), ""

    def _start(self, session: str) -> Link:
        def gone() -> None:
            self._end(session)

        link = Link(self._run, self._command, timeout=self._timeout, gone=gone)
        self._links[session] = link
        return link

    def _end(self, session: str) -> None:
        link = self._links.pop(session, None)
        if link is not None:
            task = asyncio.get_running_loop().create_task(link.close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _answer(
        self,
        exchange: Exchange,
        receive: Receive,
        send: Send,
        extra: list[tuple[bytes, bytes]],
        *,
        streams: bool,
        stateless: bool,
    ) -> None:
        """Answer with JSON where the answer comes first; else with a stream that ends with the answer."""
        async with _watched(receive) as left:
            started = False
            async for line, last in exchange.lines(left):
                if not started and last:
                    status = _STATUS_OF.get(_error_code(line), 200) if stateless else 200
                    await _rpc(send, status, line, extra)
                    return
                if not streams:
                    exchange.aside(line)  # the client takes only the answer; the rest goes to its own stream
                    continue
                if not started:
                    started = True
                    await send({"type": "http.response.start", "status": 200, "headers": [*_STREAM, *extra]})
                await send({"type": "http.response.body", "body": _event(line), "more_body": not last})
        # Since 2026-07-28 closing the stream is how a client cancels; before, it says nothing.
        exchange.abandon(cancel=stateless)

    # ------------------------------------------------------------------ GET and DELETE

    async def _get(self, headers: Headers, receive: Receive, send: Send) -> None:
        session = headers.get(b"mcp-session-id", b"").decode("latin-1")
        link = self._links.get(session) if session else None
        if b"text/event-stream" not in headers.get(b"accept", b"") or (not session):
            await _plain(send, 405, "a stream of a session", [(b"allow", b"POST")])
            return
        if link is None:
            await _plain(send, 404, "this session has ended")
            return
        if link.stream is not None:
            await _plain(send, 409, "this session has a stream already")
            return
        await send({"type": "http.response.start", "status": 200, "headers": _STREAM})
        async with _watched(receive) as left:
            async for line in link.of_its_own(left):
                await send({"type": "http.response.body", "body": _event(line), "more_body": True})
        with contextlib.suppress(OSError):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _delete(self, headers: Headers, send: Send) -> None:
        session = headers.get(b"mcp-session-id", b"").decode("latin-1")
        if not session or session not in self._links:
            await _plain(send, 404, "there is no such session")
            return
        self._end(session)
        await _plain(send, 204, "")


# ------------------------------------------------------------------ small pieces of HTTP


def _name_in(host: str) -> str:
    """Return the name of a Host header, without its port."""
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


async def _body(receive: Receive) -> bytes | None:
    found = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(found)
        found += message.get("body", b"")
        if len(found) > MAX_FRAME:
            return None
        if not message.get("more_body", False):
            return bytes(found)


async def _plain(send: Send, status: int, text: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    body = text.encode("utf-8")
    kind = [(b"content-type", b"text/plain; charset=utf-8")] if body else []
    await send({"type": "http.response.start", "status": status, "headers": [*kind, *headers]})
    await send({"type": "http.response.body", "body": body})


async def _rpc(send: Send, status: int, line: bytes, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [_JSON, *headers]})
    await send({"type": "http.response.body", "body": line})


def _event(line: bytes) -> bytes:
    """Return a line as a server-sent event; an empty one as a comment that keeps the connection open."""
    return b"event: message\r\ndata: " + line.rstrip(b"\n") + b"\r\n\r\n" if line else b": still here\r\n\r\n"


def _error_code(line: bytes) -> int:
    frame = read_server(line)
    if frame is None or not frame.error:
        return 0
    try:
        code = jsontext.loads(frame.error).get("code")
    except (InputError, AttributeError):
        return 0
    return code if isinstance(code, int) else 0


@contextlib.asynccontextmanager
async def _watched(receive: Receive) -> AsyncIterator[asyncio.Event]:
    """Yield an event that is set when the client closes the connection."""
    left = asyncio.Event()

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    task = asyncio.get_running_loop().create_task(watch())
    try:
        yield left
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
