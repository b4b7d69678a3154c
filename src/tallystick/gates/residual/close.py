"""ERC: close a proposal to the graph H it stands for. Deterministic; it normalises and never chooses.

The bridge orders the calls, binds every dynamic argument to its source, types each call by the contract, and computes
what it covers. It adds no call, removes none and replaces none; what it cannot close it says, and closes nothing.
Source: residual completion, section 3.3, steps 2 and 3.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from tallystick.contracts.types import Contract
from tallystick.errors import TallystickError
from tallystick.gates.residual.coverage import coverage
from tallystick.gates.residual.planned import Planned, planned
from tallystick.gates.residual.proposal import Proposal, Proposed
from tallystick.gates.residual.reasons import no
from tallystick.gates.residual.rebind import rebound
from tallystick.gates.residual.refs import TASK, Ref, refs_in
from tallystick.gates.residual.sources import Sources
from tallystick.gates.stage import END_OF_TIME
from tallystick.model import jsontext
from tallystick.model.decision import Reason
from tallystick.model.events import ReplicaCall
from tallystick.model.pointer import MISSING
from tallystick.model.residual import Graph, Node, Residual, Terminal, json_text
from tallystick.view import View


class UnclosedError(TallystickError):
    """A proposal that stands for no graph: `reasons` says all of why."""

    def __init__(self, reasons: Sequence[Reason]) -> None:
        self.reasons = tuple(dict.fromkeys(reasons))
        super().__init__("; ".join(r.message for r in self.reasons))


def close(
    view: View,
    contract: Contract,
    residual: Residual,
    proposal: Proposal,
    replica: Sequence[ReplicaCall] = (),
    *,
    now: datetime = END_OF_TIME,
    sources: Sources | None = None,
) -> Graph:
    """Return the graph a proposal stands for. It is untrusted: `may_take_over` judges it.

    Args:
        view: the run's record.
        contract: what it is judged by.
        residual: the frozen contract.
        proposal: what the successor wrote.
        replica: the calls it tried on a replica, in order; their values are replaced by their sources.
        now: when; standing duties may ask for it.
        sources: those of this contract, where the caller has them already.

    Raises:
        UnclosedError: ids, order or references do not make a graph.
    """
    sources = Sources(view, contract, residual) if sources is None else sources
    reasons = [*_names(sources, proposal, replica), *_references(sources, proposal, replica)]
    order = _ordered(proposal)
    if order is None:
        reasons.append(no("residual.dependency", "the calls wait for each other in a circle", "an order that exists"))
    if reasons or order is None:
        raise UnclosedError(reasons)
    args, claims = rebound(view, contract, sources, proposal, replica)
    calls = [proposal.calls[at] for at in order]
    nodes = {call.id: call for call in calls}
    typed = [planned(contract, call.id, call.tool, args[call.id], nodes, sources.says) for call in calls]
    found = coverage(view, contract, residual, typed, now)
    return Graph(
        residual=residual.sha256,
        nodes=[
            _node(call, typed_call, found.by_node.get(call.id, []), nodes)
            for call, typed_call in zip(calls, typed, strict=True)
        ],
        terminal=Terminal(text=proposal.text, claims=[[slot, json_text(value)] for slot, value in claims.items()]),
    )  # fmt: skip


def _node(call: Proposed, plan: Planned, covers: list[str], nodes: Mapping[str, object]) -> Node:
    data = [ref.source for _, ref in refs_in(plan.written) if ref.source in nodes]
    return Node(
        id=call.id,
        tool=call.tool,
        effect=plan.effect,
        args=json_text(plan.written),
        after=list(dict.fromkeys((*call.after, *data))),
        covers=covers,
        keys=list(plan.keys),
        entities=[[ref.kind, ref.id] for ref in plan.targets],
        expect=[[pointer, json_text(value)] for pointer, value in call.expect.items()],
    )


def plan(contract: Contract, sources: Sources, graph: Graph) -> list[Planned]:
    """Return the calls of a closed graph, typed, in its order."""
    nodes = {node.id: node for node in graph.nodes}
    return [planned(contract, n.id, n.tool, jsontext.loads(n.args), nodes, sources.says) for n in graph.nodes]


# ---------------------------------------------------------------- ids, order


def _names(sources: Sources, proposal: Proposal, replica: Sequence[ReplicaCall]) -> Iterator[Reason]:
    """Each call has a name of its own, which is nobody else's."""
    tried = {call.id for call in replica}
    seen: set[str] = set()
    for call in proposal.calls:
        if call.id in seen:
            yield no(
                "residual.dependency", f"two calls are named `{call.id}`", "a name of its own for each call", call.id
            )
        elif call.id == TASK or call.id in tried or sources.has_receipt(call.id):
            yield no(
                "residual.dependency",
                f"`{call.id}` is the name of something else",
                "another name for the call",
                call.id,
            )
        seen.add(call.id)
    for call in proposal.calls:
        for name in call.after:
            if name not in seen:
                yield no("residual.dependency", f"`{call.id}` follows `{name}`, which is no call of the proposal",
                          "ids of calls of the proposal", call.id)  # fmt: skip


def _references(sources: Sources, proposal: Proposal, replica: Sequence[ReplicaCall]) -> Iterator[Reason]:
    """Every reference names a call before it, a live receipt of the contract, or the task: a replica proves nothing."""
    tried = {call.id for call in replica}
    every = {call.id for call in proposal.calls}
    before: set[str] = set()
    for call in proposal.calls:
        for _, ref in refs_in(call.args):
            yield from _reference(sources, ref, before, every, tried, call.id, "residual.grounding")
        before.add(call.id)
    for slot, value in proposal.claims.items():
        for _, ref in refs_in(value):
            yield from _reference(sources, ref, before, every, tried, slot, "residual.claim")


def _reference(
    sources: Sources, ref: Ref, before: set[str], every: set[str], tried: set[str], where: str, code: str
) -> Iterator[Reason]:
    if ref.source in before:
        return
    if ref.source in every:
        text = f"`{where}` takes a value from `{ref.source}`, which does not come before it"
        yield no("residual.dependency", text, "a call listed before it", where)
    elif ref.source in tried:
        text = f"`{where}` rests on `{ref.source}`, which happened on a replica: it shows nothing live"
        yield no(code, text, "the call of the proposal whose live receipt will say it", where)
    elif ref.source != TASK and ref.source not in sources.receipts:
        text = f"`{where}` rests on `{ref.source}`, which is no call before it and no live receipt of the contract"
        yield no(code, text, "an earlier call, a receipt the contract lists, or `task`", where)
    elif sources.says(ref) is MISSING:
        text = f"`{ref.source}` says nothing at `{ref.at}`"
        yield no(code, text, "a JSON Pointer to what it says", where)


def _ordered(proposal: Proposal) -> list[int] | None:
    """Return the calls in dependency order, as listed where that is free; None where they wait in a circle."""
    at = {call.id: i for i, call in enumerate(proposal.calls)}
    followers: list[list[int]] = [[] for _ in proposal.calls]
    waiting = [0] * len(proposal.calls)
    for i, call in enumerate(proposal.calls):
        names = {*call.after, *(ref.source for _, ref in refs_in(call.args))}
        for other in sorted(at[name] for name in names if name in at):
            followers[other].append(i)
            waiting[i] += 1
    free = [i for i, count in enumerate(waiting) if not count]
    order: list[int] = []
    while free:
        here = heapq.heappop(free)
        order.append(here)
        for other in followers[here]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(free, other)
    return order if len(order) == len(waiting) else None
