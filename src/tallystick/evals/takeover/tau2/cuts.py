"""Where an author's calls are cut: which prefixes are a half-done task, and what the user's stand-in says.

More than half of the authors write without having read: their calls only define a goal. No agent could name the order
or item it changes that way. So there are two sorts of prefix: *bare*, the author's calls and nothing else, and
*looked*, in which the customer's record and every order or reservation in it are read before the first write, as far as
the author's calls had not. The look-ups name nothing but the customer and what the customer's record lists.

An author's calls make no conversation either. The user's scenario (why they call, what they know, what they want)
stands in for what they said; the host's record of a confirmation stands in for the yes that the tools' descriptions ask
for, before each write of the prefix. Both are labelled wherever their figures show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from tallystick.evals.takeover.tau2.contracts import Domain, contract_of
from tallystick.evals.takeover.tau2.tools import answered, refused
from tallystick.evals.tau2.tasks import GoldCall, Tau2Task, tasks
from tallystick.evals.tau2.world import opened

TRANSFER: Final = "transfer_to_human_agents"
_LISTED: Final[Mapping[Domain, tuple[str, str, str]]] = {
    "retail": ("get_order_details", "order_id", "orders"),
    "airline": ("get_reservation_details", "reservation_id", "reservations"),
}
"""How a record that a customer's record lists is read: the tool, its argument, and the member that lists them."""
Kind = Literal["first", "refused", "later"]
"""first: just after the first write, which took effect · refused: just after the first write, which the tool refused,
so that nothing was done · later: after another write that more writes follow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """A prefix of an author's calls.

    Attributes:
        task: whose calls.
        length: so many of the author's calls are in the prefix.
        kind: see `Kind`.
        looked: look-ups of the customer's record come before the first write.
    """

    domain: Domain
    task: Tau2Task
    length: int
    kind: Kind
    looked: bool = True

    @property
    def id(self) -> str:
        """Unique in its domain."""
        return f"{self.domain}-{self.task.id}-{self.length}{'' if self.looked else '-bare'}"

    @property
    def prefix(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """The calls that were made: tool and arguments."""
        made = [(call.tool, call.args) for call in self.task.gold[: self.length]]
        if not self.looked:
            return made
        first = next(n for n, (tool, _) in enumerate(made) if is_write(self.domain, tool))
        return [*made[:first], *look_ups(self.domain, self.task), *made[first:]]

    @property
    def rest(self) -> Sequence[GoldCall]:
        """The author's calls that are left, up to the last write: what follows it changes nothing."""
        left = self.task.gold[self.length :]
        return left[: max((n + 1 for n, call in enumerate(left) if is_write(self.domain, call.tool)), default=0)]


def is_write(domain: Domain, tool: str) -> bool:
    """Whether a tool changes the benchmark's database, as its public description says; a transfer does not."""
    return tool != TRANSFER and contract_of(domain).tools[tool].effect == "write"


@cache
def cuts(domain: Domain, *, looked: bool = True) -> tuple[Cut, ...]:
    """Return every cut of every task whose author makes at least two writes: after each write but the last.

    The first cut of each task is the main one; see `main_cuts`.
    """
    return tuple(cut for task in tasks(domain) for cut in cuts_of(domain, task, looked=looked))


def main_cuts(domain: Domain, *, looked: bool = True) -> tuple[Cut, ...]:
    """Return one cut for each task: just after the first write."""
    return tuple(cut for cut in cuts(domain, looked=looked) if cut.kind != "later")


def cuts_of(domain: Domain, task: Tau2Task, *, looked: bool = True) -> Iterator[Cut]:
    """Yield the cuts of one task; none where its author makes fewer than two writes."""
    writes = [n for n, call in enumerate(task.gold) if is_write(domain, call.tool)]
    if len(writes) < 2:
        return
    done = outcomes(task)
    for n in writes[:-1]:
        kind: Kind = "later" if n != writes[0] else "first" if done[n] else "refused"
        yield Cut(domain=domain, task=task, length=n + 1, kind=kind, looked=looked)


@cache
def outcomes(task: Tau2Task) -> tuple[bool, ...]:
    """Return for each of the author's calls whether the environment accepted it, replayed from the start."""
    with opened(task, shared=True) as world:
        return tuple(not refused(answered(world, call.tool, call.args)) for call in task.gold)


def look_ups(domain: Domain, task: Tau2Task) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Return the reads of the customer's record, and of what it lists, that the author made none of before writing.

    Who the customer is, is known by then: an agent asks for it first.
    """
    return _look_ups(domain)[task.id]


@cache
def _look_ups(domain: Domain) -> Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]]:
    """Read all customers in one world: before anything happens it is the same in all of a domain's tasks."""
    tool, name, listed = _LISTED[domain]
    found = {}
    with opened(tasks(domain)[0], shared=True) as world:
        for task in tasks(domain):
            writes = [n for n, call in enumerate(task.gold) if is_write(domain, call.tool)]
            if not writes:
                continue
            write = task.gold[writes[0]].args
            user = write["user_id"] if "user_id" in write else answered(world, tool, {name: write[name]})["user_id"]
            record = answered(world, "get_user_details", {"user_id": user})
            wanted = [("get_user_details", {"user_id": user}), *((tool, {name: one}) for one in record[listed])]
            made = [(call.tool, dict(call.args)) for call in task.gold[: writes[0]]]
            found[task.id] = [one for one in wanted if one not in made]
    return found


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
