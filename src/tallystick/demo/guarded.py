"""The guarded side: the same tools behind a `Guard`, under the invoice desk's contract."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tallystick.demo.agents import Agent, Job
from tallystick.demo.desk import Desk
from tallystick.demo.ports import Answer, Exchange, Observation, Outcome
from tallystick.model import jsontext
from tallystick.model.events import Event
from tallystick.runtime.guard import Guard
from tallystick.runtime.run import Run

CONTRACT: Final = Path(__file__).with_name("invoice-desk.yaml")
"""The contract the demo runs under; the same text as `examples/invoice-desk.yaml`."""


class GuardedPort:
    """Every call and every "done" is proposed to a run; what is refused comes back with its reasons."""

    def __init__(self, run: Run) -> None:
        self.exchanges: list[Exchange] = []
        self._run = run

    def call(self, tool: str, args: Mapping[str, Any]) -> Observation:
        """Propose the call and return the tool's answer, the recorded one, or the refusal."""
        outcome = self._run.call(tool, args)
        observation = Observation(
            text=outcome.text(),
            result=None if outcome.refused else outcome.result,
            error=None if outcome.error is None else f"{type(outcome.error).__name__}: {outcome.error}",
            decision=None if outcome.ran else outcome.decision,
        )
        self.exchanges.append(Exchange(tool=tool, args=args, observation=observation))
        return observation

    def finish(
        self, text: str, claims: Mapping[str, Any], *, outcome: Outcome = "acted", truncated: bool = False
    ) -> Answer:
        """Propose that the run is over and return the stop gate's answer."""
        given = self._run.finish(text, claims, outcome, truncated=truncated)
        answer = Answer(
            text=jsontext.dumps(given.to_json()),
            accepted=given.accepted,
            over=given.status is not None,
            reasons=given.decision.reasons,
        )
        self.exchanges.append(Exchange(text=text, answer=answer))
        return answer


def run_guarded(agent: Agent, job: Job, desk: Desk, *, ledger: Path | None) -> tuple[str, tuple[Event, ...]]:
    """Run `agent` on `job` under guard and return the run's id and its events, as the ledger has them.

    An agent that stops without an accepted "done" leaves a run that ended honestly: IN_DOUBT, BLOCKED or UNCERTIFIED.

    Raises:
        InputError: the ledger cannot be used, or a model endpoint fails; the run has then ended, and is kept.
    """
    with Guard(CONTRACT, ledger, tools=desk.tools()) as guard:
        with guard.run({"request": job.request, "bindings": {"invoice": job.invoice}}) as run:
            agent.run(GuardedPort(run), job)
        return run.id, tuple(sealed.event for sealed in guard.store.events(run.id))
