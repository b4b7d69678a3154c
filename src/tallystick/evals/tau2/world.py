"""A fresh environment of one task: calls run in it through the benchmark's own tools, and its state is read.

Each world has a store of its own, and runs in a context of its own: neither the store nor the transcript of an
evaluation that is going on is touched. The tools are coroutines and run in a thread of the world's own, so a world can
be used from anywhere, a running event loop included, which then waits.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec

from tallystick.errors import TallystickError
from tallystick.evals.tau2.lent import lent
from tallystick.evals.tau2.package import of
from tallystick.evals.tau2.tasks import TRANSFER, By, Domain, GoldCall, Tau2Task

_STORES: Final = {"retail": ("retail.RetailAgentTools", "RetailAgentTools", "RetailTools"),
                  "airline": ("airline.AirlineAgentTools", "AirlineAgentTools", "AirlineTools")}  # fmt: skip
"""Where the package keeps a domain's database: module, class, and name of the instance in the store."""
_NO_EFFECT: Final = (TRANSFER, "calculate")


class ReplayError(TallystickError):
    """A call broke the environment: the benchmark's tool raised what it does not tell the model."""


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call of a tool.

    Attributes:
        id: pairs it with its result.
        tool: the tool's name.
        args: the arguments, as the JSON text of an object.
        broken: why the arguments could not be read, where they could not.
    """

    id: str
    tool: str
    args: str = "{}"
    broken: str = ""


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a call returned: its text, or the error that the caller was told."""

    id: str
    text: str
    error: str = ""


def call_of(gold: GoldCall, identity: str) -> Call:
    """Return an author's call as a call."""
    return Call(id=identity, tool=gold.tool, args=json.dumps(dict(gold.args)))


@dataclass
class World:
    """One task's environment. Open it with `opened`.

    Attributes:
        task: whose it is.
    """

    task: Tau2Task
    _context: contextvars.Context
    _thread: ThreadPoolExecutor

    def call(self, by: By, calls: Sequence[Call]) -> list[Result]:
        """Run calls of one message, in order, as the benchmark runs them: arguments are read to the tools' types.

        Raises:
            ReplayError: a tool raised something that is not for the caller, so nobody was told.
        """
        try:
            return self._thread.submit(self._context.run, _run, self.task.domain, by, calls).result()
        except Exception as bad:  # whatever a tool of theirs raises
            names = ", ".join(c.tool for c in calls)
            raise ReplayError(f"{type(bad).__name__}: {bad}"[:300], where=names) from bad

    def ask(self, tool: str, args: Mapping[str, Any]) -> Result:
        """Run one call of the agent's past the evaluation's own machinery, some hundred times faster than `call`.

        The benchmark's tool is the same; what is left out is the transcript, for which the whole store is compared
        before and after every call, and the reading of arguments to types, so they are given as the tool takes them.

        Raises:
            ReplayError: the tool raised something that is not for the caller.
        """
        try:
            return self._context.run(_asked, self.task.domain, tool, args)
        except Exception as bad:  # whatever a tool of theirs raises
            raise ReplayError(f"{type(bad).__name__}: {bad}"[:300], where=tool) from bad

    @contextmanager
    def fork(self) -> Iterator[World]:
        """Open a world of its own in the state that this one is in now. Retail and airline only."""
        database = self._context.run(lambda: lent(_tools(self.task.domain).db))
        context = contextvars.Context()
        context.run(_open, self.task, database)
        with ThreadPoolExecutor(max_workers=1) as thread:
            yield World(self.task, context, thread)

    def fingerprint(self) -> bytes:
        """Return the environment's state as bytes: equal where and only where nothing differs."""
        return self._context.run(_fingerprint, self.task.domain)

    def at_goal(self) -> bool:
        """Whether the state is the goal: all assertions hold, or the database is the one the author's calls lead to.

        What was called or said is not looked at.
        """
        if self.task.domain == "telecom":
            return self._context.run(_assertions_hold, self.task)
        return self._context.run(lambda: str(_tools(self.task.domain).db.get_hash())) == goal_hash(self.task)


@contextmanager
def opened(task: Tau2Task, *, shared: bool = False) -> Iterator[World]:
    """Open a fresh environment in the task's initial state.

    Args:
        task: whose it is.
        shared: share what nobody touches with other worlds, see `lent`: for `ask`, not for `call`, which compares whole
            stores. Retail and airline only.

    Raises:
        ReplayError: at the end, where a tool changed what is shared: nothing can be trusted then.
    """
    context = contextvars.Context()
    context.run(_open, task, lent(_start(task.domain)) if shared else None)
    with ThreadPoolExecutor(max_workers=1) as thread:
        yield World(task, context, thread)
    if shared and _start(task.domain).model_dump_json() != _pristine(task.domain)[1]:
        raise ReplayError("a tool changed a record that it did not ask for", where=task.domain)


def starts_at_goal(task: Tau2Task) -> bool:
    """Whether the state is the goal before anything is done."""
    if task.domain == "telecom":
        with opened(task) as world:
            return world.at_goal()
    return contextvars.Context().run(lambda: bool(_reached(task) == _start(task.domain)))


@cache
def goal_hash(task: Tau2Task) -> str:
    """Return the hash of the database that the author's calls lead to; a call that is refused changes nothing."""
    return contextvars.Context().run(lambda: str(_reached(task).get_hash()))


# ---------------------------------------------------------------------- inside a world's context


