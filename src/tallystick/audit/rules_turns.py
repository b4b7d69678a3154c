"""Turns: whether the agent answered at all."""

from __future__ import annotations

from tallystick.audit.case import Case


def silent(case: Case) -> None:
    """The user was left without a word or an action, more than once.

    One empty message may be how a recorder ends a turn; several in a row of questions are an agent that has stopped.
    """
    asked = False
    empty: list[int] = []
    for message in case.trace.messages:
        if message.role == "user":
            asked = True
        elif message.role == "assistant":
            if asked and not message.calls and not message.text.strip() and not message.truncated:
                empty.append(message.index)
            asked = False
    if len(empty) > 1:
        case.find(
            "message.empty",
            "error",
            f"the agent left {len(empty)} messages of the user without an answer or an action",
            at=empty[0],
            evidence=tuple(f"m{index}" for index in empty[:10]),
        )
