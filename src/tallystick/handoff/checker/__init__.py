"""Does an artifact still bind? Rules that read its words and return its profile, without asking a model.

`check(task, artifact, trajectory)` returns a `Profile`: the four fields, net force, findings with quotes, and P, D, U
and C computed by appendix A.3. Source: operational state preservation, Table 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallystick.errors import InputError
from tallystick.handoff.checker.judging import findings, retained, weighed
from tallystick.handoff.checker.phrases import FIELDS, phrases
from tallystick.handoff.checker.profile import (
    BLOCKS,
    TRAJECTORIES,
    Block,
    Finding,
    Outcome,
    Profile,
    Trajectory,
    known,
)  # fmt: skip
from tallystick.handoff.checker.reading import read
from tallystick.handoff.checker.signals import signals

__all__ = ["BLOCKS", "TRAJECTORIES", "Block", "Finding", "Outcome", "Profile", "Trajectory", "check"]

_LONGEST = 200_000


def check(
    task: Mapping[str, Any],
    artifact: str,
    trajectory: Trajectory = "static",
    *,
    block: Block = "absent",
    actionability: float | None = None,
    retention: float | None = None,
) -> Profile:
    """Return the profile of an artifact against its task.

    Args:
        task: the task's record: `z` with status, prerequisite, authority and fallback in English, `removed_actions`,
            and if there are any `goal` and `admissible_actions`.
        artifact: the text, in English, Spanish, German or Chinese: prose, Markdown, chat, a table, or a ticket as JSON.
        trajectory: static or dynamic; picks the rule of A.3.
        block: what is known of a carrier block beside the words. It changes `Profile.ruled`, never `Profile.plain`.
        actionability: score from 0 to 1, if somebody supplies one.
        retention: score from 0 to 1, if somebody supplies one.

    Raises:
        InputError: the record, the text, the rule or a score is not one.
    """
    known(trajectory, block, {"actionability": actionability, "retention": retention})
    if not isinstance(task, Mapping) or not isinstance(task.get("z", {}), Mapping):
        raise InputError("the task is not a record", where="task", fix="a mapping with `z` and `removed_actions`")
    if not isinstance(artifact, str):
        raise InputError("the artifact is not a text", where="artifact", fix="the text as it was passed on")
    if len(artifact) > _LONGEST:
        raise InputError(
            f"the artifact has {len(artifact)} characters", where="artifact", fix=f"at most {_LONGEST} characters"
        )
    reading = read(task, artifact)
    found = signals(reading)
    said = phrases(reading)
    kept = retained({name: weighed(name, found, said) for name in FIELDS}, {s.kind for s in found})
    why = tuple(f for name, is_kept in kept.items() for f in findings(name, is_kept, found))
    return Profile(
        r_s=kept["r_s"], r_q=kept["r_q"], r_o=kept["r_o"], r_f=kept["r_f"],
        preserves_as_blocker=kept["preserves"],
        # The guide's coding of a text that stops binding: it was framed as a caveat, moved to later, or left out.
        caveat_or_later_check_or_omission=not kept["preserves"],
        trajectory=trajectory, actionability=actionability, retention=retention, block=block, findings=why,
    )  # fmt: skip
