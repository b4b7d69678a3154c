"""What a surface brings: frontiers, each a captured state that can be opened live as often as wanted.

A surface is one world of tools with tasks: the invoice desk, τ² retail and airline, STATE-Bench. A frontier is a state
in which one model stopped and another may take over. Opening it makes a fresh world, replays the prefix in it under a
guard with a ledger in memory, and returns the run in the reached state; two openings share nothing.

`Gold` is for the evaluator: what scripted successors and the labelled upper bound are made of. No extractor, no gate
and no model successor is ever given it.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

from tallystick.contracts.types import Contract, Task
from tallystick.ledger.store import Store
from tallystick.runtime.guard import Guard
from tallystick.runtime.replicas import Fork, Tools
from tallystick.runtime.run import Run

__all__ = [
    "START",
    "Dispatch",
    "Fork",
    "Frontier",
    "Gold",
    "Meter",
    "Opened",
    "Proposal",
    "Surface",
    "Tools",
    "Wanted",
    "opened",
]

START: Final = datetime(2026, 12, 1, 9, tzinfo=UTC)
"""When every run of the suite starts; its clock goes on by a second a look."""
Proposal = Mapping[str, Any]
"""A proposal as a successor writes it: `{"calls": [...], "answer": {...}}`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """An effect that gold says the task has: a call of a tool with these arguments."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gold:
    """What the evaluator knows of a frontier, and nobody else.

    Attributes:
        proposal: a whole continuation that is right, as a perfect successor would write it; what scripted errors are
            made from. Every value in it has a source in the reached state or in a call before it.
        owed: effects still open at the frontier, in order: the gold-built upper bound of the obligations.
        done: effects that the prefix realised: what grounding ought to find in K.
        bindings: [kind, id] of the choices that the prefix fixed: what grounding ought to find in B.
        repeats: calls of the prefix that had an effect, in a form that could be made again now.
        others: values of the proposal, each with another one of the same kind that is wrong here: `{"I-7": "I-8"}`.
    """

    proposal: Proposal
    owed: tuple[Wanted, ...] = ()
    done: tuple[Wanted, ...] = ()
    bindings: tuple[tuple[str, str], ...] = ()
    repeats: tuple[Mapping[str, Any], ...] = ()
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dispatch:
    """One call that reached the live world after the frontier.

    Attributes:
        args: as the tool was given them.
        result: what it returned; None where it raised.
        error: what it raised, as `TYPE: words`; "" where it returned.
    """

    tool: str
    args: Mapping[str, Any]
    result: Any = None
    error: str = ""


class Meter:
    """Stands between whoever calls and the live tools, and notes every call from `start` on: nothing is estimated.

    Args:
        tools: the world's own.
    """

    def __init__(self, tools: Tools) -> None:
        self.tools: Tools = {name: self._noting(name, fn) for name, fn in tools.items()}
        self.dispatched: list[Dispatch] = []
        self._on = False

    def start(self) -> None:
        """Note calls from here on: the frontier is reached."""
        self._on = True

    def _noting(self, name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
        def call(**args: Any) -> Any:
            given = copy.deepcopy(args)
            try:
                result = fn(**args)
            except Exception as bad:
                self._note(Dispatch(tool=name, args=given, error=f"{type(bad).__name__}: {bad}"))
                raise
            self._note(Dispatch(tool=name, args=given, result=copy.deepcopy(result)))
            return result

        call.__name__ = name
        call.__doc__ = fn.__doc__
        return call

    def _note(self, one: Dispatch) -> None:
        if self._on:
            self.dispatched.append(one)


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """A frontier that is open: the run in the reached state, over a live world of its own.

    Attributes:
        run: under a guard with a ledger in memory; nothing in it names the frontier's gold.
        meter: its `tools` are those the run dispatches to. The direct stage calls them past the guard.
        correct: whether the world is now as the task wants it, by the world's own truth. For the evaluator.
        fork: makes a replica of the world as it is now; None where it cannot be forked.
        store: the ledger, for audits of what was recorded.
    """

    run: Run
    meter: Meter
    correct: Callable[[], bool]
    fork: Fork | None = None
    store: Store | None = None


class Frontier(Protocol):
    """One captured state.

    Attributes:
        id: unique in its surface.
        task: the surface's task it was cut from; several frontiers may share one.
        kind: what sort of prefix it has, for tables: `confirmed`, `paid`, …
        contract: what its tools are gated by.
        gold: for the evaluator; see `Gold`.
        schemas: JSON Schema of each tool's arguments, for successors that are models; {} derives them.
        allow: tools whose effects the host allows on the way; see `run.take_over`.
        free: tool → arguments whose text needs no source; see `run.take_over`.
    """

    @property
    def id(self) -> str: ...  # noqa: D102 - see the class
    @property
    def task(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def contract(self) -> Contract: ...  # noqa: D102
    @property
    def gold(self) -> Gold: ...  # noqa: D102
    @property
    def schemas(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def allow(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def free(self) -> Mapping[str, Sequence[str]]: ...  # noqa: D102

    def open(self) -> AbstractContextManager[Opened]:
        """Open it: a fresh world, the prefix replayed. May be called again and again, also while another is open.

        Where nobody takes over, `correct` of a fresh opening is the episode's outcome.
        """


class Surface(Protocol):
    """A world of tools with tasks.

    Attributes:
        name: as on the command line.
        structured: the task itself says what is owed (the contract's template), so that obligations need no extractor;
            false for conversations, where they come from gold (a labelled upper bound) or from a model.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def structured(self) -> bool: ...  # noqa: D102

    def frontiers(self, episodes: int | None, seed: str) -> Sequence[Frontier]:
        """Return frontiers, the same for the same seed: so many, or all (for a surface that draws: its default).

        Raises:
            InputError: what the surface needs is not installed; `fix` says how to get it.
        """


@contextmanager
def opened(
    contract: Contract,
    tools: Tools,
    task: Task | Mapping[str, Any],
    replay: Callable[[Run], None],
    correct: Callable[[], bool],
    *,
    fork: Fork | None = None,
    name: str = "episode",
) -> Iterator[Opened]:
    """Open a frontier: start a run over `tools`, let `replay` bring it to the reached state, and meter from there.

    What `Frontier.open` does on most surfaces. The run is left open by the context: it ends honestly when left.

    Args:
        contract: what the run is gated by.
        tools: the live world's.
        task: request and bindings.
        replay: makes the prefix's calls and statements on the run.
        correct: see `Opened`.
        fork: see `Opened`.
        name: the run's id.
    """
    meter = Meter(tools)
    clock = itertools.count()
    with (
        Guard(contract, tools=meter.tools, clock=lambda: START + timedelta(seconds=next(clock))) as guard,
        guard.run(task, run_id=name, without_approvers=True) as run,
    ):
        replay(run)
        meter.start()
        yield Opened(run=run, meter=meter, correct=correct, fork=fork, store=guard.store)
