"""STATE-Bench: recorded conversations cut in the middle, with the mistakes that real models had made by then.

The prefix is imported, not made again: what the recorded agent did, rightly or wrongly, stands in the ledger as
imported receipts, folded under the domain's contract, and the run goes on from there over a live world in the same
state. With a checkout of the benchmark that world is its own simulator; with recordings alone it knows the recording's
later answers and nothing else ("recorded answers").

The recordings have no typed confirmation by a host, so nothing but effects is fixed (K); choices in words are not
authority. Nothing says in typed form what a conversation still owes either: obligations come from gold, a labelled
upper bound, or from an extractor.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tallystick.contracts import load_task, task_text
from tallystick.contracts.types import Contract, Task
from tallystick.errors import InputError
from tallystick.evals.takeover.state_bench_cuts import Cut, Walk, cuts_of, replayed
from tallystick.evals.takeover.state_bench_data import (
    CUSTOMER,
    Folder,
    contract_of,
    conversation_of,
    free_in,
    open_folder,
    task_of,
)
from tallystick.evals.takeover.state_bench_gold import gold_of
from tallystick.evals.takeover.state_bench_world import PACKAGE, Recorded, Simulated, Simulator
from tallystick.evals.takeover.surface import Gold, Meter, Opened
from tallystick.ledger.memory import MemoryStore
from tallystick.model import jsontext
from tallystick.model.canonical import digest
from tallystick.model.events import SEMANTICS, Sealed, Started
from tallystick.model.trace import Trace
from tallystick.model.values import instant_of
from tallystick.runtime.guard import Guard
from tallystick.traces.state_bench import FORMAT, trace_of
from tallystick.traces.to_events import Chain, to_events
from tallystick.view import View, effect_of

NAME: Final = "state-bench"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_IMPORTER: Final = "importer"


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """One cut of one recording; see `surface.Frontier`.

    Attributes:
        cut: where it was cut.
        schemas: as the benchmark states them; {} where the folder does not.
        simulator: opens the live world; None answers from the recording.
    """

    cut: Cut
    contract: Contract
    schemas: Mapping[str, Any] = field(default_factory=dict)
    simulator: Simulator | None = None
    allow: tuple[str, ...] = ()
    free: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """`DOMAIN/ID@CALLS`."""
        return self.cut.id

    @property
    def task(self) -> str:
        """`DOMAIN/ID`."""
        return self.cut.walk.episode.name

    @property
    def domain(self) -> str:
        """The benchmark's domain."""
        return self.cut.walk.episode.domain

    @property
    def kind(self) -> str:
        """The domain, and what is particular about the prefix or the remainder.

        in doubt: a result of the prefix does not say what it did; several turns: the customer has to answer on the way;
        repaired: the recording does not finish the task, and a continuation that does was found by trying.
        """
        if self.view.doubts:
            return f"{self.domain}, in doubt"
        if self.cut.turns:
            return f"{self.domain}, several turns"
        return f"{self.domain}, repaired" if self.cut.repair else self.domain

    @property
    def world(self) -> str:
        """What answers after the frontier: `simulator` or `recorded answers`."""
        return Simulated.label if self.simulator is not None else Recorded.label

    @cached_property
    def gold(self) -> Gold:
        """What finishes the task, and what the prefix did: from replaying the recording, for the evaluator."""
        return gold_of(self.cut, self.contract, self.view)

    @cached_property
    def trace(self) -> Trace:
        """The prefix as the importer reads it."""
        prefix = self.cut.prefix()
        return trace_of(
            prefix,
            name=self.id,
            source=str(self.cut.walk.episode.recording),
            sha256=digest(jsontext.dumps(prefix).encode("utf-8")),
            now=self.cut.walk.task.now,
        )

    @cached_property
    def _start(self) -> Task:
        """The run's task: what the benchmark tells its agent before the conversation."""
        task = self.cut.walk.task
        stated = {"request": task.request, "bindings": {CUSTOMER: task.customer}}
        return load_task(task_text(load_task(stated, self.contract)), self.contract)

    @cached_property
    def events(self) -> tuple[Sealed, ...]:
        """The prefix as the events of an imported run."""
        chain = Chain(self.trace, self.contract)
        stated = task_text(self._start)
        first = chain.add(
            Started(
                semantics=SEMANTICS,
                contract=self.contract.text,
                contract_sha256=self.contract.sha256,
                task=stated,
                task_sha256=digest(stated.encode("utf-8")),
                format=FORMAT,
            )
        )
        return (first, *(chain.add(body) for body in to_events(self.trace, self.contract)))

    @cached_property
    def view(self) -> View:
        """The prefix folded under the contract."""
        view = View(self.contract, self._start, run=self.events[0].event.run)
        for sealed in self.events:
            view.apply(sealed)
        return view

    @contextmanager
    def open(self) -> Iterator[Opened]:
        """Open it: the prefix in a ledger of its own, and a world in the state it left."""
        world = self._world()
        meter = Meter(world.tools)
        store = MemoryStore()
        run_id = self.events[0].event.run
        start = instant_of(self.events[0].event.at) or _EPOCH
        lease = store.acquire(run_id, _IMPORTER, start, 60.0)
        store.append_many(lease, self.events, durable=True)
        store.release(lease)
        ticks = itertools.count(1)
        with (
            Guard(
                self.contract, store, tools=meter.tools, clock=lambda: start + timedelta(seconds=next(ticks))
            ) as guard,
            guard.resume(run_id) as run,
        ):
            meter.start()
            yield Opened(run=run, meter=meter, correct=world.right, fork=world.fork, store=store)

    def _world(self) -> Simulated | Recorded:
        walk, upto = self.cut.walk, self.cut.upto
        if self.simulator is not None:
            world = self.simulator.open(walk.episode, walk.task.now)
            for call in walk.calls[:upto]:
                world.tools[call.tool](**copy.deepcopy(dict(call.args)))
            return world
        later = [(call.tool, call.args, call.result) for call in walk.calls[upto:]]
        wanted = [at - upto for at in self.cut.effects]
        return Recorded(later, wanted, list(self.contract.tools), self._writes)

    def _writes(self, tool: str, args: Mapping[str, Any]) -> bool:
        return effect_of(self.contract.tools[tool], args) == "write"


