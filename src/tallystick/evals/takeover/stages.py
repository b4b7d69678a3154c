"""The four stages, from the same captured frontier: what the paper's progression adds. The definitions are ours.

- direct: no contract; the successor acts call by call, every call runs, and "done" is believed.
- certified_direct: the contract is frozen; the successor acts call by call, each call is checked alone against contract
  and act gate, and "done" goes to the stop gate.
- contract_plan: the contract is frozen; the successor writes whole plans, on a replica where there is one. A plan then
  runs call by call, checked as above; nobody asks whether it is whole. After a failure it may plan again.
- full: `run.take_over`. The whole graph is judged before anything of it runs; after a write a failure ends the tenure.

What is refused goes back to the successor in every stage that refuses anything. A *hold* is an answer that neither
admits nor rejects: evidence that could be had is missing, and the reads that would give it are named.
Source: residual completion, section 4.2 and table 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from tallystick.evals.takeover.live import writes_in
from tallystick.evals.takeover.ports import Port, Seen, troubled
from tallystick.evals.takeover.rows import HOLD, Intervention, Stage
from tallystick.evals.takeover.successors import filled
from tallystick.evals.takeover.surface import Frontier, Opened, Proposal
from tallystick.evals.takeover.telling import shown
from tallystick.gates.residual import construct, ground, may_take_over
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.events import Blob, ReplicaCall, blob
from tallystick.model.residual import Graph, Residual
from tallystick.model.values import EntityRef
from tallystick.runtime.extraction import Extractor
from tallystick.runtime.replicas import Replica
from tallystick.runtime.successors import brief_of, proposal_bytes
from tallystick.view import View
from tallystick.view.keys import effect_of

ATTEMPTS: Final = 3
"""Whole proposals a successor may make, in `contract_plan` and `full` alike."""
_PREFIX: Final = "residual."
_OF_ONE_CALL: Final = frozenset({"malformed", "grounding", "duplicate", "effect"})
"""Reasons that one call alone can be refused for; the others are of a whole."""


class Successor(Protocol):
    """Whoever finishes the rest, in any stage.

    Attributes:
        tokens: what it spent so far.
    """

    tokens: int

    def act(self, port: Port, *, view: View | None = None, residual: Residual | None = None, told: str = "") -> None:
        """Act call by call, knowing what happened (`view`, or `told` in words), and the contract if there is one."""

    def __call__(self, brief: Any) -> Any:
        """Write a whole proposal; see `runtime.successors.Brief`."""


@dataclass
class Came:
    """What a stage came to.

    Attributes:
        complete: it ended as a success, as far as the stage can tell.
        reason: why not.
        interventions: see `rows.Intervention`.
        proposed: whole proposals, as they were made; in stages without, one made of the calls that were tried.
        rejected_writes: see `rows.Row`.
        refused: those of `proposed` of which something was refused.
        shown: what the calls of a proposal made in hindsight showed.
    """

    complete: bool = False
    reason: str = ""
    interventions: list[Intervention] = field(default_factory=list)
    proposed: list[Proposal] = field(default_factory=list)
    rejected_writes: int = 0
    refused: list[Proposal] = field(default_factory=list)
    shown: list[ReplicaCall] = field(default_factory=list)


DUPLICATE: Final = f"{_PREFIX}duplicate"


def short(code: str) -> str:
    """Return a reason's code as tables have it: what follows `residual.`; codes of other gates are whole."""
    return code.removeprefix(_PREFIX)


def finished(stage: Stage, opened: Opened, frontier: Frontier, successor: Successor, extract: Extractor | None) -> Came:
    """Finish an open frontier in a stage.

    Args:
        stage: which.
        opened: the frontier's own opening, used up by this.
        frontier: its settings.
        successor: fresh.
        extract: finds what is owed, where the task itself does not say.
    """
    return _STAGES[stage](opened, frontier, successor, extract)


def contract_for(opened: Opened, frontier: Frontier, extract: Extractor | None) -> tuple[Residual | None, Decision]:
    """Add what an extractor finds to what is owed, and make the residual contract of an open frontier."""
    names = []
    found: Any = extract(opened.run.view, frontier.contract) if extract is not None else ()
    for body in found:
        opened.run.oblige(
            body.id, body.text, tool=body.tool, args={name: jsontext.loads(text) for name, text in body.args},
            entity=EntityRef(*body.entity) if body.entity else None,
        )  # fmt: skip
        names.append(body.id)
    return construct(
        opened.run.view, frontier.contract, tenure="suite", allow=list(frontier.allow), free=_free(frontier),
        extracted=names,
    )  # fmt: skip


def _free(frontier: Frontier) -> list[list[str]]:
    return [[tool, name] for tool, names in frontier.free.items() for name in names]


