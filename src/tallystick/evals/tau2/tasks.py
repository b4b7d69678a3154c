"""Tasks of τ²-bench: what each starts from, what its goal is, and which calls its author made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, get_args

from tallystick.errors import InputError
from tallystick.evals.tau2.package import of

Domain = Literal["telecom", "retail", "airline"]
DOMAINS: Final[tuple[Domain, ...]] = get_args(Domain)
By = Literal["agent", "user"]
"""Who makes a call. In telecom the customer has tools too."""
TRANSFER: Final = "transfer_to_human_agents"
INSTANCES: Final[Mapping[Domain, str]] = {
    "telecom": "TelecomAgent", "retail": "RetailAgent", "airline": "AirlineAgent",
}  # fmt: skip
"""Under which name the package stores the agent's side of an episode."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldCall:
    """A call that the author of a task made: the tool, its arguments, and which of them are compared (None: all)."""

    by: By
    tool: str
    args: Mapping[str, Any]
    compared: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Tau2Task:
    """A task of the base split.

    Attributes:
        domain: which of the three.
        id: the benchmark's.
        gold: the author's calls, in order. For telecom they are one way to the goal; for retail and airline they
            define the goal state.
        assertions: how many assertions on the environment the goal has.
        action: the reward basis names an action, besides assertions: the 20 transfer tasks of telecom.
        task: the package's own object.
        input: the messages that the package gives the user simulator.
    """

    domain: Domain
    id: str
    gold: tuple[GoldCall, ...]
    assertions: int
    action: bool
    task: Any
    input: tuple[Any, ...] = ()


def domain_named(name: str) -> Domain:
    """Return a domain.

    Raises:
        InputError: it is none of the three.
    """
    for domain in DOMAINS:
        if domain == name:
            return domain
    raise InputError(f"there is no domain `{name[:80]}`", where="domain", fix=f"one of: {', '.join(DOMAINS)}")


@cache
def tasks(domain: Domain) -> tuple[Tau2Task, ...]:
    """Return the tasks of a domain's base split, in the package's order: 114, 114 and 50.

    Raises:
        InputError: `inspect-evals` is not installed.
    """
    dataset = of(f"{domain}.dataset").read_dataset(INSTANCES[domain], shuffle=False)
    read = of("common.metadata").Tau2MetaData.model_validate
    return tuple(_task(domain, read(sample.metadata).task, sample.input) for sample in dataset)


def task_named(domain: Domain, name: str) -> Tau2Task:
    """Return a task.

    Raises:
        InputError: the base split has none of that id.
    """
    for one in tasks(domain):
        if one.id == name:
            return one
    raise InputError(f"`{domain}` has no base task `{name[:120]}`", where="task")


def called(gold: GoldCall, tool: str, args: Mapping[str, Any]) -> bool:
    """Whether a call is the one the author made, as the benchmark compares them; a transfer's words never matter."""
    if tool != gold.tool:
        return False
    if gold.tool == TRANSFER:
        return True
    equal = of("utils").deep_equal_unordered
    if gold.compared is None:
        return bool(equal(dict(args), dict(gold.args)))
    return bool(equal({k: args.get(k) for k in gold.compared}, {k: gold.args.get(k) for k in gold.compared}))


def _task(domain: Domain, task: Any, given: Any) -> Tau2Task:
    criteria = task.evaluation_criteria
    actions = (criteria.actions if criteria else None) or []
    return Tau2Task(
        domain=domain,
        id=task.id,
        gold=tuple(
            GoldCall(
                by="user" if a.requestor == "user" else "agent",
                tool=a.name,
                args=a.arguments,
                compared=None if a.compare_args is None else tuple(a.compare_args),
            )
            for a in actions
        ),
        assertions=len((criteria.env_assertions if criteria else None) or []),
        action=criteria is not None and "ACTION" in criteria.reward_basis,
        task=task,
        input=tuple(given),
    )