@dataclass(frozen=True, kw_only=True)
class StateBench:
    """The surface.

    Args:
        folder: `--state-bench`: a checkout of the benchmark, or a folder of its recordings. Where the package
            `state_bench` is in it (or a link to it), its simulator plays them.
        simulator: a checkout whose simulator plays the recordings of a folder without one.
        contracts: folder with `DOMAIN.yaml`; None: this project's examples.
    """

    folder: Path
    simulator: Path | None = None
    contracts: Path | None = None

    name: str = NAME
    structured: bool = False
    _made: dict[str, Contract] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def data(self) -> Folder:
        """The recordings.

        Raises:
            InputError: the folder has none.
        """
        return open_folder(self.folder)

    @cached_property
    def player(self) -> Simulator | None:
        """The simulator, if there is one."""
        if self.simulator is not None:
            return Simulator(self.simulator)
        return Simulator(self.folder) if (self.folder / PACKAGE / "domains").is_dir() else None

    @property
    def world(self) -> str:
        """What answers after a frontier: `simulator` or `recorded answers`."""
        return Simulated.label if self.player is not None else Recorded.label

    @cached_property
    def walks(self) -> tuple[Walk, ...]:
        """Every recording, replayed.

        Raises:
            InputError: nothing tells what the recordings' calls did: there is no simulator, and no labels.
        """
        if self.player is None and not self.data.labels:
            raise InputError(
                "nothing tells what the recorded calls did",
                where=f"--state-bench {self.folder}",
                fix="a checkout of the benchmark, whose simulator replays them, or recordings with `labels.jsonl`",
            )
        return tuple(
            replayed(one, task_of(one), conversation_of(one), self.player, self.data.labels.get(one.name))
            for one in self.data.episodes
        )

    @cached_property
    def cuts(self) -> tuple[Frontier, ...]:
        """Every frontier, also those that nobody knows how to finish."""
        return tuple(self.frontier(cut) for walk in self.walks for cut in cuts_of(walk, self.player))

    def frontier(self, cut: Cut) -> Frontier:
        """Return a cut as a frontier of this surface."""
        domain = cut.walk.episode.domain
        contract, schemas = self.contract(domain), self._schemas(domain)
        return Frontier(
            cut=cut, contract=contract, schemas=schemas, simulator=self.player, free=free_in(contract, schemas)
        )

    def contract(self, domain: str) -> Contract:
        """Return a domain's contract.

        Raises:
            InputError: there is none. ContractError: it is not valid.
        """
        if domain not in self._made:
            self._made[domain] = contract_of(domain, self._schemas(domain), self.contracts)
        return self._made[domain]

    def _schemas(self, domain: str) -> Mapping[str, Any]:
        stated = self.data.schemas(domain)
        return stated if stated or self.player is None else self.player.schemas(domain)

    def frontiers(self, episodes: int | None, seed: str) -> Sequence[Frontier]:  # noqa: ARG002 - nothing is drawn
        """Return the frontiers that a known continuation finishes, in the benchmark's order; the first so many."""
        known = [one for one in self.cuts if one.cut.rest or one.cut.repair]
        return known if episodes is None else known[:episodes]

    def measures(self) -> dict[str, Any]:
        """Return what the recordings themselves say, before anybody takes over; see `state_bench_measures`."""
        from tallystick.evals.takeover.state_bench_measures import measured  # noqa: PLC0415 - it measures this surface

        return measured(self)