# ---------------------------------------------------------------------- direct


class DirectPort:
    """Past the guard: every call runs, "done" is believed."""

    def __init__(self, opened: Opened) -> None:
        self._tools = opened.meter.tools
        self.view = opened.run.view
        self.tried: list[tuple[str, Mapping[str, Any], Seen]] = []
        self.said: tuple[str, Mapping[str, Any]] | None = None

    def call(self, tool: str, args: Mapping[str, Any]) -> Seen:
        """Run it."""
        seen = self._run(tool, args)
        self.tried.append((tool, args, seen))
        return seen

    def finish(self, text: str, claims: Mapping[str, Any]) -> Seen:
        """Believe it."""
        self.said = (text, claims)
        return Seen(over=True)

    def history(self) -> str:
        """Return what was called and what came back, as text for whoever goes on."""
        lines = [
            f"called {tool} {jsontext.dumps(dict(args))} -> {seen.error or shown(seen.result)}"
            for tool, args, seen in self.tried
        ]
        return "\n".join(lines)

    def _run(self, tool: str, args: Mapping[str, Any]) -> Seen:
        fn = self._tools.get(tool)
        if fn is None:
            return Seen(error=f"there is no tool `{tool}`")
        try:
            return Seen(result=fn(**args))
        except Exception as bad:  # noqa: BLE001 - whatever a tool raises is what its caller is told
            return Seen(error=f"{type(bad).__name__}: {bad}")


def _direct(opened: Opened, frontier: Frontier, successor: Successor, _: Extractor | None) -> Came:
    port = DirectPort(opened)
    successor.act(port, view=opened.run.view)
    proposal = hindsight(port.tried, port.said)
    return Came(
        complete=port.said is not None, reason="" if port.said is not None else "left", proposed=[proposal],
        shown=observed(port.tried), rejected_writes=writes_in(frontier.contract, opened.meter.dispatched),
    )  # fmt: skip


def hindsight(
    tried: Sequence[tuple[str, Mapping[str, Any], Seen]], said: tuple[str, Mapping[str, Any]] | None
) -> Proposal:
    """Return the calls a successor tried one by one, with the answer it gave, as one proposal."""
    calls = [{"id": f"step-{n}", "tool": tool, "args": dict(args)} for n, (tool, args, _) in enumerate(tried, 1)]
    text, claims = said if said is not None else ("", {})
    return {"calls": calls, "answer": {"text": text, "claims": dict(claims)}}


def observed(tried: Sequence[tuple[str, Mapping[str, Any], Seen]]) -> list[ReplicaCall]:
    """Return what those calls showed, in the form of replica calls, so that the bridge can bind their values."""
    return [
        ReplicaCall(
            id=f"replica-{n}", tool=tool, args=_blob(dict(args)),
            result=None if seen.error or seen.refused else _blob(seen.result), error=seen.error or None,
        )
        for n, (tool, args, seen) in enumerate(tried, 1)
    ]  # fmt: skip


def _blob(value: Any) -> Blob:
    return blob(jsontext.dumps(jsontext.exact(value)[0]).encode("utf-8"))


# ---------------------------------------------------------------------- certified direct


