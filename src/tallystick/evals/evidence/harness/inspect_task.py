"""The suite as an Inspect task: `inspect eval tallystick/evidence --model … -T protocol=V1 -T gated=true`.

A sample is a case. Its environment is a process of its own, as for every other agent; the scorer reads the episode's
record afterwards, in Inspect's process. The model is given prompt, tools and results only.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec

from tallystick.evals.evidence.client import connect
from tallystick.evals.evidence.episode import Episode
from tallystick.evals.evidence.harness.inspect_react import work
from tallystick.evals.evidence.harness.loop import MAX_TURNS
from tallystick.evals.evidence.harness.opened import prompt
from tallystick.evals.evidence.kept import EPISODES, read_episodes
from tallystick.evals.evidence.measures import MEASURES
from tallystick.evals.evidence.plan import SEED
from tallystick.evals.evidence.room import Room
from tallystick.evals.evidence.run import chosen
from tallystick.evals.evidence.score import score
from tallystick.evals.evidence.serve import BUDGET_SECONDS, find

# inspect_react has said what is missing where inspect-ai is not installed
from inspect_ai import Task, task  # isort: skip
from inspect_ai.dataset import MemoryDataset, Sample  # isort: skip
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer  # isort: skip
from inspect_ai.solver import Generate, Solver, TaskState, solver  # isort: skip


@task
def evidence(
    protocol: str | None = None,
    limit: int | None = None,
    arm: str | None = None,
    seed: str = SEED,
    gated: bool = False,
    epochs: int = 3,
    max_turns: int = MAX_TURNS,
) -> Task:
    """Evidence before action, over 656 cases.

    Args:
        protocol: Legacy, V0, V1, V2 or V3; all by default.
        limit: at most so many cases, spread over protocols and domains.
        arm: a derived set instead of the suite.
        seed: of the suite.
        gated: put the act gate before the tools.
        epochs: rollouts of each case.
        max_turns: most requests to the model in one case.
    """
    names = chosen(protocol, limit, arm, seed)
    samples = []
    for name in names:
        case = find(name, seed)
        shown = Room(case, "inspect").task()
        samples.append(
            Sample(id=name, input=prompt(shown), metadata={"protocol": case.protocol, "domain": case.domain})
        )
    return Task(
        dataset=MemoryDataset(samples, name="tallystick-evidence"),
        solver=react_over_case(seed=seed, gated=gated, max_turns=max_turns),
        scorer=by_evidence(seed=seed),
        epochs=epochs,
        time_limit=int(BUDGET_SECONDS),
        metadata={"gated": gated, "seed": seed, "set": arm or "suite"},
    )


@solver
def react_over_case(*, seed: str = SEED, gated: bool = False, max_turns: int = MAX_TURNS) -> Solver:
    """Inspect's ReAct agent over a case whose environment is another process; the episode goes into the store."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder) / EPISODES
            with connect(kept, gated=gated, options=("--seed", seed)) as environment:
                case = environment.open(str(state.sample_id), agent=str(state.model), epoch=state.epoch - 1)
                try:
                    worked = await work(case, state.input_text, max_turns=max_turns)
                    state.messages, state.output = worked.messages, worked.output
                finally:
                    environment.close()
                    state.store.set("episode", msgspec.to_builtins(read_episodes(kept)[-1]))
        return state

    return solve


@metric
def measured() -> Metric:
    """ECS, BSR, PAR, CAS, Gap, Part and the other diagnostics by protocol, as shares; see `measures.DEFINITIONS`."""

    def compute(scores: list[SampleScore]) -> Value:
        sums: dict[str, list[int]] = {}
        for one in scores:
            for name, (hits, of) in (one.score.metadata or {}).get("counts", {}).items():
                total = sums.setdefault(name, [0, 0])
                total[0] += hits
                total[1] += of
        return {name: hits / of for name, (hits, of) in sorted(sums.items()) if of}

    return compute


@scorer(metrics=[measured()])
def by_evidence(*, seed: str = SEED) -> Scorer:
    """Score an episode's record against its case: 1 for exact case success, the diagnostics as metadata."""

    async def judge(state: TaskState, target: Target) -> Score:
        del target
        episode = msgspec.convert(state.store.get("episode"), Episode)
        found = score(find(episode.case, seed), episode)
        counts: dict[str, Any] = {
            f"{found.protocol} {m.name}": m.count(found) for m in MEASURES if found.protocol in m.protocols
        }
        return Score(
            value=int(found.exact), answer=episode.label, explanation=", ".join(found.reasons) or "exact",
            metadata={"counts": counts, "score": msgspec.to_builtins(found)},
        )  # fmt: skip

    return judge
