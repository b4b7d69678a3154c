"""Where an author's calls are cut: which prefixes are a half-done task, and what the user's stand-in says.

An author's calls make no conversation. The user's scenario (why they call, what they know, what they want) stands in
for what they said; the host's record of a confirmation stands in for the yes that the tools' descriptions ask for,
before each write of the prefix. Both are labelled wherever their figures show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from tallystick.evals.takeover.tau2.contracts import Domain, contract_of
from tallystick.evals.takeover.tau2.tools import answered, refused
from tallystick.evals.tau2.tasks import GoldCall, Tau2Task, tasks
from tallystick.evals.tau2.world import opened

TRANSFER: Final = "transfer_to_human_agents"
Kind = Literal["first", "refused", "later"]
"""first: just after the first write, which took effect · refused: just after the first write, which the tool refused,
so that nothing was done · later: after another write that more writes follow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """A prefix of an author's calls.

    Attributes:
        task: whose calls.
        length: so many calls are in the prefix.
        kind: see `Kind`.
    """

    domain: Domain
    task: Tau2Task
    length: int
    kind: Kind

    @property
    def id(self) -> str:
        """Unique in its domain."""
        return f"{self.domain}-{self.task.id}-{self.length}"

    @property
    def prefix(self) -> Sequence[GoldCall]:
        """The calls that were made."""
        return self.task.gold[: self.length]

    @property
    def rest(self) -> Sequence[GoldCall]:
        """The author's calls that are left, up to the last write: what follows it changes nothing."""
        left = self.task.gold[self.length :]
        return left[: max((n + 1 for n, call in enumerate(left) if is_write(self.domain, call.tool)), default=0)]


def is_write(domain: Domain, tool: str) -> bool:
    """Whether a tool changes the benchmark's database, as its public description says; a transfer does not."""
    return tool != TRANSFER and contract_of(domain).tools[tool].effect == "write"


@cache
def cuts(domain: Domain) -> tuple[Cut, ...]:
    """Return every cut of every task whose author makes at least two writes: after each write but the last.

    The first cut of each task is the main one; see `main_cuts`.
    """
    return tuple(cut for task in tasks(domain) for cut in _cuts(domain, task))


def main_cuts(domain: Domain) -> tuple[Cut, ...]:
    """Return one cut for each task: just after the first write."""
    return tuple(cut for cut in cuts(domain) if cut.kind != "later")


def _cuts(domain: Domain, task: Tau2Task) -> Iterator[Cut]:
    writes = [n for n, call in enumerate(task.gold) if is_write(domain, call.tool)]
    if len(writes) < 2:
        return
    done = outcomes(task)
    for n in writes[:-1]:
        kind: Kind = "later" if n != writes[0] else "first" if done[n] else "refused"
        yield Cut(domain=domain, task=task, length=n + 1, kind=kind)


@cache
def outcomes(task: Tau2Task) -> tuple[bool, ...]:
    """Return for each of the author's calls whether the environment accepted it, replayed from the start."""
    with opened(task) as world:
        return tuple(not refused(answered(world, call.tool, call.args)) for call in task.gold)


def request_of(task: Tau2Task) -> str:
    """Return why the user calls."""
    return str(_instructions(task).reason_for_call).strip()


def stand_in_words(task: Tau2Task) -> str:
    """Return what stands in for the user's messages: their scenario as the benchmark gives it to its simulated user.

    It says more than a user has said at any moment of a conversation, so values found in it are an upper bound.
    """
    told = _instructions(task)
    parts = (told.reason_for_call, told.known_info, told.task_instructions)
    return "\n\n".join(str(part).strip() for part in parts if part)


def _instructions(task: Tau2Task) -> Any:
    return task.task.user_scenario.instructions