class _Certified:
    """Every call is checked alone: against the frozen contract, then by the act gate. "Done" goes to the stop gate."""

    def __init__(self, opened: Opened, frontier: Frontier, residual: Residual) -> None:
        self._opened = opened
        self._frontier = frontier
        self._residual = residual
        self.interventions: list[Intervention] = []
        self.tried: list[tuple[str, Mapping[str, Any], Seen]] = []
        self.said: tuple[str, Mapping[str, Any]] | None = None
        self.accepted = False
        self.refused = False
        self.reasons: tuple[Reason, ...] = ()

    def call(self, tool: str, args: Mapping[str, Any]) -> Seen:
        seen = self._call(tool, args)
        self.tried.append((tool, args, seen))
        return seen

    def _call(self, tool: str, args: Mapping[str, Any]) -> Seen:
        reasons = self._against(tool, args)
        if reasons:
            return self._stopped("call", Verdict.REFUSE, reasons)
        outcome = self._opened.run.call(tool, args)
        if outcome.ran:
            error = "" if outcome.error is None else f"{type(outcome.error).__name__}: {outcome.error}"
            return Seen(result=outcome.result, error=error, over=outcome.ended is not None)
        return self._stopped("call", outcome.decision.verdict, outcome.decision.reasons, over=outcome.ended is not None)

    def finish(self, text: str, claims: Mapping[str, Any]) -> Seen:
        self.said = (text, claims)
        given = self._opened.run.finish(text, dict(claims))
        self.accepted = given.accepted
        if given.accepted:
            return Seen(over=True)
        return self._stopped("done", given.decision.verdict, given.decision.reasons, over=given.status is not None)

    def _against(self, tool: str, args: Mapping[str, Any]) -> tuple[Reason, ...]:
        """Judge one call by what can be said of it alone: what is live by now may be taken up, S and K stay frozen."""
        view = self._opened.run.view
        now = ground(view, self._frontier.contract)
        known = msgspec.structs.replace(
            self._residual, entities=list(now.entities), receipts=list(now.receipts), kept=list(now.kept)
        )
        try:
            raw = proposal_bytes({"calls": [{"id": "call", "tool": tool, "args": dict(args)}]})
        except Exception:  # noqa: BLE001 - values without a JSON form
            return (Reason(code="residual.malformed", message="the call has no JSON form", reverses="JSON values"),)
        decision, _ = may_take_over(view, self._frontier.contract, known, blob(raw), (), self._opened.run.now())
        return tuple(r for r in decision.reasons if not decision.positive and short(r.code) in _OF_ONE_CALL)

    def _stopped(self, of: Any, verdict: Verdict, reasons: tuple[Reason, ...], *, over: bool = False) -> Seen:
        self.reasons = reasons
        self.refused = self.refused or of != "done"
        self.interventions.append(_intervention(of, verdict, reasons, self._before()))
        words = "; ".join(f"{r.code}: {r.message}" for r in reasons)
        return Seen(error=words or str(verdict), refused=True, codes=tuple(r.code for r in reasons), over=over)

    def writes(self, call: Mapping[str, Any]) -> bool:
        """Whether a written call has an effect, by the contract."""
        tool = self._frontier.contract.tools.get(str(call.get("tool", "")))
        args = call.get("args")
        return tool is not None and effect_of(tool, args if isinstance(args, Mapping) else {}) != "read"

    def _before(self) -> bool:
        return writes_in(self._frontier.contract, self._opened.meter.dispatched) == 0


def _intervention(of: Any, verdict: Verdict, reasons: Sequence[Reason], before: bool) -> Intervention:
    codes = tuple(r.code for r in reasons)
    chief = (
        DUPLICATE if DUPLICATE in codes else codes[0] if codes else ""
    )  # a repeat is told as one, whatever else it is
    code = HOLD if verdict is Verdict.HOLD else short(chief) if chief else str(verdict)
    return Intervention(code=code, codes=codes, before=before, of=of)


def _certified_direct(opened: Opened, frontier: Frontier, successor: Successor, extract: Extractor | None) -> Came:
    residual, decision = contract_for(opened, frontier, extract)
    if residual is None:
        return Came(reason=decision.codes[0])
    port = _Certified(opened, frontier, residual)
    successor.act(port, view=opened.run.view, residual=residual)
    proposal = hindsight(port.tried, port.said)
    last = port.interventions[-1].code if port.interventions else "left"
    return Came(
        complete=port.accepted, reason="" if port.accepted else last,
        interventions=port.interventions, proposed=[proposal],
        refused=[_meant(successor, proposal)] if port.refused else [],
        shown=observed(port.tried), rejected_writes=writes_in(frontier.contract, opened.meter.dispatched),
    )  # fmt: skip


def _meant(successor: Successor, made: Proposal) -> Proposal:
    """Return what a successor set out to do, where it says so: what it did after a refusal is another thing."""
    stated = getattr(successor, "proposals", None)
    return stated[0] if stated else made


# ---------------------------------------------------------------------- contract plan


def _contract_plan(opened: Opened, frontier: Frontier, successor: Successor, extract: Extractor | None) -> Came:
    """Plans are written whole, on a replica, and then run call by call: nobody asks whether they are whole."""
    residual, decision = contract_for(opened, frontier, extract)
    if residual is None:
        return Came(reason=decision.codes[0])
    came = Came()
    port = _Certified(opened, frontier, residual)
    feedback: tuple[Reason, ...] = ()
    done: dict[str, tuple[Any, Any]] = {}  # id → (call as written, what it returned)
    for attempt in range(1, ATTEMPTS + 1):
        proposal, tried = _planned(opened, frontier, successor, residual, feedback, attempt)
        if proposal is None:
            came.reason = came.reason or "declined"
            break
        came.proposed.append(proposal)
        before = len(opened.meter.dispatched)
        judged, graph = may_take_over(
            opened.run.view, frontier.contract, residual, blob(proposal_bytes(proposal)), tried, opened.run.now()
        )
        stopped = len(port.interventions)
        problem, over = _run_plan(port, proposal, graph, done)
        if judged.verdict is Verdict.REFUSE:
            came.rejected_writes += writes_in(frontier.contract, opened.meter.dispatched[before:])
        if len(port.interventions) > stopped and any(i.of == "call" for i in port.interventions[stopped:]):
            came.refused.append(proposal)
        came.reason = problem[0].code if problem else ""
        if port.accepted:
            came.complete, came.reason = True, ""
            break
        if over:
            break
        feedback = problem
    came.interventions = port.interventions
    return came


