"""The same agent twice, each time on a fresh desk: once straight to the tools, once through the guard.

What a side says about money and receipts is read from its desk's database; what it says about refusals and the final
status is read from the ledger. Nothing is taken from what the agent believes, except the count of its "done"s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tallystick.demo.agents import Agent, Job
from tallystick.demo.desk import CURRENCY, Desk, Faults, Truth
from tallystick.demo.guarded import run_guarded
from tallystick.demo.ports import UnguardedPort
from tallystick.model.decision import Reason, decision_of
from tallystick.model.events import DoubtSettled, Ended, Event, Intent, Receipt, Refusal, StopDecided
from tallystick.model.values import plain


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """What became of the agent's "done"s: how many were refused, and whether one was accepted."""

    refused: int
    accepted: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One thing the ledger says the guard did: what about, its verdict or outcome, and the reasons.

    Attributes:
        seq: position in the run.
        about: the tool, `done`, or `run`.
        verdict: a gate's verdict, `in doubt` or `no effect` for what came back, `settled`, or the final status.
        reasons: why, with stable codes.
    """

    seq: int
    about: str
    verdict: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One of the two runs.

    Attributes:
        truth: what the desk's database says happened to the invoice.
        calls: calls the desk served.
        done: what became of "done".
        status: the run's final status; None where nobody owns one.
        run: the run's id in the ledger; None where there is no ledger.
        steps: what the guard answered, in order.
    """

    truth: Truth
    calls: int
    done: Done
    status: str | None = None
    run: str | None = None
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Both runs of one agent on one job under the same faults."""

    agent: str
    job: Job
    faults: Faults
    unguarded: Side
    guarded: Side

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "agent": self.agent,
            "desk": "simulated",
            "request": self.job.request,
            "faults": list(self.faults.names),
            "unguarded": _side_json(self.unguarded),
            "guarded": _side_json(self.guarded),
        }


def compare(agent: Agent, job: Job, faults: Faults, *, folder: Path, ledger: Path | None) -> Comparison:
    """Run `agent` on `job` unguarded and guarded, on two new desks in `folder`.

    Args:
        agent: asked twice; it must not carry anything from one run to the next.
        job: what it is asked.
        faults: strike both desks alike.
        folder: an existing folder without desks in it.
        ledger: SQLite file the guarded run is appended to; None keeps its ledger in memory.

    Raises:
        InputError: a file cannot be made, or a model endpoint cannot be used.
    """
    # The guarded side first: a ledger that cannot be used is found before a model has worked for nothing.
    guarded_desk = Desk.create(folder / "guarded.db", faults)
    run, events = run_guarded(agent, job, guarded_desk, ledger=ledger)
    stops = [decision_of(e.body.decision) for e in events if isinstance(e.body, StopDecided)]
    guarded = Side(
        truth=guarded_desk.truth(job.invoice),
        calls=len(guarded_desk.accesses()),
        done=Done(refused=sum(not s.positive for s in stops), accepted=any(s.positive for s in stops)),
        status=next((e.body.status for e in reversed(events) if isinstance(e.body, Ended)), None),
        run=run,
        steps=steps_of(events),
    )
    open_desk = Desk.create(folder / "unguarded.db", faults)
    port = UnguardedPort(open_desk.tools())
    agent.run(port, job)
    answers = [e.answer for e in port.exchanges if e.answer is not None]
    unguarded = Side(
        truth=open_desk.truth(job.invoice),
        calls=len(open_desk.accesses()),
        done=Done(refused=sum(not a.accepted for a in answers), accepted=any(a.accepted for a in answers)),
    )
    return Comparison(agent=agent.label, job=job, faults=faults, unguarded=unguarded, guarded=guarded)


def steps_of(events: Sequence[Event]) -> tuple[Step, ...]:
    """Return what the guard did beyond letting calls through, in order, from a run's events."""
    tools = {e.body.call: e.body.tool for e in events if isinstance(e.body, Intent)}
    receipts = {e.body.id: tools.get(e.body.call or "", "?") for e in events if isinstance(e.body, Receipt)}
    steps: list[Step] = []
    for event in events:
        body = event.body
        if isinstance(body, Refusal):
            decision = decision_of(body.decision)
            steps.append(_step(event, body.tool, decision.verdict, *decision.reasons))
        elif isinstance(body, StopDecided):
            decision = decision_of(body.decision)
            steps.append(_step(event, "done", decision.verdict, *decision.reasons))
        elif isinstance(body, Receipt) and body.call is not None and body.outcome not in ("ok", "in_flight"):
            why = Reason(code=f"receipt.{body.outcome}", message=_came_back(body))
            steps.append(_step(event, tools.get(body.call, "?"), _OUTCOMES.get(body.outcome, body.outcome), why))
        elif isinstance(body, DoubtSettled):
            why = Reason(code=f"settled.{body.outcome}", message=_settled(body, receipts))
            steps.append(_step(event, tools.get(body.call, "?"), "settled", why))
        elif isinstance(body, Ended):
            steps.append(_step(event, "run", body.status))
    return tuple(steps)


_OUTCOMES: Final = {"unknown": "in doubt", "no_effect": "no effect"}


def _came_back(body: Receipt) -> str:
    """Return what the executor recorded of an answer that shows no success, shortened."""
    if body.error is not None:
        return f"no answer: {_short(body.error)}"
    text = body.result.text if body.result is not None else None
    return f"the answer was {_short(text)}" if text else "the answer was empty or no text"


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."


def _settled(body: DoubtSettled, receipts: Mapping[str, str]) -> str:
    asked = ", ".join(f"`{receipts.get(name, name)}`" for name in body.evidence)
    how = f"the guard asked {asked}" if body.by == "query" else f"{body.principal} settled it"
    return f"{how}: it {'did' if body.outcome == 'ok' else 'did not'} happen"


def _step(event: Event, about: str, verdict: str, *reasons: Reason) -> Step:
    return Step(seq=event.seq, about=about, verdict=str(verdict), reasons=reasons)


def _side_json(side: Side) -> dict[str, Any]:
    return {
        "paid": plain(side.truth.paid),
        "currency": CURRENCY,
        "payments": side.truth.payments,
        "receipts_delivered": side.truth.deliveries,
        "seen_before_paid": side.truth.seen_first,
        "calls_served": side.calls,
        "done_refused": side.done.refused,
        "done_accepted": side.done.accepted,
        "status": side.status,
        "run": side.run,
        "steps": [
            {
                "seq": step.seq,
                "about": step.about,
                "verdict": step.verdict,
                "reasons": [
                    {"code": r.code, "message": r.message, "reverses": r.reverses, "where": r.where}
                    for r in step.reasons
                ],
            }
            for step in side.steps
        ],
    }
