"""Replicas: a forked world in which a successor may try calls while it writes its proposal. Nothing in it is live.

A replica shows values for authoring. What it answers proves nothing and discharges nothing: every call of a proposal is
made again on the live tools, with live values (residual completion, section 3.3 step 1). Where nothing can be forked
the proposal is written symbolically, with references to what earlier calls will return.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import inspect
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, TypeVar

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.model.events import Blob, ReplicaCall, blob
from tallystick.model.redact import redact
from tallystick.runtime.execution import Ran
from tallystick.runtime.journal import Clock
from tallystick.runtime.proposals import exact_args, is_coroutine
from tallystick.runtime.results import MAX_RESULT_BYTES, NotJsonError, ToolResult, error_text, json_of, result_bytes
from tallystick.runtime.secrets import secret_in

E = TypeVar("E")
Tools = Mapping[str, Callable[..., Any]]
Fork = Callable[[], AbstractContextManager[Tools]]
"""Makes a replica of the world as it is now: entering gives its tools by name, leaving throws it away."""
MAX_CALLS: Final = 1_000
"""Calls of one attempt on a replica; a successor in a loop is told so instead of filling the record."""


def deepcopy_replica(env: E, tools: Callable[[E], Tools]) -> Fork:
    """Return a fork that copies an environment in memory with `copy.deepcopy`.

    Args:
        env: the live environment.
        tools: gives the tools that act on an environment.

    Raises:
        InputError: `tools` is no function.
    """
    _a_function(tools, "the environment's copy")

    @contextlib.contextmanager
    def fork() -> Iterator[Tools]:
        mine = copy.deepcopy(env)
        try:
            yield tools(mine)
        finally:
            close = getattr(mine, "close", None)
            if callable(close):
                close()

    return fork


def sqlite_replica(path: str | os.PathLike[str], tools: Callable[[Path], Tools]) -> Fork:
    """Return a fork that copies an SQLite file into a temporary one, which is deleted afterwards.

    The copy is made by SQLite's online backup, so it is a state the file really was in, also while others write to it.

    Args:
        path: the live file.
        tools: gives the tools that act on a file.

    Raises:
        InputError: `tools` is no function.
    """
    _a_function(tools, "the copy's path")

    @contextlib.contextmanager
    def fork() -> Iterator[Tools]:
        folder = Path(tempfile.mkdtemp(prefix="tallystick-replica-"))
        try:
            mine = folder / Path(path).name
            _backup(Path(path), mine)
            yield tools(mine)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return fork


def _a_function(tools: object, of: str) -> None:
    if not callable(tools):
        raise InputError(
            f"a {type(tools).__name__} would act on the live world", where="tools",
            fix=f"a function that takes {of} and returns tools that act on it",
        )  # fmt: skip


def _backup(live: Path, mine: Path) -> None:
    if not live.is_file():
        raise InputError("there is no such file", where=str(live), fix="the path of the live SQLite file")
    source = sqlite3.connect(f"{live.absolute().as_uri()}?mode=ro", uri=True, timeout=30)
    try:
        target = sqlite3.connect(mine)
        try:
            source.backup(target)
        finally:
            target.close()
    finally:
        source.close()


class Replica:
    """The replica a successor is given: `call` tries a tool on it."""

    def __init__(self, tools: Tools, contract: Contract, key: bytes | None, clock: Clock) -> None:
        self._calls: list[ReplicaCall] = []
        self._tools = tools
        self._contract = contract
        self._key = key
        self._clock = clock
        self._closed = False
        self._lock = threading.Lock()  # one call at a time: a copied world need not be safe for threads

    @property
    def calls(self) -> tuple[ReplicaCall, ...]:
        """What was tried, as the record keeps it."""
        return tuple(self._calls)

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools it has."""
        return tuple(self._tools)

    def call(self, tool: str, args: Mapping[str, Any] | None = None) -> Any:
        """Try one call on the replica and return the tool's answer.

        What the tool raises is an observation as well: `{"error": "Kind: text"}` is returned and recorded.
        """
        with self._lock:
            fn, dispatch, kept, problem = self._begin(tool, args)
            if problem is not None or fn is None:
                return self._end(tool, kept, Ran(error=InputError(problem or "it cannot be run"), at=self._clock()))
            try:
                value = fn(**dispatch)
                if inspect.iscoroutine(value):
                    value.close()
                    raise TypeError("the tool returned a coroutine; await `acall`")
            except Exception as bad:  # noqa: BLE001 - whatever a tool of the replica raises is what was observed there
                return self._end(tool, kept, Ran(error=bad, at=self._clock()))
            return self._end(tool, kept, Ran(value=value, at=self._clock()))

    async def acall(self, tool: str, args: Mapping[str, Any] | None = None) -> Any:
        """As `call`, without blocking the event loop: a coroutine on it, a plain function on a worker thread."""
        if not is_coroutine(self._tools.get(tool)):
            return await asyncio.to_thread(self.call, tool, args)
        fn, dispatch, kept, problem = self._begin(tool, args)
        if problem is not None or fn is None:
            return self._end(tool, kept, Ran(error=InputError(problem or "it cannot be run"), at=self._clock()))
        try:
            value = fn(**dispatch)
            if isinstance(value, Awaitable):
                value = await value
        except Exception as bad:  # noqa: BLE001 - whatever a tool of the replica raises is what was observed there
            return self._end(tool, kept, Ran(error=bad, at=self._clock()))
        return self._end(tool, kept, Ran(value=value, at=self._clock()))

    def close(self) -> None:
        """Let no more calls through: the attempt is over, and the fork is thrown away."""
        self._closed = True

    # ------------------------------------------------------------------ inside

    def _begin(
        self, tool: str, args: Mapping[str, Any] | None
    ) -> tuple[Callable[..., Any] | None, Mapping[str, Any], Blob, str | None]:
        if self._closed:
            raise InputError("the replica is gone: the proposal was handed in", where="replica")
        if len(self._calls) >= MAX_CALLS:
            raise InputError(f"more than {MAX_CALLS:,} calls on one replica", where="replica", fix="a shorter trial")
        if not isinstance(tool, str):
            raise InputError(f"a {type(tool).__name__} is no tool's name", where="replica")
        _, text, problem, dispatch = exact_args(args if args is not None else {}, None)
        fn = self._tools.get(tool)
        if fn is None:
            problem = f"there is no tool `{tool}` on this replica"
        return fn, dispatch, self._kept(tool, "args", text.encode("utf-8")), problem

    def _end(self, tool: str, args: Blob, ran: Ran) -> Any:
        given = ran.value.value if isinstance(ran.value, ToolResult) else ran.value
        result: Blob | None = None
        bad = ran.error
        if bad is None:
            try:
                raw, _ = result_bytes(given)
                if len(raw) > MAX_RESULT_BYTES:
                    raise NotJsonError(f"the result has {len(raw):,} bytes, more than {MAX_RESULT_BYTES:,}")
                result = self._kept(tool, "result", raw)
            except NotJsonError as not_json:
                bad = not_json
        error = None
        if bad is not None:
            open_ = not self._secret(tool)  # an exception's text can repeat an argument
            error = error_text(bad) if open_ else type(bad).__name__
        name = f"replica-{len(self._calls) + 1}"
        self._calls.append(ReplicaCall(id=name, tool=tool, args=args, result=result, error=error))
        return {"error": error} if error is not None else json_of(given)[0]

    def _kept(self, tool: str, part: Any, raw: bytes) -> Blob:
        secrets = secret_in(self._contract.tools.get(tool), part)
        return redact(raw, secrets, self._key) if secrets and self._key is not None else blob(raw)

    def _secret(self, tool: str) -> bool:
        known = self._contract.tools.get(tool)
        return known is not None and bool(known.secrets)
