"""The surface: τ² retail and airline for the takeover suite. Correct means: the database is at the task's goal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tallystick.contracts.types import Contract
from tallystick.evals.common.draw import Draw
from tallystick.evals.takeover import surface
from tallystick.evals.takeover.surface import Gold, Opened
from tallystick.evals.takeover.tau2.contracts import Domain, contract_of, public_schemas
from tallystick.evals.takeover.tau2.cuts import Cut, cuts, is_write, main_cuts, request_of, stand_in_words
from tallystick.evals.takeover.tau2.gold import known_of
from tallystick.evals.takeover.tau2.tools import fork_of, tools_of
from tallystick.evals.tau2.world import opened
from tallystick.runtime.run import Run
from tallystick.view.keys import targets_of

_FREE: Final[Mapping[str, Sequence[str]]] = {
    "calculate": ("expression",), "transfer_to_human_agents": ("summary",),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Tau2Frontier:
    """A cut as a frontier of the suite; see `surface.Frontier`."""

    cut: Cut
    allow: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """See `Cut.id`."""
        return self.cut.id

    @property
    def task(self) -> str:
        """The benchmark's task."""
        return f"{self.cut.domain}-{self.cut.task.id}"

    @property
    def kind(self) -> str:
        """See `cuts.Kind`."""
        return self.cut.kind

    @property
    def contract(self) -> Contract:
        """See `contract_of`."""
        return contract_of(self.cut.domain)

    @property
    def gold(self) -> Gold:
        """See `gold.known_of`."""
        return known_of(self.cut).gold

    @property
    def schemas(self) -> Mapping[str, Any]:
        """The tools' own schemas, without descriptions."""
        return public_schemas(self.cut.domain)

    @property
    def free(self) -> Mapping[str, Sequence[str]]:
        """A sum to be worked out, and the words of a transfer."""
        return _FREE

    @contextmanager
    def open(self) -> Iterator[Opened]:
        """Open it: a fresh world, the author's prefix replayed in it under a guard."""
        names = self.contract.tools
        with (
            opened(self.cut.task, shared=True) as world,
            surface.opened(
                self.contract, tools_of(world, names), {"request": request_of(self.cut.task)}, self._replay,
                world.at_goal, fork=fork_of(world, names), name=self.id,
            ) as it,
        ):  # fmt: skip
            yield it

    def _replay(self, run: Run) -> None:
        """The user's stand-in speaks, then the author's calls are made; a stand-in's yes comes before each write."""
        run.says("user", stand_in_words(self.cut.task))
        for tool, args in self.cut.prefix:
            if is_write(self.cut.domain, tool):
                for ref in targets_of(self.contract.tools[tool], args):
                    run.confirm(ref.kind, ref.id)
            run.call(tool, dict(args))


@dataclass(frozen=True, slots=True)
class Tau2:
    """A domain as a surface of the suite.

    Attributes:
        domain: which.
        every: all cuts; else one for each task, just after its first write.
        looked: see `cuts`; False leaves the author's calls bare.
    """

    domain: Domain
    every: bool = False
    looked: bool = True
    structured: bool = False

    @property
    def name(self) -> str:
        """The domain's, and what is other than by default."""
        return f"{self.domain}{'-every' if self.every else ''}{'' if self.looked else '-bare'}"

    def frontiers(self, episodes: int | None, seed: str) -> Sequence[Tau2Frontier]:
        """Return the frontiers in the benchmark's order: all, or so many of them, drawn.

        Raises:
            InputError: `inspect-evals` is not installed.
        """
        chosen = (cuts if self.every else main_cuts)(self.domain, looked=self.looked)
        found = [Tau2Frontier(cut=cut) for cut in chosen]
        if episodes is None or episodes >= len(found):
            return found
        drawn = {f.id for f in Draw(seed, "tau2", self.domain).shuffled(found)[:episodes]}
        return [f for f in found if f.id in drawn]

    def measures(self) -> dict[str, Any]:
        """Return what the frontiers rest on, before anybody takes over; see `audit`."""
        from tallystick.evals.takeover.tau2.audit import audit  # noqa: PLC0415 - it measures this surface

        return audit(self)
