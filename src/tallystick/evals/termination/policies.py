"""The seven policies of the static study, each a function of a snapshot and of nothing else.

Only the critic core was inspected by the paper's authors; the definitions of all seven are *reconstructed*, so that the
published counts come out when they are run. What each of them reads is all that tells them apart:

| policy | reads | says |
| --- | --- | --- |
| completion | the completion signal | complete where there is one, else continue |
| self_check | the agent's own answer to "is every part done?" | complete where it says yes, else continue |
| heuristic | signal, final text, transport flags | complete where it says something, no call is open, none failed |
| critic_core | signal, last calls | complete where there is one; stuck where the last calls are equal; else continue |
| full_trace_critic | every word and result, through a model | what the model says; not run without one |
| postcondition_oracle | the environment's state, and the answer | complete where both are as the task asks |
| ect | the record, the contract and the certificate | complete where the verifier says so, else continue |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from tallystick.evals.termination.families import family_of
from tallystick.evals.termination.snapshot import Decision, Snapshot
from tallystick.evals.termination.stated import lexical_bindings, stated
from tallystick.gates.certify import verify_certificate
from tallystick.model.certificate import Check

Policy = Callable[[Snapshot], Decision]
SAME_CALLS: Final = 3
"""Equal calls in a row that the critic core takes for a loop (reconstructed)."""


def completion(snapshot: Snapshot) -> Decision:
    """Believe the signal that the agent is done."""
    return "complete" if snapshot.shown.completion else "continue"


def self_check(snapshot: Snapshot) -> Decision:
    """Believe what the agent says when it is asked whether it is done."""
    return "complete" if snapshot.shown.self_check.lower().startswith("yes") else "continue"


def heuristic(snapshot: Snapshot) -> Decision:
    """Believe a final text after calls that all came back and that no transport flags as errors."""
    view = snapshot.view
    sound = bool(view.receipts) and not view.open_calls and all(r.body.flag != "error" for r in view.receipts)
    return "complete" if snapshot.shown.completion and snapshot.shown.text and sound else "continue"


def critic_core(snapshot: Snapshot) -> Decision:
    """Believe the signal; without one, take the same call made again and again for a loop."""
    if snapshot.shown.completion:
        return "complete"
    last = [(c.tool, dict(c.args)) for c in snapshot.view.calls.values()][-SAME_CALLS:]
    return "stuck" if len(last) == SAME_CALLS and all(c == last[0] for c in last) else "continue"


def postcondition_oracle(snapshot: Snapshot) -> Decision:
    """Compare the environment's own state, and the answer, with what the task asks. The trace is not looked at."""
    shown, bindings = snapshot.shown, snapshot.task.bindings
    truth = family_of(snapshot.family).truth(shown.environment, lexical_bindings(bindings))
    if not shown.completion or truth is None:
        return "continue"
    slots = snapshot.contract.answer
    right = all(
        s.name in shown.answer and stated(s.type, shown.answer[s.name]) == stated(s.type, truth[s.name]) for s in slots
    )
    return "complete" if right else "continue"


def ect(snapshot: Snapshot, *, without: Collection[Check] = ()) -> Decision:
    """Complete only where the verifier accepts the certificate the agent submits; polling is never taken for a loop."""
    shown = snapshot.shown
    if not shown.completion or shown.certificate is None:
        return "continue"
    found = verify_certificate(snapshot.view, snapshot.contract, shown.certificate, without=without)
    return "complete" if found.complete else "continue"


DETERMINISTIC: Final[Mapping[str, Policy]] = {
    "completion": completion,
    "self_check": self_check,
    "heuristic": heuristic,
    "critic_core": critic_core,
    "postcondition_oracle": postcondition_oracle,
    "ect": ect,
}
MODEL: Final = "full_trace_critic"
ORDER: Final = ("completion", "self_check", "heuristic", "critic_core", MODEL, "postcondition_oracle", "ect")
