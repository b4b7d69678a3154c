"""The duty as an Inspect task: `inspect eval tallystick/tau2_duty --model … --model-role user=… -T domain=telecom`.

The benchmark's own agent, customer, tools and scorer play and judge the task; one block stands after its policy. Gold
is derived after the episode, outside the running evaluation's store.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from tallystick.errors import InputError
from tallystick.evals.lifecycle.tau2.checkpoints import read_episode, score
from tallystick.evals.lifecycle.tau2.duty import DUTY
from tallystick.evals.lifecycle.tau2.episode import STOPS, Episode, append, steps_of
from tallystick.evals.lifecycle.tau2.noticing import noticing
from tallystick.evals.lifecycle.tau2.scripted import PLAYED
from tallystick.evals.tau2.package import of, version
from tallystick.evals.tau2.tasks import INSTANCES, Domain, Tau2Task, domain_named, task_named, tasks

try:
    from anyio import to_thread
    from inspect_ai import Task, task
    from inspect_ai.agent import as_solver
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import get_model
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, accuracy, metric, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.util import store_as
except ImportError as bad:
    raise InputError(
        "the duty runs on `inspect-ai`", where="tau2", fix="install the `tau2` extra: `pip install 'tallystick[tau2]'`"
    ) from bad

EPISODE = "tallystick_tau2_episode"
"""Where a sample's store keeps its episode."""


@task
def tau2_duty(
    domain: str = "telecom",
    limit: int | None = None,
    epochs: int = 1,
    message_limit: int | None = None,
) -> Task:
    """The reporting duty on τ²-bench.

    Args:
        domain: telecom or retail, as in the paper, or airline (ours).
        limit: at most so many tasks, in the benchmark's order.
        epochs: trajectories of each task.
        message_limit: turns of each side; the benchmark's own number by default.
    """
    named = domain_named(domain)
    return duty_task(named, tasks(named)[:limit], epochs=epochs, message_limit=message_limit)


def duty_task(
    domain: Domain,
    chosen: Iterable[Tau2Task],
    *,
    epochs: int = 1,
    first: int = 0,
    message_limit: int | None = None,
    keep: Path | None = None,
    names: tuple[str, str] = ("", ""),
) -> Task:
    """Return the task over chosen tasks.

    Args:
        domain: of the tasks.
        chosen: which tasks.
        epochs: trajectories of each.
        first: number of the first epoch.
        message_limit: turns of each side.
        keep: folder to append each episode to as it ends.
        names: of deployment and customer, where they are not what Inspect calls the models.
    """
    metadata = of("common.metadata").Tau2MetaData
    samples = [
        Sample(
            id=one.id, input=list(one.input), target="",
            metadata=metadata(instance=INSTANCES[domain], task=one.task).model_dump(),
        )
        for one in chosen
    ]  # fmt: skip
    return Task(
        name=f"tau2_duty_{domain}",
        dataset=MemoryDataset(samples, name=f"tau2-{domain}"),
        solver=_episode(domain, first, message_limit, keep, names),
        scorer=[by_duty(), by_task(domain)],
        epochs=epochs,
        metadata={"domain": domain, "inspect_evals": version()},
    )


@solver
def _episode(
    domain: Domain, first: int, message_limit: int | None, keep: Path | None, names: tuple[str, str]
) -> Solver:
    """The benchmark's own conversation, with the block after its policy; the episode goes into the store."""
    agents = of(f"{domain}.agents")
    policy = agents.get_domain_policy(workflow=False) if domain == "telecom" else agents.get_domain_policy()
    common = of("common.agents")
    mine = getattr(of(f"{domain}.tools"), f"all_{domain}_agent_tools" if domain == "telecom" else f"all_{domain}_tools")
    theirs = of("telecom.user_tools").all_telecom_user_tools if domain == "telecom" else ()
    initialize = of("telecom.solver").telecom_initializer() if domain == "telecom" else None

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        config = common.CustomerServiceAgentConfig(
            get_domain_policy=lambda: f"{policy}\n{DUTY}", tools=[t() for t in mine], instance=INSTANCES[domain]
        )
        agent = common.get_user_simulator_agent(config, message_limit=message_limit, tools=[t() for t in theirs])
        token = PLAYED.set(task_named(domain, str(state.sample_id)))
        try:
            if initialize is not None:
                state = await initialize(state, generate)
            with noticing() as swallowed:
                state = await as_solver(agent)(state, generate)
        finally:
            PLAYED.reset(token)
        stored = store_as(common.StoredAgentState, INSTANCES[domain])
        steps = steps_of(stored.trajectory)
        ended = bool(steps) and steps[-1].by == "user" and any(s in steps[-1].text for s in STOPS)
        one = Episode(
            domain=domain, task=str(state.sample_id), deployment=names[0] or str(state.model),
            user=names[1] or str(get_model(role="user")), epoch=first + state.epoch - 1, steps=steps,
            lost=f"swallowed error, {swallowed[0]}" if swallowed else "", ended=ended and not swallowed,
        )  # fmt: skip
        state.store.set(EPISODE, msgspec.to_builtins(one))
        if keep is not None:
            append(keep, one)
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])
def by_task(domain: Domain) -> Scorer:
    """Score an episode as the benchmark does; one that was lost is unscored, where the benchmark would say failed."""
    theirs = getattr(of(f"{domain}.scorer"), f"{domain}_scorer")()

    async def judge(state: TaskState, target: Target) -> Score | None:
        one = msgspec.convert(state.store.get(EPISODE), Episode)
        if one.lost:
            return Score.unscored(reason=one.lost)
        found: Score | None = await theirs(state, target)
        return found

    return judge


@metric
def reported() -> Metric:
    """Clean reports as shares of due ones, by stage, and the share of due messages with a report (`followed`)."""

    def compute(scores: list[SampleScore]) -> Value:
        sums: dict[str, list[int]] = {}
        for one in scores:
            for name, (hits, of_) in (one.score.metadata or {}).get("counts", {}).items():
                total = sums.setdefault(name, [0, 0])
                total[0] += hits
                total[1] += of_
        return {name: hits / of_ for name, (hits, of_) in sorted(sums.items()) if of_}

    return compute


@scorer(metrics=[reported()])
def by_duty() -> Scorer:
    """Score an episode: its share of clean reports. One that was lost, or has no scorable message, is unscored."""

    async def judge(state: TaskState, target: Target) -> Score:
        del target
        one = msgspec.convert(state.store.get(EPISODE), Episode)
        found = await to_thread.run_sync(read_episode, one)  # a replay has a store and a loop of its own
        if found.lost or not found.rows:
            return Score.unscored(reason=found.lost or "no message whose stage the record can tell")
        counts: dict[str, list[int]] = {}
        lines = []
        for row in found.rows:
            told = score(row)
            for name, hit in ((row.checkpoint, told.code == "CLEAN"), ("followed", told.e)):
                total = counts.setdefault(name, [0, 0])
                total[0] += hit
                total[1] += 1
            lines.append(f"{row.stimulus.rpartition('#')[2]}: {row.checkpoint} {told.code} {told.value or '-'}")
        clean = sum(hits for name, (hits, _) in counts.items() if name != "followed")
        return Score(
            value=clean / len(found.rows), explanation="\n".join(lines),
            metadata={"counts": counts, "undetermined": found.undetermined},
        )  # fmt: skip

    return judge