def _open(task: Tau2Task, database: Any = None) -> None:
    from inspect_ai.log._transcript import Transcript, init_transcript  # noqa: PLC0415 - an extra
    from inspect_ai.util import Store  # noqa: PLC0415
    from inspect_ai.util._store import init_subtask_store  # noqa: PLC0415 - `store_as` has no public way to be given one

    init_subtask_store(Store())
    init_transcript(Transcript())
    if task.domain != "telecom":
        _fresh(task.domain, database)
        return
    environment = of("telecom.environment").get_environment()
    start = task.task.initial_state
    for action in (start.initialization_actions if start else None) or []:
        of("telecom.solver").perform_action(environment, action)


def _fresh(domain: Domain, database: Any = None) -> Any:
    """Put a database, or a copy of the domain's, into the current store, where the tools would load their own."""
    module, name, instance = _STORES[domain]
    from inspect_ai.util import store_as  # noqa: PLC0415

    tools = store_as(getattr(of(module), name), instance)
    kind, text = _pristine(domain)
    tools.initialized = True
    tools.db = database if database is not None else kind.model_validate_json(text)
    return tools


@cache
def _pristine(domain: Domain) -> tuple[Any, str]:
    """Return the class and the JSON text of a domain's database; the package unpacks its file anew at every load."""
    module, name, instance = _STORES[domain]
    from inspect_ai.util import Store  # noqa: PLC0415

    tools = getattr(of(module), name)(store=Store(), instance=instance)
    tools.initialize()
    return type(tools.db), tools.db.model_dump_json()


@cache
def _start(domain: Domain) -> Any:
    """Return a domain's database as it is before anything; nobody changes this one."""
    kind, text = _pristine(domain)
    return kind.model_validate_json(text)


def _reached(task: Tau2Task) -> Any:
    """What the benchmark's own scorer does to know the goal (`common.scorer.get_expected_db`)."""
    from inspect_ai.tool import ToolError  # noqa: PLC0415
    from inspect_ai.util import Store  # noqa: PLC0415
    from inspect_ai.util._store import init_subtask_store  # noqa: PLC0415

    init_subtask_store(Store())
    calls = [c for c in task.gold if c.tool not in _NO_EFFECT]
    if not calls:
        return _start(task.domain)
    tools = _fresh(task.domain, lent(_start(task.domain)))
    for call in calls:
        try:
            getattr(tools, call.tool)(**call.args)
        except ToolError:
            continue
    return tools.db


def _tools(domain: Domain) -> Any:
    from inspect_ai.util import store_as  # noqa: PLC0415

    module, name, instance = _STORES[domain]
    return store_as(getattr(of(module), name), instance)


def _fingerprint(domain: Domain) -> bytes:
    if domain != "telecom":
        return str(_tools(domain).db.model_dump_json()).encode()
    environment = of("telecom.environment").get_environment()  # brings both sides in step, as every call of theirs does
    phone = environment.user_tools
    parts = [environment.tools.db.model_dump_json(), phone.db.model_dump_json(), str(phone.network_mode_preference)]
    return "\n".join(parts).encode()


def _assertions_hold(task: Tau2Task) -> bool:
    environment = of("telecom.environment").get_environment()
    criteria = task.task.evaluation_criteria
    return all(
        getattr(environment.tools if a.env_type == "assistant" else environment.user_tools, a.func_name)(**a.arguments)
        == a.assert_value
        for a in criteria.env_assertions or []
    )


@cache
def _defined(domain: Domain, by: By) -> tuple[Any, ...]:
    if domain == "telecom":
        made: Iterable[Any] = (
            of("telecom.tools").all_telecom_agent_tools
            if by == "agent"
            else of("telecom.user_tools").all_telecom_user_tools
        )
    else:
        made = getattr(of(f"{domain}.tools"), f"all_{domain}_tools") if by == "agent" else ()
    return tuple(make() for make in made)


@cache
def _by_name(domain: Domain) -> Mapping[str, Any]:
    from inspect_ai.tool import ToolDef  # noqa: PLC0415

    return {ToolDef(tool).name: tool for tool in _defined(domain, "agent")}


def _asked(domain: Domain, tool: str, args: Mapping[str, Any]) -> Result:
    """Run a tool's coroutine to its end: none of them waits for anything."""
    from inspect_ai.tool import ToolError  # noqa: PLC0415

    running = _by_name(domain)[tool](**args)
    try:
        running.send(None)
    except StopIteration as done:
        return Result(id="", text=str(done.value))
    except ToolError as told:
        return Result(id="", text="", error=told.message)
    running.close()
    raise RuntimeError(f"`{tool}` waits for something")


def _run(domain: Domain, by: By, calls: Sequence[Call]) -> list[Result]:
    return asyncio.run(_executed(domain, by, calls))


async def _executed(domain: Domain, by: By, calls: Sequence[Call]) -> list[Result]:
    from inspect_ai.model import ChatMessageAssistant, execute_tools  # noqa: PLC0415
    from inspect_ai.tool import ToolCall  # noqa: PLC0415

    message = ChatMessageAssistant(
        content="",
        tool_calls=[
            ToolCall(id=c.id, function=c.tool, arguments=_arguments(c), parse_error=c.broken or None) for c in calls
        ],
    )
    done = await execute_tools([message], list(_defined(domain, by)))
    return [
        Result(id=m.tool_call_id or "", text=m.text, error=m.error.message if m.error is not None else "")
        for m in done.messages
        if m.role == "tool"
    ]


def _arguments(call: Call) -> dict[str, Any]:
    """Return arguments as the benchmark's tools take them: their numbers are floats, and nothing of ours reads them."""
    found = {} if call.broken else json.loads(call.args)
    return found if isinstance(found, dict) else {}
