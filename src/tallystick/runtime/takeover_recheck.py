"""Recheck of a tenure: the frozen contract, each whole-graph decision and each step come out again, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from tallystick.contracts.types import Contract
from tallystick.gates.residual import (
    bound_answer,
    bound_args,
    construct,
    discharged,
    may_take_over,
    mismatch,
    superseded,
)
from tallystick.gates.stop import final_status
from tallystick.model.decision import Decision, Reason, Verdict, decision_of
from tallystick.model.events import Intent, ResidualEnded, ResidualFrozen, ResidualJudged, ResidualStep, StopDecided
from tallystick.model.residual import Graph, Node, Residual, graph_of, residual_of
from tallystick.model.values import same
from tallystick.runtime.claims import claims_of
from tallystick.runtime.takeover_record import (
    CALL_REFUSED,
    COMPLETE,
    INTERRUPTED,
    INVALIDATED,
    LOST,
    MISMATCH,
    STALE,
    UNBOUND,
    writes_of,
)
from tallystick.view import View, effect_of
from tallystick.view.records import TakeoverRecord
from tallystick.view.state import when
from tallystick.view.stops import claims_text

Body = ResidualFrozen | ResidualJudged | ResidualStep | ResidualEnded
Found = tuple[str, str, str]
"""(as recorded, as it comes out now, what differs)."""
_RUNTIME: Final = frozenset({CALL_REFUSED, "residual.grounding"})
"""Codes of a step without a call that the runtime itself finds: the call was refused, or holds a secret nobody has."""
_ENDS: Final[Mapping[str, frozenset[str]]] = {
    CALL_REFUSED: frozenset({CALL_REFUSED}),
    LOST: frozenset({LOST}),
    MISMATCH: frozenset({"residual.unmatched"}),
    UNBOUND: frozenset({"residual.unbound", "residual.grounding"}),
    STALE: frozenset({"residual.stale"}),
    INVALIDATED: frozenset({""}),
}
"""Why a tenure is over → the code its last step then has."""

# Each step asks for both anew: read once while a tenure is rechecked, and nobody changes what was read.
_residual = lru_cache(maxsize=2)(residual_of)
_graph = lru_cache(maxsize=2)(graph_of)


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
    residual = _residual(record.frozen.residual)
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
    text, sha256 = (graph.canonical(), graph.sha256) if graph is not None else ("", "")
    if (text, sha256) != (body.graph, body.graph_sha256):
        yield body.graph_sha256[:12], sha256[:12], "another graph"
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
    if body.matched == bool(body.code or body.why):
        yield body.code, "", "a step matches, or says why it does not"
    if body.call:
        yield from _realised(view, contract, residual, node, body)
        yield from _sent(view, contract, node, body, {s.node: s.receipt for s in steps})
    elif body.matched or body.receipt:
        yield body.node, "", "no call realised it"
    elif body.code == "residual.stale":
        if superseded(view, residual) is None:
            yield body.code, "", "nothing was chosen otherwise"
    elif body.code == "residual.unbound":
        if not isinstance(bound_args(view, node, {s.node: s.receipt for s in steps}), Reason):
            yield body.code, "", "it can be bound"
    elif body.code not in _RUNTIME:
        yield body.code, "", "no step ends like this"
    valid, gone = discharged(view, contract, residual, record)
    if [list(valid), list(gone)] != [body.discharged, body.invalidated]:
        yield " ".join(body.discharged), " ".join(valid), "other obligations are discharged"


def _realised(view: View, contract: Contract, residual: Residual, node: Node, body: ResidualStep) -> Iterator[Found]:
    """The step says of a node's call what its receipt says."""
    call = view.calls.get(body.call)
    receipts = {r.id: r for r in call.receipts} if call is not None else {}
    if body.receipt and (body.receipt not in receipts or (body.matched and not receipts[body.receipt].good)):
        yield body.receipt, "", "it is no receipt of that call, or not a good one"
    wrong = mismatch(view, contract, residual, node, body.call)
    if body.matched:
        if wrong is not None:
            yield "matched", wrong.code, "the live receipt does not match"
        elif not body.receipt:
            yield "matched", "", "no receipt is named"
    elif body.code == LOST:
        # A doubt may have been settled between the call and its step: a second receipt, or somebody's word, shows it.
        doubtful = call is not None and (call.id in view.doubts or call.settled_by or len(receipts) > 1)
        if body.receipt and not doubtful:
            yield body.code, wrong.code if wrong is not None else "matched", "nothing is in doubt"
    elif body.code != (wrong.code if wrong is not None else ""):
        yield body.code, wrong.code if wrong is not None else "matched", "it does not match for this reason"


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
    graph, steps = admitted(record), current_steps(record)
    whole = graph is not None and [s.node for s in steps if s.matched] == [n.id for n in graph.nodes]
    valid, _ = discharged(view, contract, residual, record)
    carried_out = whole and not {o.id for o in residual.owed} - set(valid)
    stop = next((b for seq, b in reversed(view.stops) if seq > record.seq), None)
    if body.status == "complete":
        if body.reason != COMPLETE or not carried_out:
            yield body.status, "bottom", "the record does not show that the remainder was carried out"
        elif stop is not None and graph is not None:
            yield from _answered(view, graph, steps, stop)
        return
    accepted = decision_of(stop.decision) if stop is not None else None
    stopped = accepted is not None and accepted.verdict is Verdict.ACCEPT and body.reason != INTERRUPTED
    if stopped and final_status(view, contract, accepted)[0] == "CERTIFIED":
        yield body.status, "complete", "its stop was accepted"
    last = record.steps[-1] if record.steps else None
    ends = _ENDS.get(body.reason)
    if body.reason == COMPLETE or (ends is not None and (last is None or last.code not in ends)):
        yield body.reason, last.code if last is not None else "", "the last step shows another reason"


