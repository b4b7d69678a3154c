"""CE: may this successor finish the rest? The whole remainder is judged before anything of it may write.

Read top to bottom, this is the rule: the contract is the frozen one, and nothing has changed the world since; the
proposal is one, and stands for a graph; (i) every call uses an allowed interface with arguments that fit and have a
source; (ii) every effect is owed or allowed, repeats nothing, undoes nothing, breaks no choice; (iii) what is owed is
covered, exactly, by typed effects; (iv) what each call and each claim rests on comes before it. All reasons found are
listed, and each alone is enough. What no call of the remainder can give is held, with the reads or people that could.
Source: residual completion, section 3.4, step 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from tallystick.contracts.types import Contract
from tallystick.errors import InputError, TallystickError
from tallystick.gates.residual.claims import claims
from tallystick.gates.residual.close import UnclosedError, close, plan
from tallystick.gates.residual.coverage import Coverage, coverage
from tallystick.gates.residual.duplicates import duplicates
from tallystick.gates.residual.effects import effects
from tallystick.gates.residual.executable import executable
from tallystick.gates.residual.grounding import grounding
from tallystick.gates.residual.live import superseded
from tallystick.gates.residual.proposal import Proposal, parse_proposal
from tallystick.gates.residual.reasons import no
from tallystick.gates.residual.sources import Sources
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.events import Blob, ReplicaCall
from tallystick.model.residual import Graph, Residual
from tallystick.view import View

HOLD: Final = "residual.hold"


def may_take_over(
    view: View,
    contract: Contract,
    residual: Residual,
    proposal: Blob | bytes,
    replica: Sequence[ReplicaCall],
    now: datetime,
) -> tuple[Decision, Graph | None]:
    """Return whether a successor's whole proposal may run, and the graph it stands for.

    Pure: no I/O, no clock (`now` is the recorded instant). Anything that goes wrong in here is a refusal.

    Args:
        view: the run's record.
        contract: what it is judged by.
        residual: the frozen contract.
        proposal: the proposal, as the successor gave it.
        replica: the calls it tried on a replica; they prove nothing.
        now: when it is judged.

    Returns:
        (admit, graph); (refuse, graph) or, where it stands for none, (refuse, None); (hold, graph): evidence is missing
        that no call of it gives.
    """
    graph: Graph | None = None
    try:
        stale = list(_stale(view, residual))
        raw = proposal.raw if isinstance(proposal, Blob) else proposal
        written = parse_proposal(raw)
        sources = Sources(view, contract, residual)
        graph = close(view, contract, residual, written, replica, now=now, sources=sources)
        reasons = [*stale, *_judged(view, contract, residual, sources, written, graph, now)]
    except UnclosedError as unclosed:
        reasons = [*stale, *unclosed.reasons]
    except InputError as bad:
        reasons = [
            no("residual.malformed", bad.message, bad.fix or "a proposal of the published form", bad.where or "")
        ]
    except TallystickError as bad:
        reasons = [_failed(f"the proposal could not be judged: {bad.message}")]
    except Exception as bad:  # noqa: BLE001 - fail closed: our own fault means nothing runs
        reasons = [_failed(f"the gate itself failed: {type(bad).__name__}")]
    return _decision(view, residual, reasons), graph


def _failed(message: str) -> Reason:
    return Reason(code="gate.error", message=message, reverses="a valid contract and proposal")


def _decision(view: View, residual: Residual, reasons: Sequence[Reason]) -> Decision:
    unique = tuple(dict.fromkeys(reasons))
    refused = any(reason.code != HOLD for reason in unique)
    verdict = Verdict.REFUSE if refused else Verdict.HOLD if unique else Verdict.ADMIT
    basis = () if unique else tuple(dict.fromkeys((residual.head, *(k.support for k in residual.kept))))
    return Decision(verdict=verdict, reasons=unique, basis=basis, judged_upto=view.upto)


def _stale(view: View, residual: Residual) -> Iterator[Reason]:
    """The contract is this run's, this tenure's, and of the state there still is."""
    tenure = view.tenure
    if view.ended is not None:
        yield Reason(code="run.closed", message=f"the run has ended: {view.ended.status}", reverses="a new run")
    foreign = residual.run != view.run or view.digest_at(residual.upto) != residual.head
    if foreign or (tenure is not None and tenure.frozen.residual_sha256 != residual.sha256):
        yield no(
            "residual.foreign", "this is not the contract frozen for this tenure", "a proposal for the frozen contract"
        )
    later = (c for c in reversed(view.calls.values()) if c.seq > residual.upto and c.outcome != "not_started")
    since = next((c for c in later if c.effect == "write"), None)
    if since is not None:
        text = f"call {since.id} of {since.tool} came after the contract was frozen"
        yield no("residual.stale", text, "a fresh contract of the state reached", since.id)
    for call in view.doubts.values():
        text = f"whether call {call.id} of {call.tool} took effect is in doubt"
        yield no("residual.doubt", text, f"call {call.id} settled by a status query or by a person", call.id)
    otherwise = superseded(view, residual)
    if otherwise is not None:
        yield otherwise


def _judged(
    view: View,
    contract: Contract,
    residual: Residual,
    sources: Sources,
    written: Proposal,
    graph: Graph,
    now: datetime,
) -> Iterator[Reason]:
    calls = plan(contract, sources, graph)
    found = coverage(view, contract, residual, calls, now)
    yield from grounding(contract, residual, sources, calls)  # (i)
    yield from effects(view, contract, residual, calls, found)  # (ii)
    yield from duplicates(contract, residual, calls)
    yield from _covered(residual, written, found)  # (iii)
    by_node: Mapping[str, list[str]] = found.by_node
    yield from executable(view, contract, calls, lambda node: by_node.get(node, ()), now)  # (iv)
    yield from claims(view, contract, sources, graph, calls)


def _covered(residual: Residual, written: Proposal, found: Coverage) -> Iterator[Reason]:
    """(iii) cov(H) = O, by typed effects; what a call is said to cover it does."""
    for owed in residual.owed:
        if owed.id not in found.covered:
            text = f"`{owed.id}` is not covered" + (f": {owed.text}" if owed.text else "")
            wanted = f"a call of {' or '.join(owed.tools)} for it" if owed.tools else "a call that shows that it holds"
            yield no("residual.coverage", text, wanted, owed.id)
    for name in found.lost:
        text = f"`{name}` holds now; a write of the remainder makes that void, and nothing after it shows it again"
        yield no("residual.coverage", text, "a call after the last write that shows that it holds", name)
    for node, duty in found.unmet:
        text = f"`{node}` brings about `{duty.id}`, which no call after it discharges"
        yield no("residual.coverage", text, f"a call of {' or '.join(duty.owes)} after it", node)
    for call in written.calls:
        for name in call.covers:
            if name not in found.by_node.get(call.id, ()):
                text = f"`{call.id}` is said to cover `{name}`, and its effect does not"
                yield no("residual.coverage", text, "no declaration, or a call whose effect does", call.id)
