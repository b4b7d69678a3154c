"""The closed loop: an agent acts, says that it is done, is answered by a stop policy, and acts again.

576 trajectories: 24 task clusters, checkpoint incomplete or complete, 3 repetitions, 4 policies. The clusters, the
gaps of the incomplete checkpoints, the policies and the measures are *reconstructed*; the source has the abstract and
the tables only. Scripted agents and the scripted critic have stated behaviour and are called scripted wherever their
numbers stand: they test the loop, and say nothing about a model.
Source: "When May an Agent Stop? Evidence-Carrying Termination for Tool-Using LLMs", abstract and table 4.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tallystick.evals.evidence.harness.chat import ChatModel
from tallystick.evals.termination.closed.clusters import SEED
from tallystick.evals.termination.closed.figures import save
from tallystick.evals.termination.closed.model import MAX_TOKENS, STEPS, ModelAgent, ModelCritic
from tallystick.evals.termination.closed.run import REPETITIONS, study
from tallystick.evals.termination.closed.tables import text
from tallystick.evals.termination.critic import Critic

__all__ = ["run", "save", "study", "text"]


def run(
    *,
    seed: str | None = None,
    critic: Critic | None = None,
    out: str | Path | None = None,
    limit: int | None = None,
    repetitions: int = REPETITIONS,
    temperature: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Run the closed-loop study with scripted agents, or with a model as agent and as full-trace critic.

    Args:
        seed: draws other tasks, behaviours and verdicts of the scripted critic; None: the study's own.
        critic: the model; None: scripted agents of stated behaviour and a scripted critic of stated errors.
        out: folder for the trajectories; with one, an interrupted study goes on where it stopped.
        limit: at most so many clusters, primary ones.
        repetitions: of each checkpoint and policy. A model at temperature 0 mostly repeats itself.
        temperature: of the model.
        progress: is told (trajectories done, trajectories in all).

    Returns:
        The report, as `study` does.

    Raises:
        InputError: a bad choice, an unusable folder or endpoint, or numpy is missing.
    """
    known: dict[str, Any] = {
        "seed": seed or SEED, "out": out, "limit": limit, "repetitions": repetitions, "progress": progress,
    }  # fmt: skip
    if critic is None:
        return study(**known)
    chat = ChatModel(name=critic.name, endpoint=critic.endpoint, max_tokens=MAX_TOKENS, temperature=temperature)
    settings = {"model": critic.called, "steps": STEPS, "max_tokens": MAX_TOKENS, "temperature": temperature}
    agent = ModelAgent(chat=chat, called=critic.called)
    return study(agent, critic=ModelCritic(critic=critic), settings=settings, **known)