def _answered(view: View, graph: Graph, steps: list[ResidualStep], stop: StopDecided) -> Iterator[Found]:
    """The answer is the one the graph says, with the values of its live receipts."""
    answer = bound_answer(view, graph, {s.node: s.receipt for s in steps})
    if isinstance(answer, Reason):
        yield "answer", answer.code, "its values cannot be had"
    elif (stop.text, stop.claims) != (answer[0], claims_text(claims_of(answer[1]))):
        yield "answer", "another", "the answer is not the one the graph says"


def intent_again(view: View, contract: Contract, body: Intent, args: Mapping[str, Any]) -> Iterator[Found]:
    """Yield how a write is none that an open tenure was admitted for; nothing where there is none, or it only reads.

    Raises:
        InputError: a graph in the record is none.
    """
    record = view.tenure
    tool = contract.tools.get(body.tool)
    if record is None or (tool is not None and effect_of(tool, args) != "write"):
        return
    graph, steps = admitted(record), current_steps(record)
    node = graph.nodes[len(steps)] if graph is not None and len(steps) < len(graph.nodes) else None
    if node is None or node.tool != body.tool or node.effect != "write":
        yield body.tool, node.id if node is not None else "", "the tenure was not admitted for this write"
    stepped = {step.call for step in record.steps}
    for call in reversed(view.calls.values()):
        if call.seq < record.seq:
            return
        if call.effect == "write" and call.outcome != "not_started":  # the newest: those before were asked about then
            if call.id not in stepped:
                yield body.tool, call.id, "another write of the tenure was not over"
            return


def admitted(record: TakeoverRecord) -> Graph | None:
    """Return the graph of the newest proposal, if it was admitted.

    Raises:
        InputError: the record holds none that can be read.
    """
    newest = record.judged[-1] if record.judged else None
    if newest is None or decision_of(newest.decision).verdict is not Verdict.ADMIT or not newest.graph:
        return None
    return _graph(newest.graph)


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
