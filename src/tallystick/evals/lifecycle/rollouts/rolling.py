"""Rolling out: scenarios, repetitions and stop policies, every session kept as it ends, going on from where it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tallystick.errors import InputError
from tallystick.evals.common import folder as common
from tallystick.evals.lifecycle.rollouts.session import TURN_CAP, Agent, Session, Turner, play
from tallystick.evals.lifecycle.suite import kept
from tallystick.evals.lifecycle.suite.asking import Deployment
from tallystick.evals.lifecycle.suite.run import MAX_FAILURES, admit
from tallystick.evals.lifecycle.suite.scenario import Language, Scenario, scenarios
from tallystick.gates.stop_policies import COMPARED, POLICIES, StopPolicy

SESSIONS: Final = "sessions.jsonl"
REPETITIONS: Final = 6


@dataclass(frozen=True, kw_only=True)
class ModelAgent:
    """A deployment, rolled out. The seed is the repetition."""

    deployment: Deployment

    @property
    def name(self) -> str:
        """The deployment's name."""
        return self.deployment.name

    def open(self, scenario: Scenario, language: Language, policy: StopPolicy, repetition: int) -> Turner:  # noqa: ARG002 - a model is told by its messages only
        """Return what answers the turns of one session."""
        return lambda messages, tools: self.deployment.ask(messages, tools, repetition)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tour:
    """What is rolled out.

    Attributes:
        gates: names of stop policies; the four that are compared where empty.
        language: of prompts and the user.
        repetitions: of each scenario under each policy.
        limit: most sessions under each policy, scenarios taking turns; None for all.
        turn_cap: agent turns in one session.
    """

    gates: tuple[str, ...] = ()
    language: Language = "zh"
    repetitions: int = REPETITIONS
    limit: int | None = None
    turn_cap: int = TURN_CAP

    def chosen(self) -> list[tuple[Scenario, StopPolicy, int]]:
        """Return the sessions; the policies of one scenario and repetition follow one another.

        Raises:
            InputError: no such gate, or a number below 1.
        """
        other = next((g for g in self.gates if g not in POLICIES), None)
        if other is not None:
            raise InputError(f"there is no gate `{other[:80]}`", where="--gate", fix=f"one of: {', '.join(POLICIES)}")
        numbers = (("--repetitions", self.repetitions), ("--limit", self.limit), ("--turn-cap", self.turn_cap))
        for option, number in numbers:
            if number is not None and number < 1:
                raise InputError(f"`{number}` is too few", where=option, fix="1 or more")
        policies = [POLICIES[g] for g in self.gates or COMPARED]
        pairs = [(s, n) for n in range(self.repetitions) for s in scenarios()][: self.limit]
        return [(s, p, n) for s, n in pairs for p in policies]


def roll(
    tour: Tour,
    agent: Agent,
    out: Path,
    *,
    probes: int = 20,
    settings: dict[str, object] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Session]:
    """Play every session that is not kept yet; return all that are kept. Sessions ended by transport are played again.

    Raises:
        InputError: the folder holds other rollouts; the deployment is not admitted; too many failures in a row.
    """
    wanted = tour.chosen()
    kept.settle(
        out,
        {"rollouts": True, "gates": list(tour.gates), "language": tour.language, "repetitions": tour.repetitions,
         "limit": tour.limit, "turn_cap": tour.turn_cap, "deployment": agent.name, **(settings or {})},
    )  # fmt: skip
    if isinstance(agent, ModelAgent):
        admit(agent.deployment, out, probes)
    kept.mend(out, SESSIONS)
    done = {_key(s) for s in read(out) if s.end != "transport"} if (out / SESSIONS).exists() else set()
    failures = 0
    for count, (scenario, policy, repetition) in enumerate(wanted, 1):
        if (scenario.id, policy.name, repetition) not in done:
            found = play(scenario, tour.language, policy, agent, repetition, turn_cap=tour.turn_cap)
            common.append(out / SESSIONS, found)
            failures = failures + 1 if found.end == "transport" else 0
            if failures >= MAX_FAILURES and isinstance(agent, ModelAgent):
                raise InputError(
                    f"{failures} sessions in a row ended by transport: {found.failure}", where=agent.name,
                    fix="start it again when the endpoint answers; it goes on from here",
                )  # fmt: skip
        if progress is not None:
            progress(count, len(wanted))
    return read(out)


def read(out: Path) -> list[Session]:
    """Return the sessions of a folder; of several of one kind, the last.

    Raises:
        InputError: there are none, or a line is none.
    """
    return list({_key(one): one for one in common.records(out / SESSIONS, Session, "a session")}.values())


def _key(one: Session) -> tuple[str, str, int]:
    return one.scenario, one.policy, one.repetition
