"""Recheck of a tenure: the frozen contract, each whole-graph decision and each step come out again, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tallystick.contracts.types import Contract
from tallystick.gates.residual import bound_args, construct, discharged, may_take_over, mismatch
from tallystick.model.decision import Decision, Reason, Verdict, decision_of
from tallystick.model.events import ResidualEnded, ResidualFrozen, ResidualJudged, ResidualStep
from tallystick.model.residual import Graph, Node, Residual, graph_of, residual_of
from tallystick.model.values import same
from tallystick.runtime.takeover_record import COMPLETE, writes_of
from tallystick.view import View
from tallystick.view.records import TakeoverRecord
from tallystick.view.state import when

Body = ResidualFrozen | ResidualJudged | ResidualStep | ResidualEnded
Found = tuple[str, str, str]
"""(as recorded, as it comes out now, what differs)."""


def again(view: View, contract: Contract, body: Body) -> Iterator[Found]:
    """Yield what of a recorded part of a tenure does not follow from the events before it; nothing where all does.

    Raises:
        InputError: a contract or a graph in the record is none.
    """
    if isinstance(body, ResidualFrozen):
        yield from _frozen(view, contract, body)
        return
    record = view.takeovers.get(body.tenure)
    if record is None or record.ended is not None:
        yield body.tenure, "", "there is no such tenure, or it was over"
        return
    residual = residual_of(record.frozen.residual)
    if isinstance(body, ResidualJudged):
        yield from _judged(view, contract, residual, record, body)
    elif isinstance(body, ResidualStep):
        yield from _step(view, contract, residual, record, body)
    else:
        yield from _ended(view, contract, residual, record, body)


def _frozen(view: View, contract: Contract, body: ResidualFrozen) -> Iterator[Found]:
    residual, decision = construct(
        view, contract, tenure=body.tenure, allow=body.allow, free=body.free, extracted=body.extracted
    )
    if residual is None:
        yield body.residual_sha256[:12], " ".join(decision.codes), "no contract would be frozen"
    elif residual.canonical() != body.residual or residual.sha256 != body.residual_sha256:
        yield body.residual_sha256[:12], residual.sha256[:12], "another residual contract"


def _judged(
    view: View, contract: Contract, residual: Residual, record: TakeoverRecord, body: ResidualJudged
) -> Iterator[Found]:
    now = when(body.now)
    if now is None:
        yield body.decision, "", "the proposal does not say when it was judged"
        return
    decision, graph = may_take_over(view, contract, residual, body.proposal, body.replica, now)
    recorded = decision_of(body.decision)
    if decision.text() != body.decision:
        yield _short(recorded), _short(decision), "another decision about the whole proposal"
    if (graph.canonical() if graph is not None else "") != body.graph:
        yield body.graph_sha256[:12], graph.sha256[:12] if graph is not None else "", "another graph"
    if body.attempt != len(record.judged) + 1:
        yield str(body.attempt), str(len(record.judged) + 1), "another number of the attempt"


def _short(decision: Decision) -> str:
    return " ".join([str(decision.verdict), *decision.codes])


def _step(
    view: View, contract: Contract, residual: Residual, record: TakeoverRecord, body: ResidualStep
) -> Iterator[Found]:
    graph, steps = admitted(record), current_steps(record)
    node = next((n for n in graph.nodes if n.id == body.node), None) if graph is not None else None
    if graph is None or node is None:
        yield body.node, "", "no admitted graph has this node"
        return
    if len(steps) >= len(graph.nodes) or graph.nodes[len(steps)].id != node.id:
        yield body.node, "", "the graph has another order"
    if body.matched or body.call:
        wrong = mismatch(view, contract, residual, node, body.call)
        if body.matched and wrong is not None:
            yield "matched", wrong.code, "the live receipt does not match"
        # That a call was lost is the runtime's own finding.
        elif body.code.startswith("residual.") and body.code != (wrong.code if wrong is not None else ""):
            yield body.code, wrong.code if wrong is not None else "matched", "it does not match for this reason"
        yield from _sent(view, contract, node, body, {s.node: s.receipt for s in steps})
    elif body.code.startswith("residual."):
        found = bound_args(view, node, {s.node: s.receipt for s in steps if s.matched})
        if isinstance(found, Reason) and found.code != body.code:
            yield body.code, found.code, "it cannot be bound for another reason"
    valid, gone = discharged(view, contract, residual, record)
    if [list(valid), list(gone)] != [body.discharged, body.invalidated]:
        yield " ".join(body.discharged), " ".join(valid), "other obligations are discharged"


def _sent(
    view: View, contract: Contract, node: Node, body: ResidualStep, receipts: Mapping[str, str]
) -> Iterator[Found]:
    """What went to the live tool was bound to live receipts, as the graph says, and nothing else."""
    call = view.calls.get(body.call)
    bound = bound_args(view, node, receipts)
    if call is None or isinstance(bound, Reason):
        yield body.call, "", "no such call, or its arguments cannot be bound"
        return
    tool = contract.tools.get(node.tool)
    minted = tool.idempotency_arg if tool is not None else None
    sent = {name: value for name, value in call.args.items() if name != minted or name in bound}
    if call.tool != node.tool or not same(sent, dict(bound)):
        yield body.call, node.id, "the call is not the one the graph says"


def _ended(
    view: View, contract: Contract, residual: Residual, record: TakeoverRecord, body: ResidualEnded
) -> Iterator[Found]:
    writes = writes_of(view, record)
    if writes != body.writes:
        yield str(body.writes), str(writes), "another number of changes was dispatched"
    shown = record.steps[-1].discharged if record.steps else []
    if shown != body.discharged:
        yield " ".join(body.discharged), " ".join(shown), "other obligations are discharged"
    if body.status != "complete":
        return
    graph, steps = admitted(record), current_steps(record)
    whole = graph is not None and [s.node for s in steps if s.matched] == [n.id for n in graph.nodes]
    valid, _ = discharged(view, contract, residual, record)
    if body.reason != COMPLETE or not whole or {o.id for o in residual.owed} - set(valid):
        yield body.status, "bottom", "the record does not show that the remainder was carried out"


def admitted(record: TakeoverRecord) -> Graph | None:
    """Return the graph of the newest proposal, if it was admitted.

    Raises:
        InputError: the record holds none that can be read.
    """
    newest = record.judged[-1] if record.judged else None
    if newest is None or decision_of(newest.decision).verdict is not Verdict.ADMIT or not newest.graph:
        return None
    return graph_of(newest.graph)


def current_steps(record: TakeoverRecord) -> list[ResidualStep]:
    """Return the steps that belong to the newest proposal: each admitted graph begins anew, with its first node."""
    graph = admitted(record)
    if graph is None or not graph.nodes:
        return []
    found: list[ResidualStep] = []
    for step in record.steps:
        if found and not found[-1].matched:
            found = []
        found.append(step)
    return found if found and found[-1].matched else []
