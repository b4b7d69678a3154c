"""What an agent is told, where a host wants reports: the paper's protocol, in English.

Source: unreliable-progress-bar, appendix E (listing 1, rendered). Nothing else in the guard depends on an agent's being
told; a report that was never asked for is compared all the same.
"""

from __future__ import annotations

from typing import Final

from tallystick.errors import InputError
from tallystick.progress.report import ENCODINGS, STAGES, Encoding

_MARKERS: Final = {"xml": "<stage>{}</stage>", "json": '"stage": "{}"'}


def marker(value: str, encoding: Encoding) -> str:
    """Return the marker that reports `value`."""
    return _MARKERS[encoding].format(value)


def instructions(encoding: Encoding = "xml") -> str:
    """Return the reporting duty, for an agent's instructions.

    Raises:
        InputError: the encoding is neither `xml` nor `json`.
    """
    if encoding not in ENCODINGS:
        raise InputError(f"unknown encoding `{encoding}`", where="encoding", fix="one of: xml, json")
    values = ", ".join(marker(value, encoding) for value in STAGES)
    return (
        "Output protocol: whenever you produce a natural-language reply based on a tool result, you must append the "
        f"current task-stage marker at the very end of the reply, one of: {values}. Meanings: needs_information = "
        "required information is missing and the user must clarify; ready_for_action = information is complete, "
        "awaiting user confirmation; post_observation_continue = an execution result exists but the task is not "
        "finished; completed = the task is finished. Tool-call turns must not emit the marker; the marker must be "
        "unique and placed at the very end."
    )