def _planned(
    opened: Opened, frontier: Frontier, successor: Successor, residual: Residual, feedback: tuple[Reason, ...],
    attempt: int,
) -> tuple[Proposal | None, tuple[ReplicaCall, ...]]:  # fmt: skip
    """Ask for a plan. What is no JSON object is an empty plan: there is nothing in it to run."""

    def asked(replica: Replica | None) -> Any:
        return successor(
            brief_of(
                opened.run.view, frontier.contract, residual, feedback=feedback, attempt=attempt, attempts=ATTEMPTS,
                replica=replica,
            )
        )  # fmt: skip

    if opened.fork is None:
        return _read(asked(None)), ()
    with opened.fork() as tools:
        replica = Replica(tools, frontier.contract, None, opened.run.now)
        proposal = asked(replica)
        replica.close()
    return _read(proposal), tuple(replica.calls)


def _read(given: Any) -> Proposal | None:
    if given is None or isinstance(given, Mapping):
        return given
    try:
        found = jsontext.loads(given)
    except Exception:  # noqa: BLE001 - a model may write anything
        found = None
    return found if isinstance(found, Mapping) else {"calls": [], "answer": {}}


def _run_plan(
    port: _Certified, proposal: Proposal, graph: Graph | None, done: dict[str, tuple[Any, Any]]
) -> tuple[tuple[Reason, ...], bool]:
    """Run a plan call by call, values taken from what came back; return why it stopped, and whether all is over.

    Where the bridge could close the plan, its sources are taken; else what the successor wrote.
    """
    bound = {n.id: jsontext.loads(n.args) for n in graph.nodes} if graph is not None else {}
    results = {name: came for name, (_, came) in done.items()}
    for name, call, args in _calls(proposal, bound):
        if name in done and done[name][0] == call and port.writes(call):
            continue  # an effect is not made again; a look may be stale by now
        seen = port.call(str(call.get("tool", "")), filled(args, results))
        if seen.refused or seen.error or troubled(seen.result):
            reasons = port.reasons if seen.refused else (Reason(code="live.failed", message=seen.error or "an error"),)
            return reasons, seen.over
        done[name], results[name] = (call, seen.result), seen.result
    answer = proposal.get("answer")
    answer = answer if isinstance(answer, Mapping) else {}
    claims = answer.get("claims")
    seen = port.finish(str(answer.get("text", "")), filled(claims if isinstance(claims, Mapping) else {}, results))
    return (port.reasons if seen.refused else ()), seen.over


def _calls(proposal: Proposal, bound: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    found = []
    written = proposal.get("calls")
    for n, call in enumerate(written if isinstance(written, (list, tuple)) else (), 1):
        if isinstance(call, Mapping):
            name = str(call.get("id", f"call-{n}"))
            args = bound.get(name, call.get("args", {}))
            found.append((name, call, args if isinstance(args, Mapping) else {}))
    return found


# ---------------------------------------------------------------------- full


def _full(opened: Opened, frontier: Frontier, successor: Successor, extract: Extractor | None) -> Came:
    proposed: list[Proposal] = []

    def noting(brief: Any) -> Any:
        given = successor(brief)
        if (read := _read(given)) is not None:
            proposed.append(read)
        return given

    took = opened.run.take_over(
        noting, name="suite", replica=opened.fork, attempts=ATTEMPTS, allow=list(frontier.allow),
        free={tool: list(names) for tool, names in frontier.free.items()}, extract=extract,
    )  # fmt: skip
    if took.error is not None:
        raise took.error
    stopped = [(n, d) for n, d in enumerate(took.decisions) if not d.positive]
    came = Came(complete=took.complete, reason="" if took.complete else took.reason, proposed=proposed)
    came.interventions = [_intervention("proposal", d.verdict, d.reasons, before=True) for _, d in stopped]
    came.refused = [proposed[n] for n, _ in stopped if n < len(proposed)]
    # What the tenure says it dispatched, and what the world says it got, must agree: the difference had no admission.
    admitted = took.writes if any(d.positive for d in took.decisions) else 0
    came.rejected_writes = writes_in(frontier.contract, opened.meter.dispatched) - admitted
    if took.finish is not None and not took.finish.accepted:
        came.interventions.append(
            _intervention("done", took.finish.decision.verdict, took.finish.decision.reasons, before=took.writes == 0)
        )
    return came


_STAGES: Final[Mapping[Stage, Callable[[Opened, Frontier, Successor, Extractor | None], Came]]] = {
    "direct": _direct, "certified_direct": _certified_direct, "contract_plan": _contract_plan, "full": _full,
}  # fmt: skip
