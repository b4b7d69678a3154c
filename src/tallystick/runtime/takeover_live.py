"""Carrying out an admitted graph: every call made again on the live tools, with live values, and its receipt checked.

Source: residual completion, section 3.4 steps 2 and 3. Nothing a replica said counts here. After a state-changing call
was dispatched, any failure ends the tenure: no repair is made and no rollback is claimed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tallystick.errors import InputError
from tallystick.gates.residual import (
    bound_answer,
    bound_args,
    discharged,
    mismatch,
    superseded,
    unshown,
    verified_entities,
)
from tallystick.model.decision import Decision, Reason
from tallystick.model.events import ResidualStep
from tallystick.model.residual import Graph, Node, Residual
from tallystick.runtime.drivers import Steps, Write
from tallystick.runtime.journal import RUNTIME
from tallystick.runtime.outcome import Outcome
from tallystick.runtime.proposals import Proposal
from tallystick.runtime.takeover_record import (
    CALL_REFUSED,
    INCOMPLETE,
    INVALIDATED,
    LOST,
    MISMATCH,
    STALE,
    UNBOUND,
    writes_of,
)
from tallystick.runtime.takeover_secrets import Vault

if TYPE_CHECKING:
    from tallystick.runtime.run import Run

FROM_THE_SUCCESSOR: Final = "again"
"""Not an end: nothing was written, so another proposal may follow within the budget."""
_FOR_GOOD: Final = (INVALIDATED, STALE)
"""Ends of a tenure even where nothing was written: no other proposal helps under this contract."""


class Live:
    """The live half of one tenure."""

    def __init__(self, run: Run, tenure: str, residual: Residual, graph: Graph, vault: Vault) -> None:
        self._run = run
        self._journal = run._journal  # noqa: SLF001 - the part of a `Run` that passes control on
        self._calls = run._calls  # noqa: SLF001
        self._tenure = tenure
        self._residual = residual
        self._graph = graph
        self._vault = vault
        self._verified = verified_entities(residual)
        self._receipts: dict[str, str] = {}  # node → its live receipt

    def steps(self) -> Steps[tuple[str | None, tuple[Reason, ...]]]:
        """Realise every node in dependency order; return (why it is over, reasons), or (None, ()) where all matched."""
        for node in self._graph.nodes:
            args, problem = yield Write(partial(self._ready, node))
            if problem is None:
                outcome: Outcome = yield from self._calls.steps(self._proposal(node, args))
                problem = yield Write(partial(self._checked, node, outcome))
            if problem is not None:
                code, reasons = problem
                after: str = yield Write(partial(self._or_again, code))
                return after, reasons
        left: tuple[Reason, ...] = yield Write(self._left)
        return (INCOMPLETE, left) if left else (None, ())

    def terminal(self) -> tuple[str, Mapping[str, Any], Reason | None]:
        """Return the answer's text and claims with live values, or why they cannot be had."""
        with self._journal.lock:
            answer = bound_answer(self._journal.view, self._graph, self._receipts)
        return ("", {}, answer) if isinstance(answer, Reason) else (*answer, None)

    def ask_people(self, decision: Decision) -> None:
        """Record each call of a held graph that waits for people alone as a refused one: they can see and approve it.

        Nothing of it runs. Call under the lock.
        """
        held = {reason.where for reason in decision.reasons}
        for node in self._graph.nodes:
            args = bound_args(self._journal.view, node, {}) if node.id in held else None
            if isinstance(args, dict):
                with contextlib.suppress(InputError):  # a secret nobody has: nobody can approve it
                    self._calls.ask_people(self._proposal(node, self._vault.restore(args)))

    # ------------------------------------------------------------------ one node

    def _ready(self, node: Node) -> tuple[Mapping[str, Any], tuple[str, tuple[Reason, ...]] | None]:
        with self._journal.lock:
            if node.effect == "write":
                otherwise = superseded(self._journal.view, self._residual)
                if otherwise is not None:
                    self._record(node, code=otherwise.code, why=otherwise.message)
                    return {}, (STALE, (otherwise,))
            return self._bound(node)

    def _bound(self, node: Node) -> tuple[Mapping[str, Any], tuple[str, tuple[Reason, ...]] | None]:
        with self._journal.lock:
            args = bound_args(self._journal.view, node, self._receipts)
            if not isinstance(args, Reason) and node.effect == "write":
                args = unshown(self._journal.view, self._run.contract, self._verified, node, args) or args
            if not isinstance(args, Reason):
                try:
                    return self._vault.restore(args), None
                except InputError as bad:
                    args = Reason(code="residual.grounding", message=bad.message, reverses=bad.fix or "", where=node.id)
            self._record(node, code=args.code, why=args.message)
            return {}, (UNBOUND, (args,))

    def _proposal(self, node: Node, args: Mapping[str, Any]) -> Proposal:
        events = [name for name in node.covers if self._is_event(name)]
        return Proposal.of(
            node.tool,
            args,
            timeout=self._calls.timeout,
            # A wish narrows what a call discharges to one obligation; a batch that covers several leaves it open.
            wish=events[0] if len(events) == 1 else "",
            tenure=self._tenure,
        )

    def _is_event(self, name: str) -> bool:
        owed = self._journal.view.obligations.get(name)
        return owed is not None and owed.kind == "event"

    def _checked(self, node: Node, outcome: Outcome) -> tuple[str, tuple[Reason, ...]] | None:
        """Check a node's receipt before anything of it flows on, and record the step."""
        with self._journal.lock:
            if not outcome.ran:
                why = f"{outcome.decision.verdict}: {', '.join(outcome.decision.codes)}"
                self._record(node, code=CALL_REFUSED, why=why)
                return CALL_REFUSED, outcome.decision.reasons
            self._vault.take_result(node.tool, outcome.result)
            call, receipt = outcome.call_id or "", outcome.receipt_id or ""
            view = self._journal.view
            if not receipt or (node.effect == "write" and outcome.in_doubt):
                why = outcome.why_in_doubt or "its receipt could not be recorded"
                said = f"nobody knows whether {node.tool} took effect: {why}"
                settles = f"call {call} settled by a status query or by a person"
                reason = Reason(code=LOST, message=said, reverses=settles, where=node.id)
                self._record(node, call=call, receipt=receipt, code=LOST, why=why)
                return LOST, (reason,)
            wrong = mismatch(view, self._run.contract, self._residual, node, call)
            if wrong is not None:
                self._record(node, call=call, receipt=receipt, code=wrong.code, why=wrong.message)
                return MISMATCH, (wrong,)
            self._receipts[node.id] = receipt
            step = self._record(node, call=call, receipt=receipt)
            if step.invalidated:
                lost = ", ".join(step.invalidated)
                said = f"the discharge of {lost} was taken back"
                again = "another tenure, under a fresh contract"
                return INVALIDATED, (Reason(code=INVALIDATED, message=said, reverses=again, where=step.invalidated[0]),)
            return None

    def _record(self, node: Node, *, call: str = "", receipt: str = "", code: str = "", why: str = "") -> ResidualStep:
        view = self._journal.view
        record = view.takeovers[self._tenure]
        valid, gone = discharged(view, self._run.contract, self._residual, record)
        body = ResidualStep(
            tenure=self._tenure, node=node.id, call=call, receipt=receipt, matched=not code, code=code, why=why,
            discharged=list(valid), invalidated=list(gone),
        )  # fmt: skip
        if record.ended is None:  # else the run ended under this call, and its tenure with it
            self._journal.append(body, RUNTIME, durable=node.effect == "write")
        return body

    # ------------------------------------------------------------------ after it

    def _or_again(self, code: str) -> str:
        with self._journal.lock:
            record = self._journal.view.takeovers[self._tenure]
            wrote = writes_of(self._journal.view, record) > 0
            over = self._calls.closed() is not None or record.ended is not None
            return code if wrote or over or code in _FOR_GOOD else FROM_THE_SUCCESSOR

    def _left(self) -> tuple[Reason, ...]:
        """L_m = O: every obligation has evidence that is valid now."""
        with self._journal.lock:
            view = self._journal.view
            valid, _ = discharged(view, self._run.contract, self._residual, view.takeovers[self._tenure])
            return tuple(
                Reason(code=INCOMPLETE, message=f"`{owed.id}` has no evidence that is valid now", where=owed.id,
                       reverses="another tenure, under a fresh contract")
                for owed in self._residual.owed if owed.id not in valid
            )  # fmt: skip
